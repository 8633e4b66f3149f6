//! The functions of Rust's channels (`std::sync::mpmc`) that were compiled into the program: their waiting loops count
//! rounds (see [`LibraryRounds`](fencepost_runtime_core::library_rounds::LibraryRounds)).

use crate::platform::global::Global;

/// Where they begin and end, in order.
static FUNCTIONS: Global<Vec<(usize, usize)>> = Global::new(Vec::new());

/// There are none but these.
pub fn set(mut functions: Vec<(usize, usize)>) {
    functions.sort_unstable();
    *FUNCTIONS.enter() = functions;
}

/// Does this return address lie in one of them?
pub fn contain(pc: usize) -> bool {
    let functions = FUNCTIONS.enter();
    let next = functions.partition_point(|(start, _)| *start < pc);
    next.checked_sub(1).is_some_and(|i| pc <= functions[i].1)
}
