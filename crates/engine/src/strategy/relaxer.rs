//! Relaxer's phase 2: figures 7 to 9 of the paper, in logical time.

use super::{Actor, Pending, Random, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{Access, EventId, FenceOrder, Model, Points, RelaxerOptions, ThreadId};
use rustc_hash::FxHashMap;

/// Holds accesses of a cycle back by chance: stores in their buffer, loads before they are made. Everything else is
/// visible at once.
///
/// Time is the number of steps. A thread waits before a barrier until its stores have had their time, except under
/// pslo (figure 9).
#[derive(Clone, Debug)]
pub struct Relaxer {
    points: Points,
    options: RelaxerOptions,
    model: Model,
    time: u64,
    /// `Bt`: when each buffered store is to be committed.
    due: FxHashMap<EventId, u64>,
    /// For each thread until when it waits with what it has asked for; 0 if that was not decided yet.
    until: Vec<u64>,
    /// The program point of the load that is being made.
    label: u32,
    random: Random,
}

impl Relaxer {
    /// Biased towards the cycle with these points.
    pub fn new(points: Points, options: RelaxerOptions, model: Model, seed: u64) -> Self {
        let random = Random::new(seed);
        Relaxer { points, options, model, time: 0, due: FxHashMap::default(), until: Vec::new(), label: 0, random }
    }

    fn chance(&mut self) -> bool {
        // Drawn even if that is never: what is drawn later does not depend on it.
        self.random.below(100) < self.options.chance as usize
    }

    /// When a store that has just been buffered is due.
    fn due(&mut self, store: EventId, label: u32) -> u64 {
        if let Some(due) = self.due.get(&store) {
            return *due;
        }
        let delayed = self.points.late.contains(&label) && self.chance();
        let due = if delayed { self.time + self.options.store_delay } else { self.time };
        self.due.insert(store, due);
        due
    }

    /// Until when a thread waits with what it asks for.
    fn until(&mut self, thread: ThreadId, pending: &Pending) -> u64 {
        if self.until.len() <= thread.index() {
            self.until.resize(thread.index() + 1, 0);
        }
        if self.until[thread.index()] == 0 {
            let loads = matches!(
                pending.what,
                What::Access(Access::Load { .. } | Access::Rmw { .. } | Access::CompareExchange { .. })
            );
            // Under tso only stores are late.
            let delayed =
                loads && self.model != Model::Tso && self.points.late.contains(&pending.label) && self.chance();
            self.until[thread.index()] = if delayed { self.time + self.options.load_delay } else { self.time };
        }
        self.until[thread.index()]
    }

    /// Would it force stores out of the buffer?
    fn is_barrier(&self, pending: &Pending) -> bool {
        match pending.what {
            What::Access(Access::Fence { order }) => {
                order == FenceOrder::SeqCst || (order.releases() && self.model == Model::Pso)
            }
            What::Access(Access::Rmw { .. } | Access::CompareExchange { .. }) => self.model == Model::Tso,
            _ => false,
        }
    }
}

impl Strategy for Relaxer {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.time += 1;
        // Whose stores still have time, and which is due first.
        let mut held: Vec<ThreadId> = Vec::new();
        let mut soonest: Option<(u64, usize)> = None;
        for (i, actor) in actors.iter().enumerate() {
            if let Actor::Buffer(commit) = actor {
                let due = self.due(commit.store, pending(actor).label);
                if due <= self.time {
                    return Some(i);
                }
                held.push(commit.thread);
                soonest = soonest.min(Some((due, i))).or(Some((due, i)));
            }
        }
        let mut ready: Vec<usize> = Vec::new();
        for (i, actor) in actors.iter().enumerate() {
            if let Actor::Thread(thread) = actor {
                let pending = pending(actor);
                let until = self.until(*thread, &pending);
                let blocked = self.model != Model::Pslo && held.contains(thread) && self.is_barrier(&pending);
                if until > self.time {
                    soonest = soonest.min(Some((until, i))).or(Some((until, i)));
                } else if !blocked {
                    ready.push(i);
                }
            }
        }
        // If all wait, time passes.
        let choice = match (ready.is_empty(), soonest) {
            (true, Some((_, i))) => i,
            (true, None) => self.random.below(actors.len()),
            (false, _) => ready[self.random.below(ready.len())],
        };
        if let Actor::Thread(thread) = actors[choice] {
            self.label = pending(&actors[choice]).label;
            self.until[thread.index()] = 0;
        }
        Some(choice)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        let early = self.points.early.contains(&self.label) && self.chance();
        if early { 0 } else { sources.len() - 1 }
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.random.below(ways as usize) as u32
    }
}
