CHECK: define internal void @unit.step(
CHECK: call void @[[PRODUCT:unit\.step\.y\.[0-9]+]](
CHECK: call void @[[SUM:unit\.step\.y\.[0-9]+]](
CHECK: call void @[[RELU:unit\.step\.y\.[0-9]+]](
CHECK: call void @[[PRODUCT]](
CHECK: call void @[[SUM]](
CHECK: call void @[[RELU]](
