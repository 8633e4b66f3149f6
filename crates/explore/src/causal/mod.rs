//! Exploration up to what is read: one execution for each vector of read values.

mod explorer;
mod knowledge;
mod orders;
mod question;
mod run;
mod solver;
mod task;

pub use explorer::{Effort, Equivalence, Explorer};
pub use knowledge::Label;
pub use question::Answers;
pub use task::Task;
