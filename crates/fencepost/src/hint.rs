//! As in [`std::hint`].

pub use std::hint::{black_box, unreachable_unchecked};

/// The calling thread is in a loop that waits. Fencepost sees such loops by itself; this is a hint for schedulers.
#[track_caller]
pub fn spin_loop() {
    match crate::rt::current() {
        None => std::hint::spin_loop(),
        Some(context) => {
            crate::rt::ask(context, fencepost_trace::Op::Yield, std::panic::Location::caller());
        }
    }
}
