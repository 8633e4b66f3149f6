//! Concurrency tests of Rust code: every behaviour that the memory model permits, or many at random.
//!
//! ```
//! use fencepost::sync::atomic::{AtomicU32, Ordering::{Acquire, Relaxed, Release}};
//! use fencepost::thread;
//! use std::sync::Arc;
//!
//! fencepost::check(|| {
//!     let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
//!     let other = Arc::clone(&shared);
//!     let sender = thread::spawn(move || {
//!         other.0.store(42, Relaxed);
//!         other.1.store(1, Release);
//!     });
//!     if shared.1.load(Acquire) == 1 {
//!         assert_eq!(shared.0.load(Relaxed), 42);
//!     }
//!     sender.join().unwrap();
//! });
//! ```
//!
//! [`check`] runs the closure once for every execution graph that C/C++20 permits, and no two alike; under
//! [`Model::Sc`],
//! [`Model::Tso`] and [`Model::Pso`] by option ([`Config`]). A failure (a panic in any thread, a data race on a
//! [`cell`], a deadlock, an endless loop, a leak) is shown with the whole execution, threads side by side, and the line
//! that replays it.
//!
//! The closure must do the same every time it reads the same: no clocks, no random numbers, no real threads. If it does
//! not, that is found out and said.
//!
//! # One code base
//!
//! Types are the model's with the feature `model` or with `--cfg fencepost` in `RUSTFLAGS`; otherwise they are std's,
//! and
//! nothing of this is compiled. In the model they work outside of a check as well, as std's do.
//!
//! # What is not seen
//!
//! - Data that is neither atomic, nor behind a lock, nor in a [`cell`], is not watched for races.
//! - The constructors of atomics are `const`: their first value is there before everything. [`cell::UnsafeCell::new`]
//!   is
//!   an event of its thread, so that what is published without ordering is reported.
//! - A loop that waits is recognised by its stack and by what it changes: see `spin_detection` in [`Config`].
//! - What an execution that cannot be completed has allocated stays behind until the process ends.

#[cfg(any(fencepost, feature = "model"))]
pub mod alloc;
#[cfg(any(fencepost, feature = "model"))]
pub mod cell;
#[cfg(any(fencepost, feature = "model"))]
mod check;
#[cfg(any(fencepost, feature = "model"))]
mod choice;
#[cfg(any(fencepost, feature = "model"))]
pub mod future;
#[cfg(any(fencepost, feature = "model"))]
pub mod hint;
#[cfg(any(fencepost, feature = "model"))]
mod rt;
#[cfg(any(fencepost, feature = "model"))]
pub mod sync;
#[cfg(any(fencepost, feature = "model"))]
pub mod thread;

#[cfg(any(fencepost, feature = "model"))]
pub use check::{Config, Failure, Method, Summary, check, check_with, random, replay};
#[cfg(any(fencepost, feature = "model"))]
pub use fencepost_trace::{FindingKind, Model};

/// A test that is checked: `#[fencepost::test]`, or with options:
/// `#[fencepost::test(model = "tso", method = "random", executions = 1000, seed = 1, jobs = 2)]`. Models are `c11`,
/// `sc`,
/// `tso` and `pso`; methods are `graph` and `random`.
pub use fencepost_macros::test;

#[doc(hidden)]
#[cfg(any(fencepost, feature = "model"))]
#[track_caller]
pub fn __test(model: &str, method: &str, executions: u64, seed: u64, jobs: usize, test: fn()) {
    let model = model.parse().unwrap_or_else(|error| panic!("fencepost: {error}"));
    let config = Config::new().model(model).jobs(jobs);
    let config = match method {
        "graph" => config,
        "random" => config.random(executions).seed(seed),
        other => panic!("fencepost: unknown method '{other}': expected graph or random"),
    };
    check_with(config, test);
}

#[doc(hidden)]
#[cfg(not(any(fencepost, feature = "model")))]
pub fn __test(_: &str, _: &str, _: u64, _: u64, _: usize, test: fn()) {
    test();
}

#[cfg(not(any(fencepost, feature = "model")))]
mod real;
#[cfg(not(any(fencepost, feature = "model")))]
pub use real::*;
