//! As `std::sync`, and loom's `Notify`.

pub use fencepost::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceLock, PoisonError, RwLock,
    RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak, atomic, mpsc,
};

/// Wakes a thread that waits; one notification is remembered.
#[derive(Debug, Default)]
pub struct Notify {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Notify {
    /// Nobody has been notified yet.
    pub fn new() -> Notify {
        Notify { notified: Mutex::new(false), changed: Condvar::new() }
    }

    /// Notifies.
    #[track_caller]
    pub fn notify(&self) {
        *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for a notification, and takes it.
    #[track_caller]
    pub fn wait(&self) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        while !*notified {
            notified = self.changed.wait(notified).unwrap_or_else(PoisonError::into_inner);
        }
        *notified = false;
    }
}
