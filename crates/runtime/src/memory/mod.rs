//! The program's memory: its heap, and how memory is put back.

pub mod heap;
pub mod snapshot;
