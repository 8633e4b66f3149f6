//! Cells whose accesses are watched: two that nothing orders, one of which writes, are a race, and reported with both
//! places.

use crate::rt::{self, Kind, Plain, PlainAccess, Stamp};
use std::fmt;
use std::panic::Location as Caller;

/// As [`std::cell::UnsafeCell`]. Accesses through [`with`](Self::with), [`with_mut`](Self::with_mut) and
/// [`get`](Self::get) are watched.
pub struct UnsafeCell<T: ?Sized> {
    stamp: Stamp,
    value: std::cell::UnsafeCell<T>,
}

/// The creation of a cell or the like, if in a check.
#[track_caller]
fn created(stamp: &Stamp) {
    if let Some(context) = rt::current() {
        context.created(stamp, Kind::Plain, Caller::caller(), 0);
    }
}

impl<T> UnsafeCell<T> {
    /// A new cell. Whoever uses it must be ordered behind this.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let stamp = Stamp::new();
        created(&stamp);
        UnsafeCell { stamp, value: std::cell::UnsafeCell::new(value) }
    }

    /// A new cell for a static. Nothing is known of who made it.
    pub const fn new_const(value: T) -> Self {
        UnsafeCell { stamp: Stamp::new(), value: std::cell::UnsafeCell::new(value) }
    }

    /// What it holds in the end.
    #[track_caller]
    pub fn into_inner(self) -> T {
        drop(access(&self.stamp, Plain::Own));
        self.value.into_inner()
    }
}

#[track_caller]
fn access(stamp: &Stamp, kind: Plain) -> Option<PlainAccess> {
    // Not in a closure: those have no caller.
    let caller = Caller::caller();
    rt::current().map(|context| context.access(stamp, kind, caller))
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads: `f` gets a pointer to what it holds.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let _under_way = access(&self.stamp, Plain::Read);
        f(self.value.get())
    }

    /// Writes: `f` gets a pointer to what it holds.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let _under_way = access(&self.stamp, Plain::Write);
        f(self.value.get())
    }

    /// A pointer to what it holds. This counts as a write.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        drop(access(&self.stamp, Plain::Write));
        self.value.get()
    }

    /// A mutable reference to what it holds.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        drop(access(&self.stamp, Plain::Own));
        self.value.get_mut()
    }

    /// Begins to read: until the guard is dropped nobody may write.
    #[track_caller]
    pub fn read(&self) -> Reading<T> {
        Reading { under_way: access(&self.stamp, Plain::Read), value: self.value.get() }
    }

    /// Begins to write: until the guard is dropped nobody else may read or write.
    #[track_caller]
    pub fn write(&self) -> Writing<T> {
        Writing { under_way: access(&self.stamp, Plain::Write), value: self.value.get() }
    }
}

/// A read under way.
pub struct Reading<T: ?Sized> {
    under_way: Option<PlainAccess>,
    value: *const T,
}

impl<T: ?Sized> Reading<T> {
    /// What is read.
    pub fn pointer(&self) -> *const T {
        let _ = &self.under_way;
        self.value
    }
}

/// A write under way.
pub struct Writing<T: ?Sized> {
    under_way: Option<PlainAccess>,
    value: *mut T,
}

impl<T: ?Sized> Writing<T> {
    /// What is written.
    pub fn pointer(&self) -> *mut T {
        let _ = &self.under_way;
        self.value
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// As [`std::cell::Cell`], watched. It is not `Sync`; who shares it all the same, with `unsafe`, is told of races.
#[derive(Default)]
pub struct Cell<T> {
    value: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// A new cell.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Cell { value: UnsafeCell::new(value) }
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Sets the value, and returns the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: the cell is not `Sync`, no reference to what it holds is handed out, and nothing runs in between.
        self.value.with_mut(|at| unsafe { std::mem::replace(&mut *at, value) })
    }

    /// Takes the value, and leaves the default one.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if !std::ptr::eq(self, other) {
            // SAFETY: the cells are not `Sync`, they are two, and nothing runs in between.
            self.value.with_mut(|one| other.value.with_mut(|two| unsafe { std::ptr::swap(one, two) }));
        }
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the cell is not `Sync`, no reference to what it holds is handed out, and nothing runs in between.
        self.value.with(|at| unsafe { *at })
    }

    /// The value in the end.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// A mutable reference to the value.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}
