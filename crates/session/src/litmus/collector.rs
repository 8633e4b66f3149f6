//! Adds executions up as they come, and tells findings among them.

use super::case::{LitmusCase, State};
use super::tally::{Found, Key, Tally};
use crate::limits::Budget;
use crate::progress::Progress;
use fencepost_engine::Threads;
use fencepost_explore::Executed;
use fencepost_explore::graph::{Flow, Stuck, Visitor, steps_of};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::{
    Action, EventId, EventKind, Failure, FindingKind, FindingLabel, Limits, Model, Outcome, Plan, StrategySpec,
    ThreadId, Trace,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often those who watch are told.
const PIECE: u64 = 32;

/// When a collection ends of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    Never,
    AtRace,
    AtFinding,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    pub model: Model,
    /// The bound of the store buffers, where executions are run by a machine.
    pub buffer: Option<u32>,
    pub limits: Limits,
    /// Is a state that the condition asks for or forbids a finding?
    pub condition: bool,
    pub stop: Stop,
    /// Told how far it is.
    pub progress: &'a Progress,
}

impl Watch<'_> {
    fn plan(&self, strategy: StrategySpec) -> Plan {
        Plan { buffer: self.buffer, ..Plan::new(self.model, strategy, self.limits) }
    }
}

/// Adds executions up as they come.
pub struct Collector<'a> {
    case: &'a LitmusCase,
    watch: Watch<'a>,
    budget: Budget,
    /// How many executions came before these.
    before: u64,
    /// The last execution in which something was found.
    failing: u64,
    /// Somebody who counts executions, too.
    counter: Option<&'a AtomicU64>,
    pub tally: Tally,
}

impl<'a> Collector<'a> {
    pub fn new(case: &'a LitmusCase, watch: Watch<'a>, budget: Budget) -> Self {
        Collector { case, watch, budget, before: 0, failing: 0, counter: None, tally: Tally::default() }
    }

    /// A part of an exploration, behind as many executions as were counted so far; it ends when others say so.
    pub fn phase(case: &'a LitmusCase, watch: Watch<'a>, before: u64, counter: &'a AtomicU64) -> Self {
        Collector { before, counter: Some(counter), ..Collector::new(case, watch, Budget::new(None, None)) }
    }

    /// A part of a campaign: executions after the first so many.
    pub fn part(case: &'a LitmusCase, watch: Watch<'a>, budget: Budget, before: u64) -> Self {
        Collector { before, ..Collector::new(case, watch, budget) }
    }

    /// An execution of a machine, which `program` has just run.
    pub fn machine(&mut self, program: &LitmusProgram, executed: &Executed) -> Flow {
        if self.is_spent() {
            return Flow::Break(());
        }
        let trace = &executed.trace;
        let again = || StrategySpec::Follow { choices: trace.choices.clone() };
        if !executed.races.is_empty() {
            self.tally.executions += 1;
            let ends = |(first, second): &(EventId, EventId)| {
                [first, second].iter().filter_map(|event| label_of_event(trace, event.index() - 1)).collect()
            };
            return self.all_races(executed.races.iter().map(ends), again);
        }
        match &trace.outcome {
            Outcome::Finished => self.finished(LitmusCase::state(program, trace), again),
            Outcome::Failed { thread, failure } => self.failure(program, *thread, *failure, again),
            Outcome::Deadlock { blocked } => self.stuck_threads(FindingKind::Deadlock, program, blocked, again),
            Outcome::Livelock { spinning } => self.stuck_threads(FindingKind::Livelock, program, spinning, again),
            Outcome::StepLimit => self.cut_off(),
            Outcome::Redundant => self.blocked(),
        }
    }

