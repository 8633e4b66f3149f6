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
use fencepost_trace::{Reads, Sampling, ThreadId};

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

impl Preference {
    const ANY: Preference = Preference::Old(0);
    const OLD: Preference = Preference::Old(90);
    const NEW: Preference = Preference::New(90);

    /// What a sampling says, if it does.
    fn of(sampling: &Sampling) -> Option<Preference> {
        let named = sampling.reads.map(|reads| match reads {
            Reads::Any => Preference::ANY,
            Reads::Old => Preference::OLD,
            Reads::New => Preference::NEW,
        });
        sampling.stale.map(Preference::Old).or(named)
    }
}

/// The bias of the current phase.
#[derive(Clone, Debug)]
pub(super) struct ReadBias {
    now: Preference,
    /// What was said, if anything was.
    fixed: Option<Preference>,
    /// By thread: how many of its loads had a choice.
    loads: PerThread<u32>,
}

impl ReadBias {
    pub fn new() -> ReadBias {
        ReadBias { now: Preference::ANY, fixed: None, loads: PerThread::default() }
    }

    pub fn begin(&mut self, sampling: &Sampling, random: &mut Random) {
        self.fixed = Preference::of(sampling);
        self.loads.clear();
        self.draw(random);
    }

    /// A new phase.
    pub fn draw(&mut self, random: &mut Random) {
        self.now = match self.fixed {
            Some(preference) => preference,
            // Which, and how often, was decided by measurement: see docs/strategies.md.
            None => match random.below(16) {
                0..9 => Preference::ANY,
                9..15 => Preference::OLD,
                _ => Preference::NEW,
            },
        };
    }

    /// What is preferred now, roughly.
    pub fn reads(&self) -> Reads {
        match self.now {
            Preference::Old(0) => Reads::Any,
            Preference::Old(_) => Reads::Old,
            Preference::New(_) => Reads::New,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(0);

    fn stale(percent: u32) -> Sampling {
        Sampling { stale: Some(percent), ..Sampling::default() }
    }

    /// How often each of three stores is read in 3,000 loads, each the first of its execution.
    fn counts(sampling: &Sampling, returns: u32) -> [u32; 3] {
        let (mut bias, mut random) = (ReadBias::new(), Random::new(1));
        let mut counts = [0; 3];
        for _ in 0..3000 {
            bias.begin(sampling, &mut random);
            counts[bias.choose(&mut random, T, returns, 3)] += 1;
        }
        counts
    }

    #[test]
    fn without_a_bias_all_stores_are_equally_likely() {
        // 1000 each with a standard deviation of 26.
        assert!(counts(&stale(0), 0).iter().all(|n| (850..1150).contains(n)));
    }

    #[test]
    fn a_fixed_bias_is_kept() {
        assert_eq!(counts(&stale(100), 0)[2], 0, "never the newest");
        // 10 of 100 are drawn among all three: 100 are the newest on average, with a standard deviation of 10.
        assert!((40..160).contains(&counts(&stale(90), 0)[2]));
    }

    #[test]
    fn who_waits_mostly_reads_what_is_newest() {
        assert_eq!(counts(&stale(100), PATIENCE - 1)[2], 0);
        // Seven of eight: 2625 with a standard deviation of 18.
        assert!((2500..2750).contains(&counts(&stale(100), PATIENCE)[2]));
    }

    #[test]
    fn a_thread_with_many_loads_reads_what_is_newest_every_other_time() {
        let (mut bias, mut random) = (ReadBias::new(), Random::new(1));
        bias.begin(&stale(100), &mut random);
        let newest = |bias: &mut ReadBias, random: &mut Random, loads: u32| {
            (0..loads).filter(|_| bias.choose(random, T, 0, 2) == 1).count()
        };
        assert_eq!(newest(&mut bias, &mut random, LONG), 0);
        // 500 with a standard deviation of 16.
        assert!((400..600).contains(&newest(&mut bias, &mut random, 1000)));
        // Each thread counts its own.
        assert_eq!(bias.choose(&mut random, ThreadId(1), 0, 2), 0);
    }

    #[test]
    fn phases_differ_in_their_bias_unless_it_is_fixed() {
        let (mut bias, mut random) = (ReadBias::new(), Random::new(1));
        bias.begin(&Sampling::default(), &mut random);
        let mut drawn = Vec::new();
        for _ in 0..200 {
            bias.draw(&mut random);
            drawn.push(bias.now);
        }
        // The rarest has a chance of 1 in 16: it is missed once in 400,000.
        for preference in [Preference::ANY, Preference::OLD, Preference::NEW] {
            assert!(drawn.contains(&preference));
        }
        bias.begin(&stale(30), &mut random);
        bias.draw(&mut random);
        assert_eq!(bias.kept(), 30);
    }

    #[test]
    fn a_preference_that_is_named_is_kept_unless_a_percentage_is_said() {
        let (mut bias, mut random) = (ReadBias::new(), Random::new(1));
        for reads in [Reads::Any, Reads::Old, Reads::New] {
            bias.begin(&Sampling { reads: Some(reads), ..Sampling::default() }, &mut random);
            (0..20).for_each(|_| bias.draw(&mut random));
            assert_eq!(bias.reads(), reads);
        }
        bias.begin(&Sampling { reads: Some(Reads::New), ..stale(30) }, &mut random);
        assert_eq!(bias.kept(), 30);
    }
}
