//! Text for people.

mod evidence;
mod execution;
mod finding;
mod hunt;
mod layout;
mod library;
mod relevant;
mod source;
mod stack;
mod states;
mod style;

pub use evidence::{evidence, shown_execution};
pub(crate) use execution::relevant_events;
pub use execution::{Execution, Mark, execution};
pub(crate) use finding::oddities;
pub use finding::{finding, render, reproduced, run};
pub use hunt::hunt;
pub use layout::{clean, counted, grouped};
pub use stack::{Call, printed, stack};
pub use states::{litmus, litmus_brief, litmus_summary};
pub use style::TextStyle;
