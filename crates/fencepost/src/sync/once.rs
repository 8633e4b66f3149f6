//! As [`std::sync::Once`], [`std::sync::OnceLock`] and [`std::sync::LazyLock`].

use crate::rt::{self, Context, Stamp, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Access, Guard, Hidden, LoadOrder, Location, Op};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::Deref;
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs something once.
#[derive(Debug)]
pub struct Once {
    stamp: Stamp,
    poisoned: AtomicBool,
    real: std::sync::Once,
}

/// What is known when a [`Once`] runs again after a panic.
#[derive(Debug)]
pub struct OnceState(bool);

impl OnceState {
    /// Did an earlier attempt panic?
    pub fn is_poisoned(&self) -> bool {
        self.0
    }
}

/// Takes the right to initialise back when the initialisation panics.
struct Abandon<'a>(&'a Once, &'a Context, &'static Caller<'static>);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        let Abandon(once, context, caller) = *self;
        once.poisoned.store(true, Ordering::Relaxed);
        let key = context.key(&once.stamp, Hidden::Once, caller);
        ask(context, Op::Sync(Synchronisation::OnceAbandon { once: key }), caller);
    }
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl Once {
    /// Nothing has run yet.
    pub const fn new() -> Once {
        Once { stamp: Stamp::new(), poisoned: AtomicBool::new(false), real: std::sync::Once::new() }
    }

    /// Runs `f` if nobody has run one, and waits until that is done.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.call(false, |_| f(), Caller::caller());
    }

    /// The same, whether or not an earlier attempt panicked.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        self.call(true, f, Caller::caller());
    }

    fn call(&self, force: bool, f: impl FnOnce(&OnceState), caller: &'static Caller<'static>) {
        let Some(context) = rt::current() else {
            return match force {
                true => self.real.call_once_force(|state| f(&OnceState(state.is_poisoned()))),
                false => self.real.call_once(|| f(&OnceState(false))),
            };
        };
        let once = context.key(&self.stamp, Hidden::Once, caller);
        if !ask(context, Op::Sync(Synchronisation::OnceBegin { once }), caller).success {
            return;
        }
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        let abandon = Abandon(self, context, caller);
        assert!(force || !poisoned, "Once instance has previously been poisoned");
        f(&OnceState(poisoned));
        std::mem::forget(abandon);
        self.poisoned.store(false, Ordering::Relaxed);
        ask(context, Op::Sync(Synchronisation::OnceEnd { once }), caller);
    }

    /// Is it done? What was done then happened before.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let Some(context) = rt::current() else { return self.real.is_completed() };
        let caller = Caller::caller();
        let key = context.key(&self.stamp, Hidden::Once, caller);
        let at = Location::hidden(Hidden::Once, key);
        let access = Access::Load { at, order: LoadOrder::Acquire, guard: Guard::Any };
        ask(context, Op::Access(access), caller).value.0 == 2
    }
}

/// A value that is set once. In a check a static one starts empty in every execution.
pub struct OnceLock<T> {
    once: Once,
    /// In which execution the value was set: what an earlier one has left is no value.
    epoch: AtomicU64,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: `once` sees to it that one thread writes the value, before all others read it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Empty.
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), epoch: AtomicU64::new(0), value: UnsafeCell::new(None) }
    }

    /// The value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: who has set the value has done so before, and nobody writes it again.
        if self.once.is_completed() { unsafe { (*self.value.get()).as_ref() } } else { None }
    }

    /// The value, for who is alone with it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Sets the value; gives it back if there is one.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let given = Cell::new(Some(value));
        self.get_or_init(|| given.take().expect("it is taken once"));
        given.take().map_or(Ok(()), Err)
    }

    /// The value; `f` makes it if need be.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call(
            true,
            |_| {
                let value = f();
                // SAFETY: `once` lets one thread in here. What an earlier execution has left is forgotten, not dropped:
                // others of that execution may still refer to it.
                let old = unsafe { (*self.value.get()).replace(value) };
                std::mem::forget(old);
                self.epoch.fetch_add(1, Ordering::Relaxed);
            },
            Caller::caller(),
        );
        // SAFETY: it is set, before this, and nobody writes it again.
        unsafe { (*self.value.get()).as_ref().expect("it has been set") }
    }

    /// The value in the end.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

/// A value that is made when it is first used.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    init: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// A value that `f` makes. In a check it is made once per execution, so that `f` is not consumed.
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), init: f }
    }

    /// The value, made if need be.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(&this.init)
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
