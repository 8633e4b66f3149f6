//! A given order up to some point, and sequential consistency from there on.

use super::{Actor, Pending, Random, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{Schedule, ThreadId};
use rustc_hash::FxHashSet;

/// How many operations a thread may make that nobody expected before the schedule is given up.
const MOST_EXTRA: u32 = 64;

/// Follows a [`Schedule`], whose program points are labels of the engine.
///
/// Behind its end, or where it cannot be followed, threads are picked at random and every store becomes visible at
/// once: what the schedule has brought about is all that was reordered.
#[derive(Clone, Debug)]
pub struct OnSchedule {
    schedule: Schedule,
    /// The next step.
    next: usize,
    /// For each thread its next expected operation.
    at: Vec<usize>,
    /// For each thread where operations are expected of it at all.
    known: Vec<FxHashSet<u32>>,
    extra: u32,
    /// How far behind the newest store the load reads that is being performed.
    back: u32,
    random: Random,
}

impl OnSchedule {
    /// On this schedule; what it leaves open is decided by the seed.
    pub fn new(schedule: Schedule, seed: u64) -> Self {
        let at = vec![0; schedule.expected.len()];
        let known = schedule.expected.iter().map(|labels| labels.iter().copied().collect()).collect();
        OnSchedule { schedule, next: 0, at, known, extra: 0, back: 0, random: Random::new(seed) }
    }

    /// Was every step taken?
    pub fn is_done(&self) -> bool {
        self.next == self.schedule.steps.len()
    }

    /// A store that nobody expects, such as one to memory of the thread's own: it need not wait. Otherwise it would,
    /// and what was asked for behind it, and a buffer would grow with the length of the execution.
    fn unexpected(&self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        actors.iter().position(|actor| match actor {
            Actor::Buffer(commit) => !self.expects(commit.thread.index(), pending(actor).label),
            Actor::Thread(_) => false,
        })
    }

    /// Is an operation of this thread expected at this label?
    fn expects(&self, thread: usize, label: u32) -> bool {
        self.known.get(thread).is_some_and(|known| known.contains(&label))
    }

    /// The actor that the schedule wants next; `None` if it has ended or cannot be followed.
    fn on_schedule(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        while let Some(step) = self.schedule.steps.get(self.next) {
            let (t, index) = (step.thread as usize, step.index as usize);
            let expected = self.schedule.expected.get(t)?;
            if self.at[t] <= index {
                let actor = actors.iter().position(|a| *a == Actor::Thread(ThreadId(step.thread)))?;
                return self.advance(t, index, actor, pending(&actors[actor])).then_some(actor);
            }
            self.next += 1;
            if step.commit {
                let leaves = |a: &Actor| match a {
                    Actor::Buffer(commit) => commit.thread.index() == t && pending(a).label == expected[index],
                    Actor::Thread(_) => false,
                };
                // If it is not there it had to leave earlier.
                if let Some(actor) = actors.iter().position(leaves) {
                    return Some(actor);
                }
            }
        }
        None
    }

    /// A thread goes on towards its operation at `index`. False if it does not do what it should.
    fn advance(&mut self, t: usize, index: usize, _: usize, pending: Pending) -> bool {
        if let What::Yield | What::Quit = pending.what {
            return true;
        }
        let expected = &self.schedule.expected[t];
        // What nobody expects of it at all, such as accesses to memory of its own, is no sign of anything.
        if !self.expects(t, pending.label) {
            return true;
        }
        match (self.at[t]..expected.len()).find(|i| expected[*i] == pending.label) {
            Some(i) => {
                self.at[t] = i + 1;
                let step = &self.schedule.steps[self.next];
                if i == index && !step.commit {
                    self.back = step.back;
                    self.next += 1;
                }
                true
            }
            None => {
                self.extra += 1;
                self.extra < MOST_EXTRA
            }
        }
    }
}

impl Strategy for OnSchedule {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.back = 0;
        if !self.is_done() {
            if let Some(actor) = self.unexpected(actors, pending) {
                return Some(actor);
            }
            match self.on_schedule(actors, pending) {
                Some(actor) => return Some(actor),
                None => self.next = self.schedule.steps.len(),
            }
        }
        let buffer = actors.iter().position(|a| matches!(a, Actor::Buffer(_)));
        Some(buffer.unwrap_or_else(|| self.random.below(actors.len())))
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        (sources.len() - 1).saturating_sub(self.back as usize)
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.random.below(ways as usize) as u32
    }
}
