//! Several processes share the work: each forks, and keeps half of the alternatives that are left. One that leaves
//! hands over what it has left, and what it has learnt, to the first.

use super::passes::{reach, tell_outlook};
use super::program::Program;
use super::saved::{self, Left};
use super::{common, request, state, unsupported};
use crate::drive::ending::{self, RUNS, SHARES};
use crate::platform::sys;
use crate::results;
use fencepost_explore::{causal, graph};
use fencepost_mailbox::{Exploring, limit};
use fencepost_trace::CampaignSpec;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn exploring() -> &'static Exploring {
    &results::header().unwrap_or_else(|| ending::internal("an exploration without a mailbox")).exploring
}

/// How many runs there are before the process forks, so that short explorations are one worker's; and how many
/// between two forks.
pub(super) const RUNS_ALONE: u64 = 2_000;

const RUNS_BETWEEN: u64 = 100;

/// An exploration that processes share.
pub(super) trait Shares {
    /// How much is left.
    fn open(&self) -> usize;
    /// This process is a copy of another: half of what is left is its own.
    fn become_copy(&mut self);
    /// Half of what is left is another's.
    fn give_half(&mut self);
    /// What is left, for the process that began all; nothing if there is nothing to say.
    fn handed(&mut self) -> Option<Vec<u8>>;
    /// All that it takes to go on later, where no other process works.
    fn left_over(&self) -> Left;
}

impl Shares for graph::Explorer<Program> {
    fn open(&self) -> usize {
        self.alternatives()
    }
    fn become_copy(&mut self) {
        self.halve(false);
    }
    fn give_half(&mut self) {
        self.halve(true);
    }
    fn handed(&mut self) -> Option<Vec<u8>> {
        let left = self.left();
        if left.is_empty() { None } else { serde_json::to_vec(&left).ok() }
    }
    fn left_over(&self) -> Left {
        Left::Graphs(self.left())
    }
}

impl Shares for causal::Explorer<causal::Memoised<Program>> {
    fn open(&self) -> usize {
        self.alternatives()
    }
    fn become_copy(&mut self) {
        causal::Explorer::become_copy(self);
        self.halve(false);
    }
    fn give_half(&mut self) {
        self.halve(true);
    }
    fn handed(&mut self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.take_part()).ok()
    }
    fn left_over(&self) -> Left {
        Left::Reads(Box::new(self.save()))
    }
}

/// A process that is not the first hands over what it has left. Says whether it is one.
pub(super) fn hand_over(explorer: &mut impl Shares) -> bool {
    if !state().is_child {
        return false;
    }
    if let Some(bytes) = explorer.handed()
        && !locked(|| common::hand_over(&bytes))
    {
        unsupported("there is no room for what a process of the exploration has left");
    }
    true
}

/// The timer by which a process that shares the work sees that an execution takes too long; -1 if there is none.
static CLOCK: AtomicI32 = AtomicI32::new(-1);

fn wind_up(timeout: u64) {
    if CLOCK.load(Relaxed) < 0 {
        CLOCK.store(sys::signal_every(ending::LATE, timeout, 0).unwrap_or(-1), Relaxed);
    }
}

/// Gives half of what is left to a new process.
pub(super) fn fork(explorer: &mut impl Shares, jobs: u32) {
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
            (state.outlook, state.told) = Default::default();
            drop(state);
            SHARES.store(true, Relaxed);
            explorer.become_copy();
            // Timers stay with the process that made them.
            CLOCK.store(-1, Relaxed);
            wind_up(timeout);
        }
        child if child > 0 => {
            SHARES.store(true, Relaxed);
            // The host sees that somebody goes on, no longer who does.
            wind_up(timeout);
            state().children.push(child as i32);
            exploring().forked.store(1, Relaxed);
            explorer.give_half();
        }
        _ => {
            // The system gives no more processes: then this one does it.
            workers.fetch_sub(1, Relaxed);
            state().next_fork = u64::MAX;
        }
    }
}

/// So long the first process waits before it looks whether it is time to save.
const NAP: u32 = 2_000_000;

/// Waits for a process that shares the work. If it is time to save, all are asked to hand over what they have.
fn wait_for(child: i32) -> i32 {
    let is_child = state().is_child;
    if is_child || request().save.is_none() {
        return sys::wait_for(child);
    }
    loop {
        if let Some(status) = sys::has_ended(child) {
            return status;
        }
        if saved::is_due() {
            exploring().pause.store(1, Relaxed);
        }
        sys::pause(NAP);
    }
}

/// Waits for the processes that share the work.
pub(super) fn join_children() {
    let workers = &exploring().workers;
    workers.fetch_sub(1, Relaxed);
    let children = std::mem::take(&mut state().children);
    for child in children {
        if wait_for(child) != 0 {
            let _ = reach(limit::DEATH);
            workers.fetch_sub(1, Relaxed);
        }
    }
    let is_child = state().is_child;
    SHARES.store(is_child, Relaxed);
    if let (false, timer @ 0..) = (is_child, CLOCK.load(Relaxed)) {
        // Alone again: the host sees what it does.
        sys::delete_timer(timer);
        CLOCK.store(-1, Relaxed);
    }
    // No execution took the time that went by here.
    ending::take_late();
    workers.fetch_add(1, Relaxed);
}

/// A process that shares the work has done its part.
pub(super) fn leave() -> ! {
    join_children();
    tell_outlook(0, 0);
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
