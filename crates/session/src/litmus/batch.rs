//! The final states of many litmus tests, under many models.

use super::case::LitmusCase;
use super::collector::{Stop, Watch};
use super::exhaustive::{Way, explore};
use super::in_order::in_order;
use super::inputs::{Input, inputs_of};
use super::tally::Tally;
use super::wanted::Goal;
use super::witness::{self, Witness};
use crate::error::Error;
use crate::event::{Event, Log, Sink};
use crate::limits::{Budget, litmus_limits};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::request::LitmusRequest;
use crate::target::parse_litmus;
use fencepost_explore::graph::ExploreError;
use fencepost_report::{Command, LitmusReport, ModelResult, Reached, ShownExecution, StateCount};
use fencepost_trace::{FindingKind, Model};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

/// A litmus test that has been explored.
pub struct LitmusExplored {
    /// What it can do, under each model.
    pub report: LitmusReport,
    /// For each model of the report the execution that was looked for, if it was found.
    pub shown: Vec<Option<ShownExecution>>,
    /// For each model, and each of its states, an execution that ends in it, if that was asked for; of a test with a
    /// race one that shows it.
    pub graphs: Vec<Vec<Option<ShownExecution>>>,
}

/// Executions are looked for of so many states of a test at most.
const MOST_GRAPHS: usize = 64;

/// What a batch of litmus tests comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LitmusTotals {
    /// How many files were named, those in directories included.
    pub files: usize,
    /// How many tests were explored.
    pub tests: u64,
    /// How many files, or models of a test, could not be.
    pub failed: u64,
    /// How many tests have a data race.
    pub races: u64,
    /// How many were cut short by a limit.
    pub incomplete: u64,
}

/// What a worker makes of a file.
struct Done {
    case: LitmusCase,
    report: LitmusReport,
    shown: Vec<Option<Witness>>,
    graphs: Vec<Vec<Option<Witness>>>,
    /// Models that the test could not be explored under.
    errors: Vec<(Model, ExploreError)>,
}

/// Explores litmus tests, and tells of each in the order in which they were named.
pub fn litmus(request: &LitmusRequest, sink: &mut dyn Sink) -> Result<LitmusTotals, Error> {
    let inputs = inputs_of(&request.files);
    // One file has all workers to itself; of several each has one.
    let jobs_each = if inputs.len() == 1 { request.work.jobs } else { 1 };
    let totals = LitmusTotals { files: inputs.len(), ..LitmusTotals::default() };
    let mut teller = Teller { request, log: Log::new(sink), totals, names: BTreeSet::new() };
    let done =
        in_order(&inputs, request.work.jobs, |input| run_one(input, request, jobs_each), |done| teller.tell(done));
    match done {
        Ok(()) | Err(None) => Ok(teller.totals),
        Err(Some(error)) => Err(error),
    }
}

fn run_one(input: &Input, request: &LitmusRequest, jobs: usize) -> Result<Box<Done>, Error> {
    let (name, bytes) = input.read()?;
    explore_all(parse_litmus(&name, &bytes)?, request, jobs).map(Box::new)
}

