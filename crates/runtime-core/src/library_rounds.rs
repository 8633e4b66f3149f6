//! Rounds of loops in which a library counts.
//!
//! The channels of Rust's standard library (`std::sync::mpmc`) wait in loops that count their rounds without end, to
//! wait longer each time. So no round leaves the thread as the one before, and yet they wait. What else such a function
//! remembers from one round to the next is what it has read in the last one: its loops begin by reading everything
//! anew. So within one call of it, a thread that comes by a place again is in the same state as the last time if what
//! it has read since is what it had read before that.

use fencepost_trace::Reply;
use std::hash::{Hash as _, Hasher as _};

/// What one call of such a function has read.
#[derive(Clone, Debug, Default)]
pub struct LibraryRounds {
    /// Where, and what.
    reads: Vec<(usize, Reply)>,
}

impl LibraryRounds {
    /// A call begins.
    pub fn begin(&mut self) {
        self.reads.clear();
    }

    /// It has read something at `pc`.
    pub fn read(&mut self, pc: usize, reply: Reply) {
        self.reads.push((pc, reply));
    }

    /// What it has read since it last read at `pc`, as a number: what its state there depends on. If it never has, that
    /// is everything.
    pub fn since(&self, pc: usize) -> u64 {
        let last = self.reads.iter().rposition(|(place, _)| *place == pc);
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write_u8(last.is_some().into());
        for (place, reply) in &self.reads[last.unwrap_or(0)..] {
            hasher.write_usize(*place);
            reply.value.hash(&mut hasher);
            hasher.write_u8(reply.success.into());
        }
        hasher.finish()
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
    fn digests(values: &[(u64, u64)]) -> Vec<u64> {
        let mut rounds = LibraryRounds::default();
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
    fn a_new_call_has_read_nothing() {
        let mut rounds = LibraryRounds::default();
        let first = rounds.since(1);
        rounds.read(1, value(5));
        assert_ne!(rounds.since(1), first);
        rounds.begin();
        assert_eq!(rounds.since(1), first);
    }
}
