//! What can go wrong with the program or with the request.

use fencepost_trace::{Location, Model, ThreadId};
use std::fmt;

/// What can go wrong with the program or with the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExploreError {
    /// The model cannot be explored in this way.
    NoAxioms(Model),
    /// A thread did something else than before, although it got the same replies.
    Nondeterministic(ThreadId),
    /// Overlapping accesses of different sizes tie more than 16 bytes together.
    WideOverlap(Location),
    /// The steps to replay are not an execution of this program.
    Diverged(u32),
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExploreError::NoAxioms(model) => write!(f, "the model {model} cannot be explored exhaustively"),
            ExploreError::Nondeterministic(thread) => {
                write!(
                    f,
                    "the program is not deterministic: thread {thread} took another path although it read the same \
                     values"
                )
            }
            ExploreError::WideOverlap(at) => {
                write!(f, "accesses of different sizes overlap over more than 16 bytes at address {:#x}", at.address)
            }
            ExploreError::Diverged(step) => write!(f, "step {step} does not fit this program"),
        }
    }
}

impl std::error::Error for ExploreError {}
