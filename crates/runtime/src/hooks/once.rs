//! What is done once: `pthread_once`, and static variables of C++ functions.

use super::{at_work, atomics, hook};
use crate::drive::control;
use crate::drive::once::{DONE, GUARD};
use crate::platform::global::active;
use crate::platform::real::real;
use fencepost_trace::op::Sync;
use fencepost_trace::{Location, Op, Size, Value};
use libc::c_int;

/// If the initialisation throws, the next thread tries again.
struct Abandon(u64);

impl Drop for Abandon {
    fn drop(&mut self) {
        at_work(|| control::perform(Op::Sync(Sync::OnceAbandon { once: self.0 })));
    }
}

hook! { fn pthread_once(once: *mut u32, act: extern "C-unwind" fn()) -> c_int {
    if !active() {
        return real!(pthread_once(once, act): fn(*mut u32, extern "C-unwind" fn()) -> c_int);
    }
    self::once(once, act);
    0
} }

/// Does it, if nobody has done it.
pub fn once(once: *mut u32, act: extern "C-unwind" fn()) {
    let key = once as u64;
    if at_work(|| control::perform(Op::Sync(Sync::OnceBegin { once: key }))).success {
        let abandon = Abandon(key);
        act();
        std::mem::forget(abandon);
        // SAFETY: the program's variable.
        unsafe { *once = DONE };
        at_work(|| control::perform(Op::Sync(Sync::OnceEnd { once: key })));
    }
}

hook! { fn __cxa_guard_acquire(guard: *mut u8) -> c_int {
    if !active() {
        return real!(__cxa_guard_acquire(guard): fn(*mut u8) -> c_int);
    }
    at_work(|| control::perform(Op::Sync(Sync::OnceBegin { once: guard as u64 | GUARD }))).success.into()
} }

hook! { fn __cxa_guard_release(guard: *mut u8) {
    if !active() {
        return real!(__cxa_guard_release(guard): fn(*mut u8));
    }
    // The compiler reads this byte itself, with an acquiring load.
    atomics::store_release(Location::new(guard as u64, Size::B1), Value(1));
    at_work(|| control::perform(Op::Sync(Sync::OnceEnd { once: guard as u64 | GUARD })));
} }

hook! { fn __cxa_guard_abort(guard: *mut u8) {
    if !active() {
        return real!(__cxa_guard_abort(guard): fn(*mut u8));
    }
    at_work(|| control::perform(Op::Sync(Sync::OnceAbandon { once: guard as u64 | GUARD })));
} }
