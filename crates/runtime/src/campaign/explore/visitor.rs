//! What is told of each execution.

use super::passes::{MOST_CUT_OFF, STEPS, reach, stop};
use super::program::{has_other_ends, take_verdict};
use super::workers::{exploring, locked};
use super::{parts, races, request, safety, shared, state, unsupported};
use crate::campaign::conclusion::{self, Explored};
use crate::campaign::hunt;
use crate::drive::ending::{self, Verdict};
use crate::drive::findings;
use crate::hooks::cancel;
use crate::results;
use crate::threads::fibers;
use fencepost_engine::Threads;
use fencepost_explore::graph::{End, Flow, Stuck, Visitor, steps_of, steps_to_end, trace_of};
use fencepost_mailbox::limit;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{CampaignSpec, Failure, GraphStep, Outcome, ThreadId};
use std::sync::atomic::Ordering::Relaxed;

/// Takes note of what the exploration meets.
pub(super) struct Report;

impl Report {
    /// An execution ended like this; says whether to go on. `steps` tells how to get there.
    pub(super) fn report(&mut self, verdict: &Verdict, steps: impl FnOnce() -> Vec<GraphStep>) -> Flow {
        if shared::has_more() {
            return Flow::Break(());
        }
        if let Verdict::StepLimit | Verdict::Timeout = verdict {
            let limit = if *verdict == Verdict::Timeout { "takes longer than one execution may" } else { STEPS };
            unsupported(format!("an execution was cut off: it {limit}, or has no end"));
            state().cut_off += 1;
        } else {
            state().cut_off = 0;
        }
        let notable = findings::any_found() || *verdict != Verdict::Exit(0);
        let steps = if notable { steps() } else { Vec::new() };
        let mut state = state();
        state.open = false;
        let (request, cut_off) = (state.request, state.cut_off);
        drop(state);
        let number = exploring().numbers.fetch_add(1, Relaxed);
        results::number(number);
        let explored = Explored { steps, trace: None, other_ends: has_other_ends() };
        let end = || conclusion::end(verdict, request, explored);
        let found = if notable || request.keep_outputs { locked(end) } else { end() };
        if found && (request.stop_at_first || self.has_enough()) {
            exploring().cut.store(1, Relaxed);
            exploring().stop.store(1, Relaxed);
            return Flow::Break(());
        }
        if cut_off >= MOST_CUT_OFF {
            return stop("one execution after the other was cut off");
        }
        if number + 1 >= request.count {
            // All that this run has shown is told of first.
            let _ = reach(limit::EXECUTIONS);
        }
        Flow::Continue(())
    }

    /// Has everything been found that is looked for?
    fn has_enough(&self) -> bool {
        let CampaignSpec::Explore { findings, .. } = request().campaign else { return false };
        results::header().is_some_and(|header| header.table.slots().count() as u64 >= findings)
    }
}

/// Looks through an execution that ended, in whatever way. Is it one that there is?
fn look(graph: &Graph) -> bool {
    let is_one = parts::look(graph);
    if is_one {
        safety::look(graph);
        races::look(graph);
    }
    is_one
}

/// Counts an execution that came to its end, and looks through it. Is it one that there is?
fn count(graph: &Graph) -> bool {
    let is_none = cancel::is_impossible();
    let counted = if is_none { &exploring().blocked } else { &exploring().executions };
    counted.fetch_add(1, Relaxed);
    !is_none && look(graph)
}

/// An execution that was told of is looked through for what a hunt looks for.
fn hunted<P: Threads>(program: &P, graph: &Graph, steps: impl Fn() -> Vec<GraphStep>) {
    if hunt::is_watching() {
        hunt::look(|| trace_of(program, graph, request().model, Outcome::Finished), steps);
    }
}

/// Does the thread wait although it was cancelled?
fn is_cancelled(thread: ThreadId) -> bool {
    let fiber = fibers::get(thread);
    fiber.cancelled && fiber.interruptible && !fiber.uncancellable
}

/// An execution for which another one stands. A hunt looks at it all the same, and counts it.
fn redundant<P: Threads>(program: &P, graph: &Graph) -> Flow {
    if !hunt::is_watching() {
        return Flow::Continue(());
    }
    hunt::partly(|| trace_of(program, graph, request().model, Outcome::Redundant), || steps_of(graph));
    if exploring().numbers.fetch_add(1, Relaxed) + 1 >= request().count {
        return reach(limit::EXECUTIONS);
    }
    Flow::Continue(())
}

impl<P: Threads> Visitor<P> for Report {
    fn execution(&mut self, program: &P, graph: &Graph) -> Flow {
        if !count(graph) {
            return Flow::Continue(());
        }
        let flow = self.report(&Verdict::Exit(0), || steps_of(graph));
        hunted(program, graph, || steps_of(graph));
        flow
    }

    fn stuck(&mut self, program: &P, graph: &Graph, stuck: Stuck) -> Flow {
        exploring().blocked.fetch_add(1, Relaxed);
        if cancel::is_impossible() || !look(graph) {
            return Flow::Continue(());
        }
        let flow = match stuck {
            // It waits no longer: that was not explored, and has been said.
            Stuck::Deadlock(threads) if threads.iter().any(|thread| is_cancelled(*thread)) => Flow::Continue(()),
            Stuck::Deadlock(threads) => self.report(&Verdict::Deadlock(threads), || steps_of(graph)),
            Stuck::Livelock(threads) => self.report(&Verdict::Livelock(threads), || steps_of(graph)),
            Stuck::Redundant => return redundant(program, graph),
            Stuck::Limit => self.report(&Verdict::StepLimit, || steps_of(graph)),
        };
        hunted(program, graph, || steps_of(graph));
        flow
    }

    fn ended(&mut self, program: &P, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        if !count(graph) {
            return Flow::Continue(());
        }
        let verdict = take_verdict(Some(end.thread));
        let verdict = verdict.unwrap_or_else(|| ending::internal("a process that ended without a reason"));
        let steps = || steps_to_end(graph, end.thread, others);
        let flow = self.report(&verdict, steps);
        hunted(program, graph, steps);
        flow
    }

    fn failed(&mut self, _: &P, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        ending::internal("a failure is an end of the process")
    }

    fn race(&mut self, _: &P, graph: &Graph, _: Node, _: Node) -> Flow {
        // A plain access to an atomic: the race detector has seen it, too.
        exploring().executions.fetch_add(1, Relaxed);
        self.report(&Verdict::Exit(0), || steps_of(graph))
    }
}
