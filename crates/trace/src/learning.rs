//! What the mix has learnt: which ways to draw an execution have shown something.
//!
//! An execution of the mix is drawn in three respects: who goes next, what loads prefer, and how threads begin. In a
//! season of [`SEASON`] executions the first ones are drawn as usual, the next ones try every beginning, and from then
//! on each way gets the more executions the more often it has shown a finding or, as long as there are hardly any,
//! reads that are new in their block. Every way keeps a share, and every other season leaves findings aside, because
//! other bugs may need other ways.
//!
//! What a campaign does must not depend on who runs which part of it. So a season is run by one worker from its first
//! execution to its last, shares change at fixed executions of it only, and the next season starts as if nothing had
//! been seen. How an execution is drawn is part of its plan, so that it replays without any of this.

use crate::sampling::{Beginning, Reads, Scheduler, scramble};
use crate::{BLOCK, Sampling};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// So many executions learn from one another.
pub const SEASON: u64 = 16 * BLOCK;

/// So many executions of a season are drawn as usual.
const USUAL: u64 = 32;
/// From this execution of a season on, shares change, after every so many.
const TRIED: u64 = 64;
const LESSON: u64 = 16;
/// New reads count from this execution of a block on: before, whoever comes first has them.
const NEW_FROM: u64 = 16;
/// With fewer findings than this, new reads count instead.
const FEW: u32 = 4;
/// So many executions of each way are taken to have gone like the average.
const DOUBT: f64 = 4.0;
/// How much a rate counts, as a power.
const BY_FINDINGS: i32 = 10;
const BY_NEW_READS: i32 = 1;
/// The whole, and the part of it that is always drawn as usual.
const WHOLE: u32 = 1 << 16;
const KEPT: f64 = 1.0 / 32.0;

/// In so many respects executions differ, and so many ways there are at most in one.
const RESPECTS: usize = 3;
const WAYS: usize = 5;

const SCHEDULERS: [Scheduler; 4] = [Scheduler::Rendezvous, Scheduler::Pct, Scheduler::Pos, Scheduler::Random];
const READS: [Reads; 3] = [Reads::Any, Reads::Old, Reads::New];
const BEGINNINGS: [Beginning; 5] =
    [Beginning::Free, Beginning::Together, Beginning::Oldest, Beginning::Newest, Beginning::Turns];

/// For how many steps an order holds that threads begin with; all are equally likely.
const ORDERED: [u32; 3] = [16, 64, 256];

/// The usual shares, in sixteenths. Those of schedulers and reads are what the mix has without learning.
const SHARES: [[u32; WAYS]; RESPECTS] = [[6, 4, 4, 2, 0], [9, 6, 1, 0, 0], [2, 2, 4, 3, 5]];

/// One of the ways in a respect.
#[repr(C)]
struct Way {
    /// How many executions were drawn like this.
    executions: AtomicU32,
    /// How many of them had a finding.
    found: AtomicU32,
    /// How many of them had new reads.
    new: AtomicU32,
    /// Its part of [`WHOLE`].
    share: AtomicU32,
}

/// What was learnt in this season. It lies in memory that processes share.
#[repr(C)]
pub(crate) struct Learning {
    /// Counted from 1.
    season: AtomicU32,
    /// The number of the execution in its season.
    place: AtomicU32,
    /// The ways in which the execution is drawn.
    drawn: [AtomicU32; RESPECTS],
    /// 1 if somebody says what executions have shown.
    taught: AtomicU32,
    ways: [[Way; WAYS]; RESPECTS],
}

impl Way {
    const fn new() -> Way {
        Way {
            executions: AtomicU32::new(0),
            found: AtomicU32::new(0),
            new: AtomicU32::new(0),
            share: AtomicU32::new(0),
        }
    }
}

impl Learning {
    pub const fn new() -> Learning {
        Learning {
            season: AtomicU32::new(0),
            place: AtomicU32::new(0),
            drawn: [const { AtomicU32::new(0) }; RESPECTS],
            taught: AtomicU32::new(0),
            ways: [const { [const { Way::new() }; WAYS] }; RESPECTS],
        }
    }

    /// An execution begins.
    pub fn begin(&self, execution: u64) {
        let (season, place) = ((execution / SEASON) as u32 + 1, execution % SEASON);
        if self.season.load(Relaxed) != season {
            self.season.store(season, Relaxed);
            self.taught.store(0, Relaxed);
            for (ways, shares) in self.ways.iter().zip(SHARES) {
                for (way, share) in ways.iter().zip(shares) {
                    [&way.executions, &way.found, &way.new].into_iter().for_each(|count| count.store(0, Relaxed));
                    way.share.store(share * (WHOLE / 16), Relaxed);
                }
            }
        }
        self.place.store(place as u32, Relaxed);
        if place >= TRIED && place.is_multiple_of(LESSON) {
            self.ways.iter().zip(SHARES).for_each(|(ways, usual)| learn(ways, usual));
        }
    }

