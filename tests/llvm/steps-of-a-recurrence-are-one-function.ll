CHECK: define internal void @unit.y.forward(
CHECK: call void @[[ROW:unit\.y\.forward\.y\.[0-9]+]](
CHECK: call void @[[ROW]](
CHECK: call void @[[ROW]](
CHECK: call void @[[ROW]](
CHECK: define internal void @[[ROW]]({{.*}} readonly align 64 dereferenceable(64) %x)
