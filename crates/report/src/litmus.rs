//! What a litmus test can do, as data and as lines of JSON.

use fencepost_trace::{FindingLabel, Model, Trace};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::fmt;

/// Over which final states a condition speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// Some state satisfies it.
    Exists,
    /// No state does.
    NotExists,
    /// Every state does.
    Forall,
}

impl Quantifier {
    /// As litmus files and JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }

    /// Does it hold, if so many of all executions satisfy the proposition?
    pub fn holds(self, witnesses: u64, executions: u64) -> bool {
        match self {
            Quantifier::Exists => witnesses > 0,
            Quantifier::NotExists => witnesses == 0,
            Quantifier::Forall => witnesses == executions,
        }
    }
}

/// The question that a test asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionText {
    /// Over which states.
    pub quantifier: Quantifier,
    /// The proposition, as text: `0:r0=0 /\ 1:r0=0`.
    pub proposition: String,
}

impl fmt::Display for ConditionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.quantifier.name(), self.proposition)
    }
}

/// One litmus test under some models.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusReport {
    /// The name of the test.
    pub test: String,
    /// The file as the user named it.
    pub file: String,
    /// What the components of a state are called.
    pub vars: Vec<String>,
    /// The question; a test may only list `locations`.
    pub condition: Option<ConditionText>,
    /// The answers, one for each model.
    pub results: Vec<ModelResult>,
}

/// What a test can do under one model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelResult {
    /// The model.
    pub model: Model,
    /// How many complete executions there are.
    pub executions: u64,
    /// How many were cut off: by a limit, or in an endless loop.
    pub blocked: u64,
    /// How many of the executions ended in a failure of the program, and so in no final state.
    pub failed: u64,
    /// Was everything explored?
    pub complete: bool,
    /// What they reach.
    pub reached: Reached,
}

/// What the executions of a test reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// These final states, sorted.
    States(Vec<StateCount>),
    /// A data race: the program is undefined, and there is nothing to say about its states.
    Race(Vec<FindingLabel>),
}

/// A final state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateCount {
    /// The values, in the order of [`LitmusReport::vars`].
    pub values: Vec<i64>,
    /// How many executions end in it.
    pub executions: u64,
    /// Does it satisfy the proposition?
    pub satisfies: bool,
}

impl ModelResult {
    /// The final states; none if there is a race.
    pub fn states(&self) -> &[StateCount] {
        match &self.reached {
            Reached::States(states) => states,
            Reached::Race(_) => &[],
        }
    }

    /// How many executions satisfy the proposition.
    pub fn witnesses(&self) -> u64 {
        self.states().iter().filter(|state| state.satisfies).map(|state| state.executions).sum()
    }

    /// How many executions end in a final state.
    pub fn finished(&self) -> u64 {
        self.states().iter().map(|state| state.executions).sum()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    test: &'a str,
    file: &'a str,
    model: Model,
    executions: u64,
    #[serde(skip_serializing_if = "is_zero")]
    blocked: u64,
    #[serde(skip_serializing_if = "is_zero")]
    failed: u64,
    #[serde(skip_serializing_if = "is_true")]
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<States<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    race: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    labels: &'a [FindingLabel],
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    witnesses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<&'a Trace>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_true(truth: &bool) -> bool {
    *truth
}

struct States<'a> {
    vars: &'a [String],
    states: &'a [StateCount],
}

impl Serialize for States<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.states.len()))?;
        for state in self.states {
            list.serialize_element(&State { vars: self.vars, values: &state.values })?;
        }
        list.end()
    }
}

struct State<'a> {
    vars: &'a [String],
    values: &'a [i64],
}

impl Serialize for State<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.vars.len()))?;
        for (var, value) in self.vars.iter().zip(self.values) {
            map.serialize_entry(var, value)?;
        }
        map.end()
    }
}

/// The JSON line of one test and model, without the newline. `execution` is one that was asked for.
pub fn litmus_json(report: &LitmusReport, result: &ModelResult, execution: Option<&Trace>) -> String {
    let (states, labels) = match &result.reached {
        Reached::States(states) => (Some(States { vars: &report.vars, states }), &[][..]),
        Reached::Race(labels) => (None, &labels[..]),
    };
    let quantifier = report.condition.as_ref().map(|condition| condition.quantifier);
    let answer = quantifier.filter(|_| states.is_some());
    to_json(&Line {
        test: &report.test,
        file: &report.file,
        model: result.model,
        executions: result.executions,
        blocked: result.blocked,
        failed: result.failed,
        complete: result.complete,
        race: states.is_none(),
        states,
        labels,
        condition: quantifier.map(Quantifier::name),
        holds: answer.map(|quantifier| quantifier.holds(result.witnesses(), result.finished())),
        witnesses: answer.map(|_| result.witnesses()),
        execution,
    })
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    error: Position<'a>,
}

#[derive(Serialize)]
struct Position<'a> {
    line: u32,
    column: u32,
    message: &'a str,
}

/// The JSON line of a file that could not be read (line and column 0) or parsed, or of a test that could not be run
/// under one model.
pub fn litmus_error_json(file: &str, model: Option<Model>, line: u32, column: u32, message: &str) -> String {
    to_json(&ErrorLine { file, model, error: Position { line, column, message } })
}

fn to_json(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("strings and numbers are always JSON")
}