    /// Decides how the execution that begins is drawn, if it is of a mix that learns.
    pub fn decide(&self, seed: u64, sampling: &mut Sampling) {
        if self.taught.load(Relaxed) == 0 || u64::from(self.place.load(Relaxed)) < USUAL {
            return;
        }
        // Bits that decide nothing else.
        let bits = scramble(seed ^ 0x6d69_7874_7572_6573);
        let [scheduler, reads, beginning] = [0, 1, 2].map(|respect| {
            let mut left = (bits >> (16 * respect)) as u32 % WHOLE;
            let shares = self.ways[respect].iter().map(|way| way.share.load(Relaxed));
            let ends_in = |share: u32| {
                let ends = left < share;
                left = left.saturating_sub(share);
                ends
            };
            // What rounding leaves over is the first one's.
            shares.map(ends_in).position(|ends| ends).unwrap_or(0)
        });
        sampling.scheduler = SCHEDULERS[scheduler];
        sampling.beginning = Some(BEGINNINGS[beginning]);
        sampling.ordered = ORDERED[(bits >> 48) as usize % ORDERED.len()];
        if sampling.stale.is_none() {
            sampling.reads = Some(READS[reads]);
        }
    }

    /// The execution is drawn like this.
    pub fn drawn(&self, scheduler: Scheduler, reads: Reads, beginning: Beginning) {
        let ways = [
            SCHEDULERS.iter().position(|way| *way == scheduler),
            READS.iter().position(|way| *way == reads),
            BEGINNINGS.iter().position(|way| *way == beginning),
        ];
        for (drawn, way) in self.drawn.iter().zip(ways) {
            drawn.store(way.unwrap_or(0) as u32, Relaxed);
        }
    }

    /// It has ended. Was anything found, and were there reads that are new in its block?
    pub fn end(&self, found: bool, new: bool) {
        self.taught.store(1, Relaxed);
        // In every other season findings do not count: other bugs may be where these are not.
        let found = found && self.season.load(Relaxed) % 2 == 1;
        let new = new && u64::from(self.place.load(Relaxed)) % BLOCK >= NEW_FROM;
        for (ways, drawn) in self.ways.iter().zip(&self.drawn) {
            let way = &ways[drawn.load(Relaxed) as usize];
            add(&way.executions, 1);
            add(&way.found, found.into());
            add(&way.new, new.into());
        }
    }
}

/// There is one that writes.
fn add(count: &AtomicU32, more: u32) {
    count.store(count.load(Relaxed) + more, Relaxed);
}

