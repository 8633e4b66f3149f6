//! How a thread ends before its first function returns: `pthread_exit`, and cancellation.
//!
//! libc would unwind the stack and then end the kernel thread, which is not the thread's own here. So the unwinding
//! is done here: handlers that C code has pushed are jumped to one after the other, as the compiler laid them out;
//! then the frames of C++ and Rust are unwound; then the thread ends as any other.
//!
//! Cancellation comes where the thread waits or asks; if it may come at any time, it comes at the thread's next
//! operation.

use super::{at_work, hook, text, threads};
use crate::drive::ending::{self, Verdict};
use crate::drive::explored::shared::{self, Habit};
use crate::drive::{control, explored};
use crate::platform::global::{self, active};
use crate::platform::imports;
use crate::platform::real::real;
use crate::threads::fibers::{self, Unwinding};
use fencepost_trace::{
    Access, Guard, Hidden, LoadOrder, Location, Op, Reply, RmwOrder, StoreOrder, ThreadId, Update, Value,
};
use libc::{EINVAL, ESRCH, c_int, c_void, pthread_t};

/// In [`Fiber::signals`](crate::threads::fibers::Fiber), where no signal has the number 0: cancelled, wherever it may
/// be.
pub const NOW: u64 = 1;

const CANCELED: usize = usize::MAX;
const DISABLED: c_int = 1;
const ASYNCHRONOUS: c_int = 1;

/// The running thread may be cancelled here: by now, or by what others do before it goes on.
pub fn point() {
    // An exploration reads the request, which is a step.
    if !explored::is_on() && imports::cancels() {
        inside(Op::Yield);
    }
    end_if_cancelled();
}

/// The running thread ends if it was cancelled.
pub fn end_if_cancelled() {
    if may_be_cancelled() && is_cancelled() {
        leave(CANCELED);
    }
}

fn may_be_cancelled() -> bool {
    let me = fibers::me();
    !me.uncancellable && me.leaving.is_none()
}

/// Does the running thread know that it was cancelled? Under exploration that is what it reads; otherwise it has been
/// told, and knows what the other knew.
fn is_cancelled() -> bool {
    let at = request_to(fibers::current());
    if explored::is_on() {
        let load = Access::Load { at, order: LoadOrder::Acquire, guard: Guard::Any };
        return shared::has(Habit::Cancels) && inside(Op::Access(load)).value != Value::ZERO;
    }
    if fibers::me().cancelled {
        let (order, update) = (RmwOrder::Acquire, Update::Add(Value::ZERO));
        inside(Op::Access(Access::Rmw { at, order, update, guard: Guard::Any }));
    }
    fibers::me().cancelled
}

/// Where a thread is asked to end.
fn request_to(thread: ThreadId) -> Location {
    Location::hidden(Hidden::Cancellation, thread.0.into())
}

/// An operation of the runtime's own, from wherever it may be.
fn inside(op: Op) -> Reply {
    let before = global::inside();
    global::set_inside(true);
    let reply = control::perform(op);
    global::set_inside(before);
    reply
}

/// Waits, unless and until the running thread is cancelled.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    end_if_cancelled();
    let mut me = fibers::me();
    me.interruptible = true;
    let waits = explored::is_on() && !me.uncancellable;
    me.waited |= waits;
    let cancelled = me.cancelled;
    drop(me);
    not_explored(waits && cancelled);
    let result = wait();
    fibers::me().interruptible = false;
    end_after_wait();
    result
}

/// Makes an attempt in place of a wait: the running thread may be cancelled before it, and after one that was in vain.
pub fn attempting<T>(attempt: impl FnOnce() -> T, success: impl FnOnce(&T) -> bool) -> T {
    end_if_cancelled();
    let result = attempt();
    if success(&result) {
        end_after_wait();
    } else {
        end_if_cancelled();
    }
    result
}

/// The running thread has got what it was waiting for. If it was cancelled before it got it, its wait was over then,
/// and it got nothing. An exploration does not know before from after here: if the thread reads that it was cancelled,
/// the execution is none. If it was cancelled after its wait, it need not know: that it does not read it stands for
/// that.
fn end_after_wait() {
    if !explored::is_on() {
        return end_if_cancelled();
    }
    if may_be_cancelled() && is_cancelled() {
        fibers::me().cancelled_too_late = true;
        leave(CANCELED);
    }
}

/// Was a thread cancelled although it had got what it was waiting for? There is no such execution.
pub fn is_impossible() -> bool {
    shared::has(Habit::Cancels) && fibers::all().list().iter().any(|fiber| fiber.cancelled_too_late)
}

/// A thread is cancelled, and waits, now or before, or may be cancelled anywhere.
fn not_explored(so: bool) {
    if so {
        explored::unsupported_here(
            "a thread that waits, or that may be cancelled anywhere, is cancelled: not all of it is explored",
        );
    }
}

