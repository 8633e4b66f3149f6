//! The parts of the runtime that touch nothing of the process they run in.
//!
//! `fencepost-runtime` defines `malloc` and `pthread_create`, so that nothing can be linked with it, unit tests least
//! of all. What it computes without looking at memory or calling the system is here, where tests run it: size classes
//! of the heap, slots of the race detector, masks of bytes, formats of `printf` and `scanf`, machine code that may be
//! moved, what locked instructions leave behind, mangled names, rounds of loops in which a library counts, the
//! end of a long trace, what a panic has printed.

#![forbid(unsafe_code)]

pub mod ending;
pub mod format;
pub mod instruction;
pub mod library_rounds;
pub mod machine_code;
pub mod mangled;
pub mod masks;
pub mod panics;
pub mod ranges;
pub mod size_class;
pub mod slot;
