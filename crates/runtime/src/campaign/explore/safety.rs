//! Borderline executions: each execution of an exploration under sc is judged, and a way out of sc that was found is
//! followed to the end of an execution of the weaker model, which is what is recorded.

use super::program::{Program, has_other_ends, take_verdict};
use super::workers::{exploring, locked};
use super::{request, state};
use crate::campaign::conclusion::{self, Explored};
use crate::drive::ending::{self, Verdict};
use crate::drive::findings;
use crate::platform::modules;
use crate::results;
use fencepost_explore::graph::{
    Borderline, End, Explorer, Flow, Judge, Stuck, Unjudged, Visitor, all_races, steps_of, steps_to_end,
};
use fencepost_mailbox::{Message, Stack};
use fencepost_memory::graph::{Flags, Graph, Node, NodeData};
use fencepost_trace::{Action, Failure, FindingKind, GraphStep, Model, ThreadId};
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering::Relaxed;

/// The judge, and what it has found since anybody looked.
pub(super) struct Safety {
    judge: Judge,
    found: Vec<Borderline>,
    /// Program points that the host has been told of.
    points: FxHashSet<u32>,
}

impl Safety {
    /// For an exploration that is watched for this model.
    pub(super) fn new(model: Model) -> Safety {
        Safety { judge: Judge::new(model), found: Vec::new(), points: FxHashSet::default() }
    }

    /// What has been told of.
    pub(super) fn told(&self) -> Vec<(u32, u32)> {
        self.judge.told()
    }

    /// These have been told of already.
    pub(super) fn know(&mut self, told: Vec<(u32, u32)>) {
        let judge = Judge::new(self.judge.model()).knowing(self.judge.told()).knowing(told);
        self.judge = judge;
    }
}

/// Judges an execution, if somebody wants that.
pub(super) fn look(graph: &Graph) {
    let mut state = state();
    let Some(safety) = &mut state.safety else { return };
    let model = safety.judge.model();
    let judged = safety.judge.judge(graph).map(|found| safety.found.extend(found));
    let new: Vec<Node> = own(graph).filter(|node| safety.points.insert(graph.node(*node).label)).collect();
    drop(state);
    for node in new {
        let NodeData { label, access, .. } = *graph.node(node);
        locked(|| results::access(modules::place(label), access));
    }
    match judged {
        Ok(()) => {}
        Err(Unjudged::TooLong) => super::unsupported("an execution has too many stores to be judged"),
        Err(Unjudged::Overlapping) => {
            super::unsupported("a store can come before another that overlaps only a part of what others access")
        }
        Err(Unjudged::NotSc) => ending::internal("an execution under sc that is not sc"),
    }
    if model == Model::C11
        && let Some((first, second)) = all_races(graph).first()
    {
        let stacks = vec![stack(graph, *first), stack(graph, *second)];
        let address = graph.location(graph.node(*first).place).address;
        let message = Message::about("two accesses of the same memory without order between them", address as usize);
        findings::found_between(FindingKind::DataRace, message, stacks);
    }
}

/// Fences and accesses of the program's own memory.
fn own(graph: &Graph) -> impl Iterator<Item = Node> {
    let is_own = |data: &NodeData| match data.flags.has(Flags::FENCE) {
        true => !data.flags.has(Flags::BLOCKED),
        false => graph.location(data.place).as_hidden().is_none(),
    };
    graph.nodes().filter(move |(_, data)| is_own(data)).map(|(node, _)| node)
}

/// A new pass: what was known is forgotten.
pub(super) fn begin() {
    if let Some(safety) = &mut state().safety {
        *safety = Safety::new(safety.judge.model());
    }
}

/// Follows what was found, after a run.
pub(super) fn follow(explorer: &mut Explorer<Program>) {
    let mut state = state();
    let Some(safety) = &mut state.safety else { return };
    let model = safety.judge.model();
    let found = std::mem::take(&mut safety.found);
    drop(state);
    for borderline in found {
        let mut end = Follow { model, borderline: borderline.clone(), told: false };
        // If nothing goes on from there within the limits it is told as it is.
        if explorer.extend(borderline.successor, model, &mut end).is_err() || !end.told {
            let _ = end.tell(&Verdict::Exit(0), Vec::new());
        }
    }
}

fn stack(graph: &Graph, node: Node) -> Stack {
    let data = graph.node(node);
    let access = match data.flags {
        flags if flags.has(Flags::EXCLUSIVE) => Action::Rmw,
        flags if flags.has(Flags::WRITE) => Action::Write,
        _ => Action::Read,
    };
    Stack { thread: data.thread.0, access, frames: vec![modules::place(data.label)] }
}

/// Tells of the first execution that goes on from a successor.
struct Follow {
    model: Model,
    borderline: Borderline,
    told: bool,
}

impl Follow {
    fn tell(&mut self, verdict: &Verdict, steps: Vec<GraphStep>) -> Flow {
        self.told = true;
        let Borderline { successor: graph, event, overtaken, after } = &self.borderline;
        let stacks = [*event, *overtaken, *after].map(|node| stack(graph, node)).to_vec();
        let what = if graph.node(*event).flags.has(Flags::READ) { "a read" } else { "a store" };
        let address = graph.location(graph.node(*event).place).address as usize;
        let text = format!("under {} {what} can come before a store that sc has before it", self.model);
        state().open = false;
        findings::found_between(FindingKind::ScViolation, Message::about(text, address), stacks);
        results::number(exploring().numbers.load(Relaxed).saturating_sub(1));
        let explored = Explored { steps, trace: None, other_ends: has_other_ends() };
        locked(|| conclusion::end(verdict, request(), explored));
        if request().stop_at_first {
            exploring().cut.store(1, Relaxed);
            exploring().stop.store(1, Relaxed);
        }
        Flow::Break(())
    }
}

impl Visitor<Program> for Follow {
    fn execution(&mut self, _: &Program, graph: &Graph) -> Flow {
        self.tell(&Verdict::Exit(0), steps_of(graph))
    }

    fn stuck(&mut self, _: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        match stuck {
            Stuck::Deadlock(threads) => self.tell(&Verdict::Deadlock(threads), steps_of(graph)),
            Stuck::Livelock(threads) => self.tell(&Verdict::Livelock(threads), steps_of(graph)),
            Stuck::Redundant | Stuck::Limit => Flow::Continue(()),
        }
    }

    fn ended(&mut self, _: &Program, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        let verdict = take_verdict(Some(end.thread));
        let verdict = verdict.unwrap_or_else(|| ending::internal("a process that ended without a reason"));
        self.tell(&verdict, steps_to_end(graph, end.thread, others))
    }

    fn failed(&mut self, _: &Program, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        ending::internal("a failure is an end of the process")
    }

    fn race(&mut self, _: &Program, graph: &Graph, _: Node, _: Node) -> Flow {
        self.tell(&Verdict::Exit(0), steps_of(graph))
    }
}
