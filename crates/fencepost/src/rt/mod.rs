//! The model behind the types: one execution of a test, as the engine sees it.
//!
//! - `context`: what the fibers of one kernel thread share with those who run them; [`ask`] is how an operation gets
//!   from a type to the engine;
//! - `fiber`: threads of the program as fibers;
//! - `objects`: which object is which, in every run;
//! - `cells`: plain accesses and their races;
//! - `heap`: what a thread has changed on the heap;
//! - `local_state`: where a thread stands and what its variables hold, for loops that wait;
//! - `panics`: panics of the program are kept, not printed;
//! - `tracked`: what must be gone when an execution ends;
//! - `program`: all of this as [`Threads`](fencepost_engine::Threads).

mod cells;
mod context;
mod fiber;
mod heap;
mod local_state;
mod objects;
mod panics;
mod program;
mod tracked;

pub(crate) use cells::{Plain, PlainAccess};
pub(crate) use context::{Context, FaultKind, Newborn, Settings, ask, current};
pub(crate) use objects::{Kind, Stamp};
pub(crate) use program::Program;
