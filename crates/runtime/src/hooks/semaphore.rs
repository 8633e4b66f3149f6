//! Semaphores. Their count before the engine knows of them is where libc keeps it, in the first word.

use super::threads::{attempt, take_timeout};
use super::{at_work, cancel, early, hook, objects, text};
use crate::detect::shadow::Object;
use crate::drive::control;
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::{clock, fibers};
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, Guard, Hidden, LoadOrder, Location, Op, StoreOrder, Value};
use libc::{EAGAIN, ETIMEDOUT, c_int, c_uint, timespec};

fn place(semaphore: usize) -> Location {
    Location::hidden(Hidden::Semaphore, semaphore as u64)
}

/// Where libc keeps whether processes share it, and what stands there of one that was destroyed.
const SHARED: usize = 8;
const DESTROYED: i32 = i32::MIN;

fn shared<'a>(semaphore: usize) -> &'a mut i32 {
    // SAFETY: a semaphore of the program's; nobody else looks at this word under control.
    unsafe { &mut *((semaphore + SHARED) as *mut i32) }
}

/// The running thread is about to do this with it.
fn used(semaphore: usize, action: &'static str) {
    if *shared(semaphore) == DESTROYED {
        objects::is_gone(Object::Semaphore, semaphore, action);
    }
    objects::used(Object::Semaphore, semaphore);
}

/// Fails as libc's functions do.
pub fn fail(error: c_int) -> c_int {
    // SAFETY: the running thread's own error number.
    unsafe { *libc::__errno_location() = error };
    -1
}

hook! { fn sem_init(semaphore: usize, shared: c_int, count: c_uint) -> c_int {
    if active() {
        at_work(|| objects::initialised(Object::Semaphore, semaphore));
    }
    let result = real!(sem_init(semaphore, shared, count): fn(usize, c_int, c_uint) -> c_int);
    if active() && result == 0 {
        // There may have been another one at this address.
        let store = Access::Store { at: place(semaphore), order: StoreOrder::Relaxed, value: Value(count.into()) };
        at_work(|| control::perform(Op::Access(store)));
    }
    result
} }

hook! { fn sem_destroy(semaphore: usize) -> c_int {
    if active() {
        at_work(|| match *shared(semaphore) {
            DESTROYED => objects::is_gone(Object::Semaphore, semaphore, "destroy"),
            _ => objects::destroyed(Object::Semaphore, semaphore),
        });
    }
    let result = real!(sem_destroy(semaphore): fn(usize) -> c_int);
    if active() {
        *shared(semaphore) = DESTROYED;
    }
    result
} }

fn wait(semaphore: usize, deadline: Option<u64>) -> c_int {
    used(semaphore, "wait");
    let try_acquire = || attempt(deadline, Op::Sync(Sync::TryAcquire { semaphore: semaphore as u64 }));
    let attempted =
        if deadline.is_some() { cancel::attempting(try_acquire, |taken| *taken == Some(true)) } else { None };
    match attempted {
        Some(true) => return 0,
        Some(false) => return fail(ETIMEDOUT),
        None => fibers::me().deadline = deadline,
    }
    let late = cancel::waiting(|| {
        control::perform(Op::Sync(Sync::Acquire { semaphore: semaphore as u64 }));
        take_timeout()
    });
    if late { fail(ETIMEDOUT) } else { 0 }
}

hook! { fn sem_wait(semaphore: usize) -> c_int {
    if !active() {
        early::release();
        return real!(sem_wait(semaphore): fn(usize) -> c_int);
    }
    at_work(|| wait(semaphore, None))
} }

hook! { fn sem_timedwait(semaphore: usize, time: *const timespec) -> c_int {
    if !active() {
        early::release();
        return real!(sem_timedwait(semaphore, time): fn(usize, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let deadline = clock::since_start(libc::CLOCK_REALTIME, unsafe { &*time });
    at_work(|| wait(semaphore, Some(deadline)))
} }

hook! { fn sem_clockwait(semaphore: usize, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        early::release();
        return real!(sem_clockwait(semaphore, name, time): fn(usize, c_int, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let deadline = clock::since_start(name, unsafe { &*time });
    at_work(|| wait(semaphore, Some(deadline)))
} }

hook! { fn sem_trywait(semaphore: usize) -> c_int {
    if !active() {
        return real!(sem_trywait(semaphore): fn(usize) -> c_int);
    }
    let taken = at_work(|| {
        used(semaphore, "wait");
        control::perform(Op::Sync(Sync::TryAcquire { semaphore: semaphore as u64 })).success
    });
    if taken { 0 } else { fail(EAGAIN) }
} }

hook! { fn sem_post(semaphore: usize) -> c_int {
    if !active() {
        return real!(sem_post(semaphore): fn(usize) -> c_int);
    }
    at_work(|| {
        used(semaphore, "post");
        control::perform(Op::Sync(Sync::Release { semaphore: semaphore as u64 }))
    });
    0
} }

hook! { fn sem_getvalue(semaphore: usize, value: *mut c_int) -> c_int {
    if !active() {
        return real!(sem_getvalue(semaphore, value): fn(usize, *mut c_int) -> c_int);
    }
    let load = Access::Load { at: place(semaphore), order: LoadOrder::Relaxed, guard: Guard::Any };
    let reply = at_work(|| control::perform(Op::Access(load)));
    text::write(value as usize, size_of::<c_int>());
    // SAFETY: the program's variable for the result.
    unsafe { *value = reply.value.0 as c_int };
    0
} }
