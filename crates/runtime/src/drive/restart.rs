//! Putting the program back in place, and where that ends.
//!
//! Memory is put back by [`snapshot`](crate::memory::snapshot), and what the hooks know to undo by
//! [`hooks`](crate::hooks). Some actions cannot be undone: a child process, a lowered limit, another program in the
//! place of this one. Their hooks come here *before* the action. If the host left the choice to this worker, it stops
//! at once: the execution does not count, and the host goes on with it in a process that forks for each execution.
//!
//! What no hook sees is found by comparing what the kernel knows of the process with what it knew before the first
//! execution: after the first, the fourth, the sixteenth ..., and after the last.

use crate::platform::global::{self, Global};
use crate::platform::{layout, modules, sys};
use crate::results;
use crate::threads::fibers;
use fencepost_mailbox::{Irreversible, Record, Request, Restart, Stack, state};
use fencepost_trace::Action;
use std::sync::atomic::{AtomicBool, Ordering};

struct State {
    restart: Restart,
    /// It was said already.
    told: bool,
    execution: u64,
    /// After how many executions the next look is due, and how many there were.
    due: u64,
    done: u64,
    before: Option<Picture>,
}

static STATE: Global<State> =
    Global::new(State { restart: Restart::InPlace, told: false, execution: 0, due: 1, done: 0, before: None });

/// The campaign begins. The picture of the process is taken where executions restart in place.
pub fn prepare(request: &Request) {
    let before = (request.restart != Restart::Fork).then(Picture::take);
    let mut state = STATE.enter();
    state.restart = request.restart;
    state.before = before;
}

/// An execution begins.
pub fn begin(execution: u64) {
    STATE.enter().execution = execution;
}

/// What the program does would disturb other processes that do the same: of an exploration, this one does all.
static STAYS_ALONE: AtomicBool = AtomicBool::new(false);

/// Does it?
pub fn stays_alone() -> bool {
    STAYS_ALONE.load(Ordering::Relaxed)
}

/// The program is about to write to a file of this name. If others run it at the same time, theirs would do so, too.
pub fn writes_to_file() {
    if global::explores() {
        return STAYS_ALONE.store(true, Ordering::Relaxed);
    }
    if results::request().is_some_and(|request| request.crowded) {
        results::set_state(state::ALONE);
        sys::exit(0)
    }
}

/// The program has done something that cannot be undone: other processes may know of its files.
static WENT_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// Has it?
pub fn went_outside() -> bool {
    WENT_OUTSIDE.load(Ordering::Relaxed)
}

/// The running thread is about to do what cannot be undone: `action`, from where the program called.
pub fn irreversible(action: &str) {
    WENT_OUTSIDE.store(true, Ordering::Relaxed);
    let restart = STATE.enter().restart;
    if restart == Restart::Fork {
        return;
    }
    if global::explores() {
        return results::unsupported(format!("the program called {action}, which a restart in place does not undo"));
    }
    if !is_told() {
        fibers::me().pc = global::caller();
        let me = fibers::current();
        let frames = fibers::stack_of(me).into_iter().filter(|pc| *pc != 0 && !modules::is_own(*pc));
        let stack = Stack { thread: me.0, access: Action::Call, frames: frames.map(modules::frame).collect() };
        tell(action, Some(stack));
    }
    if restart == Restart::Auto {
        results::set_state(state::MOVED);
        sys::exit(0)
    }
}

/// Was it said already? It is from now on.
fn is_told() -> bool {
    std::mem::replace(&mut STATE.enter().told, true)
}

fn tell(action: &str, stack: Option<Stack>) {
    let execution = STATE.enter().execution;
    results::log(&Record::Irreversible(Irreversible { execution, action: action.to_owned(), stack }));
}

/// An execution has ended, and the program is back at its beginning.
pub fn ended() {
    let is_due = {
        let mut state = STATE.enter();
        state.done += 1;
        let is_due = state.done == state.due;
        state.due *= if is_due { 4 } else { 1 };
        is_due
    };
    if is_due {
        audit();
    }
}

