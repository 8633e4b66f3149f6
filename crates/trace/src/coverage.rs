//! Which reads read from which stores, over the executions of a campaign.
//!
//! A table of a fixed size without pointers, so that it can lie in memory that processes share. Nobody writes to it
//! but the worker whose it is; its words are atomic only because others may look.
//!
//! What a campaign has seen must not depend on who ran which part of it. So what steers an execution is what was seen
//! earlier *in its block*: executions are run in blocks of [`BLOCK`], each by one worker from its first to its last,
//! and each block starts as if nothing had been seen. What is reported is, for each pair, the first execution that
//! had it, which adds up over workers. What a mix has learnt
//! lies beside it, and is kept for longer.

use crate::learning::Learning;
use crate::{Beginning, Pair, Reads, Sampling, Scheduler};
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// So many executions are run one after the other by one worker.
pub const BLOCK: u64 = 64;

const SLOTS: usize = 1 << 14;
/// The first of them, which are filled first.
const NEAR: usize = 1 << 10;
/// Further than this from where it belongs no pair is looked for.
const REACH: usize = 64;
/// So many pairs that could be read and were not are remembered.
const WANTED: usize = 64;

#[repr(C)]
struct Slot {
    /// The pair as a number; 0 if free.
    pair: AtomicU64,
    /// The first execution that had it, counted from 1; 0 if it was only possible so far.
    first: AtomicU64,
    /// The last block that had it, counted from 1.
    seen: AtomicU32,
    /// The last block in which it was possible.
    offered: AtomicU32,
}

/// The pairs that one worker has seen.
#[repr(C)]
pub struct Coverage {
    /// The execution under way, counted from 1.
    execution: AtomicU64,
    /// Its block, counted from 1.
    block: AtomicU32,
    /// How many pairs are in `wanted`.
    wanting: AtomicU32,
    /// How many steps the last execution of this block took.
    length: AtomicU64,
    /// 1 if slots behind the near ones are in use.
    far: AtomicU64,
    /// 1 if the execution under way had a pair that is new in its block.
    new: AtomicU32,
    learning: Learning,
    /// Pairs that were possible in this block and not taken.
    wanted: [AtomicU64; WANTED],
    slots: [Slot; SLOTS],
}

impl Pair {
    /// As a number that is not 0. Labels have 31 bits.
    fn number(self) -> u64 {
        u64::from(self.store) << 33 | (u64::from(self.load) & 0x7fff_ffff) << 2 | u64::from(self.own) << 1 | 1
    }

    fn from_number(n: u64) -> Pair {
        Pair { store: (n >> 33) as u32, load: (n >> 2 & 0x7fff_ffff) as u32, own: n & 2 != 0 }
    }
}

impl Coverage {
    /// An empty one.
    #[allow(clippy::new_without_default, reason = "too large to be moved around")]
    pub fn new() -> Box<Coverage> {
        Box::new(Coverage {
            execution: AtomicU64::new(0),
            block: AtomicU32::new(0),
            wanting: AtomicU32::new(0),
            length: AtomicU64::new(0),
            far: AtomicU64::new(0),
            new: AtomicU32::new(0),
            learning: Learning::new(),
            wanted: [const { AtomicU64::new(0) }; WANTED],
            slots: [const { Slot::new() }; SLOTS],
        })
    }

    /// An execution begins.
    pub fn begin(&self, execution: u64) {
        let block = (execution / BLOCK) as u32 + 1;
        if self.block.load(Relaxed) != block {
            self.block.store(block, Relaxed);
            self.wanting.store(0, Relaxed);
            self.length.store(0, Relaxed);
        }
        self.execution.store(execution + 1, Relaxed);
        self.new.store(0, Relaxed);
        self.learning.begin(execution);
    }

    /// Decides, for an execution of a mix, what earlier ones of its season have taught.
    pub fn decide(&self, seed: u64, sampling: &mut Sampling) {
        self.learning.decide(seed, sampling);
    }

    /// The execution is drawn like this.
    pub fn drawn(&self, scheduler: Scheduler, reads: Reads, beginning: Beginning) {
        self.learning.drawn(scheduler, reads, beginning);
    }

    /// The execution has shown a finding, or none: a mix learns from it.
    pub fn shown(&self, found: bool) {
        self.learning.end(found, self.new.load(Relaxed) != 0);
    }

    /// It has ended after so many steps.
    pub fn end(&self, steps: u64) {
        self.length.store(steps, Relaxed);
    }

    /// How many steps the execution before this one took; 0 if it was of another block.
    pub fn length(&self) -> u64 {
        self.length.load(Relaxed)
    }

