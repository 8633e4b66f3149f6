//! Orion's phase 2: algorithm 1 of the paper.
//!
//! What the paper leaves to the machine that the program runs on is decided here: who goes next where nothing is
//! enforced. Where the algorithm is done differently, it is so that a cycle that is counted is one:
//!
//! - *Who takes which part.* Accesses of the race graph belong to threads. If it is known which threads were seen in a
//!   part of the cycle ([`Stop::threads`]), only they take it.
//! - *The right place.* An access takes its turn only if it is in conflict with the one before it in the cycle: the
//!   same program point may access something else.
//! - *Waiting instead of starting over.* Where the paper starts over because a thread is about to disturb (lines 35 and
//!   41), the thread waits, as long as others can go on, and until patience ends.
//! - *Stores of threads that hold nothing back are visible at once* (line 68 buffers them). A load that returns what
//!   its own thread has buffered (lines 54 and 70) is not before the stores of others; the paper counts it as if it
//!   were. Here that is a reason to start over.

use super::{Actor, Pending, Random, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{Access, EventId, Location, OrionOptions, Pace, Stop, ThreadId};

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
    /// Who went last, before the cycle and after it, and when each thread did.
    last: Option<ThreadId>,
    went: Vec<u64>,
    random: Random,
}

/// In one of so many steps anybody may go on, not only those whom the cycle waits for: they may wait for others.
const ANYBODY: usize = 8;

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
    /// Which access of the cycle was buffered, by whom, and where.
    first: usize,
    thread: ThreadId,
    place: Option<Location>,
    /// Its store, once it is seen in the buffer, and those that are held besides it.
    held: Vec<(ThreadId, u32, Option<EventId>)>,
    /// `Turn`, counted from 0 for the first.
    turn: usize,
    /// `NextThread`; `None` for ANY.
    next: Option<ThreadId>,
    /// `Addr`.
    address: Option<Location>,
    /// Threads that have done their part.
    stalled: Vec<ThreadId>,
    /// Since when nothing of the cycle has happened.
    since: u64,
    /// Are other stores of the thread visible as soon as they can be? (Under tso they cannot be.)
    eager: bool,
    /// Whose stores must be committed before the attempt goes on, those aside that are held.
    flush: Option<ThreadId>,
    /// Where the thread has stored what is still in its buffer.
    buffered: Vec<Location>,
}

/// What a thread may do in an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// It is its turn.
    Turn,
    /// What it does is no part of the cycle.
    Free,
    /// It has to wait.
    Wait,
    /// It has made the cycle impossible.
    Broken,
}

impl Orion {
    /// Brings the cycle with these accesses about, in the order of the cycle.
    pub fn new(stops: Vec<Stop>, options: OrionOptions, seed: u64) -> Self {
        let phase = Phase::Forward { done: false };
        Orion { stops, options, phase, time: 0, last: None, went: Vec::new(), random: Random::new(seed) }
    }

    /// Any thread.
    fn any_thread(&mut self, actors: &[Actor]) -> Option<usize> {
        let ready: Vec<usize> = (0..actors.len()).filter(|i| matches!(actors[*i], Actor::Thread(_))).collect();
        self.one_of(&ready)
    }

    fn one_of(&mut self, list: &[usize]) -> Option<usize> {
        (!list.is_empty()).then(|| list[self.random.below(list.len())])
    }

    /// Who goes on where nothing is enforced: a thread for a while, then another.
    fn slice(&mut self, actors: &[Actor], done: bool) -> usize {
        let length = match self.options.pace {
            Pace::First if !done => return self.first(actors),
            Pace::Abreast if !done => return self.abreast(actors),
            Pace::First | Pace::Abreast | Pace::Eight => 8,
            Pace::Two => 2,
            Pace::Long => 32,
            Pace::Alone => 1_000,
        };
        let goes_on = self.random.below(length) > 0;
        let same = actors.iter().position(|actor| matches!(actor, Actor::Thread(thread) if Some(*thread) == self.last));
        let choice = same.filter(|_| goes_on).or_else(|| self.any_thread(actors)).unwrap_or(0);
        self.last = if let Actor::Thread(thread) = actors[choice] { Some(thread) } else { None };
        choice
    }

    /// One that may begin the cycle; now and then anybody.
    fn first(&mut self, actors: &[Actor]) -> usize {
        let begins = |thread: ThreadId| {
            let may = |stop: &Stop| stop.passable && (stop.threads.is_empty() || stop.threads.contains(&thread.0));
            self.stops.iter().any(may)
        };
        let is_first = |i: &usize| matches!(actors[*i], Actor::Thread(thread) if begins(thread));
        let ready: Vec<usize> = (0..actors.len()).filter(is_first).collect();
        let anybody = self.random.below(ANYBODY) == 0;
        let one = if anybody { None } else { self.one_of(&ready) };
        one.or_else(|| self.any_thread(actors)).unwrap_or(0)
    }

