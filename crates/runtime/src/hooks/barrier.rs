//! Barriers.

use super::{at_work, early, hook, objects};
use crate::detect::shadow::Object;
use crate::drive::control;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::fibers;
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, Hidden, Location, Op, StoreOrder, Value};
use libc::{c_int, c_uint};

/// Where glibc keeps the number of parties in a `pthread_barrier_t`.
const PARTIES: usize = 8;

/// The running thread is about to do this with it: how many parties it has. It has none if it was never initialised,
/// and is given none when it is destroyed.
fn used(barrier: usize, action: &'static str) -> u32 {
    let parties = *parties(barrier);
    if parties == 0 {
        objects::is_not_there(Object::Barrier, barrier, action);
    }
    parties
}

fn parties<'a>(barrier: usize) -> &'a mut u32 {
    // SAFETY: a barrier of the program's; nobody else looks at this word.
    unsafe { &mut *((barrier + PARTIES) as *mut u32) }
}

hook! { fn pthread_barrier_init(barrier: usize, attributes: usize, parties: c_uint) -> c_int {
    if active() {
        at_work(|| objects::initialised(Object::Barrier, barrier));
    }
    let result = real!(pthread_barrier_init(barrier, attributes, parties): fn(usize, usize, c_uint) -> c_int);
    if active() && result == 0 {
        // There may have been another one at this address, in the middle of a generation: its arrivals do not count
        // for this one.
        let at = Location::hidden(Hidden::Barrier, barrier as u64);
        let mut me = fibers::me();
        me.barriers += 1;
        let name = u64::from(fibers::current().0 + 1) << 48 | u64::from(me.barriers) << 32;
        drop(me);
        let store = Access::Store { at, order: StoreOrder::Relaxed, value: Value(name.into()) };
        at_work(|| control::perform(Op::Access(store)));
    }
    result
} }

hook! { fn pthread_barrier_wait(barrier: usize) -> c_int {
    if !active() {
        early::release();
        return real!(pthread_barrier_wait(barrier): fn(usize) -> c_int);
    }
    let last = at_work(|| {
        let parties = used(barrier, "wait");
        objects::used(Object::Barrier, barrier);
        control::perform(Op::Sync(Sync::BarrierWait { barrier: barrier as u64, parties })).success
    });
    if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
} }

hook! { fn pthread_barrier_destroy(barrier: usize) -> c_int {
    if !active() {
        return real!(pthread_barrier_destroy(barrier): fn(usize) -> c_int);
    }
    at_work(|| {
        used(barrier, "destroy");
        objects::destroyed(Object::Barrier, barrier);
        *parties(barrier) = 0;
    });
    0
} }
