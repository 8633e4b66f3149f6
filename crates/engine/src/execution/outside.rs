//! What the owner of a program may do beside submitting operations: look at memory, tell of what happened behind the
//! engine's back, end the process.

use super::Execution;
use crate::monitor::Monitor;
use crate::strategy::Strategy;
use fencepost_memory::{Machine, Read, Step};
use fencepost_trace::{FenceOrder, LoadOrder, Location, Op, Outcome, RmwOrder, StoreOrder, ThreadId, Value};

impl<M: Machine, W: Monitor> Execution<M, W> {
    /// Decides what `at` holds in the end, where the model leaves it open: the choice is made as for a load that
    /// everything happens before. To be called after the end of an execution that finished.
    pub fn settle_memory(
        &mut self,
        at: Location,
        strategy: &mut impl Strategy,
        initial: &mut dyn FnMut(Location) -> Value,
    ) {
        self.machine.introduce(at, initial);
        self.sources.clear();
        self.machine.final_sources(at, &mut self.sources);
        if self.sources.len() > 1 {
            let choice = self.choose_source(ThreadId(0), strategy);
            self.machine.settle(at, self.sources[choice]);
        }
    }

    /// Has `thread` been let to end the process?
    pub fn quits(&self, thread: ThreadId) -> bool {
        *self.threads[thread.index()].lowering.op() == Op::Quit
    }

    /// The process has ended.
    pub fn finish(&mut self) {
        self.outcome = Some(Outcome::Finished);
    }

    /// Gives an execution that the limit of steps has ended some more.
    pub fn extend(&mut self, steps: u64) {
        if self.outcome == Some(Outcome::StepLimit) {
            self.outcome = None;
            self.limits.max_steps += steps;
        }
    }

    /// Makes a location known before the program changes it behind the engine's back.
    pub fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        self.machine.introduce(at, initial);
    }

    /// What `thread` would read from a known location now, if it read its newest value.
    pub fn peek(&mut self, thread: ThreadId, at: Location) -> Value {
        self.sources.clear();
        self.machine.sources(thread, Read { at, order: LoadOrder::Plain, exclusive: true }, &mut self.sources);
        self.sources.last().map_or(Value::ZERO, |source| source.value)
    }

    /// The oldest stores in a thread's buffer leave it, at most so many: what a full fence would make visible first.
    pub fn drain(&mut self, thread: ThreadId, most: usize) {
        self.commits.clear();
        self.machine.required(thread, &Step::Fence { order: FenceOrder::SeqCst }, &mut self.commits);
        let commits = std::mem::take(&mut self.commits);
        commits.iter().take(most).for_each(|commit| self.commit(*commit));
        self.commits = commits;
    }

    /// The program has written `value` to a known location behind the engine's back: `thread` did, in code that
    /// submits nothing. It counts as an acquiring and releasing exchange, and is performed at once, without a choice.
    pub fn intrude(&mut self, thread: ThreadId, at: Location, value: Value) {
        self.sources.clear();
        self.machine.sources(thread, Read { at, order: LoadOrder::Acquire, exclusive: true }, &mut self.sources);
        let newest = self.sources.last().copied();
        self.perform(thread, &Step::Rmw { at, order: RmwOrder::AcqRel, written: value }, newest);
    }

    /// `thread` has read the newest value of a known location in code that submits nothing, at or before the program
    /// point `label`: performed at once, without a choice. Says what it has read: the newest of what it may still read,
    /// which need not be what was stored last.
    pub fn look(&mut self, thread: ThreadId, at: Location, order: LoadOrder, label: u32) -> Option<Value> {
        self.threads[thread.index()].label = label;
        self.sources.clear();
        self.machine.sources(thread, Read { at, order, exclusive: false }, &mut self.sources);
        let newest = self.sources.last().copied();
        self.perform(thread, &Step::Load { at, order, failed_rmw: false }, newest);
        newest.map(|source| source.value)
    }

    /// The memory of a known location was given back and is used for something else from now on.
    pub fn retire(&mut self, at: Location) {
        self.machine.retire(at);
    }

    /// `thread` has made a plain store to a known location at the program point `label` and goes on: performed at
    /// once, without a choice.
    pub fn overwrite(&mut self, thread: ThreadId, at: Location, value: Value, label: u32) {
        self.threads[thread.index()].label = label;
        self.perform(thread, &Step::Store { at, order: StoreOrder::Plain, value }, None);
    }
}
