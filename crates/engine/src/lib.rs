//! One controlled execution of a concurrent program.
//!
//! - [`Threads`]: the program, as far as the engine is concerned;
//! - [`Execution`]: the state machine of one execution, over a memory model's [`Machine`](fencepost_memory::Machine):
//!   actors (threads and store buffers), choices, the record of what happened;
//! - [`Strategy`]: who answers the choices; [`Random`], [`Sampler`] and [`Follow`]; [`OnCourse`], [`Biased`] and
//!   [`InOrder`], which hunt for a cycle;
//! - [`Lowering`]: locks, joins and the like as memory accesses;
//! - [`RaceDetector`]: a monitor;
//! - [`Fibers`]: programs written as Rust closures.
//!
//! The engine is deterministic: the same program and the same answers give the same execution, byte for byte. It
//! keeps all its state in values, so that any number of executions can be under way at once.

mod effect;
mod execution;
mod fiber;
mod lowering;
mod races;
mod run;
mod strategy;
mod threads;
mod waitset;

pub use effect::{Effect, effect, variants};
pub use execution::{Execution, Next, Patience};
pub use fiber::{Fiber, Fibers};
pub use lowering::{Lowering, Stage};
pub use races::{Race, RaceDetector};
pub use run::run;
pub use strategy::{Actor, Biased, Follow, InOrder, OnCourse, Pending, Points, Random, Sampler, Stop, Strategy, What};
pub use threads::Threads;
pub use waitset::WaitSets;
