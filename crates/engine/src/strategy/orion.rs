//! Orion's phase 2: algorithm 1 of the paper.

use super::{Actor, Pending, Random, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{Access, EventId, Location, OrionOptions, Stop, ThreadId};

/// Brings a cycle about in its exact order: runs until a thread is about to make a store that may be passed, buffers
/// it, lets the other accesses of the cycle follow in their order, each thread waiting for its turn, and commits the
/// store in the end. If anything goes wrong it starts over with the rest of the execution.
///
/// Time is the number of steps. Line numbers are those of the paper.
#[derive(Clone, Debug)]
pub struct Orion {
    stops: Vec<Stop>,
    options: OrionOptions,
    phase: Phase,
    time: u64,
    /// Who went last, before the cycle and after it.
    last: Option<ThreadId>,
    random: Random,
}

/// How many steps a thread goes on for, on average, where nothing is enforced.
const SLICE: usize = 32;

#[derive(Clone, Debug)]
enum Phase {
    /// Runs as sequential consistency would: before the cycle, and after it.
    Forward { done: bool },
    /// A restart: everything buffered is committed first.
    Flush { done: bool },
    /// Between the first access and the last.
    Trying(Attempt),
}

#[derive(Clone, Debug)]
struct Attempt {
    /// Which access of the cycle was buffered, and by whom.
    first: usize,
    thread: ThreadId,
    /// Its store, once it is seen in the buffer, and those that are held besides it.
    held: Vec<(ThreadId, u32, Option<EventId>)>,
    /// `Turn`, counted from 0 for the first.
    turn: usize,
    /// `NextThread`; `None` for ANY.
    next: Option<ThreadId>,
    /// `Addr`.
    address: Option<Location>,
    /// Threads that have done their part, with the time since when they stall.
    stalled: Vec<(ThreadId, u64)>,
    /// Since when nothing of the cycle has happened.
    since: u64,
    /// Stores that must be committed before the attempt goes on.
    flush: Option<ThreadId>,
}

impl Orion {
    /// Brings the cycle with these accesses about, in the order of the cycle.
    pub fn new(stops: Vec<Stop>, options: OrionOptions, seed: u64) -> Self {
        Orion { stops, options, phase: Phase::Forward { done: false }, time: 0, last: None, random: Random::new(seed) }
    }

    fn random_thread(&mut self, actors: &[Actor], stalled: &[(ThreadId, u64)]) -> Option<usize> {
        let ready: Vec<usize> = (0..actors.len())
            .filter(|i| matches!(actors[*i], Actor::Thread(t) if stalled.iter().all(|(s, _)| *s != t)))
            .collect();
        (!ready.is_empty()).then(|| ready[self.random.below(ready.len())])
    }

    /// A thread goes on for a while, as on a processor, before another one does: on average for so many steps.
    fn slice(&mut self, actors: &[Actor]) -> usize {
        let goes_on = self.random.below(SLICE) > 0;
        let same = actors.iter().position(|actor| matches!(actor, Actor::Thread(thread) if Some(*thread) == self.last));
        let choice = same.filter(|_| goes_on).or_else(|| self.random_thread(actors, &[])).unwrap_or(0);
        self.last = if let Actor::Thread(thread) = actors[choice] { Some(thread) } else { None };
        choice
    }

    /// Without any reordering. A thread that is about to make a passable store of the cycle begins the attempt.
    fn forward(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending, done: bool) -> usize {
        if let Some(buffer) = actors.iter().position(|a| matches!(a, Actor::Buffer(_))) {
            return buffer;
        }
        let choice = self.slice(actors);
        let (Actor::Thread(thread), false) = (actors[choice], done) else { return choice };
        let pending = pending(&actors[choice]);
        let first = self.stops.iter().position(|stop| stop.passable && stop.labels.contains(&pending.label));
        if let (Some(first), What::Access(Access::Store { .. })) = (first, pending.what) {
            // Lines 6 to 9.
            self.phase = Phase::Trying(Attempt {
                first,
                thread,
                held: vec![(thread, pending.label, None)],
                turn: 1,
                next: Some(thread),
                address: None,
                stalled: Vec::new(),
                since: self.time,
                flush: None,
            });
        }
        choice
    }

    /// One step of the attempt; `None`: start over.
    fn attempt(
        &mut self,
        attempt: &mut Attempt,
        actors: &[Actor],
        pending: &dyn Fn(&Actor) -> Pending,
    ) -> Option<usize> {
        if self.time - attempt.since > self.options.patience {
            return None;
        }
        // Whose stores are these?
        for actor in actors {
            if let Actor::Buffer(commit) = actor {
                let label = pending(actor).label;
                if let Some(held) = attempt.held.iter_mut().rev().find(|h| h.0 == commit.thread && h.1 == label) {
                    held.2 = held.2.max(Some(commit.store));
                }
            }
        }
        let is_held = |attempt: &Attempt, store: EventId| attempt.held.iter().any(|h| h.2 == Some(store));
        if let Some(thread) = attempt.flush {
            let mine = |a: &Actor| matches!(a, Actor::Buffer(c) if c.thread == thread);
            let free = |a: &Actor| matches!(a, Actor::Buffer(c) if c.thread == thread && !is_held(attempt, c.store));
            if let Some(actor) = actors.iter().position(free) {
                return Some(actor);
            }
            // Line 51: the store that was held would have to go.
            if actors.iter().any(mine) && thread != attempt.thread {
                return None;
            }
            attempt.flush = None;
        }
        // Lines 62 to 66: a full buffer.
        if let Some(most) = self.options.buffer {
            for thread in actors.iter().filter_map(|a| if let Actor::Buffer(c) = a { Some(c.thread) } else { None }) {
                let count = actors.iter().filter(|a| matches!(a, Actor::Buffer(c) if c.thread == thread)).count();
                if count > most as usize {
                    let oldest = |a: &Actor| matches!(a, Actor::Buffer(c) if c.thread == thread);
                    let i = actors.iter().position(oldest)?;
                    return match actors[i] {
                        Actor::Buffer(commit) if is_held(attempt, commit.store) => None,
                        _ => Some(i),
                    };
                }
            }
        }
        let n = self.stops.len();
        let mut stalled = attempt.stalled.clone();
        loop {
            // If all stall, time passes: here, until patience ends.
            let Some(choice) = self.random_thread(actors, &stalled) else {
                self.time += self.options.patience + 1;
                return None;
            };
            let Actor::Thread(thread) = actors[choice] else { return None };
            let pending = pending(&actors[choice]);
            let (turn_stop, access) = (&self.stops[(attempt.first + attempt.turn) % n], pending.what);
            if turn_stop.labels.contains(&pending.label) {
                if attempt.next.is_some_and(|next| next != thread) {
                    // Another thread may make the same access without being part of the cycle; the paper starts over
                    // (line 35).
                    return None;
                }
                let (passable, last) = (turn_stop.passable, turn_stop.last);
                attempt.turn += 1;
                attempt.since = self.time;
                if let What::Access(Access::Store { .. }) = access {
                    if self.options.all && passable {
                        attempt.held.push((thread, pending.label, None));
                    } else {
                        attempt.flush = Some(thread);
                    }
                }
                if attempt.turn == n {
                    self.phase = Phase::Flush { done: true };
                } else if last {
                    attempt.next = None;
                    attempt.address = match access {
                        What::Access(access) => access.location(),
                        _ => None,
                    };
                    attempt.stalled.push((thread, self.time));
                } else {
                    attempt.next = Some(thread);
                    attempt.address = None;
                }
                return Some(choice);
            }
            let later =
                (attempt.turn + 1..n).any(|k| self.stops[(attempt.first + k) % n].labels.contains(&pending.label));
            if later && attempt.next != Some(thread) {
                // Line 15: it waits for its turn.
                stalled.push((thread, self.time));
                continue;
            }
            // Line 37: an access of the cycle that has been made.
            let again = (0..attempt.turn).any(|k| self.stops[(attempt.first + k) % n].labels.contains(&pending.label));
            if again && attempt.next == Some(thread) {
                return None;
            }
            // Line 40: somebody else comes between.
            if let (What::Access(access), Some(address)) = (access, attempt.address)
                && matches!(access, Access::Store { .. } | Access::Rmw { .. })
                && access.location().is_some_and(|at| at.overlaps(address))
            {
                stalled.push((thread, self.time));
                continue;
            }
            return Some(choice);
        }
    }
}

impl Strategy for Orion {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.time += 1;
        let phase = std::mem::replace(&mut self.phase, Phase::Forward { done: true });
        let choice = match phase {
            Phase::Forward { done } => {
                self.phase = Phase::Forward { done };
                self.forward(actors, pending, done)
            }
            Phase::Flush { done } => match actors.iter().position(|a| matches!(a, Actor::Buffer(_))) {
                Some(buffer) => {
                    self.phase = Phase::Flush { done };
                    buffer
                }
                None => {
                    self.phase = Phase::Forward { done };
                    self.forward(actors, pending, done)
                }
            },
            Phase::Trying(mut attempt) => match self.attempt(&mut attempt, actors, pending) {
                Some(choice) => {
                    // Unless it was the last access of the cycle.
                    if attempt.turn < self.stops.len() {
                        self.phase = Phase::Trying(attempt);
                    } else {
                        self.phase = Phase::Flush { done: true };
                    }
                    choice
                }
                None => {
                    self.phase = Phase::Flush { done: false };
                    return self.actor(actors, pending);
                }
            },
        };
        Some(choice)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        sources.len() - 1
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.random.below(ways as usize) as u32
    }
}
