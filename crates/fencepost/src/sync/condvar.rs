//! As [`std::sync::Condvar`].
//!
//! In a check a wait with a timeout may time out at any moment, and both are explored. Wake-ups without a reason are
//! explored if [`Config::spurious_wakeups`](crate::Config::spurious_wakeups) asks for them.

use super::{LockResult, MutexGuard, PoisonError};
use crate::rt::{self, Context, Stamp, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Hidden, Op};
use std::mem::ManuallyDrop;
use std::panic::Location as Caller;
use std::time::Duration;

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar {
    stamp: Stamp,
    real: std::sync::Condvar,
}

/// Whether a wait has timed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Has it?
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A new condition variable.
    pub const fn new() -> Condvar {
        Condvar { stamp: Stamp::new(), real: std::sync::Condvar::new() }
    }

    /// Releases the lock, waits to be notified, takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let Some(context) = rt::current() else {
            let (mutex, real) = apart(guard);
            let real = real.expect("outside of a check a guard is std's");
            return mutex.guard(Some(self.real.wait(real).unwrap_or_else(PoisonError::into_inner)));
        };
        let caller = Caller::caller();
        if context.settings.get().spurious_wakeups && crate::choice::either(context, caller) {
            return in_between(guard);
        }
        self.wait_in(context, guard, caller)
    }

    /// Waits until `condition` is false.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits to be notified, but only until a time.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let Some(context) = rt::current() else {
            let (mutex, real) = apart(guard);
            let real = real.expect("outside of a check a guard is std's");
            let (real, result) = self.real.wait_timeout(real, duration).unwrap_or_else(PoisonError::into_inner);
            return with(mutex.guard(Some(real)), result.timed_out());
        };
        let caller = Caller::caller();
        if crate::choice::either(context, caller) {
            return with(in_between(guard), true);
        }
        context.state(|state| state.timed = true);
        let guard = self.wait_in(context, guard, caller);
        context.state(|state| state.timed = false);
        with(guard, false)
    }

    /// Waits until `condition` is false, but only until a time.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let (again, result) = self.wait_timeout(guard, duration)?;
            guard = again;
            if result.timed_out() {
                let still = condition(&mut *guard);
                return Ok((guard, WaitTimeoutResult(still)));
            }
        }
    }

    fn wait_in<'a, T: ?Sized>(
        &self,
        context: &Context,
        guard: MutexGuard<'a, T>,
        caller: &'static Caller<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let (mutex, _) = apart(guard);
        let key = context.key(&mutex.stamp, Hidden::Mutex, caller);
        let condvar = context.key(&self.stamp, Hidden::Condvar, caller);
        ask(context, Op::Sync(Synchronisation::Wait { condvar, mutex: key }), caller);
        mutex.guard(None)
    }

    /// Wakes one who waits.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(|condvar| Synchronisation::NotifyOne { condvar }, |real| real.notify_one(), Caller::caller());
    }

    /// Wakes all who wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(|condvar| Synchronisation::NotifyAll { condvar }, |real| real.notify_all(), Caller::caller());
    }

    fn notify(
        &self,
        sync: impl FnOnce(u64) -> Synchronisation,
        real: impl FnOnce(&std::sync::Condvar),
        caller: &'static Caller<'static>,
    ) {
        match rt::current() {
            None => real(&self.real),
            Some(context) => {
                let condvar = context.key(&self.stamp, Hidden::Condvar, caller);
                ask(context, Op::Sync(sync(condvar)), caller);
            }
        }
    }
}

fn with<T>(guard: LockResult<T>, timed_out: bool) -> LockResult<(T, WaitTimeoutResult)> {
    match guard {
        Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
        Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(timed_out)))),
    }
}

/// Releases the lock and takes it again.
#[track_caller]
fn in_between<T: ?Sized>(guard: MutexGuard<'_, T>) -> LockResult<MutexGuard<'_, T>> {
    let mutex = guard.mutex;
    drop(guard);
    mutex.lock()
}

/// A guard's parts; the lock is not released.
fn apart<'a, T: ?Sized>(guard: MutexGuard<'a, T>) -> (&'a super::Mutex<T>, Option<std::sync::MutexGuard<'a, ()>>) {
    let mut guard = ManuallyDrop::new(guard);
    (guard.mutex, guard.real.take())
}
