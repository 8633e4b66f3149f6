//! An execution that somebody wants to see.

use super::case::LitmusCase;
use super::collector::{Watch, steps};
use super::exhaustive::{Way, options};
use super::wanted::Goal;
use crate::digest;
use crate::limits::Budget;
use crate::recording::Recording;
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Stuck, Visitor};
use fencepost_explore::{Executed, execute};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Graph, Node};
use fencepost_report::{Command, Order, ShownExecution};
use fencepost_trace::{EventId, Failure, Needs, Outcome, Plan, StrategySpec, ThreadId, Trace};
use std::rc::Rc;

/// An execution that can be shown and replayed.
pub struct Witness {
    pub plan: Plan,
    pub trace: Trace,
    pub races: Vec<(EventId, EventId)>,
    /// The final state, if it has one.
    pub state: Vec<i64>,
}

impl Witness {
    /// Carries out a plan.
    pub fn new(case: &LitmusCase, plan: Plan) -> Result<Witness, ExploreError> {
        let mut program = case.test.program();
        let Executed { trace, races, .. } = execute(&mut program, &plan)?;
        let finished = trace.outcome == Outcome::Finished;
        let state = if finished { LitmusCase::state(&program, &trace) } else { Vec::new() };
        Ok(Witness { plan, trace, races, state })
    }

    /// What it needs to show what it shows.
    pub fn needs(&self) -> Needs {
        fencepost_report::needs(&self.trace, self.order(), &[], &self.races)
    }

    fn order(&self) -> Order {
        match self.plan.strategy {
            StrategySpec::Graph { .. } => Order::Graph,
            _ => Order::Executed,
        }
    }

    /// As it is recorded.
    pub fn recording(&self, command: Command, target: &str, case: &LitmusCase) -> Recording {
        Recording::new(command, target, &case.digest, self.plan.clone(), digest::of_trace(&self.trace))
    }

    /// As it is shown.
    pub fn shown(self, case: &Rc<LitmusCase>) -> ShownExecution {
        let order = self.order();
        ShownExecution {
            trace: self.trace,
            order,
            describe: case.clone(),
            races: self.races,
            state: case.vars.iter().cloned().zip(self.state.iter().map(i64::to_string)).collect(),
            involved: Vec::new(),
            marks: Vec::new(),
        }
    }
}

/// Finds the first execution that reaches what is wanted; none if there is none within the budget.
pub fn find(
    case: &LitmusCase,
    watch: Watch<'_>,
    method: Way,
    goal: &Goal,
    budget: Budget,
) -> Result<Option<Witness>, ExploreError> {
    let strategy = match method {
        Way::Axioms => {
            let mut explorer = Explorer::new(case.test.program(), options(watch))?;
            explorer.explore(|| Search { case, goal, budget, visited: 0, found: None })?.found
        }
        Way::Machine => {
            let mut found = None;
            let mut visited = 0;
            let mut program = case.test.program();
            enumerate(&mut program, watch.model, watch.buffer, watch.limits, u64::MAX, |program, executed| {
                if budget.is_spent(visited) {
                    return Flow::Break(());
                }
                visited += 1;
                let trace = &executed.trace;
                let racy = !executed.races.is_empty();
                let reached = !racy
                    && trace.outcome == Outcome::Finished
                    && goal.accepts(case, &LitmusCase::state(program, trace));
                if reached || (racy && goal.accepts_race()) {
                    found = Some(StrategySpec::Follow { choices: trace.choices.clone() });
                    return Flow::Break(());
                }
                Flow::Continue(())
            });
            found
        }
    };
    let plan = |strategy| Plan { buffer: watch.buffer, ..Plan::new(watch.model, strategy, watch.limits) };
    strategy.map(|strategy| Witness::new(case, plan(strategy))).transpose()
}

struct Search<'a> {
    case: &'a LitmusCase,
    goal: &'a Goal,
    budget: Budget,
    visited: u64,
    found: Option<StrategySpec>,
}

impl Search<'_> {
    fn consider(&mut self, graph: &Graph, wanted: bool) -> Flow {
        if self.budget.is_spent(self.visited) {
            return Flow::Break(());
        }
        self.visited += 1;
        if !wanted {
            return Flow::Continue(());
        }
        self.found = Some(steps(graph));
        Flow::Break(())
    }
}

impl Visitor<LitmusProgram> for Search<'_> {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        let wanted = self.goal.accepts(self.case, &LitmusCase::state_of_graph(program, graph));
        self.consider(graph, wanted)
    }
    fn stuck(&mut self, _: &LitmusProgram, graph: &Graph, _: Stuck) -> Flow {
        self.consider(graph, false)
    }
    fn failed(&mut self, _: &LitmusProgram, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.consider(graph, false)
    }
    fn race(&mut self, _: &LitmusProgram, graph: &Graph, _: Node, _: Node) -> Flow {
        self.consider(graph, self.goal.accepts_race())
    }
}
