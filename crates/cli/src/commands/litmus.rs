//! `fencepost litmus`: the final states of litmus tests.

use crate::args::{ModelList, WorkArgs};
use crate::digest;
use crate::error::{Error, Status, plain};
use crate::exhaustive::{Method, explore};
use crate::in_order::in_order;
use crate::limits::Budget;
use crate::recording::Recording;
use crate::screen::Screen;
use crate::subject::Subject;
use crate::tally::{Stop, Tally, Watch};
use crate::target::{read_stdin, read_target};
use crate::witness::{self, Wanted, Witness};
use fencepost_explore::graph::ExploreError;
use fencepost_litmus::LitmusTest;
use fencepost_report::{LitmusReport, ModelResult, Reached, StateCount, litmus_error_json, litmus_json, text};
use fencepost_trace::{FindingKind, Model};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Tell exactly which final states litmus tests can end in, under each memory model.
///
/// A state that `exists` asks for is an answer, not a finding: the exit status is 0 unless a file could not be run
/// (2). To be told by the exit status, use `fencepost check`. Limits are for each test and model; a result that one
/// cut short says so.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Litmus tests; directories are searched for *.litmus; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Memory models: a list of sc, tso, pso, pslo, c11, separated by commas, or all
    #[arg(long, value_name = "MODELS", default_value = "all")]
    model: ModelList,
    /// Show an execution that ends in this state, such as '0:r0=0,x=1', or in one that the condition speaks of
    /// (exists), or that has a data race (race)
    #[arg(long, value_name = "STATE")]
    show: Option<Wanted>,
    /// Write the executions shown to this directory, for replay
    #[arg(long, value_name = "DIR", requires = "show")]
    out: Option<PathBuf>,
    /// Try every choice of the operational machine, for all models (pslo has no other way) [default: every execution
    /// graph that the axioms permit]
    #[arg(long)]
    machine: bool,
    /// How many stores fit a store buffer (tso, pso, with --machine) [default: any number]
    #[arg(long, value_name = "N", requires = "machine")]
    buffer: Option<u32>,
    #[command(flatten)]
    work: WorkArgs,
}

/// What was named on the command line.
enum Input {
    File(PathBuf),
    Stdin,
    /// Something that cannot be read.
    Broken(Error),
}

/// What became of a file.
enum Outcome {
    Done(Box<Done>),
    Failed(Error),
}

struct Done {
    subject: Subject,
    /// Of the file.
    digest: String,
    report: LitmusReport,
    /// For each result, what `--show` found.
    shown: Vec<Option<Witness>>,
    /// Models that the test could not be explored under.
    errors: Vec<(Model, ExploreError)>,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let inputs = inputs_of(&args.files);
    let jobs = args.work.jobs();
    // One file has all workers to itself; of several each has one.
    let jobs_each = if inputs.len() == 1 { jobs } else { 1 };
    let mut printer = Printer { args: &args, screen, first: true, totals: Totals::default(), names: BTreeSet::new() };
    in_order(&inputs, jobs, |input| run_one(input, &args, jobs_each), |outcome| printer.outcome(outcome))?;
    printer.summary(inputs.len())?;
    Ok(if printer.totals.failed > 0 { Status::Failed } else { Status::Clean })
}

/// All files, in the order of the command line; those of a directory in the order of their names.
fn inputs_of(paths: &[PathBuf]) -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = inputs.len();
            search(path, &mut inputs);
            if inputs.len() == before {
                inputs.push(Input::Broken(Error::target(path.display(), "no *.litmus file in this directory")));
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    inputs
}

fn search(directory: &Path, inputs: &mut Vec<Input>) {
    let entries = fs::read_dir(directory).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(cause) => return inputs.push(Input::Broken(Error::target(directory.display(), plain(&cause)))),
    };
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = entry.path();
        // Links to directories are not followed: they may lead back.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, inputs);
        } else if path.extension().is_some_and(|extension| extension == "litmus") && path.is_file() {
            inputs.push(Input::File(path));
        }
    }
}

fn run_one(input: &Input, args: &Args, jobs: usize) -> Outcome {
    let (name, bytes) = match input {
        Input::File(path) => (path.display().to_string(), read_target(path)),
        Input::Stdin => ("-".to_owned(), read_stdin()),
        Input::Broken(Error::Target { target, problem }) => {
            return Outcome::Failed(Error::target(target, problem.clone()));
        }
        Input::Broken(error) => return Outcome::Failed(Error::target("", error.to_string())),
    };
    let parsed = bytes.and_then(|bytes| {
        let test = LitmusTest::parse(&name, &bytes);
        test.map(|test| (test, digest::of_bytes(&bytes))).map_err(|error| Error::Litmus { file: name.clone(), error })
    });
    match parsed.and_then(|(test, digest)| explore_all(Subject::new(test), digest, args, jobs)) {
        Ok(done) => Outcome::Done(Box::new(done)),
        Err(error) => Outcome::Failed(error),
    }
}

/// Under every model that was asked for.
fn explore_all(subject: Subject, digest: String, args: &Args, jobs: usize) -> Result<Done, Error> {
    let file = subject.test.file_name().to_owned();
    let wanted = args.show.as_ref().map(|wanted| wanted.in_test(&subject)).transpose();
    let wanted = wanted.map_err(|problem| Error::target(&file, problem))?;
    let mut report = LitmusReport {
        test: subject.test.name().to_owned(),
        file,
        vars: subject.vars.clone(),
        condition: subject.condition.clone(),
        results: Vec::new(),
    };
    let (mut shown, mut errors) = (Vec::new(), Vec::new());
    for model in args.model.0.iter().copied() {
        let method = if args.machine { Method::Machine } else { Method::of(model) };
        let budget = Budget::new(args.work.executions, args.work.time);
        let watch =
            Watch { model, buffer: args.buffer, limits: args.work.limits(), condition: false, stop: Stop::AtRace };
        let explored = explore(&subject, watch, method, budget, jobs).and_then(|tally| {
            let witness = wanted.as_ref().map(|target| witness::find(&subject, watch, method, target, budget));
            Ok((tally, witness.transpose()?.flatten()))
        });
        match explored {
            Ok((tally, witness)) => {
                report.results.push(result_of(&subject, model, tally));
                shown.push(witness);
            }
            Err(error) => errors.push((model, error)),
        }
    }
    Ok(Done { subject, digest, report, shown, errors })
}

