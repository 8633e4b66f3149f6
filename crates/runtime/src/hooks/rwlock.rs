//! Reader-writer locks.

use super::threads::{attempt, take_timeout};
use super::{at_work, hook, objects, text};
use crate::detect::shadow::Object;
use crate::drive::{control, explored};
use crate::platform::global::active;
use crate::platform::real::real;
use crate::threads::{clock, fibers};
use fencepost_trace::Op;
use fencepost_trace::op::Sync;
use libc::{EBUSY, EDEADLK, ETIMEDOUT, c_int, timespec};

/// Where glibc keeps the writer in a `pthread_rwlock_t`. The runtime keeps it there too: who unlocks must know what
/// was locked.
const WRITER: usize = 24;

fn writer<'a>(lock: usize) -> &'a mut i32 {
    // SAFETY: the program says that there is a lock; nobody else looks at this field.
    unsafe { &mut *((lock + WRITER) as *mut i32) }
}

/// In that field: the lock was destroyed.
const DESTROYED: i32 = -1;

/// Did libc's own functions take the lock for reading, before the execution began? It then counts readers in the
/// first word.
fn has_real_readers(lock: usize) -> bool {
    // SAFETY: as above.
    unsafe { *(lock as *const u32) != 0 }
}

/// The running thread is about to do this with it.
fn used(lock: usize, action: &'static str) {
    if *writer(lock) == DESTROYED {
        objects::is_gone(Object::ReaderWriterLock, lock, action);
        *writer(lock) = 0;
    }
    objects::used(Object::ReaderWriterLock, lock);
}

/// Takes it if it can be had at once.
fn attempt_now(lock: usize, op: Sync) -> c_int {
    used(lock, "lock");
    if !control::perform(Op::Sync(op)).success {
        return EBUSY;
    }
    objects::hold(lock);
    0
}

fn my_name() -> i32 {
    fibers::current().0 as i32 + 1
}

/// Does the running thread hold it for writing?
fn is_writer(lock: usize) -> bool {
    if explored::is_by_values() { fibers::me().writing.contains(&lock) } else { *writer(lock) == my_name() }
}

/// The running thread holds it for writing from here on.
fn begin_writing(lock: usize) {
    *writer(lock) = my_name();
    fibers::me().writing.push(lock);
}

/// It is given back. Was it held for writing?
fn end_writing(lock: usize) -> bool {
    let was = if explored::is_by_values() { is_writer(lock) } else { *writer(lock) != 0 };
    if was {
        *writer(lock) = 0;
        fibers::me().writing.retain(|held| *held != lock);
    }
    was
}

fn read_lock(lock: usize, deadline: Option<u64>) -> c_int {
    used(lock, "lock");
    if is_writer(lock) {
        return EDEADLK;
    }
    let late = match attempt(deadline, Op::Sync(Sync::TryReadLock { lock: lock as u64 })) {
        Some(success) => !success,
        None => {
            fibers::me().deadline = deadline;
            control::perform(Op::Sync(Sync::ReadLock { lock: lock as u64 }));
            take_timeout()
        }
    };
    if late {
        return ETIMEDOUT;
    }
    objects::hold(lock);
    0
}

fn write_lock(lock: usize, deadline: Option<u64>) -> c_int {
    used(lock, "lock");
    if is_writer(lock) {
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
    begin_writing(lock);
    objects::hold(lock);
    0
}

/// The time of a call with one.
fn deadline(name: c_int, time: *const timespec) -> Option<u64> {
    text::read(time as usize, size_of::<timespec>());
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
    let deadline = deadline(libc::CLOCK_REALTIME, time);
    at_work(|| read_lock(lock, deadline))
} }

hook! { fn pthread_rwlock_clockrdlock(lock: usize, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_clockrdlock(lock, name, time): fn(usize, c_int, *const timespec) -> c_int);
    }
    let deadline = deadline(name, time);
    at_work(|| read_lock(lock, deadline))
} }

hook! { fn pthread_rwlock_tryrdlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_tryrdlock(lock): fn(usize) -> c_int);
    }
    at_work(|| attempt_now(lock, Sync::TryReadLock { lock: lock as u64 }))
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
    let deadline = deadline(libc::CLOCK_REALTIME, time);
    at_work(|| write_lock(lock, deadline))
} }

hook! { fn pthread_rwlock_clockwrlock(lock: usize, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_rwlock_clockwrlock(lock, name, time): fn(usize, c_int, *const timespec) -> c_int);
    }
    let deadline = deadline(name, time);
    at_work(|| write_lock(lock, deadline))
} }

hook! { fn pthread_rwlock_trywrlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_trywrlock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        let error = attempt_now(lock, Sync::TryWriteLock { lock: lock as u64 });
        if error == 0 {
            begin_writing(lock);
        }
        error
    })
} }

hook! { fn pthread_rwlock_unlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_unlock(lock): fn(usize) -> c_int);
    }
    at_work(|| unlock(lock))
} }

fn unlock(lock: usize) -> c_int {
    used(lock, "unlock");
    if !objects::let_go(fibers::current(), lock) && !has_real_readers(lock) {
        let Some(holder) = objects::holder(lock) else {
            objects::wrong(Object::ReaderWriterLock, lock, "unlock", "that is not locked", None);
            return 0;
        };
        objects::is_held(Object::ReaderWriterLock, lock, "unlock", holder);
        objects::let_go(holder.0, lock);
    }
    let unlock = if end_writing(lock) {
        Sync::WriteUnlock { lock: lock as u64 }
    } else {
        Sync::ReadUnlock { lock: lock as u64 }
    };
    control::perform(Op::Sync(unlock));
    0
}

hook! { fn pthread_rwlock_init(lock: usize, attributes: usize) -> c_int {
    if active() {
        at_work(|| {
            let writer = *writer(lock) - 1;
            if let Some(holder) = objects::holder(lock).filter(|(thread, _)| thread.0 as i32 == writer) {
                objects::is_held(Object::ReaderWriterLock, lock, "init", holder);
            }
            objects::initialised(Object::ReaderWriterLock, lock);
        });
    }
    real!(pthread_rwlock_init(lock, attributes): fn(usize, usize) -> c_int)
} }

hook! { fn pthread_rwlock_destroy(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_rwlock_destroy(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        match objects::holder(lock) {
            Some(holder) => objects::is_held(Object::ReaderWriterLock, lock, "destroy", holder),
            None if *writer(lock) == DESTROYED => objects::is_gone(Object::ReaderWriterLock, lock, "destroy"),
            None => {
                objects::destroyed(Object::ReaderWriterLock, lock);
                *writer(lock) = DESTROYED;
            }
        }
        0
    })
} }
