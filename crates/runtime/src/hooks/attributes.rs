//! What libc does to a kernel thread of its own number: names, processors, priorities, signals.
//!
//! The kernel threads that it would reach only donate their storage, and in a child process they are not there at all.
//! So names are kept here, processors and priorities are accepted and mean nothing, and a signal waits until the
//! thread runs.

use super::{at_work, cancel, hook, kernel, text};
use crate::drive::explored;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::platform::sys;
use crate::threads::fibers;
use libc::{EINVAL, ERANGE, ESRCH, c_char, c_int, c_void, pid_t, pthread_t, size_t};

hook! { fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    if !active() {
        return real!(pthread_setname_np(thread, name): fn(pthread_t, *const c_char) -> c_int);
    }
    // SAFETY: a string that ends, by the contract of the function.
    let given = unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes();
    // The copy is a call of `memcpy`, which is a hook as well: the runtime has to be at work here.
    at_work(|| {
        let mut all = fibers::all();
        match all.find(thread) {
            None => ESRCH,
            Some(_) if given.len() > 15 => ERANGE,
            Some(target) => {
                let mut name = [0; 16];
                name[..given.len()].copy_from_slice(given);
                all.get(target).name = Some(name);
                0
            }
        }
    })
} }

hook! { fn pthread_getname_np(thread: pthread_t, buffer: *mut c_char, size: size_t) -> c_int {
    if !active() {
        return real!(pthread_getname_np(thread, buffer, size): fn(pthread_t, *mut c_char, size_t) -> c_int);
    }
    let target = fibers::all().find(thread);
    let Some(target) = target else { return ESRCH };
    let name = fibers::get(target).name.unwrap_or_else(kernel::name);
    let length = name.iter().position(|b| *b == 0).unwrap_or(15) + 1;
    if length > size {
        return ERANGE;
    }
    text::write(buffer as usize, length);
    // SAFETY: the program's buffer, of this size.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), buffer.cast(), length) };
    0
} }

macro_rules! accepted {
    ($($name:ident)*) => { $(hook! { fn $name(a: usize, b: usize, c: usize) -> c_int {
        if !active() {
            return real!($name(a, b, c): fn(usize, usize, usize) -> c_int);
        }
        0
    } })* };
}

accepted! { pthread_setaffinity_np sched_setaffinity pthread_setschedparam pthread_setschedprio sched_setscheduler
sched_setparam }

hook! { fn pthread_getaffinity_np(thread: pthread_t, size: size_t, set: *mut c_void) -> c_int {
    if !active() {
        return real!(pthread_getaffinity_np(thread, size, set): fn(pthread_t, size_t, *mut c_void) -> c_int);
    }
    text::write(set as usize, size);
    match real!(sched_getaffinity(0, size, set): fn(pid_t, size_t, *mut c_void) -> c_int) {
        0 => 0,
        _ => EINVAL,
    }
} }

/// Delivers what others have sent to the running thread.
pub fn take_signals() {
    let signals = std::mem::take(&mut fibers::me().signals);
    if signals & cancel::NOW != 0 {
        cancel::end_if_cancelled();
    }
    (1..64).filter(|signal| signals >> signal & 1 != 0).for_each(sys::raise);
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
        Some(target) if target == fibers::current() => crate::hooks::process::raise_here(signal),
        Some(target) => {
            // It is handled when that thread goes on; a wait is not interrupted.
            at_work(|| {
                fibers::get(target).signals |= 1 << signal;
                explored::unsupported_here("pthread_kill() to another thread: when the signal comes is not explored");
            });
            0
        }
    }
} }
