//! Without the model: std's own types.

pub use std::{hint, thread_local};

/// As [`std::sync`].
pub mod sync {
    pub use std::sync::*;
}

/// As [`std::thread`].
pub mod thread {
    pub use std::thread::*;
}

/// Cells with the methods of the model's.
pub mod cell {
    pub use std::cell::Cell;

    /// [`std::cell::UnsafeCell`], with the methods of the model's.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A new cell.
        #[inline(always)]
        pub const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// A new cell for a static.
        #[inline(always)]
        pub const fn new_const(value: T) -> Self {
            UnsafeCell::new(value)
        }

        /// What it holds in the end.
        #[inline(always)]
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Reads.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Writes.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }

        /// A pointer to what it holds.
        #[inline(always)]
        pub const fn get(&self) -> *mut T {
            self.0.get()
        }

        /// A mutable reference to what it holds.
        #[inline(always)]
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }
    }
}