    /// Whoever has waited longest; now and then anybody.
    fn abreast(&mut self, actors: &[Actor]) -> usize {
        let went = |i: &usize| match actors[*i] {
            Actor::Thread(thread) => Some(self.went.get(thread.index()).copied().unwrap_or(0)),
            Actor::Buffer(_) => None,
        };
        let anybody = self.random.below(ANYBODY) == 0;
        let longest = (0..actors.len()).filter(|i| went(i).is_some()).min_by_key(went);
        let choice = if anybody { None } else { longest };
        choice.or_else(|| self.any_thread(actors)).unwrap_or(0)
    }

    /// May this thread take this part?
    fn is_for(stop: &Stop, thread: ThreadId, label: u32) -> bool {
        stop.labels.contains(&label) && (stop.threads.is_empty() || stop.threads.contains(&thread.0))
    }

    /// Without any reordering. A thread that is about to make a passable store of the cycle begins the attempt.
    fn forward(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending, done: bool) -> usize {
        if let Some(buffer) = actors.iter().position(|a| matches!(a, Actor::Buffer(_))) {
            return buffer;
        }
        let choice = self.slice(actors, done);
        let (Actor::Thread(thread), false) = (actors[choice], done) else { return choice };
        let pending = pending(&actors[choice]);
        let first = self.stops.iter().position(|stop| stop.passable && Orion::is_for(stop, thread, pending.label));
        if let (Some(first), What::Access(access @ Access::Store { .. })) = (first, pending.what) {
            if self.options.skip > 0 && self.random.below(100) < self.options.skip as usize {
                return choice;
            }
            // Lines 6 to 9.
            self.phase = Phase::Trying(Attempt {
                first,
                thread,
                place: access.location(),
                held: vec![(thread, pending.label, None)],
                turn: 1,
                next: Some(thread),
                address: None,
                stalled: Vec::new(),
                since: self.time,
                eager: self.options.eager.unwrap_or_else(|| self.random.below(2) == 0),
                flush: None,
                buffered: Vec::new(),
            });
        }
        choice
    }

    /// What the next step of a thread is to the attempt.
    fn part(&self, attempt: &Attempt, thread: ThreadId, pending: &Pending) -> Part {
        let n = self.stops.len();
        let stop = |k: usize| &self.stops[(attempt.first + k) % n];
        let What::Access(access) = pending.what else { return Part::Free };
        // A fence that is tried out has the program point of the access that it is beside.
        if let Access::Fence { .. } = access {
            return Part::Free;
        }
        let at = access.location();
        let overlaps = |other: Option<Location>| other.is_none() || at.zip(other).is_some_and(|(a, b)| a.overlaps(b));
        if Orion::is_for(stop(attempt.turn), thread, pending.label) {
            // In conflict with what came before, and in the end with the store that is held.
            // Of an exchange of two words only one is known here.
            let fits =
                is_rmw(&access) || overlaps(attempt.address) && (attempt.turn + 1 < n || overlaps(attempt.place));
            match attempt.next {
                Some(next) if next != thread => return Part::Wait,
                _ if !fits => return Part::Free,
                _ => {}
            }
            let own = thread == attempt.thread
                && stop(attempt.turn).last
                && attempt.buffered.iter().any(|other| at.is_some_and(|at| at.overlaps(*other)));
            return if own { Part::Broken } else { Part::Turn };
        }
        let is = |k: usize| Orion::is_for(stop(k), thread, pending.label);
        // Line 15: it waits for its turn.
        if attempt.next != Some(thread) && (attempt.turn + 1..n).any(is) {
            return Part::Wait;
        }
        // Line 37: an access of the cycle that has been made.
        if attempt.next == Some(thread) && (0..attempt.turn).any(is) {
            return Part::Broken;
        }
        // Line 40: somebody else comes between.
        let writes = matches!(access, Access::Store { .. }) || is_rmw(&access);
        if writes && attempt.address.is_some() && overlaps(attempt.address) {
            return Part::Wait;
        }
        Part::Free
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
        if let Some(commit) = self.commit(attempt, actors, pending)? {
            return Some(commit);
        }
        let n = self.stops.len();
        let (mut turn, mut wanted, mut free): (Vec<usize>, Vec<usize>, Vec<usize>) = Default::default();
        // In the middle of a step of several accesses nobody else can go on.
        let alone = actors.iter().filter(|actor| matches!(actor, Actor::Thread(_))).count() == 1;
        for (i, actor) in actors.iter().enumerate() {
            let Actor::Thread(thread) = actor else { continue };
            if attempt.stalled.contains(thread) && !alone {
                continue;
            }
            match self.part(attempt, *thread, &pending(actor)) {
                Part::Turn => turn.push(i),
                Part::Wait if alone => free.push(i),
                Part::Wait => {}
                Part::Broken => return None,
                Part::Free => {
                    let stop = &self.stops[(attempt.first + attempt.turn) % n];
                    let may = match attempt.next {
                        Some(next) => next == *thread,
                        None => stop.threads.is_empty() || stop.threads.contains(&thread.0),
                    };
                    free.push(i);
                    wanted.extend(may.then_some(i));
                }
            }
        }
        if let Some(choice) = self.one_of(&turn) {
            let Actor::Thread(thread) = actors[choice] else { return None };
            self.take_turn(attempt, thread, &pending(&actors[choice]));
            return Some(choice);
        }
        let list = if wanted.is_empty() || self.random.below(ANYBODY) == 0 { free } else { wanted };
        let Some(choice) = self.one_of(&list) else {
            // If all stall, time passes: here, until patience ends.
            self.time += self.options.patience + 1;
            return None;
        };
        if let (Actor::Thread(thread), What::Access(Access::Store { at, .. })) =
            (actors[choice], pending(&actors[choice]).what)
            && thread == attempt.thread
        {
            attempt.buffered.push(at);
        }
        Some(choice)
    }

