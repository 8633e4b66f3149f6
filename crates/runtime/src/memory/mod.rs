//! The program's memory: its heap, what of it cannot be written, and how memory is put back.

pub mod heap;
pub mod read_only;
pub mod snapshot;
