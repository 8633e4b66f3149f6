//! The same answers again.

use super::{Actor, Pending, Strategy};
use fencepost_memory::Source;
use fencepost_trace::ThreadId;

/// Gives recorded answers, one after the other, and 0 when they have run out.
#[derive(Clone, Debug)]
pub struct Follow<'a> {
    choices: std::slice::Iter<'a, u32>,
}

impl<'a> Follow<'a> {
    /// Follows `choices`.
    pub fn new(choices: &'a [u32]) -> Self {
        Follow { choices: choices.iter() }
    }

    fn next(&mut self) -> u32 {
        self.choices.next().copied().unwrap_or(0)
    }
}

impl Strategy for Follow<'_> {
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
