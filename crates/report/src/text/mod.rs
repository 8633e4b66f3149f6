//! Text for people.

mod execution;
mod finding;
mod hunt;
mod layout;
mod look;
mod relevant;
mod source;
mod stack;
mod states;

pub use execution::{Execution, Mark, execution};
pub use finding::{finding, reproduced, run};
pub use hunt::hunt;
pub use layout::{clean, counted, grouped};
pub use look::Look;
pub use stack::{Call, printed, stack};
pub use states::{litmus, litmus_brief, litmus_summary};
