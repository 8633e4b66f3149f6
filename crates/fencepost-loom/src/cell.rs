//! Cells whose accesses are watched.

pub use fencepost::cell::Cell;
use fencepost::cell::{Reading, Writing};
use std::fmt;

/// A cell whose accesses are watched.
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized>(fencepost::cell::UnsafeCell<T>);

/// A read under way: until it is dropped nobody may write.
pub struct ConstPtr<T: ?Sized>(Reading<T>);

/// A write under way: until it is dropped nobody else may read or write.
pub struct MutPtr<T: ?Sized>(Writing<T>);

impl<T> UnsafeCell<T> {
    /// A new cell.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(fencepost::cell::UnsafeCell::new(value))
    }

    /// What it holds in the end.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads.
    #[track_caller]
    pub fn with<F: FnOnce(*const T) -> R, R>(&self, f: F) -> R {
        self.0.with(f)
    }

    /// Writes.
    #[track_caller]
    pub fn with_mut<F: FnOnce(*mut T) -> R, R>(&self, f: F) -> R {
        self.0.with_mut(f)
    }

    /// Begins to read.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr(self.0.read())
    }

    /// Begins to write.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr(self.0.write())
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
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// What is read.
    ///
    /// # Safety
    ///
    /// It must be a value that may be read: the check sees races, and nothing else.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise; nobody writes while this lives, or the check ends.
        unsafe { &*self.0.pointer() }
    }

    /// Reads.
    pub fn with<F: FnOnce(*const T) -> R, R>(&self, f: F) -> R {
        f(self.0.pointer())
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// What is written.
    ///
    /// # Safety
    ///
    /// It must be a value that may be written, and no other reference to it may be in use.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise; nobody else reads or writes while this lives, or the check ends.
        unsafe { &mut *self.0.pointer() }
    }

    /// Writes.
    pub fn with<F: FnOnce(*mut T) -> R, R>(&self, f: F) -> R {
        f(self.0.pointer())
    }
}