    /// Stores that become visible before anything else happens, if there are any; `None`: start over.
    fn commit(
        &self,
        attempt: &mut Attempt,
        actors: &[Actor],
        pending: &dyn Fn(&Actor) -> Pending,
    ) -> Option<Option<usize>> {
        // Whose stores are these?
        let mut lost: Vec<bool> = attempt.held.iter().map(|held| held.2.is_some()).collect();
        for actor in actors {
            if let Actor::Buffer(commit) = actor {
                let label = pending(actor).label;
                if let Some(k) = attempt.held.iter().rposition(|h| h.0 == commit.thread && h.1 == label) {
                    let held = &mut attempt.held[k];
                    held.2 = held.2.max(Some(commit.store));
                }
                for (held, lost) in attempt.held.iter().zip(&mut lost) {
                    *lost &= held.2 != Some(commit.store);
                }
            }
        }
        // Lines 51 and 65: a fence, or a buffer that was full. (In the middle of a step of several accesses buffers are
        // not among the actors.)
        if actors.len() > 1 && lost.first() == Some(&true) {
            return None;
        }
        for (i, actor) in actors.iter().enumerate() {
            let Actor::Buffer(commit) = actor else { continue };
            let is_held = attempt.held.iter().any(|held| held.2 == Some(commit.store));
            let holds = attempt.held.iter().any(|held| held.0 == commit.thread);
            if is_held || holds && !attempt.eager && attempt.flush != Some(commit.thread) {
                continue;
            }
            if let (What::Commit(at), true) = (pending(actor).what, commit.thread == attempt.thread)
                && let Some(k) = attempt.buffered.iter().position(|other| *other == at)
            {
                attempt.buffered.remove(k);
            }
            return Some(Some(i));
        }
        attempt.flush = None;
        // Lines 62 to 66: a full buffer.
        let most = self.options.buffer.map_or(usize::MAX, |most| most as usize);
        if attempt.buffered.len() >= most { None } else { Some(None) }
    }

    /// Lines 19 to 33.
    fn take_turn(&mut self, attempt: &mut Attempt, thread: ThreadId, pending: &Pending) {
        let n = self.stops.len();
        let at = |turn: usize| &self.stops[(attempt.first + turn) % n];
        let access = if let What::Access(access) = pending.what { Some(access) } else { None };
        let mut stop = at(attempt.turn);
        let mut turn = attempt.turn + 1;
        // An exchange of two words can be both accesses of its thread.
        if access.as_ref().is_some_and(is_rmw) && !stop.last && turn < n && at(turn).labels == stop.labels {
            stop = at(turn);
            turn += 1;
        }
        let (passable, last) = (stop.passable, stop.last);
        attempt.turn = turn;
        attempt.since = self.time;
        if let Some(Access::Store { at, .. }) = access {
            if self.options.all && passable {
                attempt.held.push((thread, pending.label, None));
            } else {
                attempt.flush = Some(thread);
            }
            if thread == attempt.thread {
                attempt.buffered.push(at);
            }
        }
        if last {
            attempt.next = None;
            attempt.address = access.and_then(|access| access.location());
            attempt.stalled.push(thread);
        } else {
            attempt.next = Some(thread);
            attempt.address = None;
        }
    }
}

/// Does it read and write at once?
fn is_rmw(access: &Access) -> bool {
    matches!(access, Access::Rmw { .. } | Access::CompareExchange { .. })
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
        if let Some(Actor::Thread(thread)) = actors.get(choice) {
            if self.went.len() <= thread.index() {
                self.went.resize(thread.index() + 1, 0);
            }
            self.went[thread.index()] = self.time;
        }
        Some(choice)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        sources.len() - 1
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.random.below(ways as usize) as u32
    }
}
