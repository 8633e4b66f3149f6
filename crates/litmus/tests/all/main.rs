//! The tests of litmus files as programs, in one binary.

mod corpus;
mod errors;
mod interleavings;
mod robustness;
mod semantics;
