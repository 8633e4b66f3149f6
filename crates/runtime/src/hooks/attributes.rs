//! What libc does to a kernel thread of its own number: names, processors, priorities.
//!
//! The kernel threads that it would reach only donate their storage, and in a child process they are not there at all.
//! So names are kept here, and processors and priorities are accepted and mean nothing.

use super::{at_work, hook, kernel, text};
use crate::platform::global::active;
use crate::platform::real::real;
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
