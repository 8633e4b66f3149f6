//! One execution after the other: the engine, who answers its choices, how executions begin, end and begin again.

pub mod atomically;
pub mod control;
pub mod debugger;
pub mod ending;
pub mod explored;
pub mod findings;
mod local_state;
pub mod once;
pub mod patience;
pub mod private;
pub mod progress;
pub mod restart;
pub mod spec;
pub mod stall;
mod verdict;
pub mod view;
pub mod volatile;

pub use local_state::{asks, digest, has_tried, may_fail, one_of_several, replied};
