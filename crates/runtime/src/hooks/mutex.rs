//! Mutexes of all kinds, and spin locks.
//!
//! Who owns a mutex and how often is kept where libc keeps it, in the mutex: debuggers can read it,
//! `pthread_mutex_init` and static initialisers clear it, and it is put back with the rest of the program's memory.
//! Whether it is locked is for the engine to say.

use super::threads::{attempt, take_timeout};
use super::{at_work, hook, objects, text};
use crate::detect::shadow::Object;
use crate::drive::{control, explored};
use crate::platform::global::{self, active, mode};
use crate::platform::real::real;
use crate::threads::{clock, fibers};
use fencepost_trace::op::Sync;
use fencepost_trace::{Op, ThreadId};
use libc::{EBUSY, EDEADLK, EINVAL, ENOTRECOVERABLE, EOWNERDEAD, EPERM, ETIMEDOUT, c_int, timespec};

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
/// In the kind: who takes it next is told when its owner has ended.
const ROBUST: i32 = 16;
/// In the users of a robust mutex: its owner has ended, and nobody has said that what it protects is in order again.
const INCONSISTENT: u32 = 1 << 31;
/// There: it was given back like that, and cannot be taken any more.
const NOT_RECOVERABLE: u32 = 1 << 30;
/// How glibc marks a mutex that was destroyed: as of a kind that there is not.
const DESTROYED: i32 = -1;

impl Mutex {
    fn kind(&self) -> i32 {
        self.kind & 3
    }

    pub fn key(&self) -> u64 {
        self as *const Mutex as u64
    }

    fn address(&self) -> usize {
        self as *const Mutex as usize
    }

    /// The running thread has been given it, and will hold it so often. Says what libc's function would return.
    pub fn own(&mut self, count: u32) -> c_int {
        if self.users & NOT_RECOVERABLE != 0 {
            control::perform(Op::Sync(Sync::Unlock { mutex: self.key() }));
            return ENOTRECOVERABLE;
        }
        self.owner = fibers::current().0 as i32 + 1;
        self.count = count;
        // By values, threads run in an order in which several may seem to have it: each keeps count itself.
        let times = if explored::is_by_values() { count } else { 1 };
        (0..times).for_each(|_| objects::hold(self.address()));
        if self.kind != DESTROYED && self.kind & ROBUST != 0 {
            explored::leaves_open("whether the owner of a robust mutex has ended before another takes it");
            fibers::me().robust.push(self.address());
        }
        if self.users & INCONSISTENT != 0 { EOWNERDEAD } else { 0 }
    }

    fn is_mine(&self) -> bool {
        if explored::is_by_values() {
            return objects::times_held(self.address()) > 0;
        }
        self.owner == fibers::current().0 as i32 + 1
    }

    /// Nobody has it. How often it was held.
    pub fn disown(&mut self) -> u32 {
        if explored::is_by_values() && self.is_mine() {
            let times = objects::times_held(self.address());
            (0..times).for_each(|_| _ = objects::let_go(fibers::current(), self.address()));
            fibers::me().robust.retain(|at| *at != self.address());
            self.owner = 0;
            return times;
        }
        if let Some((holder, _)) = self.holder() {
            objects::let_go(holder, self.address());
            let mut fiber = fibers::get(holder);
            let robust = &mut fiber.robust;
            if let Some(i) = robust.iter().rposition(|at| *at == self.address()) {
                robust.remove(i);
            }
        }
        self.owner = 0;
        std::mem::take(&mut self.count)
    }

    /// Who has it, and where it was taken. What lies in memory that is not initialised tells nothing.
    fn holder(&self) -> Option<(ThreadId, usize)> {
        let thread = u32::try_from(self.owner).ok()?.checked_sub(1)?;
        let all = fibers::all();
        let fiber = all.list().get(thread as usize)?;
        let held = fiber.held.iter().rev().find(|(at, _)| *at == self.address());
        held.map(|(_, pc)| (ThreadId(thread), *pc))
    }

    /// The running thread is about to do this with it.
    pub fn used(&self, action: &'static str) {
        if self.kind == DESTROYED {
            objects::is_gone(Object::Mutex, self.address(), action);
        }
        // The unlock that follows is a use, too, and what is ordered after that is ordered after both. An exploration
        // names every pair.
        if action != "lock" || global::kind() != mode::LANGUAGE {
            objects::used(Object::Mutex, self.address());
        }
    }
}

