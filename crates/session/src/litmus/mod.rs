//! Litmus tests.
//!
//! - [`campaign`]: `test` and `check` on one test;
//! - [`batch`]: the final states of many tests;
//! - [`case`]: a test that is worked on; [`tally`] and [`collector`]: what its executions come to;
//! - [`random`] and [`exhaustive`]: how they are run; [`wanted`] and [`witness`]: one of them to be seen.

mod batch;
mod campaign;
mod case;
mod collector;
mod exhaustive;
mod in_order;
mod inputs;
mod random;
mod tally;
mod wanted;
mod witness;

pub use batch::{LitmusExplored, LitmusTotals, litmus};
pub use wanted::Wanted;

pub(crate) use campaign::{check, test};
pub(crate) use case::LitmusCase;
pub(crate) use witness::Witness;
