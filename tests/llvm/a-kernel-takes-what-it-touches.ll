CHECK: @a = private unnamed_addr constant [6 x float]
CHECK: define internal void @unit.y.forward(ptr %0, ptr %1, ptr %2, ptr %3)
CHECK: call void @unit.y.forward.y(ptr %0, ptr %{{[0-9]+}}, ptr %{{[0-9]+}}, ptr %{{[0-9]+}})
CHECK: define internal void @unit.y.forward.y(ptr %0,
CHECK-SAME: ptr noalias noundef nonnull readonly align 64 dereferenceable(24) %a
CHECK-SAME: ptr noalias noundef nonnull readonly align 64 dereferenceable(12) %v
CHECK-SAME: ptr noalias noundef nonnull align 64 dereferenceable(8) %y
CHECK: fmul contract float
CHECK: fadd reassoc contract float
CHECK: define i32 @main(i32 %0, ptr %1)
CHECK: call ptr @tsr_start
CHECK: call void @unit.init
CHECK: call void @unit.y.forward
CHECK: call void @tsr_print_tensor
CHECK: call i32 @tsr_finish
CHECK: attributes {{.*}} "prefer-vector-width"=
