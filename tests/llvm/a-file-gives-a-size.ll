CHECK-LABEL: define internal void @unit.size.forward.size(ptr %0,
CHECK-SAME: ptr noalias noundef nonnull readonly align 64 %text
CHECK-SAME: i64 %[[N:[0-9]+]])
CHECK: icmp slt i64 0, %[[N]]
CHECK: zext i8 %{{[0-9]+}} to i32
CHECK: add i32
CHECK: icmp slt i64 %{{[0-9]+}}, %[[N]]
CHECK-LABEL: define i32 @main(
CHECK: %[[PATH:[0-9]+]] = call ptr @tsr_arg_str
CHECK: getelementptr inbounds i8, ptr %[[PATH]], i64 8
CHECK: call void @tsr_file_load({{.*}} ptr @tsr_format_text, i64 0)
CHECK: load i64
CHECK: call void @unit.size.forward
