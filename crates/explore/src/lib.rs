//! Campaigns over executions: random, exhaustive, enumerated.

pub mod graph;
