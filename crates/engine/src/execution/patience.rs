//! Threads that wait for something only until a time.

use super::{Execution, State};
use crate::lowering::Stage;
use crate::monitor::Monitor;
use fencepost_memory::{Machine, Step};
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, Op, ThreadId};

/// How long a thread waits for what it has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Patience {
    /// As long as it takes.
    #[default]
    Endless,
    /// Until a time that comes when nobody else can go on.
    Long,
    /// Until a time that may come at any moment, whatever others are about to do.
    Short,
}

impl<M: Machine, W: Monitor> Execution<M, W> {
    /// Does `thread` wait for something that is not there, and only until a time?
    pub fn awaits_time(&self, thread: ThreadId) -> bool {
        self.patience_of(thread) != Patience::Endless
    }

    fn patience_of(&self, thread: ThreadId) -> Patience {
        let run = &self.threads[thread.index()];
        // A thread that was woken takes its mutex back, however long that takes.
        let is_woken = matches!(run.lowering.op(), Op::Sync(Sync::Wait { .. })) && run.lowering.step() != 2;
        let waits = run.patience != Patience::Endless && run.stuck.is_some() && run.state == State::Waiting;
        if waits && !is_woken && self.has_tried(thread) { run.patience } else { Patience::Endless }
    }

    /// Could the thread have failed to get what it waits for? To try is to attempt a read-modify-write, which the
    /// stores before it may have to precede whether it succeeds or not.
    fn has_tried(&self, thread: ThreadId) -> bool {
        let (at, order) = match self.threads[thread.index()].lowering.stage() {
            Stage::Access(Access::Rmw { at, order, .. }) => (at, order.load()),
            Stage::Access(Access::CompareExchange { at, failure, .. }) => (at, failure),
            _ => return true,
        };
        let mut required = Vec::new();
        self.machine.required(thread, &Step::Load { at, order, failed_rmw: true }, &mut required);
        required.is_empty()
    }

    /// The least patience of those who wait.
    pub(super) fn least_patience(&mut self) -> Patience {
        if !self.impatient {
            return Patience::Endless;
        }
        self.impatient = self.threads.iter().any(|run| run.patience != Patience::Endless);
        let rank = |patience: &Patience| *patience as u8;
        let threads = (0..self.threads.len() as u32).map(ThreadId);
        threads.map(|thread| self.patience_of(thread)).max_by_key(rank).unwrap_or_default()
    }

    /// What `thread` has asked for may be given up from now on.
    pub fn give_up_early(&mut self, thread: ThreadId) {
        self.threads[thread.index()].patience = Patience::Short;
        self.impatient = true;
    }
}
