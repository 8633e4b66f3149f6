//! The memory models of Fencepost: SC, TSO, PSO, PSLO and C/C++20.
//!
//! A model says what may happen, never what should. Each has two forms, side by side:
//!
//! - the *machine* ([`Machine`]): a state and its moves, which the engine runs;
//! - the *axioms*: a predicate on executions, which exhaustive exploration stands on and which checks
//!   the machine.

mod machine;

pub use machine::{Commit, Machine, Read, Source, Step};