/// The mutex at an address of the program's.
pub fn at<'a>(mutex: *mut Mutex) -> &'a mut Mutex {
    // SAFETY: the program says that it is one. The reference does not outlive the hook, and nobody else looks at
    // these fields.
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
            if explored::is_by_values() {
                objects::hold(mutex.address());
            }
            Some(0)
        }
        ERROR_CHECKING => Some(otherwise),
        _ => None,
    }
}

/// Takes the mutex, until a time if there is one.
pub fn lock(mutex: *mut Mutex, deadline: Option<u64>) -> c_int {
    at(mutex).used("lock");
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
    at(mutex).own(1)
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
    at(mutex).used("lock");
    if let Some(result) = again(at(mutex), EBUSY) {
        return result;
    }
    if !control::perform(Op::Sync(Sync::TryLock { mutex: at(mutex).key() })).success {
        return EBUSY;
    }
    at(mutex).own(1)
}

hook! { fn pthread_mutex_timedlock(mutex: *mut Mutex, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_mutex_timedlock(mutex, time): fn(*mut Mutex, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let deadline = clock::since_start(libc::CLOCK_REALTIME, unsafe { &*time });
    at_work(|| lock(mutex, Some(deadline)))
} }

hook! { fn pthread_mutex_clocklock(mutex: *mut Mutex, name: c_int, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_mutex_clocklock(mutex, name, time): fn(*mut Mutex, c_int, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
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

/// The running thread gives it back: it must be the one that has it.
pub fn check_held(mutex: *mut Mutex) {
    let this = at(mutex);
    if matches!(this.kind(), RECURSIVE | ERROR_CHECKING) {
        // These tell the program so themselves.
        return;
    }
    if this.lock != 0 {
        // Taken before the execution began, by libc's own function.
        this.lock = 0;
    } else if !this.is_mine() && this.kind != DESTROYED {
        match this.holder() {
            Some(holder) => objects::is_held(Object::Mutex, this.address(), "unlock", holder),
            None => objects::wrong(Object::Mutex, this.address(), "unlock", "that is not locked", None),
        }
    }
}

/// Gives the mutex back.
pub fn unlock(mutex: *mut Mutex) -> c_int {
    let this = at(mutex);
    this.used("unlock");
    if this.kind() != 0 && this.kind() != 3 && !this.is_mine() {
        return EPERM;
    }
    check_held(mutex);
    if this.kind() == RECURSIVE && explored::is_by_values() && objects::times_held(this.address()) > 1 {
        objects::let_go(fibers::current(), this.address());
        return 0;
    }
    if this.kind() == RECURSIVE && !explored::is_by_values() && this.count > 1 {
        this.count -= 1;
        return 0;
    }
    if this.users & INCONSISTENT != 0 {
        this.users = this.users & !INCONSISTENT | NOT_RECOVERABLE;
    }
    this.disown();
    control::perform(Op::Sync(Sync::Unlock { mutex: this.key() }));
    0
}

/// The running thread ends. Robust mutexes that it holds go to whoever comes next, who is told.
pub fn owner_ends() {
    let last = || fibers::me().robust.last().copied();
    while let Some(address) = last() {
        let this = at(address as *mut Mutex);
        this.users |= INCONSISTENT;
        this.disown();
        control::perform(Op::Sync(Sync::Unlock { mutex: this.key() }));
    }
}

hook! { fn pthread_mutex_consistent(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(pthread_mutex_consistent(mutex): fn(*mut Mutex) -> c_int);
    }
    let this = at(mutex);
    if this.users & INCONSISTENT == 0 || !this.is_mine() {
        return EINVAL;
    }
    this.users &= !INCONSISTENT;
    0
} }

hook! { fn pthread_mutex_init(mutex: *mut Mutex, attributes: usize) -> c_int {
    initialise(mutex);
    real!(pthread_mutex_init(mutex, attributes): fn(*mut Mutex, usize) -> c_int)
} }

/// The program initialises a mutex: there may be one, and somebody may hold it.
pub fn initialise(mutex: *mut Mutex) {
    if !active() {
        return;
    }
    at_work(|| {
        let this = at(mutex);
        if let Some(holder) = this.holder() {
            objects::is_held(Object::Mutex, this.address(), "init", holder);
        }
        objects::initialised(Object::Mutex, this.address());
        free_again(this.address());
    });
}

/// There is a new lock at this address. If an old one was never given back, nobody holds it any more.
fn free_again(at: usize) {
    while let Some((thread, _)) = objects::holder(at) {
        objects::let_go(thread, at);
        control::perform(Op::Sync(Sync::Unlock { mutex: at as u64 }));
    }
}

hook! { fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int {
    if !active() {
        return real!(pthread_mutex_destroy(mutex): fn(*mut Mutex) -> c_int);
    }
    at_work(|| destroy(mutex))
} }

/// Ends the life of a mutex. As with libc, one that is held stays.
pub fn destroy(mutex: *mut Mutex) -> c_int {
    let this = at(mutex);
    if this.kind == DESTROYED {
        objects::is_gone(Object::Mutex, this.address(), "destroy");
        return 0;
    }
    if let Some(holder) = this.holder() {
        objects::is_held(Object::Mutex, this.address(), "destroy", holder);
        return EBUSY;
    }
    objects::destroyed(Object::Mutex, this.address());
    this.kind = DESTROYED;
    0
}

// Spin locks: to the scheduler, mutexes.

/// What glibc initialises a spin lock with: it is free. One that libc's own function has taken is less.
const FREE: i32 = 1;
/// A spin lock that was destroyed.
const NO_SPIN_LOCK: i32 = i32::MIN;

fn spin_word<'a>(lock: usize) -> &'a mut i32 {
    // SAFETY: the program says that there is a lock; nobody else looks at it.
    unsafe { &mut *(lock as *mut i32) }
}

/// The running thread is about to do this with a spin lock.
fn use_spin(lock: usize, action: &'static str) {
    if *spin_word(lock) == NO_SPIN_LOCK {
        objects::is_gone(Object::SpinLock, lock, action);
    }
    objects::used(Object::SpinLock, lock);
}

hook! { fn pthread_spin_init(lock: usize, shared: c_int) -> c_int {
    if active() {
        at_work(|| {
            if let Some(holder) = objects::holder(lock).filter(|_| *spin_word(lock) == FREE) {
                objects::is_held(Object::SpinLock, lock, "init", holder);
            }
            objects::initialised(Object::SpinLock, lock);
            free_again(lock);
        });
    }
    real!(pthread_spin_init(lock, shared): fn(usize, c_int) -> c_int)
} }

hook! { fn pthread_spin_destroy(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_destroy(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        match objects::holder(lock) {
            Some(holder) => objects::is_held(Object::SpinLock, lock, "destroy", holder),
            None if *spin_word(lock) == NO_SPIN_LOCK => objects::is_gone(Object::SpinLock, lock, "destroy"),
            None => {
                objects::destroyed(Object::SpinLock, lock);
                *spin_word(lock) = NO_SPIN_LOCK;
            }
        }
        0
    })
} }

hook! { fn pthread_spin_lock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_lock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        use_spin(lock, "lock");
        control::perform(Op::Sync(Sync::Lock { mutex: lock as u64 }));
        objects::hold(lock);
    });
    0
} }

hook! { fn pthread_spin_trylock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_trylock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        use_spin(lock, "lock");
        if !control::perform(Op::Sync(Sync::TryLock { mutex: lock as u64 })).success {
            return EBUSY;
        }
        objects::hold(lock);
        0
    })
} }

hook! { fn pthread_spin_unlock(lock: usize) -> c_int {
    if !active() {
        return real!(pthread_spin_unlock(lock): fn(usize) -> c_int);
    }
    at_work(|| {
        use_spin(lock, "unlock");
        if !objects::let_go(fibers::current(), lock) && *spin_word(lock) == FREE {
            match objects::holder(lock) {
                Some(holder) => {
                    objects::is_held(Object::SpinLock, lock, "unlock", holder);
                    objects::let_go(holder.0, lock);
                }
                None => objects::wrong(Object::SpinLock, lock, "unlock", "that is not locked", None),
            }
        }
        control::perform(Op::Sync(Sync::Unlock { mutex: lock as u64 }));
    });
    0
} }
