//! pct: threads have priorities, which change at a few points.
//!
//! Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs,
//! ASPLOS 2010. Whoever has the highest priority goes; at `depth - 1` random steps the one that would go moves behind
//! the others. Deviations:
//!
//! 1. Priorities are drawn anew in each phase of a long execution, and waiting threads go behind all others: the
//!    guarantee of the paper is about programs that end whoever is preferred.
//! 2. Buffers have priorities, too: a fixed one for each location of a thread.
//! 3. If nobody knows how long the execution will be, any order of magnitude is as likely as any other.

use super::operation::Operation;
use super::priority::{MOVED_BACK, USUAL, drawn, of_buffer};
use super::{Draw, Scheduling};
use crate::strategy::per_thread::PerThread;
use crate::strategy::{Actor, Pending, Random};
use fencepost_trace::{Sampling, ThreadId, scramble};

/// Of so many executions one has threads that do not yield: they go on until they have come back to the same place
/// very often, and give way as rarely. That is how a thread which looks a few times and then sleeps gets to sleep
/// before another wakes it.
const NO_YIELD: u64 = 4;

/// Picks the highest priority.
#[derive(Clone, Debug, Default)]
pub(super) struct Pct {
    /// By thread; 0 if it has none yet.
    priorities: PerThread<u64>,
    /// The steps at which priorities change, in falling order.
    changes: Vec<u64>,
}

impl Pct {
    /// Is this an execution whose threads do not yield?
    pub fn is_without_yield(salt: u64) -> bool {
        salt.is_multiple_of(NO_YIELD)
    }

    fn highest(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let (mut best, mut most) = (0, 0);
        for (i, actor) in actors.iter().enumerate() {
            let priority = match actor {
                Actor::Thread(thread) => {
                    let priority = self.priorities.get(*thread);
                    if *priority == 0 {
                        *priority = drawn(USUAL, draw);
                    }
                    *priority
                }
                Actor::Buffer(commit) => {
                    let place = Operation::of(&pending(actor).what).place;
                    of_buffer(scramble(place) ^ u64::from(commit.thread.0), draw)
                }
            };
            if priority > most {
                (best, most) = (i, priority);
            }
        }
        best
    }
}

impl Scheduling for Pct {
    fn begin(&mut self, sampling: &Sampling, random: &mut Random) {
        self.priorities.clear();
        self.changes.clear();
        let length = match sampling.length {
            0 => 8 << random.below(8),
            known => known,
        };
        let points = sampling.depth.clamp(1, Sampling::MOST_DEPTH) - 1;
        self.changes.extend((0..points).map(|_| 1 + random.below(length as usize) as u64));
        self.changes.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let best = self.highest(draw, actors, pending);
        if self.changes.last().is_none_or(|change| *change > draw.step) {
            return best;
        }
        self.changes.pop();
        let Actor::Thread(thread) = actors[best] else { return best };
        *self.priorities.get(thread) = drawn(MOVED_BACK, draw);
        self.highest(draw, actors, pending)
    }

    fn move_behind(&mut self, thread: ThreadId, priority: u64) {
        *self.priorities.get(thread) = priority;
    }

    fn begin_phase(&mut self) {
        // Who waits goes on waiting.
        self.priorities.iter_mut().filter(|priority| **priority >= MOVED_BACK).for_each(|priority| *priority = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::priority::WAITING;
    use super::super::testing::{Scene, X, Y, Z, begun, buffer, draw, load};
    use super::*;
    use crate::strategy::What;

    fn picks(seed: u64, depth: u32, steps: u64) -> Vec<usize> {
        let mut draw = draw(seed, 0);
        let mut pct: Pct = begun(&mut draw, depth, steps);
        let scene = Scene::of(&[load(X), load(Y), load(Z)]);
        (0..steps).map(|_| scene.pick(&mut pct, &mut draw)).collect()
    }

    fn switches(picks: &[usize]) -> usize {
        picks.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    #[test]
    fn without_a_point_of_change_the_first_goes_on_forever() {
        let firsts: Vec<usize> = (0..60)
            .map(|seed| picks(seed, 1, 30))
            .map(|picks| {
                assert_eq!(switches(&picks), 0, "{picks:?}");
                picks[0]
            })
            .collect();
        // Which thread has the highest priority is drawn: one of three is missed once in 3 * (2/3)^60.
        assert!((0..3).all(|thread| firsts.contains(&thread)));
    }

    #[test]
    fn priorities_change_at_one_point_less_than_the_depth() {
        for seed in 0..60 {
            // The last of the points may be the first step, before which there is nobody to switch from; two may fall
            // together.
            assert!(switches(&picks(seed, 3, 30)) <= 2);
        }
        assert!((0..60).any(|seed| switches(&picks(seed, 3, 30)) == 2));
    }

    #[test]
    fn who_waits_goes_behind_those_that_were_moved_back_and_stays_there() {
        let mut draw = draw(3, 0);
        let mut pct: Pct = begun(&mut draw, 1, 30);
        let scene = Scene::of(&[load(X), load(Y)]);
        let first = scene.pick(&mut pct, &mut draw);
        pct.move_behind(ThreadId(first as u32), WAITING - 1);
        assert!((0..10).all(|_| scene.pick(&mut pct, &mut draw) != first));
        // A new phase draws anew for the other one alone.
        pct.begin_phase();
        assert!((0..10).all(|_| scene.pick(&mut pct, &mut draw) != first));
    }

    #[test]
    fn a_new_phase_draws_priorities_anew() {
        let mut draw = draw(3, 0);
        let mut pct: Pct = begun(&mut draw, 1, 30);
        let scene = Scene::of(&[load(X), load(Y)]);
        let phases: Vec<usize> = (0..60)
            .map(|_| {
                pct.begin_phase();
                scene.pick(&mut pct, &mut draw)
            })
            .collect();
        // The same thread 60 times: once in 2^59.
        assert!(phases.contains(&0) && phases.contains(&1));
    }

    #[test]
    fn buffers_that_keep_their_stores_come_after_threads() {
        let scene = Scene::of(&[load(X)]).with(buffer(1, 9), What::Commit(Y));
        let commits = |stale: u32| {
            let first = |seed: u64| {
                let mut draw = draw(seed, stale);
                let mut pct: Pct = begun(&mut draw, 1, 30);
                scene.pick(&mut pct, &mut draw)
            };
            (0..100).filter(|seed| first(*seed) == 1).count()
        };
        // Of 100 per cent the highest of 65,536 numbers is none.
        assert!(commits(100) <= 1);
        // 50 with a standard deviation of 5.
        assert!((20..80).contains(&commits(0)));
    }
}
