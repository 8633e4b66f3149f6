//! The native front end: unmodified C, C++ and Rust programs, compiled with `-fsanitize=thread`.
//!
//! Before a program runs, and after it has:
//!
//! - [`elf`] looks at the target: can it be run at all, is it instrumented, which of its [`libraries`] are not.
//! - [`asm`] finds the atomics that the compiler's instrumentation cannot see.
//! - [`symbols`] turns addresses into functions, files and lines, and addresses of data into names of variables.
//! - [`host`] runs the program, in worker processes, and collects what they find.
//! - [`worker`] starts these processes.
//! - [`interrupt`] ends that early, with what there is.
//! - [`gdb`] runs one execution of it under a debugger.
//! - [`embedded`] has the runtime that goes into the program, and unpacks it.
//! - [`compiler`] is `fencepost cc` and `fencepost c++`, and compiles single files.

pub mod asm;
pub mod compiler;
mod debuginfo;
mod dwarf;
pub mod elf;
pub mod embedded;
mod frames;
pub mod gdb;
pub mod host;
mod image;
pub mod interrupt;
mod layout;
pub mod libraries;
mod mapped;
pub mod symbols;
mod table;
mod unannounced;
mod units;
mod variables;
pub mod worker;
