//! Text for people.

mod execution;
mod finding;
mod hunt;
mod layout;
mod look;
mod states;

pub use execution::{Execution, execution};
pub use finding::{finding, reproduced, run};
pub use hunt::hunt;
pub use layout::clean;
pub use look::Look;
pub use states::{litmus, litmus_brief, litmus_summary};
