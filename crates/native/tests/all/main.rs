//! The tests of this crate that can share a process, in one binary: what they share is compiled and linked once.

#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/mod.rs"]
mod support;

mod hidden_atomics;
mod oracle;
mod posix;
mod restart;
mod runtime;
mod single_files;
mod symbols;
mod targets;
