CHECK: define internal void @unit.y.forward(
CHECK: call void @unit.y.forward.y.
CHECK: call void @[[ADD:unit\.y\.forward\.y\.[0-9]+]](
CHECK: call void @[[PRODUCT:unit\.y\.forward\.y\.[0-9]+]](
CHECK: call void @[[ADD]](
CHECK: call void @[[PRODUCT]](
CHECK: call void @[[ADD]](
CHECK: call void @[[PRODUCT]](
CHECK: define internal void @[[ADD]]({{.*}} readonly align 64 dereferenceable(64) %x)
