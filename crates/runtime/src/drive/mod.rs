//! One execution after the other: the engine, who answers its choices, how executions begin, end and begin again.

pub mod atomically;
pub mod campaign;
pub mod conclusion;
pub mod control;
pub mod debugger;
pub mod ending;
pub mod enumerate;
pub mod findings;
pub mod hunt;
mod local_state;
pub mod progress;
pub mod restart;
pub mod spec;
pub mod stall;
pub mod view;

pub use local_state::{digest, has_tried, may_fail};