/// Ends the running thread: first what it has put on its stack.
pub fn leave(result: usize) -> ! {
    let mut me = fibers::me();
    me.leaving = Some(result);
    let handler = me.cleanups.pop();
    drop(me);
    if let Some(handler) = handler {
        global::set_inside(false);
        real!(_longjmp(handler as *mut c_void, 1): fn(*mut c_void, c_int));
        ending::internal("a jump that returns")
    }
    global::set_inside(true);
    let exception = {
        let mut me = fibers::me();
        *me.unwinding =
            Unwinding { class: u64::from_ne_bytes(*b"FNCPEXIT"), cleanup: Some(swallowed), private: [0; 2] };
        &raw mut *me.unwinding
    };
    global::set_inside(false);
    // SAFETY: the exception lives as long as the thread does; `stop` does not return at the end of the stack.
    unsafe { _Unwind_ForcedUnwind(exception, stop, std::ptr::null_mut()) };
    // No way up: code without unwind information.
    finish()
}

fn finish() -> ! {
    let result = fibers::me().leaving.unwrap_or(0);
    threads::end(result)
}

type Stop = extern "C-unwind" fn(c_int, c_int, u64, *mut Unwinding, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Unwinding, stop: Stop, argument: *mut c_void) -> c_int;
}

extern "C-unwind" fn stop(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut Unwinding,
    _: *mut c_void,
    _: *mut c_void,
) -> c_int {
    const END_OF_STACK: c_int = 16;
    if actions & END_OF_STACK != 0 {
        finish()
    }
    0
}

/// The program has caught what is not an exception and goes on.
extern "C-unwind" fn swallowed() {
    global::set_inside(true);
    ending::finish(Verdict::Abort("the end of a thread was caught as an exception and not thrown again".to_owned()))
}

hook! { fn pthread_exit(result: *mut c_void) {
    if !active() {
        return real!(pthread_exit(result): fn(*mut c_void));
    }
    leave(result as usize)
} }

hook! { fn pthread_cancel(thread: pthread_t) -> c_int {
    if !active() {
        return real!(pthread_cancel(thread): fn(pthread_t) -> c_int);
    }
    let target = fibers::all().find(thread);
    let Some(target) = target else { return ESRCH };
    at_work(|| cancel(target));
    0
} }

/// Asks a thread to end. It may have ended before, so that this is a step of its own.
fn cancel(target: ThreadId) {
    if explored::is_on() {
        shared::learn(Habit::Cancels);
    }
    let (order, value) = (StoreOrder::Release, Value(1));
    control::perform(Op::Access(Access::Store { at: request_to(target), order, value }));
    let mut fiber = fibers::get(target);
    fiber.cancelled = true;
    let may_be = !fiber.uncancellable;
    if explored::is_on() {
        let anywhere = fiber.waited || fiber.asynchronous;
        drop(fiber);
        return not_explored(may_be && anywhere);
    }
    if fiber.asynchronous && may_be {
        fiber.signals |= NOW;
    }
    let waits = fiber.interruptible;
    drop(fiber);
    if target != fibers::current() && waits && may_be {
        // Its wait is over.
        control::interrupt(target);
    }
}

hook! { fn pthread_testcancel() {
    if !active() {
        return real!(pthread_testcancel(): fn());
    }
    // A loop that does nothing else lets others run.
    at_work(|| control::perform(Op::Yield));
    end_if_cancelled()
} }

hook! { fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    if !active() {
        return real!(pthread_setcancelstate(state, old): fn(c_int, *mut c_int) -> c_int);
    }
    if !(0..=1).contains(&state) {
        return EINVAL;
    }
    let mut me = fibers::me();
    let before = std::mem::replace(&mut me.uncancellable, state == DISABLED);
    let now = me.asynchronous && !me.uncancellable;
    drop(me);
    if !old.is_null() {
        text::write(old as usize, size_of::<c_int>());
        // SAFETY: the program's variable for the result.
        unsafe { *old = before.into() };
    }
    if now {
        point();
    }
    0
} }

hook! { fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if !active() {
        return real!(pthread_setcanceltype(kind, old): fn(c_int, *mut c_int) -> c_int);
    }
    if !(0..=1).contains(&kind) {
        return EINVAL;
    }
    let mut me = fibers::me();
    let before = std::mem::replace(&mut me.asynchronous, kind == ASYNCHRONOUS);
    let (asynchronous, cancelled) = (me.asynchronous, me.cancelled);
    drop(me);
    if !old.is_null() {
        text::write(old as usize, size_of::<c_int>());
        // SAFETY: the program's variable for the result.
        unsafe { *old = before.into() };
    }
    if asynchronous {
        not_explored(explored::is_on() && cancelled);
        point();
    }
    0
} }

// What `pthread_cleanup_push` and `pthread_cleanup_pop` are made of, in C.

hook! { fn __pthread_register_cancel(handler: usize) {
    if !active() {
        return real!(__pthread_register_cancel(handler): fn(usize));
    }
    at_work(|| fibers::me().cleanups.push(handler));
} }

hook! { fn __pthread_unregister_cancel(handler: usize) {
    if !active() {
        return real!(__pthread_unregister_cancel(handler): fn(usize));
    }
    fibers::me().cleanups.retain(|known| *known != handler);
} }

hook! { fn __pthread_unwind_next(handler: usize) {
    let leaving = fibers::me().leaving;
    match leaving {
        Some(result) if active() => leave(result),
        _ => real!(__pthread_unwind_next(handler): fn(usize)),
    }
} }
