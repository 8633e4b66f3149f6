//! Every outcome that the program has if each of its operations takes effect at once.
//!
//! Executions are enumerated depth first over the choice of the thread that goes next. There is a choice before an
//! operation begins, and before each access outside of operations; inside an operation its thread goes on to the end,
//! unless it waits: it is blocked, it gives way, or it goes on for so long that it must be waiting in a loop. Then
//! others run, and it is tried again once somebody has written. Memory is sequentially consistent: a load reads the
//! newest store.
//!
//! Starting, ending and joining threads are no choices: nobody can tell when they happen but by what comes after them.

use crate::drive::{ending, spec};
use crate::platform::global::{Entered, Global};
use crate::platform::sys;
use crate::results;
use fencepost_engine::{Actor, Pending, Strategy, What};
use fencepost_mailbox::{End, Record, Request};
use fencepost_memory::Source;
use fencepost_trace::{Access, Hidden, ThreadId};
use std::sync::atomic::Ordering;

/// After so many steps in a row an operation is taken to be waiting in a loop.
const LONGEST: u32 = 10_000;
/// A thread outside of operations that has come back so often to where it was, and nobody has written, is taken to be
/// waiting, too.
const RETURNS: u32 = 16;
/// The greatest number of choices in one execution.
const DEEPEST: usize = 1 << 16;

/// The choices of the execution at hand, in memory that children share: with forked executions it is they who choose.
struct Path {
    words: *mut u32,
}

/// Where [`Path`] keeps what; the choices follow, each with the number of its possibilities.
const LENGTH: usize = 0;
const POSITION: usize = 1;
const PROBLEM: usize = 2;
const FIRST: usize = 4;

/// Why an enumeration is of no use.
const TOO_DEEP: u32 = 1;
const DIVERGED: u32 = 2;

impl Path {
    fn new() -> Path {
        let bytes = (FIRST + 2 * DEEPEST) * size_of::<u32>();
        match sys::map_common(bytes) {
            Some(address) => Path { words: address as *mut u32 },
            None => ending::give_up("no memory for the enumeration of atomic operations"),
        }
    }

    fn word(&mut self, i: usize) -> &mut u32 {
        debug_assert!(i < FIRST + 2 * DEEPEST);
        // SAFETY: within the mapping, which stays; one process at a time uses it.
        unsafe { &mut *self.words.add(i) }
    }

    /// One of `ways`: as before along the path, and the first one at its end.
    fn choose(&mut self, ways: usize) -> usize {
        if ways == 1 {
            return 0;
        }
        let (position, length) = (*self.word(POSITION) as usize, *self.word(LENGTH) as usize);
        if position == DEEPEST {
            *self.word(PROBLEM) = TOO_DEEP;
            return 0;
        }
        *self.word(POSITION) += 1;
        let at = FIRST + 2 * position;
        if position == length {
            *self.word(LENGTH) += 1;
            *self.word(at) = 0;
            *self.word(at + 1) = ways as u32;
        } else if *self.word(at + 1) != ways as u32 {
            *self.word(PROBLEM) = DIVERGED;
        }
        *self.word(at) as usize % ways
    }

    /// Goes on to the next path; `false` if there is none.
    fn advance(&mut self) -> bool {
        *self.word(POSITION) = 0;
        while *self.word(LENGTH) > 0 {
            let at = FIRST + 2 * (*self.word(LENGTH) as usize - 1);
            if *self.word(at) + 1 < *self.word(at + 1) {
                *self.word(at) += 1;
                return true;
            }
            *self.word(LENGTH) -= 1;
        }
        false
    }
}

static PATH: Global<Option<Path>> = Global::new(None);

#[track_caller]
fn path() -> Entered<'static, Path> {
    PATH.enter().map(|path| path.get_or_insert_with(Path::new))
}

/// Are operations atomic in this campaign?
pub fn is_on() -> bool {
    PATH.enter().is_some()
}

