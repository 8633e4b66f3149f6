//! Predicts violations of sequential consistency from executions that have none.
//!
//! An execution is sequentially consistent if program order and conflict order together have no cycle. So a violation
//! is a cycle: in each of some threads one access or two, the last of each in conflict with the first of the next.
//! Under SC one of its conflicts went the other way; under a weaker model that lets one of the pairs pass each other,
//! perhaps not. The parts, in the order of their use:
//!
//! - [`Profile`]: an execution, thread by thread; [`Behind`]: what a model preserves of program order;
//! - [`private`]: memory that one thread alone accesses, which is left out;
//! - [`critical`]: all cycles that are critical, directly: what `fencepost hunt` uses;
//! - [`relaxer`] and [`orion`]: the predictions of the two papers, for comparison;
//! - [`solve`]: a [`Schedule`](fencepost_trace::Schedule) that makes a cycle come true;
//! - [`confirm`]: did it?
//! - [`cover`]: where an ordering breaks all of a set of cycles.

#![forbid(unsafe_code)]

pub mod confirm;
pub mod cover;
pub mod critical;
mod order;
pub mod orion;
pub mod private;
mod profile;
pub mod relaxer;
pub mod solve;
#[cfg(test)]
mod testing;

pub use order::{Behind, kept_behind, passing};
pub use profile::{Epochs, Item, Kind, Profile};
