//! Native programs.
//!
//! - [`program`]: what is run; [`campaign`]: what the host is told;
//! - [`test`](mod@test), [`check`](mod@check), [`safe`](mod@safe), [`replay`](mod@replay): the commands;
//! - [`examine`]: what executions have found, [`again`]: one of them once more, [`suppressions`];
//! - [`finding`], [`reason`], [`symbolizer`], [`cut_off`], [`restart`]: findings in the words of the source;
//! - [`keeper`]: findings on disk while the work goes on; [`conclude`]: the result.

mod again;
mod campaign;
mod check;
mod conclude;
mod cut_off;
mod examine;
mod fences;
mod finding;
mod fix;
mod keeper;
mod minimise;
mod program;
mod reason;
mod replay;
mod restart;
mod safe;
mod spec;
mod suppressions;
mod symbolizer;
mod test;

pub use again::ended_by;
pub use campaign::{blocked, campaign};
pub use check::check;
pub use finding::finding;
pub use program::Program;
pub use replay::replay;
pub use restart::restarted;
pub use safe::safe;
pub use spec::specify;
pub use suppressions::Suppressions;
pub use symbolizer::Symbolizer;
pub use test::test;
