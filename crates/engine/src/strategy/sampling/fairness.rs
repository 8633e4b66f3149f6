//! Who goes behind all others, so that priorities starve nobody.

use super::priority::WAITING;
use fencepost_trace::ThreadId;

/// A thread that has come back to the same place so often waits.
const ROUNDS: u32 = 3;
/// So often, where threads do not yield.
const NO_YIELD_ROUNDS: u32 = 64;
/// A thread that is preferred for so many steps in a row goes behind the others, whatever it does.
const MOST_IN_A_ROW: u32 = 1_000;

/// Watches who goes.
#[derive(Clone, Debug)]
pub(super) struct Fairness {
    /// Who went last, and how often in a row.
    last: ThreadId,
    in_a_row: u32,
    /// The priority of the thread that was last put behind the others.
    lowest: u64,
    /// Do threads that seem to wait, or give way, go on for long?
    no_yield: bool,
}

impl Fairness {
    pub fn new(no_yield: bool) -> Fairness {
        Fairness { last: ThreadId(u32::MAX), in_a_row: 0, lowest: WAITING, no_yield }
    }

    /// `thread` goes, which has come back to the same place `returns` times. If it has to go behind all others, the
    /// priority that it gets.
    #[inline]
    pub fn goes(&mut self, thread: ThreadId, gives_way: bool, returns: u32) -> Option<u64> {
        self.in_a_row = if thread == self.last { self.in_a_row + 1 } else { 0 };
        self.last = thread;
        let waits = if self.no_yield { returns >= NO_YIELD_ROUNDS } else { gives_way || returns >= ROUNDS };
        if !waits && self.in_a_row < MOST_IN_A_ROW {
            return None;
        }
        self.in_a_row = 0;
        self.lowest -= 1;
        Some(self.lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ThreadId = ThreadId(0);
    const B: ThreadId = ThreadId(1);

    #[test]
    fn who_gives_way_or_comes_back_often_goes_behind() {
        let mut fairness = Fairness::new(false);
        assert_eq!(fairness.goes(A, false, ROUNDS - 1), None);
        let first = fairness.goes(A, false, ROUNDS).expect("it waits");
        let second = fairness.goes(B, true, 0).expect("it gives way");
        assert!(second < first && first < WAITING, "each goes behind those that wait already");
    }

    #[test]
    fn where_threads_do_not_yield_they_go_on_for_long() {
        let mut fairness = Fairness::new(true);
        assert_eq!(fairness.goes(A, true, NO_YIELD_ROUNDS - 1), None);
        assert!(fairness.goes(A, false, NO_YIELD_ROUNDS).is_some());
    }

    #[test]
    fn nobody_goes_first_forever() {
        let mut fairness = Fairness::new(true);
        let alone: Vec<bool> = (0..=MOST_IN_A_ROW).map(|_| fairness.goes(A, false, 0).is_some()).collect();
        assert_eq!(alone.iter().position(|behind| *behind), Some(MOST_IN_A_ROW as usize));
        // Steps of others in between start the count anew.
        let mut turns = (0..4 * MOST_IN_A_ROW).map(|i| fairness.goes(if i % 2 == 0 { A } else { B }, false, 0));
        assert!(turns.all(|behind| behind.is_none()));
    }
}
