//! Several processes share the work: each forks, and keeps half of the alternatives that are left.

use super::program::Program;
use super::{request, state, unsupported};
use crate::drive::ending::{self, RUNS, SHARES};
use crate::platform::sys;
use crate::results;
use fencepost_explore::graph::Explorer;
use fencepost_mailbox::Exploring;
use fencepost_trace::CampaignSpec;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn exploring() -> &'static Exploring {
    &results::header().unwrap_or_else(|| ending::internal("an exploration without a mailbox")).exploring
}

/// How many runs there are before the process forks, so that short explorations are one worker's; and how many
/// between two forks.
pub(super) const RUNS_ALONE: u64 = 2_000;

const RUNS_BETWEEN: u64 = 100;

/// Gives half of what is left to a new process.
pub(super) fn fork(explorer: &mut Explorer<Program>, jobs: u32) {
    let workers = &exploring().workers;
    let CampaignSpec::Explore { timeout, .. } = request().campaign else { return };
    if workers.fetch_add(1, Relaxed) >= jobs {
        workers.fetch_sub(1, Relaxed);
        return;
    }
    state().next_fork = RUNS.load(Relaxed) + RUNS_BETWEEN;
    match sys::fork() {
        0 => {
            sys::die_with_parent();
            results::separate_output();
            let mut state = state();
            state.children.clear();
            state.is_child = true;
            drop(state);
            SHARES.store(true, Relaxed);
            explorer.halve(false);
            sys::signal_every(ending::LATE, timeout, 0);
        }
        child if child > 0 => {
            if !SHARES.swap(true, Relaxed) {
                // The host sees that somebody goes on, no longer who does.
                sys::signal_every(ending::LATE, timeout, 0);
            }
            state().children.push(child as i32);
            exploring().forked.store(1, Relaxed);
            explorer.halve(true);
        }
        _ => {
            // The system gives no more processes: then this one does it.
            workers.fetch_sub(1, Relaxed);
            state().next_fork = u64::MAX;
        }
    }
}

/// Waits for the processes that share the work.
pub(super) fn join_children() {
    let workers = &exploring().workers;
    workers.fetch_sub(1, Relaxed);
    let children = std::mem::take(&mut state().children);
    for child in children {
        if sys::wait_for(child) != 0 {
            unsupported("a process of the exploration has died, and what it had to explore is lost");
            workers.fetch_sub(1, Relaxed);
        }
    }
    SHARES.store(state().is_child, Relaxed);
    workers.fetch_add(1, Relaxed);
}

/// A process that shares the work has done its part.
pub(super) fn leave() -> ! {
    join_children();
    exploring().workers.fetch_sub(1, Relaxed);
    if let Some(why) = results::take_incomplete() {
        exploring().cut.store(1, Relaxed);
        locked(|| results::note(&why));
    }
    sys::exit(0)
}

/// Does something that only one process may do at a time.
pub(super) fn locked<T>(act: impl FnOnce() -> T) -> T {
    let lock = &exploring().lock;
    while lock.swap(1, std::sync::atomic::Ordering::Acquire) != 0 {
        sys::give_way();
    }
    let result = act();
    lock.store(0, std::sync::atomic::Ordering::Release);
    result
}
