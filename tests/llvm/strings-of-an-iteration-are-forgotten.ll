The first loop's strings die with each iteration; the second loop keeps what it makes.
CHECK-LABEL: define i32 @main(
CHECK: %[[MARK:[0-9]+]] = call i64 @tsr_str_mark
CHECK: call ptr @tsr_str_concat
CHECK: call void @tsr_str_release(ptr %{{[0-9]+}}, i64 %[[MARK]])
CHECK-NOT: call void @tsr_str_release
CHECK: call ptr @tsr_str_concat
CHECK-NOT: call void @tsr_str_release
CHECK: call i32 @tsr_finish
