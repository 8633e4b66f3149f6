//! The threads of C11, `<threads.h>`.
//!
//! glibc makes them of its POSIX threads, with the same objects in memory, but calls those inside of libc, where no
//! hook sees it. So each function is a hook of its own, which does what the one of POSIX does and returns what C
//! says.

use super::mutex::{self, Mutex};
use super::{at_work, cancel, cond, hook, objects, once, text, threads, time};
use crate::detect::shadow::Object;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::clock;
use crate::threads::fibers::Start;
use fencepost_trace::Op;
use fencepost_trace::op::Sync;
use libc::{EBUSY, ENOMEM, ETIMEDOUT, c_int, c_void, pthread_key_t, pthread_t, timespec};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// An error of POSIX as C says it.
fn outcome(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NO_MEMORY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// A point of time as the program gives it: C knows only the clock of the day.
fn point(time: *const timespec) -> u64 {
    // SAFETY: the program's time.
    clock::since_start(libc::CLOCK_REALTIME, unsafe { &*time })
}

hook! { fn thrd_create(thread: *mut pthread_t, start: Start, argument: *mut c_void) -> c_int {
    if !active() {
        return real!(thrd_create(thread, start, argument): fn(*mut pthread_t, Start, *mut c_void) -> c_int);
    }
    // The function returns an int, the lower half of the register that holds a pointer.
    threads::create(thread, std::ptr::null(), start, argument);
    SUCCESS
} }

hook! { fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
    if !active() {
        return real!(thrd_join(thread, result): fn(pthread_t, *mut c_int) -> c_int);
    }
    let mut whole = 0;
    let error = at_work(|| threads::join(thread, &mut whole, None));
    if error == 0 && !result.is_null() {
        text::write(result as usize, size_of::<c_int>());
        // SAFETY: the program's variable for the result.
        unsafe { *result = whole as c_int };
    }
    outcome(error)
} }

hook! { fn thrd_detach(thread: pthread_t) -> c_int {
    if !active() {
        return real!(thrd_detach(thread): fn(pthread_t) -> c_int);
    }
    outcome(threads::detach(thread))
} }

hook! { fn thrd_exit(result: c_int) {
    if !active() {
        return real!(thrd_exit(result): fn(c_int));
    }
    cancel::leave(result as usize)
} }

hook! { fn thrd_yield() {
    if !active() {
        return real!(thrd_yield(): fn());
    }
    at_work(|| crate::drive::control::perform(Op::Yield));
} }

hook! { fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int {
    if !active() {
        return real!(thrd_sleep(time, left): fn(*const timespec, *mut timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let time = time::nanoseconds(unsafe { &*time });
    at_work(|| time::sleep_until(clock::now().saturating_add(time)));
    0
} }

hook! { fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    const UTC: c_int = 1;
    if !active() || base != UTC {
        return real!(timespec_get(time, base): fn(*mut timespec, c_int) -> c_int);
    }
    text::write(time as usize, size_of::<timespec>());
    // SAFETY: the program's variable for the result.
    unsafe { *time = time::as_timespec(time::read(libc::CLOCK_REALTIME)) };
    base
} }

hook! { fn mtx_init(mutex: *mut Mutex, kind: c_int) -> c_int {
    mutex::initialise(mutex);
    real!(mtx_init(mutex, kind): fn(*mut Mutex, c_int) -> c_int)
} }

hook! { fn mtx_destroy(mutex: *mut Mutex) {
    if !active() {
        return real!(mtx_destroy(mutex): fn(*mut Mutex));
    }
    at_work(|| mutex::destroy(mutex));
} }

hook! { fn cnd_init(condition: usize) -> c_int {
    if active() {
        at_work(|| objects::initialised(Object::ConditionVariable, condition));
    }
    real!(cnd_init(condition): fn(usize) -> c_int)
} }

hook! { fn cnd_destroy(condition: usize) {
    if !active() {
        return real!(cnd_destroy(condition): fn(usize));
    }
    at_work(|| cond::destroy(condition))
} }

hook! { fn mtx_lock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(mtx_lock(mutex): fn(*mut Mutex) -> c_int);
    }
    outcome(at_work(|| mutex::lock(mutex, None)))
} }

hook! { fn mtx_timedlock(mutex: *mut Mutex, time: *const timespec) -> c_int {
    if !active() {
        return real!(mtx_timedlock(mutex, time): fn(*mut Mutex, *const timespec) -> c_int);
    }
    outcome(at_work(|| mutex::lock(mutex, Some(point(time)))))
} }

hook! { fn mtx_trylock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(mtx_trylock(mutex): fn(*mut Mutex) -> c_int);
    }
    outcome(at_work(|| mutex::try_lock(mutex)))
} }

hook! { fn mtx_unlock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(mtx_unlock(mutex): fn(*mut Mutex) -> c_int);
    }
    outcome(at_work(|| mutex::unlock(mutex)))
} }

hook! { fn cnd_wait(condition: usize, mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(cnd_wait(condition, mutex): fn(usize, *mut Mutex) -> c_int);
    }
    outcome(at_work(|| cancel::waiting(|| cond::wait(condition, mutex, None))))
} }

hook! { fn cnd_timedwait(condition: usize, mutex: *mut Mutex, time: *const timespec) -> c_int {
    if !active() {
        return real!(cnd_timedwait(condition, mutex, time): fn(usize, *mut Mutex, *const timespec) -> c_int);
    }
    outcome(at_work(|| cancel::waiting(|| cond::wait(condition, mutex, Some(point(time))))))
} }

hook! { fn cnd_signal(condition: usize) -> c_int {
    if !active() {
        return real!(cnd_signal(condition): fn(usize) -> c_int);
    }
    at_work(|| cond::notify(condition, Sync::NotifyOne { condvar: condition as u64 }));
    SUCCESS
} }

hook! { fn cnd_broadcast(condition: usize) -> c_int {
    if !active() {
        return real!(cnd_broadcast(condition): fn(usize) -> c_int);
    }
    at_work(|| cond::notify(condition, Sync::NotifyAll { condvar: condition as u64 }));
    SUCCESS
} }

hook! { fn call_once(flag: *mut u32, act: extern "C-unwind" fn()) {
    if !active() {
        return real!(call_once(flag, act): fn(*mut u32, extern "C-unwind" fn()));
    }
    once::once(flag, act)
} }

// Values of each thread's own are kept by libc; what becomes of them at the end of a thread is for the runtime to know.

hook! { fn tss_create(key: *mut pthread_key_t, destructor: Option<threads::KeyDestructor>) -> c_int {
    outcome(threads::create_key(key, destructor))
} }

hook! { fn tss_delete(key: pthread_key_t) {
    threads::delete_key(key);
} }
