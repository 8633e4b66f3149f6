//! The program as an exploration sees it: threads that ask and are answered.

use super::visitor::Report;
use super::workers::exploring;
use super::{STATE, request, shared, state, unseen};
use crate::campaign::execution;
use crate::drive::ending::{self, RUNS, Verdict};
use crate::drive::{control, digest, explored};
use crate::platform::{global, modules};
use crate::results;
use crate::threads::fibers;
use fencepost_trace::{Failure, Hidden, Label, Location, Op, Reply, ThreadId, Value};
use std::sync::atomic::Ordering::Relaxed;

/// How a thread, or any, has ended the process. What is said of that is said of this thread.
pub(super) fn take_verdict(by: Option<ThreadId>) -> Option<Verdict> {
    let mut state = state();
    let place = state.verdicts.iter().position(|(thread, _)| by.is_none_or(|by| by == *thread))?;
    let (thread, verdict) = state.verdicts.swap_remove(place);
    drop(state);
    fibers::stand_for(thread);
    Some(verdict)
}

/// Are there threads that have ended the process in the execution at hand, and of which nothing was told yet?
pub(super) fn has_other_ends() -> bool {
    STATE.enter().as_ref().is_some_and(|state| !state.verdicts.is_empty())
}

/// The program, as an exploration sees it.
pub(super) struct Program {
    /// The execution was abandoned: none of its threads runs any more.
    pub(super) abandoned: bool,
}

impl fencepost_engine::Threads for Program {
    fn start(&mut self) -> u32 {
        self.abandoned = false;
        let mut state = state();
        state.verdicts.clear();
        if state.open {
            results::drop_output();
        }
        state.open = true;
        drop(state);
        explored::restart();
        let run = RUNS.load(Relaxed);
        results::begin(run);
        execution::restart_exploring(run == 0);
        unseen::begin(run);
        RUNS.store(run + 1, Relaxed);
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        if self.abandoned {
            return Op::Quit;
        }
        fibers::get(thread).reply = reply;
        fibers::visit(thread);
        global::set_inside(true);
        unseen::look(thread);
        if !ending::is_over() {
            let asked = fibers::get(thread).asked.take();
            return asked.unwrap_or_else(|| ending::internal("a thread came back without an operation"));
        }
        self.end_of(thread)
    }

    fn initial(&self, at: Location) -> Value {
        match at.as_hidden() {
            None => shared::initial(at),
            Some((Hidden::Once | Hidden::Semaphore, _)) => control::initial_value(at),
            Some(_) => Value::ZERO,
        }
    }

    fn label(&self, thread: ThreadId) -> u32 {
        let pc = fibers::get(thread).pc;
        modules::label(pc)
    }

    fn describe(&self, label: u32) -> Label {
        Label { line: label, ..Label::default() }
    }

    fn wants_clocks(&self) -> bool {
        true
    }

    fn set_clock(&mut self, thread: ThreadId, slots: &[u32]) {
        explored::clock(thread).copy_from_slots(slots);
        if results::is_by_less_than_graphs() {
            // Nothing else is said to have been performed: who comes by a lock first is left open.
            self.set_performed(thread, slots);
        }
    }

    fn set_performed(&mut self, thread: ThreadId, slots: &[u32]) {
        let mut performed = explored::performed(thread);
        performed.clear();
        performed.extend_from_slice(slots);
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    fn has_shared_stacks(&self) -> bool {
        shared::has_stacks()
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        digest(thread)
    }
}

impl Program {
    /// The thread has ended the process, or the execution has taken too long.
    #[cold]
    fn end_of(&mut self, thread: ThreadId) -> Op {
        let verdict = ending::try_take().unwrap_or(Verdict::Timeout);
        let op = match verdict {
            Verdict::Exit(status) if status == 0 || !request().status_is_finding => Op::Quit,
            Verdict::Redundant => return self.abandon(),
            Verdict::Timeout => {
                exploring().blocked.fetch_add(1, Relaxed);
                // Whether to stop is looked at after the run.
                let _ = Report.report(&verdict, Vec::new);
                return self.abandon();
            }
            Verdict::Assertion(_) => Op::Fail(Failure::Assertion),
            Verdict::Panic(_) => Op::Fail(Failure::Panic),
            Verdict::Crash { .. } => Op::Fail(Failure::Crash),
            _ => Op::Fail(Failure::Abort),
        };
        state().verdicts.push((thread, verdict));
        op
    }

    /// Nobody goes on in this execution.
    fn abandon(&mut self) -> Op {
        self.abandoned = true;
        Op::Quit
    }
}
