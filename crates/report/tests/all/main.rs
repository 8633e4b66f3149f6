//! The tests of the formats, in one binary.

mod common;

mod hunt;
mod snapshots;
