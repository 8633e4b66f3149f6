//! Reader-writer locks.

use super::threads::{attempt, take_timeout};
use super::{at_work, hook};
use crate::global::active;
use crate::real::real;
use crate::{clock, control, fibers};
use fencepost_trace::Op;
use fencepost_trace::op::Sync;
use libc::{EBUSY, EDEADLK, ETIMEDOUT, c_int, timespec};

/// Where glibc keeps the writer in a `pthread_rwlock_t`. The runtime keeps it there too: who unlocks must know what was locked.
const WRITER: usize = 24;

fn writer<'a>(lock: usize) -> &'a mut i32 {
    // SAFETY: the program says that there is a lock; nobody else looks at this field.
    unsafe { &mut *((lock + WRITER) as *mut i32) }
}

fn my_name() -> i32 {
    fibers::current().0 as i32 + 1
}

fn read_lock(lock: usize, deadline: Option<u64>) -> c_int {
    if *writer(lock) == my_name() {
        return EDEADLK;
    }
    match attempt(deadline, Op::Sync(Sync::TryReadLock { lock: lock as u64 })) {
        Some(true) => return 0,
        Some(false) => return ETIMEDOUT,
        None => fibers::me().deadline = deadline,
    }
    control::perform(Op::Sync(Sync::ReadLock { lock: lock as u64 }));
    if take_timeout() { ETIMEDOUT } else { 0 }
}

fn write_lock(lock: usize, deadline: Option<u64>) -> c_int {
    if *writer(lock) == my_name() {
        return EDEADLK;
    }
    let late = match attempt(deadline, Op::Sync(Sync::TryWriteLock { lock: lock as u64 })) {
        Some(success) => !success,
        None => {
            fibers::me().deadline = deadline;
            control::perform(Op::Sync(Sync::WriteLock { lock: lock as u64 }));
            take_timeout()
        }
    };
    if late {
        return ETIMEDOUT;
    }
    *writer(lock) = my_name();
    0
}

/// The time of a call with one.
fn deadline(name: c_int, time: *const timespec) -> Option<u64> {
    // SAFETY: the program's time.
    Some(clock::since_start(name, unsafe { &*time }))
}

hook! { fn pthread_rwlock_rdlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_rdlock(lock): fn(usize) -> c_int);
    }
    at_work(|| read_lock(lock, None))
} }

hook! { fn pthread_rwlock_timedrdlock(lock: usize, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_timedrdlock(lock, time): fn(usize, *const timespec) -> c_int);
    }
    at_work(|| read_lock(lock, deadline(libc::CLOCK_REALTIME, time)))
} }

hook! { fn pthread_rwlock_clockrdlock(lock: usize, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_clockrdlock(lock, name, time): fn(usize, c_int, *const timespec) -> c_int);
    }
    at_work(|| read_lock(lock, deadline(name, time)))
} }

hook! { fn pthread_rwlock_tryrdlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_tryrdlock(lock): fn(usize) -> c_int);
    }
    let taken = at_work(|| control::perform(Op::Sync(Sync::TryReadLock { lock: lock as u64 }))).success;
    if taken { 0 } else { EBUSY }
} }

hook! { fn pthread_rwlock_wrlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_wrlock(lock): fn(usize) -> c_int);
    }
    at_work(|| write_lock(lock, None))
} }

hook! { fn pthread_rwlock_timedwrlock(lock: usize, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_timedwrlock(lock, time): fn(usize, *const timespec) -> c_int);
    }
    at_work(|| write_lock(lock, deadline(libc::CLOCK_REALTIME, time)))
} }

hook! { fn pthread_rwlock_clockwrlock(lock: usize, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_clockwrlock(lock, name, time): fn(usize, c_int, *const timespec) -> c_int);
    }
    at_work(|| write_lock(lock, deadline(name, time)))
} }

hook! { fn pthread_rwlock_trywrlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_trywrlock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        if !control::perform(Op::Sync(Sync::TryWriteLock { lock: lock as u64 })).success {
            return EBUSY;
        }
        *writer(lock) = my_name();
        0
    })
} }

hook! { fn pthread_rwlock_unlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_unlock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        let lock_key = lock as u64;
        let unlock = if *writer(lock) != 0 {
            *writer(lock) = 0;
            Sync::WriteUnlock { lock: lock_key }
        } else {
            Sync::ReadUnlock { lock: lock_key }
        };
        control::perform(Op::Sync(unlock));
        0
    })
} }
