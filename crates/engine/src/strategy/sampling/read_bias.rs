//! What loads prefer to read.
//!
//! A load that may read several stores takes any of them with the same probability, or, with the probability of the
//! execution's bias, an old one, or the newest. The bias differs between executions, and between phases of long ones,
//! because bugs often need several loads to read old values, or none.
//!
//! A store that stays in its buffer is the same from the other side: where old values are preferred, buffers keep
//! theirs.

use crate::strategy::Random;
use crate::strategy::per_thread::PerThread;
use fencepost_trace::ThreadId;

/// A thread that has come back to the same place so often mostly reads what is newest.
const PATIENCE: u32 = 8;
/// After so many loads with a choice a thread reads what is newest every other time: the longer an execution is, the
/// more old stores there are, and somebody has to get on.
const LONG: u32 = 64;

/// In how many of 100 choices something is preferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Preference {
    /// An old store, otherwise any.
    Old(u32),
    /// The newest store, otherwise any.
    New(u32),
}

/// The bias of the current phase.
#[derive(Clone, Debug)]
pub(super) struct ReadBias {
    now: Preference,
    /// How much is to be old, if that was said.
    fixed: Option<u32>,
    /// By thread: how many of its loads had a choice.
    loads: PerThread<u32>,
}

impl ReadBias {
    pub fn new() -> ReadBias {
        ReadBias { now: Preference::Old(0), fixed: None, loads: PerThread::default() }
    }

    pub fn begin(&mut self, fixed: Option<u32>, random: &mut Random) {
        self.fixed = fixed;
        self.loads.clear();
        self.draw(random);
    }

    /// A new phase.
    pub fn draw(&mut self, random: &mut Random) {
        self.now = match self.fixed {
            Some(percent) => Preference::Old(percent),
            // Which, and how often, was decided by measurement: see docs/strategies.md.
            None => match random.below(16) {
                0..9 => Preference::Old(0),
                9..15 => Preference::Old(90),
                _ => Preference::New(90),
            },
        };
    }

    /// In how many of 100 choices a buffered store stays where it is.
    #[inline]
    pub fn kept(&self) -> u32 {
        match self.now {
            Preference::Old(percent) => percent,
            Preference::New(_) => 0,
        }
    }

    /// Which of several stores a load of `thread` reads; the newest is the last. The thread has come back to the same
    /// place `returns` times.
    pub fn choose(&mut self, random: &mut Random, thread: ThreadId, returns: u32, stores: usize) -> usize {
        let newest = stores - 1;
        let loads = self.loads.get(thread);
        *loads += 1;
        let (waits, long) = (returns >= PATIENCE, *loads > LONG);
        if waits && random.below(8) != 0 || long && random.below(2) != 0 {
            return newest;
        }
        match self.now {
            Preference::Old(percent) if random.chance(percent) => random.below(newest),
            Preference::New(percent) if random.chance(percent) => newest,
            Preference::Old(_) | Preference::New(_) => random.below(stores),
        }
    }
}
