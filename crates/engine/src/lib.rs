//! One controlled execution of a concurrent program.
//!
//! - [`Threads`]: the program, as far as the engine is concerned;
//! - [`Execution`]: the state machine of one execution, over a memory model's [`Machine`](fencepost_memory::Machine):
//!   actors (threads and store buffers), choices, the record of what happened;
//! - [`Strategy`]: who answers the choices; [`Planned`] is the one that a plan names: [`Sampler`] and [`Follow`], or
//!   [`OnSchedule`], [`Relaxer`] and [`Orion`], which bring a cycle about; [`Random`] knows no plan, and [`Scripted`]
//!   leaves things out of an execution;
//! - [`Lowering`]: locks, joins and the like as memory accesses;
//! - [`Monitor`]: who watches; the [`RaceDetector`] is one;
//! - [`Fibers`]: programs written as Rust closures.
//!
//! The engine is deterministic: the same program and the same answers give the same execution, byte for byte. It
//! keeps all its state in values, so that any number of executions can be under way at once.

#![forbid(unsafe_code)]

mod effect;
mod execution;
mod fiber;
mod lowering;
mod monitor;
mod races;
mod run;
mod strategy;
mod threads;
mod waitset;

pub use effect::{Effect, effect, variants};
pub use execution::{Execution, Next, Patience};
pub use fiber::{Fiber, Fibers};
pub use lowering::{Lowering, Stage};
pub use monitor::{Monitor, Performed};
pub use races::{Race, RaceDetector};
pub use run::run;
pub use strategy::{
    Actor, Answer, Buffered, Drains, Follow, OnSchedule, Orion, Pending, Pick, Planned, Random, Relaxer, Sampler,
    Script, Scripted, Strategy, Turn, What,
};
pub use threads::{Given, Position, Threads};
pub use waitset::WaitSets;
