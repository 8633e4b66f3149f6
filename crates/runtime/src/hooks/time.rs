//! Sleeping, giving way, and the clock.

use super::threads::take_timeout;
use super::{at_work, early, hook, text};
use crate::drive::control;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::clock::{self, SECOND};
use crate::threads::fibers;
use fencepost_trace::Op;
use fencepost_trace::op::Sync;
use libc::{c_int, c_uint, time_t, timespec, timeval};

/// The reading of a clock of this name, in nanoseconds.
pub fn read(name: c_int) -> u64 {
    if let Some(deadline) = clock::look() {
        at_work(|| control::await_time(deadline));
    }
    clock::shows(name)
}

/// The running thread sleeps until that time.
pub fn sleep_until(deadline: u64) {
    // To an exploration sleeping is giving way: any order is one that sleeping may lead to.
    if deadline <= clock::now() || crate::drive::explored::is_on() {
        super::cancel::point();
        clock::put_forward(deadline);
        control::perform(Op::Yield);
        return super::cancel::point();
    }
    super::cancel::waiting(|| {
        fibers::me().deadline = Some(deadline);
        // Nobody gives this token: the wait ends when its time has come.
        control::perform(Op::Sync(Sync::Park));
        take_timeout()
    });
}

/// How long that is.
pub fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64)
}

/// A time in nanoseconds as libc says it.
pub fn as_timespec(time: u64) -> timespec {
    timespec { tv_sec: (time / SECOND) as time_t, tv_nsec: (time % SECOND) as i64 }
}

hook! { fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    if !active() {
        early::release();
        return real!(nanosleep(time, left): fn(*const timespec, *mut timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let time = nanoseconds(unsafe { &*time });
    at_work(|| sleep_until(clock::now().saturating_add(time)));
    0
} }

hook! { fn clock_nanosleep(name: c_int, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int {
    if !active() {
        early::release();
        return real!(clock_nanosleep(name, flags, time, left):
            fn(c_int, c_int, *const timespec, *mut timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let time = unsafe { &*time };
    let absolute = flags & libc::TIMER_ABSTIME != 0;
    let from_now = || clock::now().saturating_add(nanoseconds(time));
    let deadline = if absolute { clock::since_start(name, time) } else { from_now() };
    at_work(|| sleep_until(deadline));
    0
} }

hook! { fn usleep(microseconds: c_uint) -> c_int {
    if !active() {
        early::release();
        return real!(usleep(microseconds): fn(c_uint) -> c_int);
    }
    at_work(|| sleep_until(clock::now().saturating_add(u64::from(microseconds) * 1000)));
    0
} }

hook! { fn sleep(seconds: c_uint) -> c_uint {
    if !active() {
        early::release();
        return real!(sleep(seconds): fn(c_uint) -> c_uint);
    }
    at_work(|| sleep_until(clock::now().saturating_add(u64::from(seconds) * SECOND)));
    0
} }

hook! { fn sched_yield() -> c_int {
    if !active() {
        early::release();
        return real!(sched_yield(): fn() -> c_int);
    }
    at_work(|| control::perform(Op::Yield));
    0
} }

hook! { fn pthread_yield() -> c_int {
    if !active() {
        return real!(sched_yield(): fn() -> c_int);
    }
    at_work(|| control::perform(Op::Yield));
    0
} }

hook! { fn clock_gettime(name: c_int, time: *mut timespec) -> c_int {
    if !active() {
        return real!(clock_gettime(name, time): fn(c_int, *mut timespec) -> c_int);
    }
    text::write(time as usize, size_of::<timespec>());
    // SAFETY: the program's variable for the result.
    unsafe { *time = as_timespec(read(name)) };
    0
} }

hook! { fn gettimeofday(time: *mut timeval, zone: usize) -> c_int {
    if !active() {
        return real!(gettimeofday(time, zone): fn(*mut timeval, usize) -> c_int);
    }
    let now = read(libc::CLOCK_REALTIME);
    if !time.is_null() {
        text::write(time as usize, size_of::<timeval>());
        // SAFETY: the program's variable for the result.
        unsafe { *time = timeval { tv_sec: (now / SECOND) as time_t, tv_usec: (now % SECOND / 1000) as i64 } };
    }
    0
} }

hook! { fn time(result: *mut time_t) -> time_t {
    if !active() {
        return real!(time(result): fn(*mut time_t) -> time_t);
    }
    let now = (read(libc::CLOCK_REALTIME) / SECOND) as time_t;
    if !result.is_null() {
        text::write(result as usize, size_of::<time_t>());
        // SAFETY: the program's variable for the result.
        unsafe { *result = now };
    }
    now
} }