/// Under every model that was asked for.
fn explore_all(case: LitmusCase, request: &LitmusRequest, jobs: usize) -> Result<Done, Error> {
    let file = case.test.file_name().to_owned();
    let goal = request.show.as_ref().map(|wanted| wanted.in_test(&case)).transpose();
    let goal = goal.map_err(|problem| Error::target(&file, problem))?;
    let mut report = LitmusReport {
        test: case.test.name().to_owned(),
        file,
        vars: case.vars.clone(),
        condition: case.condition.clone(),
        results: Vec::new(),
    };
    let (mut shown, mut graphs, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let progress = Progress::default();
    for model in request.models.iter().copied() {
        let method = if request.machine { Way::Machine } else { Way::Axioms };
        let budget = Budget::new(request.work.executions, request.work.time);
        let watch = Watch {
            model,
            buffer: request.buffer,
            limits: litmus_limits(request.work.max_steps),
            condition: false,
            stop: Stop::AtRace,
            progress: &progress,
        };
        let explored = explore(&case, watch, method, budget, jobs).and_then(|tally| {
            let find = |goal: &Goal| witness::find(&case, watch, method, goal, budget);
            let witness = goal.as_ref().map(find).transpose()?.flatten();
            let result = result_of(&case, model, tally);
            let goals = if request.graphs { goals_of(&result) } else { Vec::new() };
            let graphs = goals.iter().map(find).collect::<Result<_, _>>()?;
            Ok((result, witness, graphs))
        });
        match explored {
            Ok((result, witness, found)) => {
                report.results.push(result);
                shown.push(witness);
                graphs.push(found);
            }
            Err(error) => errors.push((model, error)),
        }
    }
    Ok(Done { case, report, shown, graphs, errors })
}

/// What executions of each state have to reach.
fn goals_of(result: &ModelResult) -> Vec<Goal> {
    match &result.reached {
        Reached::Race(_) => vec![Goal::Race],
        Reached::States(states) => {
            let goal = |state: &StateCount| Goal::State(state.values.iter().copied().enumerate().collect());
            states.iter().take(MOST_GRAPHS).map(goal).collect()
        }
    }
}

fn result_of(case: &LitmusCase, model: Model, tally: Tally) -> ModelResult {
    let race = tally.findings.into_iter().find(|found| found.key.kind == FindingKind::DataRace);
    let reached = match race {
        Some(race) => Reached::Race(race.key.labels),
        None => {
            let state = |(values, executions): (Vec<i64>, u64)| StateCount {
                satisfies: case.satisfies(&values),
                values,
                executions,
            };
            let mut states: Vec<StateCount> = tally.states.into_iter().map(state).collect();
            states.sort_unstable_by(|a, b| a.values.cmp(&b.values));
            Reached::States(states)
        }
    };
    let (executions, blocked, failed) = (tally.executions, tally.blocked, tally.failed);
    ModelResult { model, executions, blocked, failed, complete: !tally.limited, reached }
}

/// Tells of tests as they are done, and writes what was looked for.
struct Teller<'a> {
    request: &'a LitmusRequest,
    log: Log<'a>,
    totals: LitmusTotals,
    /// Of the files written.
    names: BTreeSet<String>,
}

impl Teller<'_> {
    /// An error ends the batch: one of ours, or nobody listens any more.
    fn tell(&mut self, done: Result<Box<Done>, Error>) -> Result<(), Option<Error>> {
        match done {
            Ok(done) => self.done(*done).map_err(Some)?,
            Err(error) => self.failed(&error, None),
        }
        if self.log.is_closed() { Err(None) } else { Ok(()) }
    }

    fn failed(&mut self, error: &Error, model: Option<Model>) {
        self.totals.failed += 1;
        self.log.emit(Event::LitmusFailed { error, model });
    }

    fn done(&mut self, done: Done) -> Result<(), Error> {
        let Done { case, report, shown, graphs, errors } = done;
        self.totals.tests += 1;
        let results = &report.results;
        self.totals.races += u64::from(results.iter().any(|result| matches!(result.reached, Reached::Race(_))));
        self.totals.incomplete += u64::from(results.iter().any(|result| !result.complete));
        let case = Rc::new(case);
        let recordings = self.recordings(&case, &report, &shown);
        let shown_of = |list: Vec<Option<Witness>>| -> Vec<Option<ShownExecution>> {
            list.into_iter().map(|witness| witness.map(|witness| witness.shown(&case))).collect()
        };
        let graphs = graphs.into_iter().map(shown_of).collect();
        let explored = LitmusExplored { report, shown: shown_of(shown), graphs };
        self.log.emit(Event::Litmus(&explored));
        for (model, error) in errors {
            self.failed(&Error::Explore { target: explored.report.file.clone(), error }, Some(model));
        }
        let Some(out) = &self.request.out else { return Ok(()) };
        for ((name, recording), shown) in recordings.iter().zip(explored.shown.iter().flatten()) {
            recording.write(out, name, Some(&shown.trace))?;
        }
        Ok(())
    }

    /// What is to be written of the executions that were found, under names that no other has.
    fn recordings(
        &mut self,
        case: &LitmusCase,
        report: &LitmusReport,
        shown: &[Option<Witness>],
    ) -> Vec<(String, Recording)> {
        let stem = Path::new(&report.file).file_stem().map_or_else(String::new, |stem| stem.display().to_string());
        let stem = if stem == "-" { "stdin".to_owned() } else { stem };
        let mut recordings = Vec::new();
        for witness in shown.iter().flatten() {
            let stem = format!("{stem}-{}", witness.plan.model);
            let mut names = (1..).map(|n| if n == 1 { stem.clone() } else { format!("{stem}-{n}") });
            let name = names.find(|name| self.names.insert(name.clone())).unwrap_or_default();
            recordings.push((name, witness.recording(Command::Litmus, &report.file, case)));
        }
        recordings
    }
}
