//! Signals that one thread sends to another, and waits for signals.
//!
//! All threads share one kernel thread. What is sent to a thread waits in [`Fiber::signals`], until that thread runs
//! and does not block it; what is sent to the process, and is blocked, waits in the kernel. Who waits for a signal
//! gives way to the others until one is there, as who waits for a file does. What its sender has done before comes
//! before what follows: the kernel sees to that.
//!
//! [`Fiber::signals`]: crate::threads::fibers::Fiber

use super::io::{chances, keeping_error};
use super::{at_work, cancel, descriptors, hook, kernel, text, waits};
use crate::drive::explored;
use crate::hooks::process;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::platform::sys;
use crate::threads::fibers;
use fencepost_trace::{Location, ThreadId};
use libc::{EAGAIN, EINTR, EINVAL, ESRCH, c_int, c_void, pid_t, pthread_t, siginfo_t, timespec};

/// Signals as the kernel's masks have them, as those of a fiber: the first one is number 1.
fn of_mask(mask: u64) -> u64 {
    mask << 1
}

/// The mask that the program has given.
fn mask_at(set: *const c_void) -> u64 {
    text::read(set as usize, size_of::<u64>());
    // SAFETY: the program's set, of which the kernel looks at the first word.
    unsafe { set.cast::<u64>().read_unaligned() }
}

fn fail(error: c_int) -> c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Delivers what others have sent to the running thread, and it does not block.
pub fn take_signals() {
    if fibers::me().signals & cancel::NOW != 0 {
        fibers::me().signals &= !cancel::NOW;
        cancel::end_if_cancelled();
    }
    let blocked = of_mask(sys::blocked_signals());
    let mut me = fibers::me();
    let now = me.signals & !blocked;
    me.signals &= blocked;
    drop(me);
    (1..64).filter(|signal| now >> signal & 1 != 0).for_each(sys::raise);
}

hook! { fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    if !active() {
        return real!(pthread_kill(thread, signal): fn(pthread_t, c_int) -> c_int);
    }
    if !(0..64).contains(&signal) {
        return EINVAL;
    }
    let target = fibers::all().find(thread);
    match target {
        None => ESRCH,
        Some(target) if fibers::get(target).ended => ESRCH,
        Some(_) if signal == 0 => 0,
        Some(target) if target == fibers::current() => process::raise_here(signal),
        Some(target) => {
            // It is handled when that thread goes on; a wait is not interrupted.
            at_work(|| {
                descriptors::sends(Location::SIGNALS);
                fibers::get(target).signals |= 1 << signal;
                descriptors::has_sent();
                explored::unsupported_here("pthread_kill() to another thread: when the signal comes is not explored");
            });
            0
        }
    }
} }

/// A thread that waits for any signal like this one.
fn suspended(signal: c_int) -> Option<ThreadId> {
    let all = fibers::all();
    all.live().iter().copied().find(|thread| all.list()[thread.index()].suspended >> signal & 1 != 0)
}

hook! { fn kill(target: pid_t, signal: c_int) -> c_int {
    if !active() || !(1..64).contains(&signal) || target != sys::process() {
        return real!(kill(target, signal): fn(pid_t, c_int) -> c_int);
    }
    at_work(|| descriptors::sends(Location::SIGNALS));
    let result = match suspended(signal) {
        // The kernel knows of one thread only, which does not wait.
        Some(thread) => {
            fibers::get(thread).signals |= 1 << signal;
            0
        }
        None => real!(kill(target, signal): fn(pid_t, c_int) -> c_int),
    };
    keeping_error(|| at_work(descriptors::has_sent));
    result
} }

/// Takes one of these signals that is there.
fn take(mask: u64) -> Option<c_int> {
    let mut me = fibers::me();
    let sent = me.signals & of_mask(mask);
    if sent == 0 {
        drop(me);
        return sys::take_signal(mask);
    }
    let signal = sent.trailing_zeros();
    me.signals &= !(1 << signal);
    Some(signal as c_int)
}

/// Waits until `what` is there, or for so many chances of the others.
fn wait<T>(times: Option<u64>, what: impl Fn() -> Option<T>) -> Option<T> {
    at_work(|| {
        cancel::point();
        waits::until(times, Location::SIGNALS, what)
    })
}

hook! { fn sigwait(set: *const c_void, signal: *mut c_int) -> c_int {
    if active() {
        let mask = mask_at(set);
        if let Some(taken) = wait(None, || take(mask)) {
            text::write(signal as usize, size_of::<c_int>());
            // SAFETY: the program's variable for the result.
            unsafe { *signal = taken };
            return 0;
        }
    }
    real!(sigwait(set, signal): fn(*const c_void, *mut c_int) -> c_int)
} }

/// What is known of a signal that another thread has sent.
fn inform(info: *mut siginfo_t, signal: c_int) {
    if info.is_null() {
        return;
    }
    text::write(info as usize, size_of::<siginfo_t>());
    // To fill memory is a call of a hook of libc's: the runtime is at work.
    at_work(|| {
        // SAFETY: the program's variable for the result; zeroes are one.
        unsafe {
            *info = std::mem::zeroed();
            (*info).si_signo = signal;
            (*info).si_code = libc::SI_TKILL;
        }
    });
}

hook! { fn sigwaitinfo(set: *const c_void, info: *mut siginfo_t) -> c_int {
    if active() {
        let mask = mask_at(set);
        if let Some(taken) = wait(None, || take(mask)) {
            inform(info, taken);
            return taken;
        }
    }
    real!(sigwaitinfo(set, info): fn(*const c_void, *mut siginfo_t) -> c_int)
} }

hook! { fn sigtimedwait(set: *const c_void, info: *mut siginfo_t, time: *const timespec) -> c_int {
    if !active() {
        return real!(sigtimedwait(set, info, time): fn(*const c_void, *mut siginfo_t, *const timespec) -> c_int);
    }
    let mask = mask_at(set);
    // SAFETY: null, or the program's time.
    let times = unsafe { time.as_ref() }.map(|t| chances(t.tv_sec, t.tv_nsec / 1_000_000));
    match wait(times, || take(mask)) {
        Some(taken) => {
            inform(info, taken);
            taken
        }
        None => fail(EAGAIN),
    }
} }

/// Waits for a signal that this mask does not block, until its handler has run. False if that is up to the kernel:
/// nobody else is there, or a timer runs.
fn suspend(mask: u64) -> bool {
    let wanted = !of_mask(mask) & !cancel::NOW;
    let pending = || {
        let is_there = fibers::me().signals & wanted != 0 || sys::pending_signals() & !mask != 0;
        is_there.then_some(())
    };
    fibers::me().suspended = wanted;
    let is_there = !kernel::has_timers() && wait(None, pending).is_some();
    fibers::me().suspended = 0;
    if is_there {
        let before = sys::signal_mask(mask);
        take_signals();
        sys::signal_mask(before);
    }
    is_there
}

hook! { fn sigsuspend(set: *const c_void) -> c_int {
    if active() && suspend(mask_at(set)) {
        return fail(EINTR);
    }
    real!(sigsuspend(set): fn(*const c_void) -> c_int)
} }

hook! { fn pause() -> c_int {
    if active() && suspend(sys::blocked_signals()) {
        return fail(EINTR);
    }
    real!(pause(): fn() -> c_int)
} }
