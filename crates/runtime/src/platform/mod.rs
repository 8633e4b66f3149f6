//! What must not depend on anything of the program's: system calls, the runtime's own memory and state, the functions
//! that it hides, stacks to switch to, and the files that are mapped.

pub mod arena;
pub mod context;
pub mod global;
pub mod modules;
pub mod patches;
pub mod real;
pub mod symbols;
pub mod sys;
