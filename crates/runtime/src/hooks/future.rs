//! Promises of C++ that are kept when their thread ends (`set_value_at_thread_exit`).
//!
//! The library keeps them in code without instrumentation: it exchanges the word that the other side waits for, and
//! wakes it, when the thread's destructors run. Nobody would hear of that exchange. So it is made here, as the
//! program's own code makes it for other promises, and the library's comes to nothing behind it.

use super::{at_work, atomics, futex, hook};
use crate::platform::global::active;
use crate::platform::real::real;
use fencepost_trace::{Location, Size, Update, Value};
use std::sync::atomic::{AtomicUsize, Ordering};

/// libstdc++'s `_Make_ready`: an entry of the list of what is done when a thread ends.
#[repr(C)]
struct MakeReady {
    next: usize,
    run: extern "C-unwind" fn(*mut MakeReady),
    state: *const State,
    count: *const Count,
}

/// Its `_State_baseV2`, as far as is needed.
#[repr(C)]
struct State {
    functions: usize,
    result: usize,
    status: u32,
}

/// What counts the references to a state.
#[repr(C)]
struct Count {
    functions: usize,
    users: i32,
}

const READY: u128 = 1;
const SOMEBODY_WAITS: u128 = 1 << 31;
/// ThreadSanitizer's number for it.
const RELEASE: i32 = 3;

/// The library's way to keep a promise: the same for all of them.
static RUN: AtomicUsize = AtomicUsize::new(0);

hook! { fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(entry: *mut MakeReady) {
    real!(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(entry): fn(*mut MakeReady));
    if active() {
        // SAFETY: the library's own object, which it has just put into its list, of this thread.
        let run = unsafe { std::mem::replace(&mut (*entry).run, keep) };
        RUN.store(run as usize, Ordering::Relaxed);
    }
} }

extern "C-unwind" fn keep(entry: *mut MakeReady) {
    // SAFETY: the library's own object, which nobody else has; the counter lives as long as somebody refers to it.
    let (state, is_used) = unsafe { ((*entry).state, (*(*entry).count).users > 0) };
    if active() && is_used {
        // SAFETY: somebody uses it.
        let status = unsafe { &raw const (*state).status };
        let at = Location::new(status as u64, Size::B4);
        let old = atomics::update(at, Update::Exchange(Value(READY)), RELEASE);
        if old.0 & SOMEBODY_WAITS != 0 {
            at_work(|| futex::wake(status as usize, futex::ALL));
        }
    }
    // SAFETY: what stood in the entry, of this type.
    let run: extern "C-unwind" fn(*mut MakeReady) = unsafe { std::mem::transmute(RUN.load(Ordering::Relaxed)) };
    run(entry);
}
