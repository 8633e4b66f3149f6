//! Mutexes of all kinds, and spin locks.
//!
//! Who owns a mutex and how often is kept where libc keeps it, in the mutex: debuggers can read it, `pthread_mutex_init` and static initialisers clear it, and it
//! is put back with the rest of the program's memory. Whether it is locked is for the engine to say.

use super::threads::{attempt, take_timeout};
use super::{at_work, hook};
use crate::global::active;
use crate::real::real;
use crate::{clock, control, fibers};
use fencepost_trace::Op;
use fencepost_trace::op::Sync;
use libc::{EBUSY, EDEADLK, EPERM, ETIMEDOUT, c_int, timespec};

/// The beginning of glibc's `pthread_mutex_t`.
#[repr(C)]
pub struct Mutex {
    lock: i32,
    count: u32,
    owner: i32,
    users: u32,
    kind: i32,
}

const RECURSIVE: i32 = 1;
const ERROR_CHECKING: i32 = 2;

impl Mutex {
    fn kind(&self) -> i32 {
        self.kind & 3
    }

    pub fn key(&self) -> u64 {
        self as *const Mutex as u64
    }

    /// The running thread has it.
    pub fn own(&mut self, count: u32) {
        self.owner = fibers::current().0 as i32 + 1;
        self.count = count;
    }

    fn is_mine(&self) -> bool {
        self.owner == fibers::current().0 as i32 + 1
    }

    /// Nobody has it. How often it was held.
    pub fn disown(&mut self) -> u32 {
        self.owner = 0;
        std::mem::take(&mut self.count)
    }
}

/// The mutex at an address of the program's.
pub fn at<'a>(mutex: *mut Mutex) -> &'a mut Mutex {
    // SAFETY: the program says that it is one. The reference does not outlive the hook, and nobody else looks at these fields.
    unsafe { &mut *mutex }
}

/// What to do when the running thread has it already.
fn again(mutex: &mut Mutex, otherwise: c_int) -> Option<c_int> {
    if !mutex.is_mine() {
        return None;
    }
    match mutex.kind() {
        RECURSIVE => {
            mutex.count += 1;
            Some(0)
        }
        ERROR_CHECKING => Some(otherwise),
        _ => None,
    }
}

/// Takes the mutex, until a time if there is one.
pub fn lock(mutex: *mut Mutex, deadline: Option<u64>) -> c_int {
    if let Some(result) = again(at(mutex), EDEADLK) {
        return result;
    }
    let late = match attempt(deadline, Op::Sync(Sync::TryLock { mutex: at(mutex).key() })) {
        Some(success) => !success,
        None => {
            fibers::me().deadline = deadline;
            control::perform(Op::Sync(Sync::Lock { mutex: at(mutex).key() }));
            take_timeout()
        }
    };
    if late {
        return ETIMEDOUT;
    }
    at(mutex).own(1);
    0
}

hook! { fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(pthread_mutex_lock(mutex): fn(*mut Mutex) -> c_int);
    }
    at_work(|| lock(mutex, None))
} }

hook! { fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(pthread_mutex_trylock(mutex): fn(*mut Mutex) -> c_int);
    }
    at_work(|| try_lock(mutex))
} }

/// Takes the mutex if it is free.
pub fn try_lock(mutex: *mut Mutex) -> c_int {
    if let Some(result) = again(at(mutex), EBUSY) {
        return result;
    }
    if !control::perform(Op::Sync(Sync::TryLock { mutex: at(mutex).key() })).success {
        return EBUSY;
    }
    at(mutex).own(1);
    0
}

hook! { fn pthread_mutex_timedlock(mutex: *mut Mutex, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_mutex_timedlock(mutex, time): fn(*mut Mutex, *const timespec) -> c_int);
    }
    // SAFETY: the program's time.
    let deadline = clock::since_start(libc::CLOCK_REALTIME, unsafe { &*time });
    at_work(|| lock(mutex, Some(deadline)))
} }

hook! { fn pthread_mutex_clocklock(mutex: *mut Mutex, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_mutex_clocklock(mutex, name, time): fn(*mut Mutex, c_int, *const timespec) -> c_int);
    }
    // SAFETY: the program's time.
    let deadline = clock::since_start(name, unsafe { &*time });
    at_work(|| lock(mutex, Some(deadline)))
} }

hook! { fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(pthread_mutex_unlock(mutex): fn(*mut Mutex) -> c_int);
    }
    at_work(|| unlock(mutex))
} }

/// Gives the mutex back.
pub fn unlock(mutex: *mut Mutex) -> c_int {
    let this = at(mutex);
    if this.kind() != 0 && this.kind() != 3 && !this.is_mine() {
        return EPERM;
    }
    if this.kind() == RECURSIVE && this.count > 1 {
        this.count -= 1;
        return 0;
    }
    this.disown();
    control::perform(Op::Sync(Sync::Unlock { mutex: this.key() }));
    0
}

// Spin locks: to the scheduler, mutexes whose owner nobody knows.

hook! { fn pthread_spin_lock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_lock(lock): fn(usize) -> c_int);
    }
    at_work(|| control::perform(Op::Sync(Sync::Lock { mutex: lock as u64 })));
    0
} }

hook! { fn pthread_spin_trylock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_trylock(lock): fn(usize) -> c_int);
    }
    if at_work(|| control::perform(Op::Sync(Sync::TryLock { mutex: lock as u64 }))).success { 0 } else { EBUSY }
} }

hook! { fn pthread_spin_unlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_unlock(lock): fn(usize) -> c_int);
    }
    at_work(|| control::perform(Op::Sync(Sync::Unlock { mutex: lock as u64 })));
    0
} }

hook! { fn pthread_mutexattr_setrobust(attributes: usize, robust: c_int) -> c_int {
    if active() && robust == libc::PTHREAD_MUTEX_ROBUST {
        at_work(|| crate::results::note("a robust mutex is treated as any other: nobody is told that its owner has ended"));
    }
    real!(pthread_mutexattr_setrobust(attributes, robust): fn(usize, c_int) -> c_int)
} }
