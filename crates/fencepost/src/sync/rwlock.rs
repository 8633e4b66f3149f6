//! As [`std::sync::RwLock`], with poisoning.

use super::mutex::is_panicking;
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::rt::{self, Stamp, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Hidden, Op};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};

/// Many readers or one writer.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    stamp: Stamp,
    real: std::sync::RwLock<()>,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: who has a guard has the right that it stands for: in a check by the model, outside by std's lock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The right to read.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    real: Option<std::sync::RwLockReadGuard<'a, ()>>,
}

/// The right to write.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    real: Option<std::sync::RwLockWriteGuard<'a, ()>>,
    panicking: bool,
}

impl<T> RwLock<T> {
    /// A new lock.
    pub const fn new(value: T) -> Self {
        RwLock {
            stamp: Stamp::new(),
            real: std::sync::RwLock::new(()),
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

impl<T: ?Sized> RwLock<T> {
    /// In a check: asks, and says whether it succeeded. `None` outside.
    fn ask(&self, sync: impl FnOnce(u64) -> Synchronisation, caller: &'static Caller<'static>) -> Option<bool> {
        let context = rt::current()?;
        let lock = context.key(&self.stamp, Hidden::RwLock, caller);
        Some(ask(context, Op::Sync(sync(lock)), caller).success)
    }

    fn result<G>(&self, guard: G) -> LockResult<G> {
        if self.is_poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn reading<'a>(&'a self, real: Option<std::sync::RwLockReadGuard<'a, ()>>) -> LockResult<RwLockReadGuard<'a, T>> {
        self.result(RwLockReadGuard { lock: self, real })
    }

    fn writing<'a>(&'a self, real: Option<std::sync::RwLockWriteGuard<'a, ()>>) -> LockResult<RwLockWriteGuard<'a, T>> {
        self.result(RwLockWriteGuard { lock: self, real, panicking: is_panicking() })
    }

    /// Waits until nobody writes, and reads.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        match self.ask(|lock| Synchronisation::ReadLock { lock }, Caller::caller()) {
            Some(_) => self.reading(None),
            None => self.reading(Some(self.real.read().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    /// Reads if nobody writes.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.ask(|lock| Synchronisation::TryReadLock { lock }, Caller::caller()) {
            Some(true) => Ok(self.reading(None)?),
            Some(false) => Err(TryLockError::WouldBlock),
            None => match self.real.try_read() {
                Ok(real) => Ok(self.reading(Some(real))?),
                Err(TryLockError::Poisoned(error)) => Ok(self.reading(Some(error.into_inner()))?),
                Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            },
        }
    }

    /// Waits until nobody else reads or writes, and writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        match self.ask(|lock| Synchronisation::WriteLock { lock }, Caller::caller()) {
            Some(_) => self.writing(None),
            None => self.writing(Some(self.real.write().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    /// Writes if nobody else reads or writes.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.ask(|lock| Synchronisation::TryWriteLock { lock }, Caller::caller()) {
            Some(true) => Ok(self.writing(None)?),
            Some(false) => Err(TryLockError::WouldBlock),
            None => match self.real.try_write() {
                Ok(real) => Ok(self.writing(Some(real))?),
                Err(TryLockError::Poisoned(error)) => Ok(self.writing(Some(error.into_inner()))?),
                Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            },
        }
    }

    /// Has a thread panicked while it wrote?
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

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to read.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to write, and to read.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to write.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.real.is_none() {
            self.lock.ask(|lock| Synchronisation::ReadUnlock { lock }, Caller::caller());
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if !self.panicking && is_panicking() {
            self.lock.poisoned.store(true, Ordering::Relaxed);
        }
        if self.real.is_none() {
            self.lock.ask(|lock| Synchronisation::WriteUnlock { lock }, Caller::caller());
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}
