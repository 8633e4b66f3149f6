//! Does a thread wait in a loop?
//!
//! A thread that goes around a loop until another has done something must not keep that other from doing it. One that
//! comes back to where it was without having written anything new is taken to wait. That is a guess, made from program
//! points and locations alone: good enough to decide who goes first and how old a value may be, which loses nothing if
//! it is wrong. All schedulers and the bias of loads share it.
//!
//! Who has to be certain cannot use it: exploration and the search for livelocks compare whole states
//! ([`Threads::digest`](crate::Threads::digest)), and the tree of all choices stops a thread at a yield that it comes
//! back to with nothing written.

use super::per_thread::PerThread;
use fencepost_trace::{ThreadId, scramble};

/// So many places of a round are remembered: loops that wait are short.
const PLACES: usize = 16;

/// Where a thread has been since it last did something new.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Program points with locations.
    places: [u64; PLACES],
    /// How many of them there are.
    known: u8,
    /// Where the next one goes.
    next: u8,
    /// How often in a row it has come back to one of them.
    returns: u32,
}

impl Round {
    #[inline]
    fn visit(&mut self, place: u64, writes: bool) {
        if self.places[..usize::from(self.known)].contains(&place) {
            self.returns += 1;
            return;
        }
        if writes {
            (self.known, self.next) = (0, 0);
        }
        self.returns = 0;
        self.known = self.known.max(self.next + 1);
        self.places[usize::from(self.next)] = place;
        self.next = (self.next + 1) % PLACES as u8;
    }
}

/// Counts how often each thread has come back to where it was, with nothing new in between.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingLoops {
    rounds: PerThread<Round>,
}

impl WaitingLoops {
    /// Forgets the execution.
    pub fn clear(&mut self) {
        self.rounds.clear();
    }

    /// `thread` is about to take a step at the program point `label`, at this address (0: nowhere). How often in a row
    /// it has come back.
    #[inline]
    pub fn visit(&mut self, thread: ThreadId, label: u32, address: u64, writes: bool) -> u32 {
        let round = self.rounds.get(thread);
        if address != 0 {
            round.visit(scramble(address) ^ u64::from(label), writes);
        }
        round.returns
    }

    /// How often in a row `thread` has come back.
    #[inline]
    pub fn returns(&mut self, thread: ThreadId) -> u32 {
        self.rounds.get(thread).returns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(1);

    fn after(steps: &[(u32, u64, bool)]) -> u32 {
        let mut loops = WaitingLoops::default();
        let counts: Vec<u32> =
            steps.iter().map(|(label, address, writes)| loops.visit(T, *label, *address, *writes)).collect();
        assert_eq!(counts.last(), Some(&loops.returns(T)));
        loops.returns(T)
    }

    #[test]
    fn coming_back_is_counted() {
        // A loop of two loads, three times: the second and third round come back to both.
        let round = [(1, 16, false), (2, 24, false)];
        assert_eq!(after(&round.repeat(3)), 4);
    }

    #[test]
    fn a_new_place_ends_the_count() {
        assert_eq!(after(&[(1, 16, false), (1, 16, false), (2, 16, false)]), 0);
        // The same program point with another location is another place: a walk along a list gets on.
        assert_eq!(after(&[(1, 16, false), (1, 24, false), (1, 32, false)]), 0);
    }

    #[test]
    fn a_write_somewhere_new_forgets_the_round() {
        // Without the write in between the third step would be a return.
        assert_eq!(after(&[(1, 16, false), (2, 24, true), (1, 16, false)]), 0);
        assert_eq!(after(&[(1, 16, false), (2, 24, false), (1, 16, false)]), 1);
        // A lock that is tried again and again is a loop that waits, though every round writes.
        assert_eq!(after(&[(1, 16, true); 4]), 3);
    }

    #[test]
    fn steps_without_memory_and_other_threads_do_not_count() {
        let mut loops = WaitingLoops::default();
        loops.visit(T, 1, 16, false);
        loops.visit(T, 9, 0, false);
        loops.visit(ThreadId(2), 1, 16, false);
        assert_eq!((loops.returns(T), loops.returns(ThreadId(2))), (0, 0));
        loops.visit(T, 1, 16, false);
        assert_eq!((loops.returns(T), loops.returns(ThreadId(2))), (1, 0));
        loops.clear();
        assert_eq!(loops.returns(T), 0);
    }

    #[test]
    fn a_round_of_more_places_than_are_remembered_is_none() {
        let long: Vec<(u32, u64, bool)> = (0..PLACES as u32 + 1).map(|label| (label, 16, false)).collect();
        assert_eq!(after(&long.repeat(3)), 0);
        assert_eq!(after(&long[1..].repeat(3)), 2 * PLACES as u32);
    }
}
