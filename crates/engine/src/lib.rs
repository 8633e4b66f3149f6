//! One controlled execution of a concurrent program.

mod threads;

pub use threads::Threads;
