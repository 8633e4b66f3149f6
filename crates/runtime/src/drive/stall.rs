//! Is an execution that reaches the limit of its steps, or in which nothing has changed for long, in an endless loop?
//!
//! It goes on for some more steps under a schedule that is as fair as can be: buffers are drained first, threads take
//! turns, loads read the newest store. If then every thread that can go on stands where it stood before, with the
//! same registers and the same stack, and nobody has written anything in between, what they read cannot change any
//! more: they go around forever, and that is a livelock. Otherwise the execution was only long, as far as anybody
//! can tell: if the limit is reached it counts as cut off, otherwise it goes on like that. (It does not go back to
//! its own schedule: a replay follows the answers up to here, and from here on finds them by itself.)
//!
//! Memory is fair: whatever waits in a buffer is made visible first, and that is a change. So a loop that waits for
//! such a store is not endless.
//!
//! A loop that writes, or under c11 one that reads plain variables (which are not operations), is never called
//! endless here.

use crate::drive::{control, digest, private, progress};
use crate::platform::global::{Entered, Global};
use crate::threads::{clock, fibers};
use fencepost_engine::{Actor, Pending, Strategy};
use fencepost_memory::Source;
use fencepost_trace::ThreadId;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many more steps are given. Time passes for threads that sleep while others are busy: that must fit in.
pub const STEPS: u64 = 20_000;

/// After so many steps without a change it is time to look, well before the limit: loops that wait for something that
/// comes are much shorter.
pub const QUIET: u64 = 20_000;

static ON: AtomicBool = AtomicBool::new(false);
static UNCERTAIN: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct State {
    fair: Fair,
    /// How many events had changed something when it was looked at.
    changes: u64,
    now: u64,
    /// By thread: the states in which it stood since somebody last changed something.
    seen: Vec<FxHashSet<u64>>,
}

/// Takes turns, and lets the newest values be read.
#[derive(Default)]
pub struct Fair {
    last: u32,
    /// By thread: it stands where it stood before, and nothing has changed.
    looping: Vec<bool>,
}

static STATE: Global<Option<State>> = Global::new(None);

#[track_caller]
fn state() -> Entered<'static, State> {
    STATE.enter().map(|state| state.get_or_insert_with(State::default))
}

/// Are these the additional steps?
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// A new execution.
pub fn reset() {
    ON.store(false, Ordering::Relaxed);
}

/// The limit is reached. Is this the first time?
pub fn begin() -> bool {
    if ON.swap(true, Ordering::Relaxed) {
        return false;
    }
    private::suspend();
    let changes = control::change_count();
    let mut state = state();
    state.changes = changes;
    state.changed();
    drop(state);
    // What a thread's registers are at the operation that it stands at was not noted: as they never are.
    let mut all = fibers::all();
    (0..all.count()).for_each(|t| all.get(ThreadId(t as u32)).registers = [usize::MAX; 6]);
    true
}

/// Who decides during the additional steps.
pub fn strategy() -> Entered<'static, Fair> {
    state().map(|state| &mut state.fair)
}

/// The threads that go around forever.
pub fn spinning() -> Vec<ThreadId> {
    let state = state();
    let looping = &state.fair.looping;
    (0..looping.len() as u32).map(ThreadId).filter(|t| looping[t.index()]).collect()
}

/// The running thread is about to ask for something where nothing is known of its registers. Only noted: the hook is
/// not at work yet, and whatever it calls may come back in.
#[inline]
pub fn uncertain() {
    UNCERTAIN.store(true, Ordering::Relaxed);
}

/// The running thread asks for an operation, and its place and registers are noted.
pub fn stands() {
    let (now, changes) = (clock::now(), control::change_count());
    progress::settle();
    let thread = fibers::current();
    let digest = digest(thread);
    let state = &mut *state();
    let changed = UNCERTAIN.swap(false, Ordering::Relaxed) || (now, changes) != (state.now, state.changes);
    (state.now, state.changes) = (now, changes);
    if changed {
        state.changed();
    }
    if state.seen.len() <= thread.index() {
        state.seen.resize_with(thread.index() + 1, FxHashSet::default);
        state.fair.looping.resize(thread.index() + 1, false);
    }
    match digest {
        Some(digest) => state.fair.looping[thread.index()] |= !state.seen[thread.index()].insert(digest),
        None => state.fair.looping[thread.index()] = false,
    }
}

impl State {
    fn changed(&mut self) {
        self.seen.iter_mut().for_each(FxHashSet::clear);
        self.fair.looping.iter_mut().for_each(|looping| *looping = false);
    }
}

impl Strategy for Fair {
    /// `None` if all go around forever.
    fn actor(&mut self, actors: &[Actor], _: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if let Some(buffer) = actors.iter().position(|actor| matches!(actor, Actor::Buffer(_))) {
            return Some(buffer);
        }
        let thread = |i: usize| match actors[i] {
            Actor::Thread(thread) => thread,
            Actor::Buffer(_) => unreachable!("internal error: buffers were looked at"),
        };
        let endless = (0..actors.len()).all(|i| self.looping.get(thread(i).index()).copied().unwrap_or(false));
        if endless && fibers::all().list().iter().all(|fiber| fiber.deadline.is_none()) {
            return None;
        }
        let next = (0..actors.len()).find(|i| thread(*i).0 > self.last).unwrap_or(0);
        self.last = thread(next).0;
        Some(next)
    }

    /// Where all go around forever unless some time comes, it comes.
    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        let goes_around = |actor: &Actor| match actor {
            Actor::Thread(thread) => self.looping.get(thread.index()).copied().unwrap_or(false),
            Actor::Buffer(_) => false,
        };
        if actors.iter().all(goes_around) { Some(actors.len()) } else { self.actor(actors, pending) }
    }

    fn wants_newest(&self) -> bool {
        true
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        sources.len() - 1
    }

    fn variant(&mut self, _: ThreadId, _: u32) -> u32 {
        0
    }
}
