//! Campaigns: which executions to run, and what is made of them.
//!
//! - [`execute`]: one execution from a plan;
//! - [`explore`]: whatever finds its executions one by one, each from the last ([`Explorer`]);
//! - [`enumerate`]: every choice of a model's machine;
//! - [`graph`]: every execution graph that a model's axioms permit, each exactly once;
//! - [`causal`]: one execution for each set of values that threads can read.

#![forbid(unsafe_code)]

pub mod causal;
pub mod enumerate;
mod execute;
mod explorer;
pub mod graph;

pub use execute::{Executed, execute, execute_noting};
pub use explorer::{Explorer, Next, explore, explore_from};
