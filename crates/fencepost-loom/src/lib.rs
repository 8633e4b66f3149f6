//! Fencepost with the face of loom 0.7.
//!
//! `loom = { package = "fencepost-loom", … }` in Cargo.toml, and a suite that is written for loom runs on Fencepost:
//! under C/C++20 exactly, every execution graph once, any number of threads, loops that wait without hand-placed
//! yields.
//!
//! What differs:
//!
//! - `preemption_bound`, `max_branches`, `max_threads` and [`stop_exploring`] bound loom's search. Here everything is
//!   explored, and they are accepted and not needed.
//! - Constructors of atomics and locks are `const`.
//! - A checkpoint file is not written: a failure prints the line that replays it.

pub mod cell;
pub mod future;
pub mod model;
pub mod sync;
pub mod thread;

pub use fencepost::{alloc, hint, thread_local};
pub use model::model;

/// At most so many threads in loom; here there is no such limit.
pub const MAX_THREADS: usize = 5;

/// In loom: explores from here on. Here everything is explored.
pub fn explore() {}

/// In loom: explores no alternatives from here on. Here everything is explored.
pub fn stop_exploring() {}

/// In loom: explores no alternatives of this branch. Here everything is explored.
pub fn skip_branch() {}

/// Statics that are made when they are first used, once in every execution.
pub mod lazy_static {
    pub use fencepost::sync::LazyLock as Lazy;
    pub use fencepost::thread::{AccessError, panicking, yield_now};
}

/// As `lazy_static::lazy_static!`; every execution makes its own value.
#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $visibility:vis static ref $name:ident: $type:ty = $init:expr;)*) => {
        $($(#[$attribute])* $visibility static $name: $crate::lazy_static::Lazy<$type> =
            $crate::lazy_static::Lazy::new(|| $init);)*
    };
}
