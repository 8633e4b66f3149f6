//! The program's memory: its heap, what it holds under the hardware models, and how it is put back.

pub mod heap;
pub mod snapshot;
pub mod view;
