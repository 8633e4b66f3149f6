//! Who answers the choices of an execution.

mod follow;
mod random;

pub use follow::Follow;
pub use random::Random;

use fencepost_memory::{Commit, Source};
use fencepost_trace::{Access, ThreadId};

/// What can take the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A program thread, with the operation that it asked for.
    Thread(ThreadId),
    /// A store buffer that makes one of its stores visible.
    Buffer(Commit),
}

/// What a strategy may know of a thread that could go next.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// The access that it wants to make; `None` for a yield.
    pub access: Option<Access>,
    /// Its program point.
    pub label: u32,
    /// Can no other thread tell when it happens?
    pub local: bool,
}

/// Answers the choices of one execution.
///
/// The engine asks only where there is more than one answer, and takes the answer modulo their number. The list
/// of all answers *is* the execution: [`Follow`] gives it again.
pub trait Strategy {
    /// Which actor goes next. `pending` tells what a thread among them wants to do.
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(ThreadId) -> Pending) -> usize;

    /// Which store a load of `thread` reads. For a weak compare-exchange a store may be there twice: first for failing on it,
    /// then for succeeding.
    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize;

    /// Which of several results an operation of `thread` has: the waiter that is woken.
    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32;
}
