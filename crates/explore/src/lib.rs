//! Campaigns: which executions to run, and what is made of them.
//!
//! - [`execute`]: one execution from a plan;
//! - [`explore`]: whatever finds its executions one by one, each from the last ([`Explorer`]);
//! - [`enumerate`]: every choice of a model's machine;
//! - [`graph`]: every execution graph that a model's axioms permit, each exactly once;
//! - [`causal`]: one execution for each set of values that threads can read;
//! - [`minimise`]: from an execution that shows something to a smaller one;
//! - [`violations`]: which violations of sequential consistency executions contain, and which of them do harm.

#![forbid(unsafe_code)]

pub mod causal;
pub mod enumerate;
mod execute;
mod explorer;
pub mod graph;
pub mod minimise;
mod outlook;
pub mod violations;

pub use execute::{Executed, execute, execute_noting};
pub use explorer::{Explorer, Next, explore, explore_from};
pub use outlook::Outlook;
