//! Rounds of loops in which a library counts.
//!
//! The channels of Rust's standard library (`std::sync::mpmc`) wait in loops that count their rounds without end, to
//! wait longer each time. So no round leaves the thread as the one before, and yet they wait. What else such a function
//! remembers from one round to the next is what it has read in the last one: its loops begin by reading everything
//! anew. So within one call of it, a thread that comes by a place again is in the same state as the last time if what
//! it has read since is what it had read before that. Within another call it is if, besides, the thread was in the same
//! state when that began: what the caller counts is not the library's.

use fencepost_trace::Reply;
use std::hash::{Hash as _, Hasher as _};

/// What one call of such a function has read.
#[derive(Clone, Debug, Default)]
pub struct LibraryRounds {
    /// The thread's state when the call came to its first access.
    state: Option<u64>,
    /// Where, and what.
    reads: Vec<(usize, Reply)>,
}

impl LibraryRounds {
    /// A call has come to its first access, in this state if that is known.
    pub fn begin(&mut self, state: Option<u64>) {
        self.state = state;
        self.reads.clear();
    }

    /// It has read something at `pc`.
    pub fn read(&mut self, pc: usize, reply: Reply) {
        self.reads.push((pc, reply));
    }

    /// What its state at `pc` depends on, as a number: the state in which it began, and what it has read since it last
    /// read there. If it never has, that is everything.
    pub fn since(&self, pc: usize) -> Option<u64> {
        let last = self.reads.iter().rposition(|(place, _)| *place == pc);
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write_u64(self.state?);
        hasher.write_u8(last.is_some().into());
        for (place, reply) in &self.reads[last.unwrap_or(0)..] {
            hasher.write_usize(*place);
            reply.value.hash(&mut hasher);
            hasher.write_u8(reply.success.into());
        }
        Some(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::Value;

    fn value(value: u64) -> Reply {
        Reply { value: Value(value.into()), success: true }
    }

    /// The digests at `pc` while a call reads these values, there and at another place.
    fn digests(values: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut rounds = LibraryRounds::default();
        rounds.begin(Some(0));
        values
            .iter()
            .map(|(here, there)| {
                let now = rounds.since(1);
                rounds.read(1, value(*here));
                rounds.read(2, value(*there));
                now
            })
            .collect()
    }

    #[test]
    fn a_round_like_the_one_before_ends_in_the_same_state() {
        let [first, second, third, _] = digests(&[(5, 6), (5, 6), (5, 6), (5, 6)])[..] else { panic!("four") };
        assert_ne!(first, second, "there was no round before the first");
        assert_eq!(second, third);
    }

    #[test]
    fn a_round_that_read_something_else_does_not() {
        let states = digests(&[(5, 6), (5, 7), (4, 7), (0, 0)]);
        assert!((0..4).all(|i| (0..i).all(|j| states[i] != states[j])), "{states:?}");
    }

    #[test]
    fn another_call_is_the_same_only_from_the_same_state() {
        let mut rounds = LibraryRounds::default();
        let mut at_second = |state: u64| {
            rounds.begin(Some(state));
            rounds.read(1, value(5));
            rounds.since(1)
        };
        let (first, second, third) = (at_second(7), at_second(7), at_second(8));
        assert_eq!(first, second);
        assert_ne!(first, third);
        rounds.begin(None);
        assert_eq!(rounds.since(1), None, "a state that is not known is like no other");
    }
}