/// Shares out executions by what ways have shown.
fn learn(ways: &[Way; WAYS], usual: [u32; WAYS]) {
    let sum = |count: fn(&Way) -> &AtomicU32| ways.iter().map(|way| count(way).load(Relaxed)).sum::<u32>();
    let (executions, found, new) = (sum(|way| &way.executions), sum(|way| &way.found), sum(|way| &way.new));
    let (shown, power): (fn(&Way) -> &AtomicU32, i32) =
        if found >= FEW { (|way| &way.found, BY_FINDINGS) } else { (|way| &way.new, BY_NEW_READS) };
    let average = f64::from(if found >= FEW { found } else { new }) / f64::from(executions.max(1));
    if average == 0.0 {
        return;
    }
    // Who was tried rarely gets the benefit of the doubt: one standard deviation more.
    let spread = (average * (1.0 - average).max(0.0)).sqrt();
    let usual = usual.map(|share| f64::from(share) / 16.0);
    let mut weights = [0.0; WAYS];
    for ((weight, way), usual) in weights.iter_mut().zip(ways).zip(usual) {
        let executions = f64::from(way.executions.load(Relaxed));
        let shown = f64::from(shown(way).load(Relaxed)) + DOUBT * average;
        let rate = shown / (executions + DOUBT) + spread / (executions + 1.0).sqrt();
        *weight = usual * (rate / average).powi(power);
    }
    let all: f64 = weights.iter().sum();
    for ((way, weight), usual) in ways.iter().zip(weights).zip(usual) {
        let share = KEPT * usual + (1.0 - KEPT) * weight / all;
        way.share.store((share * f64::from(WHOLE)) as u32, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How executions of a mix are drawn of which `finds` says what they show.
    fn season(finds: impl Fn(&Sampling) -> bool, from: u64, executions: u64) -> Vec<Sampling> {
        let learning = Learning::new();
        (from..from + executions)
            .map(|execution| {
                learning.begin(execution);
                let mut sampling = Sampling::default().of_execution(execution);
                learning.decide(scramble(execution), &mut sampling);
                let (reads, beginning) = (sampling.reads, sampling.beginning);
                learning.drawn(sampling.scheduler, reads.unwrap_or(Reads::Any), beginning.unwrap_or(Beginning::Free));
                learning.end(finds(&sampling), false);
                sampling
            })
            .collect()
    }

    fn share(season: &[Sampling], of: impl Fn(&Sampling) -> bool) -> usize {
        season.iter().filter(|sampling| of(sampling)).count()
    }

    #[test]
    fn shares_are_whole() {
        assert!(SHARES.iter().all(|shares| shares.iter().sum::<u32>() == 16));
    }

    #[test]
    fn the_first_are_drawn_as_usual_and_then_every_beginning_is_tried() {
        let drawn = season(|_| false, 0, 128);
        let usual = |(n, sampling): (usize, &Sampling)| *sampling == Sampling::default().of_execution(n as u64);
        assert!(drawn[..USUAL as usize].iter().enumerate().all(usual));
        // 12 or more of each on average; one of them is missed once in 10^5.
        for beginning in BEGINNINGS {
            assert!(drawn[USUAL as usize..].iter().any(|sampling| sampling.beginning == Some(beginning)));
        }
    }

    #[test]
    fn what_shows_findings_gets_most_executions_and_nothing_is_given_up() {
        let is_old = |sampling: &Sampling| sampling.reads == Some(Reads::Old);
        let drawn = season(is_old, 0, SEASON);
        let last = &drawn[128..];
        // 31 of 32 and a little more; the standard deviation is below 6.
        assert!(share(last, is_old) > last.len() * 18 / 20, "{} of {}", share(last, is_old), last.len());
        // What shows nothing keeps a part of its share: 16 with a standard deviation of 4.
        assert!(share(last, |sampling| sampling.reads == Some(Reads::Any)) > 3);
    }

    #[test]
    fn if_everything_shows_a_finding_shares_are_the_usual_ones() {
        let drawn = season(|_| true, 0, SEASON);
        let last = &drawn[96..];
        let rendezvous = share(last, |sampling| sampling.scheduler == Scheduler::Rendezvous);
        // Three of eight of 928: 348 with a standard deviation of 15.
        assert!((270..430).contains(&rendezvous), "{rendezvous}");
    }

    #[test]
    fn another_season_knows_nothing_of_this_one() {
        let finds = |sampling: &Sampling| sampling.scheduler == Scheduler::Pct;
        let both = season(finds, 0, 2 * SEASON);
        assert_eq!(both[SEASON as usize..], season(finds, SEASON, SEASON));
    }

    #[test]
    fn every_other_season_leaves_findings_aside() {
        let finds = |sampling: &Sampling| sampling.scheduler == Scheduler::Pct;
        let pct = |n: u64| share(&season(finds, n * SEASON, SEASON), finds);
        // A quarter is usual: 256 with a standard deviation of 14.
        assert!(pct(0) > 700 && (200..320).contains(&pct(1)), "{} {}", pct(0), pct(1));
    }

    #[test]
    fn where_nobody_says_what_was_shown_nothing_changes() {
        let learning = Learning::new();
        for execution in 0..SEASON {
            learning.begin(execution);
            let usual = Sampling::default().of_execution(execution);
            let mut sampling = usual;
            learning.decide(execution, &mut sampling);
            assert_eq!(sampling, usual);
        }
    }

    #[test]
    fn what_was_said_of_old_values_stays() {
        let learning = Learning::new();
        learning.begin(0);
        learning.end(false, false);
        learning.begin(USUAL);
        let mut sampling = Sampling { stale: Some(90), ..Sampling::default() };
        learning.decide(7, &mut sampling);
        assert_eq!((sampling.stale, sampling.reads), (Some(90), None));
        assert!(sampling.beginning.is_some());
    }

    #[test]
    fn new_reads_count_as_long_as_there_are_few_findings() {
        let learning = Learning::new();
        for execution in 0..=TRIED {
            learning.begin(execution);
            let reads = READS[execution as usize % 2];
            learning.drawn(Scheduler::Pos, reads, Beginning::Free);
            if execution < TRIED {
                learning.end(false, reads == Reads::Old);
            }
        }
        let share = |way: usize| learning.ways[1][way].share.load(Relaxed);
        assert!(share(1) > 6 * (WHOLE / 16) && share(0) < 9 * (WHOLE / 16), "{} {}", share(1), share(0));
    }
}
