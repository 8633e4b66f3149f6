//! Findings and executions for people and machines.
