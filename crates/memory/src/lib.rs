//! The memory models of Fencepost: SC, TSO, PSO, PSLO and C/C++20.
//!
//! A model says what may happen, never what should. Each has two forms, side by side:
//!
//! - the *machine* ([`Machine`]): a state and its moves, which the engine runs;
//! - the *axioms*: a predicate on executions, which exhaustive exploration stands on and which checks
//!   the machine.

#![forbid(unsafe_code)]

pub mod axioms;
mod buffer;
mod bytes;
mod c11;
mod consistency;
#[cfg(test)]
mod drive;
pub mod graph;
mod machine;
mod machines;
mod pslo;
mod pso;
mod sc;
mod tso;

pub use c11::C11;
pub use consistency::Checker;
#[doc(no_inline)]
pub use fencepost_trace::Model;
pub use machine::{Commit, Machine, Read, Source, Step};
pub use machines::MachineOptions;
pub use pslo::Pslo;
pub use pso::Pso;
pub use sc::Sc;
pub use tso::Tso;