    fn find(&self, number: u64) -> Option<&Slot> {
        let start = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        // Few pages while there are few pairs: a child process has to map each of them anew.
        let near = (0..REACH).map(|i| (start + i) % NEAR);
        let far = (0..REACH).map(|i| NEAR + (start + i) % (SLOTS - NEAR));
        for place in near.chain(far) {
            let slot = &self.slots[place];
            let found = slot.pair.load(Relaxed);
            if found == number {
                return Some(slot);
            }
            if found == 0 {
                if place >= NEAR {
                    self.far.store(1, Relaxed);
                }
                slot.pair.store(number, Relaxed);
                return Some(slot);
            }
        }
        None
    }

    /// A read has read from this store.
    #[inline]
    pub fn seen(&self, pair: Pair) {
        if let Some(slot) = self.find(pair.number()) {
            let block = self.block.load(Relaxed);
            if slot.seen.load(Relaxed) != block {
                slot.seen.store(block, Relaxed);
                self.new.store(1, Relaxed);
                if slot.first.load(Relaxed) == 0 {
                    slot.first.store(self.execution.load(Relaxed), Relaxed);
                }
            }
        }
    }

    /// A read could read from this store, whether it then does or not.
    pub fn offered(&self, pair: Pair) {
        let Some(slot) = self.find(pair.number()) else { return };
        let block = self.block.load(Relaxed);
        if slot.seen.load(Relaxed) != block && slot.offered.load(Relaxed) != block {
            slot.offered.store(block, Relaxed);
            let wanting = self.wanting.load(Relaxed);
            if let Some(free) = self.wanted.get(wanting as usize) {
                free.store(pair.number(), Relaxed);
                self.wanting.store(wanting + 1, Relaxed);
            }
        }
    }

    /// A pair that was possible in this block but has not been seen in it. It is not named again.
    pub fn wanted(&self) -> Option<Pair> {
        loop {
            let last = self.wanting.load(Relaxed).checked_sub(1)?;
            self.wanting.store(last, Relaxed);
            let pair = Pair::from_number(self.wanted[last as usize].load(Relaxed));
            let slot = self.find(pair.number())?;
            if slot.seen.load(Relaxed) != self.block.load(Relaxed) {
                return Some(pair);
            }
        }
    }

    /// The pairs that were seen, each with the first execution that had it, counted from 0.
    pub fn pairs(&self) -> impl Iterator<Item = (Pair, u64)> + '_ {
        let used = if self.far.load(Relaxed) != 0 { SLOTS } else { NEAR };
        self.slots[..used].iter().filter_map(|slot| {
            let first = slot.first.load(Relaxed).checked_sub(1)?;
            Some((Pair::from_number(slot.pair.load(Relaxed)), first))
        })
    }
}

impl fmt::Debug for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coverage").field("execution", &self.execution).finish_non_exhaustive()
    }
}

impl Slot {
    const fn new() -> Slot {
        Slot { pair: AtomicU64::new(0), first: AtomicU64::new(0), seen: AtomicU32::new(0), offered: AtomicU32::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Pair = Pair { store: 0, load: 7, own: false };
    const B: Pair = Pair { store: 0x7fff_ffff, load: 0x7fff_fffe, own: true };

    #[test]
    fn a_pair_survives_being_a_number() {
        for pair in [A, B] {
            assert_eq!(Pair::from_number(pair.number()), pair);
        }
    }

    #[test]
    fn the_first_execution_of_a_pair_is_kept() {
        let coverage = Coverage::new();
        for execution in [3, 4, 1000] {
            coverage.begin(execution);
            coverage.seen(A);
        }
        coverage.seen(B);
        let mut pairs: Vec<(Pair, u64)> = coverage.pairs().collect();
        pairs.sort();
        assert_eq!(pairs, [(A, 3), (B, 1000)]);
    }

    #[test]
    fn what_was_possible_and_never_seen_is_wanted_once_in_a_block() {
        let coverage = Coverage::new();
        coverage.begin(0);
        coverage.offered(A);
        coverage.offered(B);
        coverage.offered(A);
        coverage.seen(B);
        coverage.end(12);
        coverage.begin(1);
        assert_eq!(coverage.length(), 12);
        assert_eq!(coverage.wanted(), Some(A));
        assert_eq!(coverage.wanted(), None);
        assert!(coverage.pairs().eq([(B, 0)]));
        // Another block knows nothing of this one.
        coverage.begin(BLOCK);
        assert_eq!((coverage.length(), coverage.wanted()), (0, None));
        coverage.offered(B);
        assert_eq!(coverage.wanted(), Some(B));
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let coverage = Coverage::new();
        coverage.begin(0);
        for load in 0..2 * SLOTS as u32 {
            coverage.seen(Pair { store: 1, load, own: false });
        }
        let kept = coverage.pairs().count();
        assert!(kept > SLOTS / 2 && kept <= SLOTS, "{kept}");
    }
}
