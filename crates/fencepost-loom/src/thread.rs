//! As `std::thread`.

pub use fencepost::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadIdentity as ThreadId, current,
    panicking, park, park_timeout, scope, sleep, spawn, yield_now,
};
