//! Follows a script, and does what it does not say in the plainest way.

use super::per_thread::PerThread;
use super::script::{Answer, Buffered, Pick, Script, Turn};
use super::waiting::WaitingLoops;
use super::{Actor, Follow, Pending, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{Access, EventId, ThreadId, Update};
use rustc_hash::{FxHashMap, FxHashSet};

/// A thread that comes back to where it was so often, and has not written for as long, waits for somebody else.
const PATIENCE: u32 = 8;
/// One that writes in between may count something: that is given more time.
const MORE_PATIENCE: u32 = 256;

/// Follows a [`Script`] and writes down what was done, as a script again.
///
/// Where the script says nothing, the running thread goes on until it cannot or waits in a loop, and then the next one
/// in the order of their numbers; stores leave their buffers at once; reads read the newest store; an operation has the
/// first of its results; time stands still while somebody can go on. A turn of a thread that cannot go on is left out:
/// what is missing is done in its next turn.
#[derive(Clone, Debug)]
pub struct Scripted {
    lead: Lead,
    /// Who goes, and at which program point.
    running: Option<ThreadId>,
    at: u32,
    counts: PerThread<Counts>,
    /// How often each thread has read at each program point.
    read: FxHashMap<(ThreadId, u32), u32>,
    /// The stores that were seen to wait: the last of each thread and location, and how many came before it.
    buffered: FxHashMap<(ThreadId, u64), (EventId, u32)>,
    waiting: WaitingLoops,
    /// How many threads' steps there were, and how many of them did something.
    steps: u32,
    operations: u64,
    /// The stores that wait: since which of these steps, and their names.
    seen: FxHashMap<EventId, (u32, Buffered)>,
    done: Script,
    /// How much of it there was when what it is all about had been seen.
    mark: Option<Mark>,
}

/// Who says what is done.
#[derive(Clone, Debug)]
enum Lead {
    /// Recorded answers: to learn what their script is.
    Answers(Follow),
    Script {
        turns: Vec<Turn>,
        next: usize,
        /// Stores that wait for their turn.
        delayed: FxHashSet<Buffered>,
        /// By thread, program point, and how many came before.
        reads: FxHashMap<(ThreadId, u32, u32), Pick>,
        /// By thread and how many came before.
        results: FxHashMap<(ThreadId, u32), u32>,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    steps: u32,
    results: u32,
    /// How often in a row it has given way.
    yields: u32,
    /// How many of its steps came behind the last one that wrote something, whatever was there before.
    idle: u32,
}

#[derive(Clone, Debug)]
struct Mark {
    turns: usize,
    reads: usize,
    results: usize,
    /// Up to where the last turn had come.
    until: Option<u32>,
    operations: u64,
    /// Stores that waited.
    waiting: Vec<Turn>,
}

impl Scripted {
    /// Follows recorded answers, and learns their script.
    pub fn learning(answers: Vec<u32>) -> Scripted {
        Scripted::led(Lead::Answers(Follow::new(answers)))
    }

    /// Follows a script.
    pub fn new(script: Script) -> Scripted {
        let Script { turns, reads, results } = script;
        let delayed = turns.iter().filter_map(|turn| match turn {
            Turn::Commit(buffered) => Some(*buffered),
            Turn::Thread { .. } | Turn::Time => None,
        });
        let delayed = delayed.collect();
        let reads = reads.into_iter().map(|pick| ((pick.thread, pick.at, pick.nth), pick)).collect();
        let results = results.into_iter().map(|one| ((one.thread, one.nth), one.answer)).collect();
        Scripted::led(Lead::Script { turns, next: 0, delayed, reads, results })
    }

    fn led(lead: Lead) -> Scripted {
        Scripted {
            lead,
            running: None,
            at: 0,
            counts: PerThread::default(),
            read: FxHashMap::default(),
            buffered: FxHashMap::default(),
            waiting: WaitingLoops::default(),
            steps: 0,
            operations: 0,
            seen: FxHashMap::default(),
            done: Script::default(),
            mark: None,
        }
    }

    /// What is to be shown has been seen: what follows does not count. The first time is what matters.
    pub fn mark(&mut self) {
        if self.mark.is_none() {
            self.mark = Some(self.now());
        }
    }

    fn now(&self) -> Mark {
        let until = match self.done.turns.last() {
            Some(Turn::Thread { until, .. }) => Some(*until),
            _ => None,
        };
        let Script { turns, reads, results } = &self.done;
        let (turns, reads, results) = (turns.len(), reads.len(), results.len());
        let mut waiting: Vec<Buffered> =
            self.seen.values().filter(|(since, _)| *since < self.steps).map(|(_, name)| *name).collect();
        waiting.sort_by_key(|name| (name.thread, name.at.address, name.nth));
        let waiting = waiting.into_iter().map(Turn::Commit).collect();
        Mark { turns, reads, results, until, operations: self.operations, waiting }
    }

    /// What was done, up to the mark. Stores that had not left their buffers by then leave them behind all else.
    pub fn done(&self) -> Script {
        let mark = self.mark.clone().unwrap_or_else(|| self.now());
        let mut done = self.done.clone();
        done.turns.truncate(mark.turns);
        done.reads.truncate(mark.reads);
        done.results.truncate(mark.results);
        if let (Some(Turn::Thread { until, .. }), Some(then)) = (done.turns.last_mut(), mark.until) {
            *until = then;
        }
        done.turns.extend(mark.waiting);
        done
    }

    /// How many operations threads had performed by then.
    pub fn operations(&self) -> u64 {
        self.mark.as_ref().map_or(self.operations, |mark| mark.operations)
    }

    /// The name of a store that waits.
    fn name(&mut self, actor: &Actor, pending: &dyn Fn(&Actor) -> Pending) -> Option<Buffered> {
        let (Actor::Buffer(commit), What::Commit(at)) = (actor, pending(actor).what) else { return None };
        let slot = self.buffered.entry((commit.thread, at.address)).or_insert((commit.store, 0));
        if slot.0 != commit.store {
            *slot = (commit.store, slot.1 + 1);
        }
        let name = Buffered { thread: commit.thread, at, nth: slot.1 };
        self.seen.entry(commit.store).or_insert((self.steps, name));
        Some(name)
    }

    fn read_count(&self, thread: ThreadId, at: u32) -> u32 {
        self.read.get(&(thread, at)).copied().unwrap_or(0)
    }

    fn is_waiting(&mut self, thread: ThreadId) -> bool {
        waits(self.waiting.returns(thread), *self.counts.get(thread))
    }

    /// What the script says, or else the plainest way.
    fn pick(&mut self, actors: &[Actor], names: &[Option<Buffered>], may_pass: bool) -> usize {
        let Lead::Script { turns, next, delayed, .. } = &mut self.lead else { return 0 };
        let at_once = |name: &Option<Buffered>| name.is_some_and(|name| !delayed.contains(&name));
        if let Some(store) = names.iter().position(at_once) {
            return store;
        }
        let goes = |thread: ThreadId| actors.iter().position(|actor| *actor == Actor::Thread(thread));
        while let Some(turn) = turns.get(*next).copied() {
            match turn {
                Turn::Thread { thread, until } if self.counts.get(thread).steps < until => {
                    let waiting = waits(self.waiting.returns(thread), *self.counts.get(thread));
                    match goes(thread) {
                        Some(actor) if !waiting || actors.len() == 1 => return actor,
                        _ => *next += 1,
                    }
                }
                Turn::Thread { .. } => *next += 1,
                Turn::Commit(name) => {
                    *next += 1;
                    delayed.remove(&name);
                    if let Some(store) = names.iter().position(|waits| *waits == Some(name)) {
                        return store;
                    }
                }
                Turn::Time => {
                    *next += 1;
                    if may_pass {
                        return actors.len();
                    }
                }
            }
        }
        self.plainest(actors)
    }

    /// The running thread, or the one behind it.
    fn plainest(&mut self, actors: &[Actor]) -> usize {
        let running = self.running.map_or(0, |thread| thread.0);
        let mut threads: Vec<(usize, ThreadId)> = (actors.iter().enumerate())
            .filter_map(|(i, actor)| match actor {
                Actor::Thread(thread) => Some((i, *thread)),
                Actor::Buffer(_) => None,
            })
            .collect();
        // The running one first, then those behind it, then from the beginning.
        threads.sort_by_key(|(_, thread)| (thread.0 < running, thread.0));
        if let Some((actor, _)) = threads.iter().find(|(_, thread)| !self.is_waiting(*thread)) {
            return *actor;
        }
        // All wait: each has a step in turn.
        let another = threads.iter().find(|(_, thread)| thread.0 != running).or(threads.first());
        another.map_or(0, |(actor, _)| *actor)
    }

    /// Writes down what is done.
    fn note(&mut self, actor: Option<&Actor>, name: Option<Buffered>, pending: &dyn Fn(&Actor) -> Pending) {
        let Some(actor) = actor else { return self.done.turns.push(Turn::Time) };
        match *actor {
            Actor::Thread(thread) => {
                let next = pending(actor);
                let (address, writes) = match next.what {
                    What::Access(access) => (
                        access.location().map_or(0, |at| at.address | 7),
                        matches!(access, Access::Store { .. } | Access::Rmw { .. } | Access::CompareExchange { .. }),
                    ),
                    _ => (0, false),
                };
                self.waiting.visit(thread, next.label, address, writes);
                self.running = Some(thread);
                self.at = next.label;
                self.steps += 1;
                self.operations += u64::from(matches!(next.what, What::Access(_)));
                let counts = self.counts.get(thread);
                counts.steps += 1;
                counts.yields = if let What::Yield = next.what { counts.yields + 1 } else { 0 };
                counts.idle = if changes(&next.what) { 0 } else { counts.idle + 1 };
                let now = counts.steps;
                match self.done.turns.last_mut() {
                    Some(Turn::Thread { thread: before, until }) if *before == thread => *until = now,
                    _ => self.done.turns.push(Turn::Thread { thread, until: now }),
                }
            }
            // One that did not wait at all is what happens in any case.
            Actor::Buffer(commit) => {
                let waited = self.seen.remove(&commit.store).is_some_and(|(since, _)| since < self.steps);
                self.done.turns.extend(name.filter(|_| waited).map(Turn::Commit));
            }
        }
    }

    fn choose(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending, may_pass: bool) -> Option<usize> {
        let names: Vec<Option<Buffered>> = actors.iter().map(|actor| self.name(actor, pending)).collect();
        let choice = match &mut self.lead {
            Lead::Answers(follow) if may_pass => follow.actor_or_time(actors, pending)?,
            Lead::Answers(follow) => follow.actor(actors, pending)?,
            Lead::Script { .. } => self.pick(actors, &names, may_pass),
        };
        // As the engine takes it.
        let choice = choice % (actors.len() + usize::from(may_pass));
        self.note(actors.get(choice), names.get(choice).copied().flatten(), pending);
        Some(choice)
    }

    /// One of several ways; `usual` is the plainest.
    fn answer(&mut self, thread: ThreadId, usual: u32, recorded: impl FnOnce(&mut Follow) -> u32) -> u32 {
        let nth = self.counts.get(thread).results;
        self.counts.get(thread).results += 1;
        let answer = match &mut self.lead {
            Lead::Answers(follow) => recorded(follow),
            Lead::Script { results, .. } => results.get(&(thread, nth)).copied().unwrap_or(usual),
        };
        if answer != usual {
            self.done.results.push(Answer { thread, nth, answer });
        }
        answer
    }
}

/// Does a thread wait that came back so often?
fn waits(returns: u32, counts: Counts) -> bool {
    let idle = returns >= PATIENCE && counts.idle >= PATIENCE;
    idle || counts.yields >= PATIENCE || returns >= MORE_PATIENCE
}

/// Does it write something, whatever it finds? An exchange may only find that a lock is taken.
fn changes(what: &What) -> bool {
    match what {
        What::Access(Access::Store { .. }) => true,
        What::Access(Access::Rmw { update, .. }) => matches!(update, Update::Add(_) | Update::Sub(_)),
        _ => false,
    }
}

impl Strategy for Scripted {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.choose(actors, pending, false)
    }

    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.choose(actors, pending, true)
    }

    /// Which store is the last of all.
    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize {
        let last = sources.len() as u32 - 1;
        self.answer(thread, last, |follow| follow.source(thread, sources) as u32 % (last + 1)) as usize
    }

    fn wants_newest(&self) -> bool {
        let (Lead::Script { reads, .. }, Some(thread)) = (&self.lead, self.running) else { return false };
        !reads.contains_key(&(thread, self.at, self.read_count(thread, self.at)))
    }

    fn source_of(
        &mut self,
        thread: ThreadId,
        _: &Access,
        at: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        let nth = self.read_count(thread, at);
        let whose: Vec<(ThreadId, u32)> = sources.iter().map(|source| origin(source.event)).collect();
        let choice = match &mut self.lead {
            Lead::Answers(follow) => follow.source(thread, sources) % sources.len(),
            Lead::Script { reads, .. } => {
                let there = reads.get(&(thread, at, nth)).and_then(|pick| {
                    let same = (0..whose.len()).rev().filter(|i| whose[*i] == (pick.writer, pick.label));
                    let same: Vec<usize> = same.collect();
                    same.get(pick.newer as usize).or(same.last()).copied()
                });
                there.unwrap_or(sources.len() - 1)
            }
        };
        let (writer, label) = whose[choice];
        let newer = whose[choice + 1..].iter().filter(|other| **other == whose[choice]).count() as u32;
        self.done.reads.push(Pick { thread, at, nth, writer, label, newer });
        choice
    }

    fn has_read(&mut self, thread: ThreadId, label: u32, _: &dyn Fn() -> (ThreadId, u32)) {
        *self.read.entry((thread, label)).or_default() += 1;
    }

    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32 {
        self.answer(thread, 0, |follow| follow.variant(thread, ways) % ways)
    }
}
