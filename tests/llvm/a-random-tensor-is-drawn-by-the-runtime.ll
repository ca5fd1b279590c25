CHECK: c"w\00"
CHECK-LABEL: define internal void @unit.init(
CHECK: %[[SEED:[0-9]+]] = call i64 @tsr_seed(ptr %0)
CHECK: call void @tsr_random_key(ptr @{{.*}}, i64 %[[SEED]], ptr %key)
CHECK: call void @tsr_random_words(ptr %{{[0-9]+}}, i64 12, ptr %key, i64 0)
CHECK: call void @unit.init.w.u.2(
