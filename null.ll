; ModuleID = 'null'
source_filename = "null"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@0 = private unnamed_addr constant [5 x i8] c"null\00", align 1
@program = private unnamed_addr constant { ptr, ptr, i64, i64, i64, i64, ptr, ptr } { ptr @0, ptr null, i64 0, i64 0, i64 0, i64 0, ptr null, ptr null }, align 8

; Function Attrs: nounwind
define internal void @unit.init(ptr %0, ptr %1, ptr %2, ptr %3) #0 {
entry:
  ret void
}

; Function Attrs: nounwind
define i32 @main(i32 %0, ptr %1) #0 {
entry:
  %2 = call ptr @tsr_start(i32 %0, ptr %1, ptr nonnull @program)
  %3 = call ptr @tsr_buffers(ptr %2)
  %4 = call ptr @tsr_syms(ptr %2)
  %5 = call ptr @tsr_nums(ptr %2)
  call void @unit.init(ptr %2, ptr %3, ptr %4, ptr %5)
  %6 = call i32 @tsr_finish(ptr %2)
  ret i32 %6
}

; Function Attrs: nounwind
declare ptr @tsr_start(i32, ptr, ptr) #1

; Function Attrs: nounwind
declare ptr @tsr_buffers(ptr) #1

; Function Attrs: nounwind
declare ptr @tsr_syms(ptr) #1

; Function Attrs: nounwind
declare ptr @tsr_nums(ptr) #1

; Function Attrs: nounwind
declare i32 @tsr_finish(ptr) #1

attributes #0 = { nounwind "prefer-vector-width"="512" "stackrealign" }
attributes #1 = { nounwind }
