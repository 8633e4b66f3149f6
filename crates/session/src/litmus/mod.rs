//! Litmus tests.
//!
//! - [`campaign`]: `test` and `check` on one test;
//! - [`batch`]: the final states of many tests;
//! - [`safe`]: memory-model safety of one test, [`safe_batch`] of many; [`altered`]: a test that is changed;
//! - [`case`]: a test that is worked on; [`tally`] and [`collector`]: what its executions come to;
//! - [`random`] and [`exhaustive`]: how they are run; [`wanted`] and [`witness`]: one of them to be seen.

mod altered;
mod batch;
mod campaign;
mod case;
mod collector;
mod exhaustive;
mod in_order;
mod inputs;
mod minimise;
mod random;
mod safe;
mod safe_batch;
mod tally;
mod wanted;
mod witness;

pub use batch::{LitmusExplored, LitmusTotals, litmus};
pub use safe_batch::{SafeJudged, SafeTotals};
pub use wanted::Wanted;

pub(crate) use altered::{Altered, Change};
pub(crate) use campaign::{check, test};
pub(crate) use case::LitmusCase;
pub(crate) use safe_batch::{safe, safe_batch};
pub(crate) use witness::Witness;
