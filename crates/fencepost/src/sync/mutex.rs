//! As [`std::sync::Mutex`], with poisoning.

use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::rt::{self, Stamp, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Hidden, Op};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};

/// Mutual exclusion.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    pub(super) stamp: Stamp,
    /// What excludes outside of a check.
    real: std::sync::Mutex<()>,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: whoever has a guard is alone: in a check the model sees to it, outside std's mutex does.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The right to what a [`Mutex`] holds.
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) mutex: &'a Mutex<T>,
    /// Outside of a check.
    pub(super) real: Option<std::sync::MutexGuard<'a, ()>>,
    /// Was the thread unwinding when it took the lock?
    panicking: bool,
}

impl<T> Mutex<T> {
    /// A new mutex.
    pub const fn new(value: T) -> Self {
        Mutex {
            stamp: Stamp::new(),
            real: std::sync::Mutex::new(()),
            poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// What it holds in the end.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.is_poisoned();
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

/// Is the thread at hand unwinding?
pub(super) fn is_panicking() -> bool {
    std::thread::panicking() && rt::current().is_none_or(|context| context.state(|state| state.unwinding))
}

impl<T: ?Sized> Mutex<T> {
    pub(super) fn guard<'a>(&'a self, real: Option<std::sync::MutexGuard<'a, ()>>) -> LockResult<MutexGuard<'a, T>> {
        let guard = MutexGuard { mutex: self, real, panicking: is_panicking() };
        if self.is_poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Waits for the lock, and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let Some(context) = rt::current() else {
            return self.guard(Some(self.real.lock().unwrap_or_else(PoisonError::into_inner)));
        };
        let caller = Caller::caller();
        let mutex = context.key(&self.stamp, Hidden::Mutex, caller);
        ask(context, Op::Sync(Synchronisation::Lock { mutex }), caller);
        self.guard(None)
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(context) = rt::current() else {
            return match self.real.try_lock() {
                Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
                Err(TryLockError::Poisoned(error)) => Ok(self.guard(Some(error.into_inner()))?),
                Ok(real) => Ok(self.guard(Some(real))?),
            };
        };
        let caller = Caller::caller();
        let mutex = context.key(&self.stamp, Hidden::Mutex, caller);
        let reply = ask(context, Op::Sync(Synchronisation::TryLock { mutex }), caller);
        if reply.success { Ok(self.guard(None)?) } else { Err(TryLockError::WouldBlock) }
    }

    /// Has a thread panicked while it had the lock?
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// Forgets that.
    pub fn clear_poison(&self) {
        self.poisoned.store(false, Ordering::Relaxed);
    }

    /// A mutable reference to what it holds.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to it.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to it.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if !self.panicking && is_panicking() {
            self.mutex.poisoned.store(true, Ordering::Relaxed);
        }
        if self.real.is_none()
            && let Some(context) = rt::current()
        {
            let caller = Caller::caller();
            let mutex = context.key(&self.mutex.stamp, Hidden::Mutex, caller);
            ask(context, Op::Sync(Synchronisation::Unlock { mutex }), caller);
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}
