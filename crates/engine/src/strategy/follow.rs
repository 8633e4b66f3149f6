//! The same answers again.

use super::{Actor, Pending, Strategy};
use fencepost_memory::Source;
use fencepost_trace::ThreadId;

/// Gives recorded answers, one after the other, and 0 when they have run out.
#[derive(Clone, Debug)]
pub struct Follow {
    choices: std::vec::IntoIter<u32>,
}

impl Follow {
    /// Follows `choices`.
    pub fn new(choices: impl Into<Vec<u32>>) -> Self {
        Follow { choices: choices.into().into_iter() }
    }

    fn next(&mut self) -> u32 {
        self.choices.next().unwrap_or(0)
    }
}

impl Strategy for Follow {
    fn actor(&mut self, actors: &[Actor], _: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        Some(if actors.len() == 1 { 0 } else { self.next() as usize })
    }

    fn actor_or_time(&mut self, _: &[Actor], _: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        Some(self.next() as usize)
    }

    fn source(&mut self, _: ThreadId, _: &[Source]) -> usize {
        self.next() as usize
    }

    fn variant(&mut self, _: ThreadId, _: u32) -> u32 {
        self.next()
    }
}