fn result_of(subject: &Subject, model: Model, tally: Tally) -> ModelResult {
    let race = tally.findings.into_iter().find(|found| found.key.kind == FindingKind::DataRace);
    let reached = match race {
        Some(race) => Reached::Race(race.key.labels),
        None => {
            let state = |(values, executions): (Vec<i64>, u64)| StateCount {
                satisfies: subject.satisfies(&values),
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

/// What the whole batch comes to.
#[derive(Default)]
struct Totals {
    tests: u64,
    failed: u64,
    races: u64,
    incomplete: u64,
}

struct Printer<'a> {
    args: &'a Args,
    screen: &'a mut Screen,
    first: bool,
    totals: Totals,
    /// Of the files written.
    names: BTreeSet<String>,
}

impl Printer<'_> {
    fn outcome(&mut self, outcome: Outcome) -> Result<(), Error> {
        match outcome {
            Outcome::Done(done) => self.done(&done),
            Outcome::Failed(error) => self.failed(&error, None),
        }
    }

    fn failed(&mut self, error: &Error, model: Option<Model>) -> Result<(), Error> {
        self.totals.failed += 1;
        self.screen.complain(error);
        if !self.screen.json() {
            return Ok(());
        }
        let line = match error {
            Error::Litmus { file, error } => litmus_error_json(file, model, error.line, error.column, &error.message),
            Error::Target { target, problem } => litmus_error_json(target, model, 0, 0, problem),
            Error::Explore { target, error } => litmus_error_json(target, model, 0, 0, &error.to_string()),
            Error::Read { path, cause } => litmus_error_json(&path.display().to_string(), model, 0, 0, &plain(cause)),
            other => litmus_error_json("", model, 0, 0, &other.to_string()),
        };
        self.screen.print(&(line + "\n"))
    }

    fn done(&mut self, done: &Done) -> Result<(), Error> {
        self.totals.tests += 1;
        let results = &done.report.results;
        self.totals.races += u64::from(results.iter().any(|result| matches!(result.reached, Reached::Race(_))));
        self.totals.incomplete += u64::from(results.iter().any(|result| !result.complete));
        if self.screen.json() {
            let lines = results.iter().zip(&done.shown).map(|(result, shown)| {
                litmus_json(&done.report, result, shown.as_ref().map(|witness| &witness.trace)) + "\n"
            });
            self.screen.print(&lines.collect::<String>())?;
        } else if !results.is_empty() {
            let text = self.text(done);
            self.screen.print(&text)?;
        }
        for (model, error) in &done.errors {
            let error = Error::Explore { target: done.report.file.clone(), error: error.clone() };
            self.failed(&error, Some(*model))?;
        }
        self.write(done)
    }

    fn text(&mut self, done: &Done) -> String {
        let look = self.screen.look;
        if self.screen.quiet {
            return text::litmus_brief(&done.report, look);
        }
        let mut text = if std::mem::take(&mut self.first) { String::new() } else { "\n".to_owned() };
        text += &text::litmus(&done.report, look);
        if self.args.show.is_some() {
            text += &self.shown(done);
        }
        text
    }

    /// What `--show` found, models together that show the same.
    fn shown(&self, done: &Done) -> String {
        let mut groups: Vec<(String, String)> = Vec::new();
        for (result, shown) in done.report.results.iter().zip(&done.shown) {
            let text = match shown {
                Some(witness) => format!(":\n{}", witness.text(&done.subject, self.screen.look)),
                None if result.complete => ": no execution reaches this\n".to_owned(),
                None => ": not reached before the search ended\n".to_owned(),
            };
            match groups.iter_mut().find(|(_, known)| *known == text) {
                Some((models, _)) => *models += &format!(", {}", result.model),
                None => groups.push((result.model.to_string(), text)),
            }
        }
        groups.iter().map(|(models, text)| format!("\nunder {models}{text}")).collect()
    }

    /// Writes what was shown, if that was asked for.
    fn write(&mut self, done: &Done) -> Result<(), Error> {
        let Some(out) = &self.args.out else { return Ok(()) };
        for witness in done.shown.iter().flatten() {
            let stem = Path::new(&done.report.file).file_stem().map_or_else(String::new, |s| s.display().to_string());
            let stem = format!("{}-{}", if stem == "-" { "stdin" } else { &stem }, witness.plan.model);
            let names = (1..).map(|n| if n == 1 { stem.clone() } else { format!("{stem}-{n}") });
            let name = names.into_iter().find(|name| self.names.insert(name.clone())).unwrap_or_default();
            Recording::new("litmus", &done.report.file, &done.digest, witness).write(
                out,
                &name,
                Some(&witness.trace),
            )?;
        }
        Ok(())
    }

    fn summary(&mut self, files: usize) -> Result<(), Error> {
        if files < 2 || self.screen.json() || self.screen.quiet {
            return Ok(());
        }
        let Totals { tests, failed, races, incomplete } = self.totals;
        let gap = if self.first { "" } else { "\n" };
        self.screen.print(&format!("{gap}{}", text::litmus_summary(tests, failed, races, incomplete)))
    }
}
