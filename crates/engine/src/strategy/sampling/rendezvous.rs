//! rendezvous: threads wait for each other before operations that conflict.
//!
//! After Sen: Race Directed Random Testing of Concurrent Programs, PLDI 2008, which brings two threads to a given pair
//! of statements and then lets chance decide. Here every conflict counts, not a given pair: whoever is about to do
//! what conflicts with nothing that others are about to do goes on. Where that is nobody, chance decides. Who waits in
//! a loop is not waited for.

use super::operation::Operation;
use super::{Draw, Scheduling};
use crate::strategy::per_thread::PerThread;
use crate::strategy::{Actor, Pending, Random, What};
use fencepost_trace::{Sampling, ThreadId};

/// What a thread is about to do.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// `None` if it was not asked yet.
    operation: Option<Operation>,
    /// 0 for a thread that does not wait in a loop; of those that do, the last found has the lowest.
    behind: u64,
}

impl Next {
    fn is_ready(&self) -> bool {
        self.behind == 0
    }

    fn conflicts_with(&self, other: &Operation) -> bool {
        self.operation.is_some_and(|operation| operation.conflicts_with(other))
    }
}

/// Delays whoever is about to meet somebody.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendezvous {
    next: PerThread<Next>,
}

impl Rendezvous {
    /// Asks the threads what they are about to do. How many do not wait in a loop?
    fn ask(&mut self, threads: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let mut ready = 0;
        for actor in threads {
            let Actor::Thread(thread) = actor else { break };
            let next = self.next.get(*thread);
            if next.operation.is_none() {
                next.operation = Some(Operation::of(&pending(actor).what));
            }
            ready += usize::from(next.is_ready());
        }
        ready
    }

    fn of(&self, actor: &Actor) -> &Next {
        match actor {
            Actor::Thread(thread) => self.next.known(*thread),
            Actor::Buffer(_) => unreachable!("internal error: threads come before buffers"),
        }
    }

    /// Does the thread `of` conflict with what another is about to do, or has stored and nobody has seen yet?
    fn meets(&self, of: usize, threads: &[Actor], buffers: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> bool {
        let own = self.of(&threads[of]);
        let others = (0..threads.len()).filter(|other| *other != of).map(|other| self.of(&threads[other]));
        let mut ready = others.filter(|other| other.is_ready());
        let mut commits = buffers.iter().filter(|actor| match actor {
            Actor::Buffer(commit) => Actor::Thread(commit.thread) != threads[of],
            Actor::Thread(_) => false,
        });
        ready.any(|other| other.operation.is_some_and(|operation| own.conflicts_with(&operation)))
            || commits.any(|commit| own.conflicts_with(&Operation::of(&pending(commit).what)))
    }
}

impl Scheduling for Rendezvous {
    fn begin(&mut self, _: &Sampling, _: &mut Random) {
        self.next.clear();
    }

    fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        // Threads come before buffers.
        let count = actors.iter().take_while(|actor| matches!(actor, Actor::Thread(_))).count();
        let (threads, buffers) = actors.split_at(count);
        let ready = self.ask(threads, pending);
        let first = if ready > 0 { draw.random.below(count) } else { 0 };
        let keeps = ready > 0 && draw.chance(draw.bias.kept());
        let moving = if keeps { 0 } else { buffers.len() };
        let nth = draw.random.below((ready + moving).max(1));
        let is_ready = |i: &usize| self.of(&threads[*i]).is_ready();
        let mut from_first = (0..count).map(|i| (first + i) % count).filter(is_ready);
        if let Some(free) = from_first.find(|i| !self.meets(*i, threads, buffers, pending)) {
            return free;
        }
        let chosen = (0..count).filter(is_ready).chain(count..count + moving).nth(nth);
        // All wait: the one that was last put behind the others comes last.
        chosen.unwrap_or_else(|| (0..count).max_by_key(|i| self.of(&threads[*i]).behind).unwrap_or(0))
    }

    fn goes(&mut self, _: &mut Draw, thread: ThreadId, _: &What) {
        *self.next.get(thread) = Next::default();
    }

    fn move_behind(&mut self, thread: ThreadId, priority: u64) {
        self.next.get(thread).behind = priority;
    }
}