/// Is everything as it was before the first execution? If not, nobody knows since when.
pub fn audit() {
    if STATE.enter().before.is_none() {
        return;
    }
    let now = Picture::take();
    let (difference, restart) = {
        let state = STATE.enter();
        (state.before.as_ref().and_then(|before| before.difference(&now)), state.restart)
    };
    let Some(difference) = difference else { return };
    if !is_told() {
        tell(&difference, None);
    }
    if restart == Restart::Auto && !global::explores() {
        results::set_state(state::TAINTED);
        sys::exit(0)
    }
}

/// What the kernel knows of the process that an execution might have changed.
struct Picture {
    /// Mapped memory, but the runtime's own: from where to where, with permissions and name.
    mappings: Vec<(usize, usize, [u8; 4], String)>,
    /// Lines of `/proc/self/status`, in the order of [`LINES`].
    status: Vec<Vec<u8>>,
    directory: Vec<u8>,
    children: bool,
}

/// What of `/proc/self/status` must not change, and how to say that it has.
const LINES: [(&[u8], &str); 11] = [
    (b"Umask:", "changed the mask of new files"),
    (b"Uid:", "changed its user"),
    (b"Gid:", "changed its group"),
    (b"SigPnd:", "left a signal pending"),
    (b"ShdPnd:", "left a signal pending"),
    (b"SigBlk:", "left signals blocked"),
    (b"SigIgn:", "left signals ignored"),
    (b"SigCgt:", "left signal handlers"),
    (b"CapEff:", "changed its capabilities"),
    (b"NoNewPrivs:", "gave up privileges"),
    (b"Seccomp:", "restricted its system calls"),
];

impl Picture {
    fn take() -> Picture {
        let status = sys::read_whole(b"/proc/self/status\0");
        let line = |name: &[u8]| status.split(|b| *b == b'\n').find(|line| line.starts_with(name));
        Picture {
            mappings: mappings(),
            status: LINES.iter().map(|(name, _)| line(name).unwrap_or_default().to_vec()).collect(),
            directory: sys::directory(),
            children: sys::has_children(),
        }
    }

    /// What is not as it was, in words.
    fn difference(&self, after: &Picture) -> Option<String> {
        let lines = self.status.iter().zip(&after.status).zip(LINES);
        if let Some((_, (_, what))) = lines.into_iter().find(|((before, after), _)| before != after) {
            return Some(what.to_owned());
        }
        if self.directory != after.directory {
            return Some("changed its directory".to_owned());
        }
        if self.children != after.children {
            return Some("left a child process".to_owned());
        }
        if let Some(new) = after.mappings.iter().find(|m| !self.mappings.contains(m)) {
            let name = if new.3.is_empty() { "memory" } else { &new.3 };
            return Some(format!("left {name} mapped or changed"));
        }
        (self.mappings.len() != after.mappings.len()).then(|| "unmapped memory".to_owned())
    }
}

/// Mapped memory, without what is the runtime's and without the process's stack, which grows. Neighbours of one kind
/// are one, because the kernel joins them when it can.
fn mappings() -> Vec<(usize, usize, [u8; 4], String)> {
    let mut own = fibers::all().ranges();
    own.extend(layout::OWN.map(|range| (range.start, range.end())));
    own.sort_unstable();
    let mut list: Vec<(usize, usize, [u8; 4], String)> = Vec::new();
    for mapping in modules::mappings() {
        if mapping.name == "[stack]" || mapping.permissions == *b"---p" {
            continue;
        }
        let mut add = |start: usize, end: usize| match list.last_mut() {
            _ if start >= end => {}
            Some(last) if last.1 == start && last.2 == mapping.permissions && last.3 == mapping.name => last.1 = end,
            _ => list.push((start, end, mapping.permissions, mapping.name.clone())),
        };
        let mut start = mapping.start;
        for (from, to) in &own {
            add(start, mapping.end.min(*from));
            start = start.max(*to);
        }
        add(start, mapping.end);
    }
    list
}
