//! One controlled execution of a concurrent program.

mod effect;
mod lowering;
mod threads;
mod waitset;

pub use effect::{Effect, effect, variants};
pub use lowering::{Lowering, Stage};
pub use threads::Threads;
pub use waitset::WaitSets;
