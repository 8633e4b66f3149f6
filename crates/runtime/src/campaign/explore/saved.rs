//! An exploration on disk: whatever counts of the work so far, and what is left.
//!
//! It is written by the process that began the exploration, when no other works and no run is under way: then the
//! counts in the mailbox are those of what was explored, and all else is among the tasks. Another process, with the
//! same program at the same addresses, goes on from there.

use super::workers::exploring;
use super::{shared, state};
use crate::drive::ending;
use crate::platform::sys;
use crate::results;
use fencepost_explore::causal;
use fencepost_explore::graph::Task;
use fencepost_mailbox::{Message, Request, Status, limit, seal, unseal};
use fencepost_trace::Answers;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What is left to explore.
#[derive(Serialize, Deserialize)]
pub(super) enum Left {
    Graphs(Vec<Task>),
    Reads(Box<causal::Saved>),
    /// Nothing: it is over.
    Nothing(Option<Answers>),
}

/// The whole state.
#[derive(Serialize, Deserialize)]
struct State {
    /// The memory whose plain accesses are events, and what it held in the beginning.
    shared: Vec<(u64, u8)>,
    initial: Vec<(u64, u64, u8)>,
    executions: u64,
    blocked: u64,
    numbers: u64,
    cut: u32,
    forked: u32,
    done: u64,
    failing: u64,
    threads: u64,
    steps: u64,
    ended: Vec<u64>,
    statuses: Vec<(usize, u64)>,
    /// Fingerprints with their counts.
    table: Vec<[u64; 4]>,
    log: String,
    incomplete: Option<Message>,
    /// Ways out of sc that have been told.
    told: Vec<(u32, u32)>,
    left: Left,
}

/// Saves, if somebody wants that. If it cannot be written, what was saved before is still there; the error's number.
pub(super) fn save(left: Left) -> Result<(), i32> {
    let request = super::request();
    let (Some(save), Some(header)) = (&request.save, results::header()) else { return Ok(()) };
    let words = exploring();
    if words.limit.load(Relaxed) == limit::DEATH {
        // Something is missing. What was saved before is whole.
        return Ok(());
    }
    let start = sys::monotonic();
    let load = |word: &AtomicU64| word.load(Relaxed);
    let told = state().safety.as_ref().map_or_else(Vec::new, |safety| safety.told());
    let statuses = header.statuses.iter().map(load).enumerate().filter(|(_, count)| *count != 0).collect();
    let body = State {
        shared: shared::list(),
        initial: shared::initial_values(),
        executions: load(&words.executions),
        blocked: load(&words.blocked),
        numbers: load(&words.numbers),
        cut: words.cut.load(Relaxed),
        forked: words.forked.load(Relaxed),
        done: load(&header.done),
        failing: load(&header.failing),
        threads: load(&header.threads),
        steps: load(&header.steps),
        ended: header.ended.iter().map(load).collect(),
        statuses,
        table: header.table.dump(),
        log: results::logged(),
        incomplete: results::incomplete(),
        told,
        left,
    };
    let over = matches!(body.left, Left::Nothing(_));
    let status = Status { over, executions: body.executions, blocked: body.blocked };
    let bytes = seal(&save.head, status, &body).map_err(|_| libc::EINVAL);
    let written = bytes.and_then(|bytes| sys::replace_file(&save.path, &bytes));
    // No execution took that time.
    ending::take_late();
    let mut state = state();
    state.saved_log = header.log_used.load(Relaxed);
    state.rhythm.saved(start, sys::monotonic());
    written
}

/// Is it time to save?
pub(super) fn is_due() -> bool {
    let state = state();
    if state.request.save.is_none() || state.is_child {
        return false;
    }
    let news = results::header().is_some_and(|header| header.log_used.load(Relaxed) != state.saved_log);
    state.rhythm.is_due(sys::monotonic(), news)
}

/// What another process has left, if this one is to go on from there.
pub(super) fn load(request: &Request) -> Option<Left> {
    let save = request.save.as_ref().filter(|save| save.resume)?;
    let path = [&save.path[..], &[0]].concat();
    let bytes = sys::read_whole(&path);
    let parsed = unseal(&bytes).and_then(|(_, _, body)| serde_json::from_slice::<Option<State>>(body).ok());
    let Some(saved) = parsed else { ending::give_up("the saved run cannot be read") };
    let (saved, header) = (saved?, results::header()?);
    let words = exploring();
    shared::begin(&saved.shared);
    shared::set_initial_values(&saved.initial);
    for (word, value) in [
        (&words.executions, saved.executions),
        (&words.blocked, saved.blocked),
        (&words.numbers, saved.numbers),
        (&header.done, saved.done),
        (&header.failing, saved.failing),
        (&header.threads, saved.threads),
        (&header.steps, saved.steps),
    ] {
        word.store(value, Relaxed);
    }
    words.cut.store(saved.cut, Relaxed);
    words.forked.store(saved.forked, Relaxed);
    words.workers.store(1, Relaxed);
    header.ended.iter().zip(saved.ended).for_each(|(word, value)| word.store(value, Relaxed));
    saved.statuses.into_iter().for_each(|(status, count)| header.statuses[status & 255].store(count, Relaxed));
    header.table.restore(&saved.table);
    results::log_again(&saved.log);
    saved.incomplete.into_iter().for_each(super::unsupported);
    let mut state = state();
    if let Some(safety) = &mut state.safety {
        safety.know(saved.told);
    }
    Some(saved.left)
}