    /// Is the budget spent? Then the tally says so.
    fn is_spent(&mut self) -> bool {
        let done = self.tally.executions + self.tally.blocked;
        if done != 0 && done.is_multiple_of(PIECE) {
            self.watch.progress.add(PIECE);
        }
        if let Some(counter) = self.counter {
            counter.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let spent = self.budget.is_spent(done);
        self.tally.limited |= spent;
        spent
    }

    fn finished(&mut self, state: State, again: impl FnOnce() -> StrategySpec) -> Flow {
        self.tally.executions += 1;
        let complaint = if self.watch.condition { self.case.complaint(&state) } else { None };
        let flow = match complaint {
            Some(message) => {
                let key = Key { kind: FindingKind::Assertion, labels: Vec::new(), state: state.clone() };
                self.found(key, message, again)
            }
            None => Flow::Continue(()),
        };
        *self.tally.states.entry(state).or_default() += 1;
        flow
    }

    /// The races of one execution: each pair of program points counts once.
    fn all_races(&mut self, pairs: impl Iterator<Item = Vec<FindingLabel>>, again: impl Fn() -> StrategySpec) -> Flow {
        let mut met: Vec<Vec<FindingLabel>> = Vec::new();
        for mut labels in pairs {
            // Which of the two came first is chance.
            labels.sort_by(|a, b| (a.thread, &a.label).cmp(&(b.thread, &b.label)));
            if !met.contains(&labels) {
                met.push(labels);
            }
        }
        met.into_iter().map(|labels| self.race(labels, &again)).last().unwrap_or(Flow::Continue(()))
    }

    fn race(&mut self, labels: Vec<FindingLabel>, again: impl FnOnce() -> StrategySpec) -> Flow {
        let ends: Vec<String> = labels
            .iter()
            .map(|l| format!("the {} in {} at {}:{}", l.access, l.label.function, l.label.line, l.label.column))
            .collect();
        let message = format!("{} are not ordered: undefined behaviour", ends.join(" and "));
        let flow = self.found(Key { kind: FindingKind::DataRace, labels, state: State::new() }, message, again);
        if self.watch.stop == Stop::AtRace { Flow::Break(()) } else { flow }
    }

    fn failure(
        &mut self,
        program: &LitmusProgram,
        thread: ThreadId,
        failure: Failure,
        again: impl FnOnce() -> StrategySpec,
    ) -> Flow {
        self.tally.executions += 1;
        self.tally.failed += 1;
        let label = standing(program, thread, Action::Fail);
        let place = format!("in {} at {}:{}", label.label.function, label.label.line, label.label.column);
        let message = match failure {
            // The only way for a litmus test to crash.
            Failure::Crash => format!("division by zero {place}"),
            other => format!("{} {place}", FindingKind::from(other)),
        };
        self.found(Key { kind: failure.into(), labels: vec![label], state: State::new() }, message, again)
    }

    fn stuck_threads(
        &mut self,
        kind: FindingKind,
        program: &LitmusProgram,
        threads: &[ThreadId],
        again: impl FnOnce() -> StrategySpec,
    ) -> Flow {
        self.tally.blocked += 1;
        let (access, what) = match (kind, threads.len()) {
            (FindingKind::Deadlock, 1) => (Action::Wait, "is blocked forever"),
            (FindingKind::Deadlock, _) => (Action::Wait, "are blocked forever"),
            (_, 1) => (Action::Spin, "spins in a loop forever: nobody is left to end it"),
            _ => (Action::Spin, "spin in loops forever: nobody is left to end them"),
        };
        let labels: Vec<FindingLabel> =
            threads.iter().map(|thread| standing(program, *thread, access.clone())).collect();
        let names: Vec<&str> = labels.iter().map(|label| &label.label.function[..]).collect();
        let message = format!("{} {what}", names.join(" and "));
        self.found(Key { kind, labels, state: State::new() }, message, again)
    }

    fn cut_off(&mut self) -> Flow {
        self.tally.limited = true;
        self.blocked()
    }

    fn blocked(&mut self) -> Flow {
        self.tally.blocked += 1;
        Flow::Continue(())
    }

    fn found(&mut self, key: Key, message: String, again: impl FnOnce() -> StrategySpec) -> Flow {
        let execution = self.before + self.tally.executions + self.tally.blocked;
        if self.failing != execution {
            self.failing = execution;
            self.tally.failing += 1;
        }
        match self.tally.findings.iter_mut().find(|known| known.key == key) {
            Some(known) => known.count += 1,
            None => {
                let plan = self.watch.plan(again());
                self.tally.findings.push(Found { key, message, count: 1, first: execution, plan });
                self.watch.progress.found();
            }
        }
        if self.watch.stop == Stop::AtFinding { Flow::Break(()) } else { Flow::Continue(()) }
    }
}

impl Visitor<LitmusProgram> for Collector<'_> {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        if self.is_spent() {
            return Flow::Break(());
        }
        self.finished(LitmusCase::state_of_graph(program, graph), || steps(graph))
    }

    fn stuck(&mut self, program: &LitmusProgram, graph: &Graph, stuck: Stuck) -> Flow {
        if self.is_spent() {
            return Flow::Break(());
        }
        match stuck {
            Stuck::Deadlock(threads) => self.stuck_threads(FindingKind::Deadlock, program, &threads, || steps(graph)),
            Stuck::Livelock(threads) => self.stuck_threads(FindingKind::Livelock, program, &threads, || steps(graph)),
            Stuck::Redundant => self.blocked(),
            Stuck::Limit => self.cut_off(),
        }
    }

    fn failed(&mut self, program: &LitmusProgram, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        if self.is_spent() {
            return Flow::Break(());
        }
        self.failure(program, thread, failure, || steps(graph))
    }

    fn race(&mut self, program: &LitmusProgram, graph: &Graph, first: Node, second: Node) -> Flow {
        self.races(program, graph, &[(first, second)])
    }

    fn races(&mut self, program: &LitmusProgram, graph: &Graph, pairs: &[(Node, Node)]) -> Flow {
        if self.is_spent() {
            return Flow::Break(());
        }
        self.tally.executions += 1;
        let ends =
            |(first, second): &(Node, Node)| [first, second].map(|node| label_of_node(program, graph, *node)).to_vec();
        self.all_races(pairs.iter().map(ends), || steps(graph))
    }
}

/// A graph as a strategy.
pub fn steps(graph: &Graph) -> StrategySpec {
    StrategySpec::Graph { steps: steps_of(graph), shared: Vec::new() }
}

/// Where a thread stands.
fn standing(program: &LitmusProgram, thread: ThreadId, access: Action) -> FindingLabel {
    FindingLabel { label: program.describe(program.label(thread)), thread, access }
}

fn label_of_event(trace: &Trace, index: usize) -> Option<FindingLabel> {
    let event = trace.events.get(index)?;
    let access = match event.kind {
        EventKind::Rmw { .. } => Action::Rmw,
        EventKind::Store { .. } => Action::Write,
        _ => Action::Read,
    };
    Some(FindingLabel { label: trace.label(event)?.clone(), thread: event.thread, access })
}

/// What an event of a graph is, and where.
pub fn label_of_node(program: &LitmusProgram, graph: &Graph, node: Node) -> FindingLabel {
    let data = graph.node(node);
    let access = match data.flags {
        flags if flags.has(Flags::EXCLUSIVE) && !flags.has(Flags::WEAVES) => Action::Rmw,
        flags if flags.has(Flags::WRITE) => Action::Write,
        _ => Action::Read,
    };
    FindingLabel { label: program.describe(data.label), thread: data.thread, access }
}
