//! Plain accesses and their races.
//!
//! A plain access goes to memory as it is and is no event: between two operations a thread does what it likes. Threads
//! run in an order that extends happens-before, so that without a race everybody sees what it must. Two accesses race
//! if
//! one of them writes and the earlier one is not in the clock of the later: exactly what the definition says, since a
//! clock names all events that happen before, and an access lies between two events of its thread.

use super::context::{Context, Fault, FaultKind, fail};
use super::objects::{Kind, Stamp};
use crate::alloc::Internal;
use fencepost_trace::ThreadId;
use std::panic::Location as Caller;

/// What is accessed: reads may overlap, and so may what goes on inside of closures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plain {
    Read,
    Write,
    /// By who owns the cell. It must be ordered as a write must, but nothing that is under way excludes it: a guard
    /// that is still there can no longer be used.
    Own,
}

/// An access: whose, when (as one more than the number of its events), and where.
#[derive(Clone, Copy, Debug)]
struct Done {
    thread: ThreadId,
    time: u32,
    label: u32,
}

/// The accesses of one cell that a later one may race with.
#[derive(Default)]
pub(super) struct PlainState {
    write: Option<Done>,
    /// The last of each thread since that write.
    reads: Vec<Done>,
    /// How many are under way, and whether one of them writes.
    reading: u32,
    writing: bool,
}

/// An access under way, until it is dropped.
pub(crate) struct PlainAccess {
    index: u32,
    kind: Plain,
    execution: u64,
}

impl Drop for PlainAccess {
    fn drop(&mut self) {
        let Some(context) = super::current() else { return };
        if context.execution.get() != self.execution {
            return;
        }
        let mut objects = context.objects.borrow_mut();
        let state = &mut objects.list[self.index as usize].plain;
        match self.kind {
            Plain::Read => state.reading -= 1,
            Plain::Write => state.writing = false,
            Plain::Own => {}
        }
    }
}

impl Context {
    /// The thread that runs accesses plain memory.
    pub(crate) fn access(&self, stamp: &Stamp, kind: Plain, caller: &'static Caller<'static>) -> PlainAccess {
        let (index, _) = self.object(stamp, Kind::Plain, || 0);
        let thread = self.thread();
        let label = self.label(caller);
        let mut threads = self.threads.borrow_mut();
        let thread_state = &mut threads[thread.index()];
        let clock = &thread_state.clock;
        let time = clock.get(thread.index()).copied().unwrap_or(0).saturating_add(1);
        let mut objects = self.objects.borrow_mut();
        let object = &mut objects.list[index as usize];
        let unordered =
            |done: &&Done| done.thread != thread && clock.get(done.thread.index()).copied().unwrap_or(0) < done.time;
        let created = object.created.map(|(thread, time, label)| Done { thread, time, label });
        let state = &mut object.plain;
        let race = state.write.as_ref().filter(unordered).map(|done| (*done, "writes")).or_else(|| {
            let reads = state.reads.iter().find(unordered).map(|done| (*done, "reads"));
            reads.filter(|_| kind != Plain::Read)
        });
        let race = race.or_else(|| created.as_ref().filter(unordered).map(|done| (*done, "makes it")));
        let conflict = race.is_none()
            && match kind {
                Plain::Read => state.writing,
                Plain::Write => state.writing || state.reading > 0,
                Plain::Own => false,
            };
        let own = Done { thread, time, label };
        match kind {
            Plain::Read => {
                state.reading += 1;
                match state.reads.iter_mut().find(|done| done.thread == thread) {
                    Some(done) => *done = own,
                    None => {
                        let _own = Internal::enter();
                        state.reads.push(own);
                    }
                }
            }
            Plain::Write | Plain::Own => {
                state.writing |= kind == Plain::Write;
                thread_state.writes += 1;
                state.write = Some(own);
                state.reads.clear();
            }
        }
        drop((objects, threads));
        let what = if kind == Plain::Read { "reads" } else { "writes" };
        if let Some((first, did)) = race {
            let places = vec![(first.thread, first.time - 1, first.label, did), (thread, time - 1, label, what)];
            let message = "two threads access the same cell, one of them writes, and nothing orders them".to_owned();
            fail(self, Fault { kind: FaultKind::Race, message, places }, caller);
        }
        if conflict {
            let message = "a cell is accessed while an access to it that excludes this one is under way".to_owned();
            let places = vec![(thread, time - 1, label, what)];
            fail(self, Fault { kind: FaultKind::Misuse, message, places }, caller);
        }
        PlainAccess { index, kind, execution: self.execution.get() }
    }
}
