//! Every answer equally likely.

use super::{Actor, Pending, Strategy};
use fencepost_memory::Source;
use fencepost_trace::{ThreadId, scramble};

/// Answers at random, from a seed. The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014), written out here so that a seed means the same execution in every version.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A stream of answers. Neighbouring seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let bits = scramble(self.state);
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// True in so many of 100 cases. Nothing is drawn where that is never.
    #[inline]
    pub fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.below(100) < percent as usize
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of the product: the bias is below bound / 2^64.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}

impl Strategy for Random {
    fn actor(&mut self, actors: &[Actor], _: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        Some(if actors.len() == 1 { 0 } else { self.below(actors.len()) })
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        self.below(sources.len())
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.below(ways as usize) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_stream_forever() {
        // The first outputs of SplitMix64 for seed 0, as published with the reference implementation.
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn every_answer_is_given() {
        let mut random = Random::new(7);
        let mut counts = [0; 3];
        (0..3000).for_each(|_| counts[random.below(3)] += 1);
        // 1000 each on average with a standard deviation of 26: 850 is missed once in 10^8.
        assert!(counts.iter().all(|n| *n > 850), "{counts:?}");
    }
}
