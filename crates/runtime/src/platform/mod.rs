//! What must not depend on anything of the program's: system calls, the runtime's own memory and state, the functions
//! that it hides, stacks to switch to, the files that are mapped, and how the process ends if all else fails.

pub mod arena;
pub mod channels;
pub mod context;
pub mod failure;
pub mod global;
pub mod imports;
pub mod layout;
pub mod modules;
pub mod patches;
pub mod real;
pub mod symbols;
pub mod sys;
