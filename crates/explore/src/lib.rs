//! Campaigns: which executions to run, and what is made of them.
//!
//! - [`execute`]: one execution from a plan;
//! - [`enumerate`]: every choice of a model's machine;
//! - [`graph`]: every execution graph that a model's axioms permit, each exactly once.

#![forbid(unsafe_code)]

pub mod enumerate;
mod execute;
pub mod graph;

pub use execute::{Executed, execute, execute_noting};
