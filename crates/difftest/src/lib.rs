//! Random programs, on which exploration, every choice of the machine, random executions and the machine itself must
//! agree.

pub mod compare;
pub mod generate;
pub mod known;
pub mod native;
mod pace;
pub mod program;
pub mod run;
pub mod run_scripts;
pub mod scripts;
pub mod shrink;
pub mod truths;
pub mod units;
pub mod write;
