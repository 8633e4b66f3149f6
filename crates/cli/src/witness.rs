//! An execution that somebody wants to see.

use crate::exhaustive::{Method, options};
use crate::limits::Budget;
use crate::subject::Subject;
use crate::tally::{Watch, steps};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Stuck, Visitor};
use fencepost_explore::{Executed, execute};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Graph, Node};
use fencepost_report::text::{self, Look};
use fencepost_report::{Order, Quantifier};
use fencepost_trace::{EventId, Failure, Outcome, Plan, StrategySpec, ThreadId, Trace};
use std::str::FromStr;

/// What `--show` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A state that the condition asks for or forbids.
    Condition,
    /// A data race.
    Race,
    /// A state with these values.
    State(Vec<(String, i64)>),
}

impl FromStr for Wanted {
    type Err = String;
    fn from_str(text: &str) -> Result<Wanted, String> {
        match text.trim() {
            "exists" | "~exists" | "forall" => return Ok(Wanted::Condition),
            "race" => return Ok(Wanted::Race),
            _ => {}
        }
        let text = text.replace("/\\", ",");
        let parts: Vec<&str> = text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return Err("expected a state such as '0:r0=0,x=1', or 'exists', or 'race'".to_owned());
        }
        let values = parts.into_iter().map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, found '{part}'"))?;
            let value = value.trim().parse().map_err(|_| format!("'{value}' is not a number"))?;
            Ok((name.trim().to_owned(), value))
        });
        values.collect::<Result<_, String>>().map(Wanted::State)
    }
}

/// The same for one test.
pub enum Target {
    Condition,
    Race,
    /// Positions in the state, and values.
    State(Vec<(usize, i64)>),
}

impl Wanted {
    /// What it means for this test; an error if the test has no such thing.
    pub fn in_test(&self, subject: &Subject) -> Result<Target, String> {
        match self {
            Wanted::Condition if subject.condition.is_none() => {
                Err("--show: the test has no condition; name a state instead".to_owned())
            }
            Wanted::Condition => Ok(Target::Condition),
            Wanted::Race => Ok(Target::Race),
            Wanted::State(values) => {
                let position = |(name, value): &(String, i64)| {
                    let found = subject.vars.iter().position(|var| var == name);
                    let known =
                        || format!("--show: no '{name}' in the final state, which has {}", subject.vars.join(", "));
                    found.map(|position| (position, *value)).ok_or_else(known)
                };
                values.iter().map(position).collect::<Result<_, String>>().map(Target::State)
            }
        }
    }
}

impl Target {
    fn accepts(&self, subject: &Subject, state: &[i64]) -> bool {
        match self {
            Target::Condition => {
                let forall = subject.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Forall);
                subject.satisfies(state) != forall
            }
            Target::Race => false,
            Target::State(values) => values.iter().all(|(position, value)| state[*position] == *value),
        }
    }

    fn accepts_race(&self) -> bool {
        matches!(self, Target::Race)
    }
}

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
    pub fn new(subject: &Subject, plan: Plan) -> Result<Witness, ExploreError> {
        let mut program = subject.test.program();
        let Executed { trace, races, .. } = execute(&mut program, &plan)?;
        let finished = trace.outcome == Outcome::Finished;
        let state = if finished { Subject::state(&program, &trace) } else { Vec::new() };
        Ok(Witness { plan, trace, races, state })
    }

    /// Threads side by side.
    pub fn text(&self, subject: &Subject, look: Look) -> String {
        let order = match self.plan.strategy {
            StrategySpec::Graph { .. } => Order::Graph,
            _ => Order::Executed,
        };
        let state: Vec<(String, String)> =
            subject.vars.iter().cloned().zip(self.state.iter().map(i64::to_string)).collect();
        let shown = text::Execution {
            trace: &self.trace,
            order,
            describe: subject,
            races: &self.races,
            state: &state,
            involved: &[],
            marks: &[],
        };
        text::execution(&shown, look)
    }
}

/// Finds the first execution that reaches what is wanted; none if there is none within the budget.
pub fn find(
    subject: &Subject,
    watch: Watch,
    method: Method,
    target: &Target,
    budget: Budget,
) -> Result<Option<Witness>, ExploreError> {
    let strategy = match method {
        Method::Axioms => {
            let mut explorer = Explorer::new(subject.test.program(), options(watch))?;
            explorer.explore(|| Search { subject, target, budget, visited: 0, found: None })?.found
        }
        Method::Machine => {
            let mut found = None;
            let mut visited = 0;
            let mut program = subject.test.program();
            enumerate(&mut program, watch.model, watch.buffer, watch.limits, u64::MAX, |program, executed| {
                if budget.is_spent(visited) {
                    return Flow::Break(());
                }
                visited += 1;
                let trace = &executed.trace;
                let racy = !executed.races.is_empty();
                let reached = !racy
                    && trace.outcome == Outcome::Finished
                    && target.accepts(subject, &Subject::state(program, trace));
                if reached || (racy && target.accepts_race()) {
                    found = Some(StrategySpec::Follow { choices: trace.choices.clone() });
                    return Flow::Break(());
                }
                Flow::Continue(())
            });
            found
        }
    };
    let plan = |strategy| Plan { model: watch.model, buffer: watch.buffer, strategy, limits: watch.limits };
    strategy.map(|strategy| Witness::new(subject, plan(strategy))).transpose()
}

struct Search<'a> {
    subject: &'a Subject,
    target: &'a Target,
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
        let wanted = self.target.accepts(self.subject, &Subject::state_of_graph(program, graph));
        self.consider(graph, wanted)
    }
    fn stuck(&mut self, _: &LitmusProgram, graph: &Graph, _: Stuck) -> Flow {
        self.consider(graph, false)
    }
    fn failed(&mut self, _: &LitmusProgram, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.consider(graph, false)
    }
    fn race(&mut self, _: &LitmusProgram, graph: &Graph, _: Node, _: Node) -> Flow {
        self.consider(graph, self.target.accepts_race())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_in_several_ways() {
        let state = |values: &[(&str, i64)]| {
            Ok(Wanted::State(values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()))
        };
        assert_eq!("0:r0=0,1:r0=-1".parse(), state(&[("0:r0", 0), ("1:r0", -1)]));
        assert_eq!("x=1 /\\ y=2".parse(), state(&[("x", 1), ("y", 2)]));
        assert_eq!("x=1; y=2;".parse(), state(&[("x", 1), ("y", 2)]));
        assert_eq!("exists".parse(), Ok(Wanted::Condition));
        assert_eq!("race".parse(), Ok(Wanted::Race));
        for bad in ["", ",", "x", "x=", "x=one"] {
            assert!(bad.parse::<Wanted>().is_err(), "{bad:?}");
        }
    }
}
