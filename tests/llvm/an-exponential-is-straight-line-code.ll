CHECK-LABEL: define internal void @unit.y.forward.y(
CHECK: loop:
CHECK-NOT: br
CHECK-NOT: call float @exp
CHECK: fcmp olt float %{{[0-9]+}}, -1.0{{[45]}}0000e+02
CHECK: call float @llvm.fm{{a|uladd}}.f32
CHECK: shl i32 %{{[0-9]+}}, 2{{[03]}}
CHECK: store float
CHECK-NOT: @expf