/// Enumerates the executions; `execute` runs the one that is chosen.
pub fn collect(request: &Request, mut execute: impl FnMut(u64)) {
    path();
    let mut complete = false;
    let mut executions = 0;
    let ended = |end: End| results::header().map_or(0, |header| header.ended[end as usize].load(Ordering::Relaxed));
    let is_cut = || [End::StepLimit, End::Timeout, End::Died].into_iter().any(|end| ended(end) > 0);
    // One execution without an end is enough to know that not all are known; more of them take long.
    while executions < request.count && *path().word(PROBLEM) == 0 && !is_cut() {
        results::begin(executions);
        execute(executions);
        executions += 1;
        if !path().advance() {
            complete = true;
            break;
        }
    }
    let problem = match *path().word(PROBLEM) {
        TOO_DEEP => Some("an execution has too many choices"),
        DIVERGED => Some("the program does not always do the same"),
        _ if is_cut() => Some("an execution of atomic operations did not end within the limits"),
        _ if !complete => Some("there are too many schedules"),
        _ => None,
    };
    results::log(&Record::Collected { executions, problem: problem.map(str::to_owned) });
}

/// Chooses among operations.
#[derive(Default)]
pub struct Atomic {
    current: Option<ThreadId>,
    /// How many steps it has taken in a row.
    steps: u32,
    /// By thread: waits for somebody else to write.
    waiting: Vec<bool>,
    /// By thread: where it has been since somebody last wrote.
    rounds: Vec<Round>,
}

/// Where a thread has been, by program point and memory.
#[derive(Clone, Copy, Default)]
struct Round {
    places: [(u32, u64); 8],
    next: u8,
    returns: u32,
}

impl Round {
    fn visit(&mut self, place: (u32, u64)) {
        if self.places.contains(&place) {
            self.returns += 1;
        } else {
            self.places[usize::from(self.next)] = place;
            self.next = (self.next + 1) % 8;
        }
    }
}

impl Atomic {
    fn waits(&mut self, thread: ThreadId) -> &mut bool {
        if self.waiting.len() <= thread.index() {
            self.waiting.resize(thread.index() + 1, false);
        }
        &mut self.waiting[thread.index()]
    }

    /// The thread takes the step that it has asked for.
    fn takes(&mut self, thread: ThreadId, next: &Pending) {
        let What::Access(access) = next.what else { return self.goes(thread) };
        if matches!(access, Access::Store { .. } | Access::Rmw { .. } | Access::CompareExchange { .. }) {
            // Whoever waits may go on now.
            self.waiting.clear();
            self.rounds.clear();
        } else if let Some(at) = access.location()
            && !spec::is_inside(thread)
        {
            if self.rounds.len() <= thread.index() {
                self.rounds.resize(thread.index() + 1, Round::default());
            }
            let round = &mut self.rounds[thread.index()];
            round.visit((next.label, at.address));
            if round.returns > RETURNS {
                *self.waits(thread) = true;
            }
        }
        self.goes(thread);
    }

    fn goes(&mut self, thread: ThreadId) {
        self.steps = if self.current == Some(thread) { self.steps + 1 } else { 0 };
        self.current = Some(thread);
    }
}

/// Can nobody tell when this happens?
fn is_private(what: &What) -> bool {
    let What::Access(access) = what else { return false };
    match access.location().and_then(|at| at.as_hidden()) {
        Some((kind, _)) => matches!(kind, Hidden::ThreadStart | Hidden::ThreadEnd),
        None => matches!(access, Access::Fence { .. }),
    }
}

impl Strategy for Atomic {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        let thread = |i: usize| match actors[i] {
            Actor::Thread(thread) => thread,
            Actor::Buffer(commit) => commit.thread,
        };
        let what = |i: usize| pending(&actors[i]).what;
        if let Some(current) = self.current.filter(|current| spec::is_inside(*current))
            && let Some(i) = (0..actors.len()).find(|i| thread(*i) == current)
        {
            if !matches!(what(i), What::Yield | What::Quit) && self.steps < LONGEST {
                self.takes(current, &pending(&actors[i]));
                return Some(i);
            }
            *self.waits(current) = true;
        }
        if let Some(i) = (0..actors.len()).find(|i| !spec::is_inside(thread(*i)) && is_private(&what(*i))) {
            return Some(i);
        }
        let mut candidates: Vec<usize> = (0..actors.len()).filter(|i| !*self.waits(thread(*i))).collect();
        if candidates.is_empty() {
            self.waiting.clear();
            candidates = (0..actors.len()).collect();
        }
        let chosen = candidates[path().choose(candidates.len())];
        self.current = None;
        self.takes(thread(chosen), &pending(&actors[chosen]));
        Some(chosen)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        // The newest; and where a compare-exchange may fail or succeed on it, success, which comes later.
        (0..sources.len()).max_by_key(|i| (sources[*i].event, *i)).unwrap_or(0)
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        path().choose(ways as usize) as u32
    }
}
