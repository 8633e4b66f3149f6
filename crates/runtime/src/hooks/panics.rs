//! Panics of Rust programs.
//!
//! The standard library raises them as exceptions. One that goes all the way up makes the function around `main`
//! return a status of its own: such an end is a panic, and it happened where it was raised. Panics that somebody
//! catches, as a test harness does, and those of other threads, which whoever joins them is told of, are the
//! program's business.

use super::{at_work, hook};
use crate::platform::global::{Global, active};
use crate::platform::real::real;
use crate::threads::fibers;
use fencepost_trace::ThreadId;
use libc::{c_int, c_void};

/// The marks of Rust's exceptions, as older and newer compilers write them.
const RUST: [u64; 2] = [u64::from_be_bytes(*b"MOZ\0RUST"), u64::from_ne_bytes(*b"MOZ\0RUST")];
/// What the function around `main` returns after a panic.
const STATUS: c_int = 101;
/// Further out nobody looks.
const MOST_FRAMES: usize = 128;

/// Where the main thread panicked last, the innermost call first.
static RAISED: Global<Vec<usize>> = Global::new(Vec::new());

/// A new execution.
pub fn reset() {
    RAISED.enter().clear();
}

/// Did the main thread, whose first function has returned this, panic? Then where.
pub fn ended_main(status: c_int) -> Option<Vec<usize>> {
    (status == STATUS && !RAISED.enter().is_empty()).then(|| RAISED.enter().clone())
}

hook! { fn _Unwind_RaiseException(exception: *mut c_void) -> c_int {
    // SAFETY: the exception begins with its mark.
    if active() && fibers::current() == ThreadId(0) && RUST.contains(unsafe { &*exception.cast::<u64>() }) {
        at_work(|| {
            reset();
            // SAFETY: the frames below this one are the program's, and whoever raises exceptions can be unwound.
            unsafe { _Unwind_Backtrace(note, std::ptr::null_mut()) };
        });
    }
    real!(_Unwind_RaiseException(exception): fn(*mut c_void) -> c_int)
} }

extern "C-unwind" fn note(context: *mut c_void, _: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const ENOUGH: c_int = 5;
    if RAISED.enter().len() == MOST_FRAMES {
        return ENOUGH;
    }
    // SAFETY: the unwinder's own.
    RAISED.enter().push(unsafe { _Unwind_GetIP(context) });
    GO_ON
}

/// Once, before the program's memory is copied: the unwinder initialises itself when it is first used, and which
/// thread of the program that would be is nobody's business.
pub fn prepare() {
    // SAFETY: this is called from `main`'s start, whose frames can be unwound.
    unsafe { _Unwind_Backtrace(pass_by, std::ptr::null_mut()) };
}

extern "C-unwind" fn pass_by(_: *mut c_void, _: *mut c_void) -> c_int {
    0
}

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(see: extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}
