//! One execution after the other: the engine, who answers its choices, how executions begin, end and begin again.

pub mod atomically;
pub mod campaign;
pub mod control;
pub mod debugger;
pub mod ending;
pub mod enumerate;
pub mod hunt;
pub mod restart;
pub mod spec;
