//! Accesses with stronger orders: at least what was asked for, never less than what was there.

use fencepost_trace::{Access, FenceOrder, Guard, LoadOrder, Location, RmwOrder, Size, StoreOrder, Update, Value};

const X: Location = Location { address: 8, size: Size::B4 };

#[test]
fn an_access_gets_as_strong_as_was_asked_for() {
    let load = |order| Access::Load { at: X, order, guard: Guard::Any };
    let store = |order| Access::Store { at: X, order, value: Value::ZERO };
    let rmw = |order| Access::Rmw { at: X, order, update: Update::Add(Value::ZERO), guard: Guard::Any };
    use RmwOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    assert_eq!(load(LoadOrder::Relaxed).strengthened(Acquire), load(LoadOrder::Acquire));
    assert_eq!(load(LoadOrder::Relaxed).strengthened(Release), load(LoadOrder::Relaxed), "a load releases nothing");
    assert_eq!(load(LoadOrder::SeqCst).strengthened(Acquire), load(LoadOrder::SeqCst));
    assert_eq!(store(StoreOrder::Relaxed).strengthened(AcqRel), store(StoreOrder::Release));
    assert_eq!(store(StoreOrder::SeqCst).strengthened(Release), store(StoreOrder::SeqCst));
    assert_eq!(rmw(Acquire).strengthened(Release), rmw(AcqRel), "both halves");
    assert_eq!(rmw(Relaxed).strengthened(Acquire), rmw(Acquire));
    assert_eq!(rmw(AcqRel).strengthened(SeqCst), rmw(SeqCst));
    assert_eq!(rmw(SeqCst).strengthened(Relaxed), rmw(SeqCst));
    let fence = Access::Fence { order: FenceOrder::Acquire };
    assert_eq!(fence.strengthened(SeqCst), fence);
}
