//! A litmus test that is worked on: its final states, its condition in words, and how it is spoken of.

use fencepost_engine::Threads;
use fencepost_litmus::ast::{Prop, Symbol};
use fencepost_litmus::{Int, LitmusProgram, LitmusTest, Quantifier};
use fencepost_memory::graph::Graph;
use fencepost_report as report;
use fencepost_report::{ConditionText, Describe, statement_at};
use fencepost_trace::{Label, Location, ThreadId, Trace, Value};

/// A final state: the values of the test's variables, in their order.
pub type State = Vec<i64>;

/// Where the test's locations begin, and how far they are apart: as [`LitmusProgram`] documents it.
const FIRST_ADDRESS: u64 = 0x1000;
const SPACING: u64 = 16;

/// A litmus test and what is needed to talk about it.
pub struct LitmusCase {
    pub test: LitmusTest,
    /// The digest of its file.
    pub digest: String,
    /// The names of its variables.
    pub vars: Vec<String>,
    /// What it asks.
    pub condition: Option<ConditionText>,
    /// By address: the names and types of its locations.
    locations: Vec<(String, Int)>,
}

impl LitmusCase {
    pub fn new(test: LitmusTest, digest: String) -> LitmusCase {
        let vars: Vec<String> = test.vars().iter().map(ToString::to_string).collect();
        let condition = test.condition().map(|condition| ConditionText {
            quantifier: match condition.quantifier {
                Quantifier::Exists => report::Quantifier::Exists,
                Quantifier::NotExists => report::Quantifier::NotExists,
                Quantifier::Forall => report::Quantifier::Forall,
            },
            proposition: words(&condition.prop, &vars, true),
        });
        let locations = locations_of(&test);
        LitmusCase { test, digest, vars, condition, locations }
    }

    /// Does the state satisfy the proposition of the condition?
    pub fn satisfies(&self, state: &[i64]) -> bool {
        self.test.condition().is_some_and(|condition| condition.eval(|var| state[var]))
    }

    /// What the condition has to say about a state that it asks for or forbids.
    pub fn complaint(&self, state: &[i64]) -> Option<String> {
        let condition = self.condition.as_ref()?;
        let (quantifier, satisfied) = (condition.quantifier, self.satisfies(state));
        let what = match quantifier {
            report::Quantifier::Exists if satisfied => "is reached",
            report::Quantifier::NotExists if satisfied => "is violated",
            report::Quantifier::Forall if !satisfied => "is violated",
            _ => return None,
        };
        Some(format!("{condition} {what}: {}", self.state_words(state)))
    }

    /// A state in words.
    pub fn state_words(&self, state: &[i64]) -> String {
        let parts: Vec<String> = self.vars.iter().zip(state).map(|(var, value)| format!("{var}={value}")).collect();
        parts.join(" ")
    }

    /// The final state of a finished execution, which `program` has just run.
    pub fn state(program: &LitmusProgram, trace: &Trace) -> State {
        program.state(|at| trace.final_value(at, program.initial(at)))
    }

    /// The final state of a complete graph.
    pub fn state_of_graph(program: &LitmusProgram, graph: &Graph) -> State {
        program.state(|at| graph.final_value_at(at).unwrap_or_else(|| program.initial(at)))
    }

    fn location_at(&self, at: Location) -> Option<&(String, Int)> {
        self.locations.get((at.address.checked_sub(FIRST_ADDRESS)? / SPACING) as usize)
    }
}

/// The locations in the order of their addresses: as the file mentions them first.
fn locations_of(test: &LitmusTest) -> Vec<(String, Int)> {
    let ast = test.ast();
    let mut locations: Vec<(Symbol, Int)> = Vec::new();
    for init in &ast.init {
        locations.push((init.name, init.ty.map_or(Int::I32, |ty| ty.int)));
    }
    for param in ast.threads.iter().flat_map(|thread| &thread.params) {
        match locations.iter_mut().find(|(name, _)| *name == param.name) {
            Some((_, int)) => *int = param.ty.int,
            None => locations.push((param.name, param.ty.int)),
        }
    }
    locations.into_iter().map(|(name, int)| (ast.names.text(name).to_owned(), int)).collect()
}

/// A proposition as litmus files write it.
fn words(prop: &Prop<usize>, vars: &[String], outermost: bool) -> String {
    let list = |parts: &[Prop<usize>], operator: &str| {
        let text = parts.iter().map(|part| words(part, vars, false)).collect::<Vec<_>>().join(operator);
        if outermost || parts.len() < 2 { text } else { format!("({text})") }
    };
    match prop {
        Prop::Constant(truth) => truth.to_string(),
        Prop::Equals { var, value } => format!("{}={value}", vars[*var]),
        Prop::Not(inner) => format!("not ({})", words(inner, vars, true)),
        Prop::And(parts) => list(parts, " /\\ "),
        Prop::Or(parts) => list(parts, " \\/ "),
    }
}

impl Describe for LitmusCase {
    fn thread(&self, thread: ThreadId) -> String {
        format!("P{thread}")
    }

    fn statement(&self, label: &Label) -> Option<String> {
        statement_at(self.test.source(), label.line, label.column)
    }

    fn source(&self, _: &Label) -> Option<String> {
        Some(self.test.source().to_owned())
    }

    fn location(&self, at: Location) -> String {
        self.location_at(at).map_or_else(|| format!("{at:?}"), |(name, _)| name.clone())
    }

    fn value(&self, at: Location, value: Value) -> String {
        match self.location_at(at) {
            Some((_, Int::U64)) => value.to_string(),
            Some((_, int)) => int.wrap(value.0 as i64).to_string(),
            None => value.to_string(),
        }
    }
}
