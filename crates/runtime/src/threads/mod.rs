//! Threads of the program: fibers on stacks and thread-local storage that parked kernel threads donate, where each is,
//! and their time.

pub mod calls;
pub mod clock;
pub mod donors;
pub mod fibers;
pub mod waiter_pool;
