//! Condition variables.

use super::cancel::waiting;
use super::mutex::{self, Mutex};
use super::threads::{attempt, take_timeout};
use super::{at_work, early, hook, objects, text};
use crate::detect::shadow::Object;
use crate::drive::{control, explored};
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::{clock, fibers};
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, Guard, Hidden, Location, Op, RmwOrder, Update};
use libc::{ETIMEDOUT, c_int, timespec};

/// Where glibc keeps which clock a `pthread_cond_t` goes by: bit 1 of a word.
const CLOCK_WORD: usize = 36;
const MONOTONIC: u32 = 2;

/// In the same word: how glibc marks one that is destroyed.
const DESTROYED: u32 = 4;

fn word<'a>(condition: usize) -> &'a mut u32 {
    // SAFETY: a condition variable of the program's; nobody else looks at this word.
    unsafe { &mut *((condition + CLOCK_WORD) as *mut u32) }
}

/// The running thread is about to do this with it.
pub fn used(condition: usize, action: &'static str) {
    if *word(condition) & DESTROYED != 0 {
        objects::is_gone(Object::ConditionVariable, condition, action);
    }
    objects::used(Object::ConditionVariable, condition);
}

hook! { fn pthread_cond_init(condition: usize, attributes: usize) -> c_int {
    if active() {
        at_work(|| objects::initialised(Object::ConditionVariable, condition));
    }
    real!(pthread_cond_init(condition, attributes): fn(usize, usize) -> c_int)
} }

hook! { fn pthread_cond_destroy(condition: usize) -> c_int {
    if !active() {
        return real!(pthread_cond_destroy(condition): fn(usize) -> c_int);
    }
    at_work(|| destroy(condition));
    0
} }

/// Ends the life of a condition variable. Threads that were woken may still be on their way out; those that wait
/// would do so forever.
pub fn destroy(condition: usize) {
    if *word(condition) & DESTROYED != 0 {
        return objects::is_gone(Object::ConditionVariable, condition, "destroy");
    }
    objects::destroyed(Object::ConditionVariable, condition);
    if fibers::all().count() > 1 {
        let waiting = control::perform(change(condition as u64, RmwOrder::Relaxed, Update::WAKE_ALL)).value.0;
        if waiting > 0 {
            objects::wrong(Object::ConditionVariable, condition, "destroy", "for which threads wait", None);
        }
    }
    *word(condition) |= DESTROYED;
}

/// Waits for the condition, until a time if there is one.
pub fn wait(condition: usize, mutex: *mut Mutex, deadline: Option<u64>) -> c_int {
    used(condition, "wait");
    mutex::at(mutex).used("unlock");
    mutex::check_held(mutex);
    let count = mutex::at(mutex).disown();
    let key = mutex::at(mutex).key();
    if deadline.is_some() && explored::is_on() {
        // As the engine does it, but for the wait.
        let set = condition as u64;
        control::perform(change(set, RmwOrder::Relaxed, Update::Enqueue(fibers::current())));
        control::perform(Op::Sync(Sync::Unlock { mutex: key }));
        let woken = attempt(deadline, dequeue(set, RmwOrder::Relaxed)) == Some(true);
        control::perform(Op::Sync(Sync::Lock { mutex: key }));
        return taken_again(mutex, count, !woken);
    }
    fibers::me().deadline = deadline;
    control::perform(Op::Sync(Sync::Wait { condvar: condition as u64, mutex: key }));
    let late = take_timeout();
    if late {
        leave(condition as u64);
        control::perform(Op::Sync(Sync::Lock { mutex: key }));
    }
    taken_again(mutex, count, late)
}

/// The wait is over, and the mutex is the running thread's again: what the wait returns.
fn taken_again(mutex: *mut Mutex, count: u32, late: bool) -> c_int {
    match mutex::at(mutex).own(count) {
        0 if late => ETIMEDOUT,
        result => result,
    }
}

/// Wakes one thread, or all.
pub fn notify(condition: usize, how: Sync) {
    used(condition, "signal");
    control::perform(Op::Sync(how));
}

fn change(key: u64, order: RmwOrder, update: Update) -> Op {
    Op::Access(Access::Rmw { at: Location::hidden(Hidden::Condvar, key), order, update, guard: Guard::Any })
}

/// The running thread is to leave the set, woken or not. The reply tells which.
pub fn dequeue(key: u64, order: RmwOrder) -> Op {
    change(key, order, Update::Dequeue(fibers::current()))
}

/// The running thread no longer waits. Had it been woken?
pub fn leave(key: u64) -> bool {
    control::perform(dequeue(key, RmwOrder::AcqRel)).success
}

hook! { fn pthread_cond_wait(condition: usize, mutex: *mut Mutex) -> c_int {
    if !active() {
        early::release();
        return real!(pthread_cond_wait(condition, mutex): fn(usize, *mut Mutex) -> c_int);
    }
    at_work(|| waiting(|| wait(condition, mutex, None)))
} }

hook! { fn pthread_cond_timedwait(condition: usize, mutex: *mut Mutex, time: *const timespec) -> c_int {
    if !active() {
        early::release();
        return real!(pthread_cond_timedwait(condition, mutex, time): fn(usize, *mut Mutex, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let time = unsafe { &*time };
    let name = if *word(condition) & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
    at_work(|| waiting(|| wait(condition, mutex, Some(clock::since_start(name, time)))))
} }

hook! { fn pthread_cond_clockwait(condition: usize, mutex: *mut Mutex, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        early::release();
        return real!(pthread_cond_clockwait(condition, mutex, name, time):
            fn(usize, *mut Mutex, c_int, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let time = unsafe { &*time };
    at_work(|| waiting(|| wait(condition, mutex, Some(clock::since_start(name, time)))))
} }

hook! { fn pthread_cond_signal(condition: usize) -> c_int {
    if !active() {
        return real!(pthread_cond_signal(condition): fn(usize) -> c_int);
    }
    at_work(|| notify(condition, Sync::NotifyOne { condvar: condition as u64 }));
    0
} }

hook! { fn pthread_cond_broadcast(condition: usize) -> c_int {
    if !active() {
        return real!(pthread_cond_broadcast(condition): fn(usize) -> c_int);
    }
    at_work(|| notify(condition, Sync::NotifyAll { condvar: condition as u64 }));
    0
} }
