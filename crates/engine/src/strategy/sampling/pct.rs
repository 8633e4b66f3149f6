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
