//! `fencepost hunt`: from a program to its violations of sequential consistency, those that hurt, and what prevents
//! them.
//!
//! - here: the order of things, whatever kind of program it is ([`Quarry`]);
//! - [`chase`]: prediction, trials, confirmation;
//! - [`fences`]: which orderings break the harmful cycles, and the proof by running again;
//! - [`mod@native`] and [`mod@litmus`]: the two kinds of programs.

mod chase;
mod fences;
mod litmus;
mod native;

pub use litmus::litmus;
pub use native::native;

use crate::args::Spec;
use crate::error::{Error, Status};
use crate::recording::{clear, write_whole};
use crate::screen::Screen;
use chase::{Chase, Chased};
use fencepost_predict::Profile;
use fencepost_report::{Describe, FenceAdvice, HuntCycle, HuntFinding, HuntReport, Verdict, text};
use fencepost_trace::{
    Cycle, CyclePoint, FenceOrder, Finding, FindingKind, FindingLabel, Label, Model, OrionOptions, RelaxerOptions,
    Severity, StrategySpec, ThreadId, Trace,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What was asked for.
pub struct Options {
    pub model: Model,
    /// How many executions without reordering.
    pub executions: u64,
    /// How many trials of each cycle.
    pub trials: u64,
    /// The greatest length of cycles.
    pub length: Option<usize>,
    pub ways: Ways,
    pub buffer: Option<u32>,
    /// What results are held against.
    pub spec: Option<Spec>,
    /// Look for orderings that prevent what is harmful?
    pub fences: bool,
    /// When all must be over.
    pub deadline: Option<Instant>,
    pub jobs: usize,
    pub max_steps: Option<u64>,
    pub timeout: Duration,
    pub seed: u64,
    pub out: PathBuf,
}

/// Which methods bring cycles about, in the order in which they are tried.
#[derive(Clone, Copy)]
pub struct Ways {
    pub solve: bool,
    pub relaxer: Option<RelaxerOptions>,
    pub orion: Option<OrionOptions>,
}

/// A program point that cycles name: where, and what is done there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointName {
    pub label: Label,
    pub reads: bool,
    pub writes: bool,
}

/// A cycle to bring about, and how.
#[derive(Clone)]
pub struct Attempt {
    pub cycle: Cycle,
    /// Its seed does not count: each trial has its own.
    pub strategy: StrategySpec,
}

/// A trial that brought its cycle about.
#[derive(Clone, Debug)]
pub struct Exposure {
    /// Which attempt.
    pub attempt: usize,
    /// Which of its trials, counted over all attempts.
    pub execution: u64,
    /// How the program suffered, if it did.
    pub harm: Option<String>,
    pub failures: Vec<(FindingKind, Option<u32>)>,
    /// The answers that led there, for the first of its kind.
    pub choices: Vec<u32>,
}

/// An ordering that the program does not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The program point.
    pub point: u32,
    /// Before what is done there, or behind it?
    pub before: bool,
}

/// Executions without reordering.
#[derive(Default)]
pub struct Seen {
    pub profiles: Vec<Profile>,
    /// How the program fails by itself.
    pub failures: Vec<Finding>,
    pub executions: u64,
    /// How many of them failed.
    pub failing: u64,
    pub blocked: u64,
    /// Could results not be held against what they should be?
    pub unjudged: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Executions of the model itself, at random.
#[derive(Default)]
pub struct Strayed {
    pub profiles: Vec<Profile>,
    pub executions: u64,
    pub blocked: u64,
}

/// An execution that was run again: its trace, and for each event its program point and its spot.
pub struct Again {
    pub trace: Trace,
    pub names: Vec<(u32, u32)>,
}

/// A program that is hunted.
pub trait Quarry {
    /// Runs it without reordering, with these fences in force.
    fn observe(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Seen, Error>;

    /// Runs it with whatever reordering chance brings, with these fences in force.
    fn stray(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Strayed, Error>;

    /// Tries to bring cycles about, each so often, with these fences in force. How many executions were cut off, and
    /// those that were successful.
    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        round: u64,
        fences: &[(Place, FenceOrder)],
    ) -> Result<(u64, Vec<Exposure>), Error>;

    /// A program point that cycles name, with labels as strategies name them.
    fn point(&self, point: u32) -> CyclePoint;

    /// Runs executions again, with these fences in force; one that left no trace is `None`.
    fn again(&mut self, exposures: &[&Exposure], fences: &[(Place, FenceOrder)]) -> Result<Vec<Option<Again>>, Error>;

    /// The program points met so far.
    fn points(&self) -> &[PointName];

    /// The words of the program.
    fn words(&self) -> &dyn Describe;

    /// The name of the program.
    fn name(&self) -> String;

    /// Writes the recording of a finding, whose execution is the one with this digest. The path.
    fn record(&self, finding: &Finding, choices: &[u32], digest: String) -> Result<String, Error>;
}

/// How many executions with reordering show what threads can do then.
const STRAYS: u64 = 800;

/// The whole hunt.
fn run(quarry: &mut impl Quarry, options: &Options, screen: &mut Screen) -> Result<Status, Error> {
    let started = Instant::now();
    let deadline = options.deadline;
    let mut chase = chase::chase(quarry, options, &[], deadline)?;
    chase.seen.notes.iter().for_each(|note| eprintln!("note: {note}"));
    if let Some(warning) = fails_anyway(&chase.seen) {
        eprintln!("warning: {warning}");
    }
    chase::verify(quarry, options.model, &mut chase)?;
    chase::blame(quarry, &mut chase, &[])?;
    let advice = match options.fences {
        true => fences::advise(quarry, options, &mut chase, deadline)?,
        false => Vec::new(),
    };
    clear(&options.out);
    let (report, mut problem) = report(quarry, options, &chase, advice, started);
    if let Err(error) = write_whole(&options.out.join("run.json"), report.to_json().as_bytes()) {
        match report.verdict {
            Verdict::Fail => problem = problem.or(Some(error)),
            _ => eprintln!("warning: {error}"),
        }
    }
    match (screen.json(), screen.quiet) {
        (true, _) => screen.print(&report.to_json())?,
        (false, true) => screen.print(&format!("{}\n", report.verdict))?,
        (false, false) => screen.print(&text::hunt(&report, quarry.words(), screen.look))?,
    }
    match (problem, report.verdict) {
        (Some(error), _) => Err(error),
        (None, Verdict::Fail) => Ok(Status::Found),
        (None, Verdict::Incomplete) => Ok(Status::Incomplete),
        (None, Verdict::Pass) => Ok(Status::Clean),
    }
}

/// A word about a program that does not need reordering to fail.
fn fails_anyway(seen: &Seen) -> Option<String> {
    let (all, failing, blocked) = (seen.executions, seen.failing, seen.blocked);
    match (failing, blocked) {
        (0, 0) => None,
        (0, blocked) if blocked == all => {
            Some("without reordering no execution ended: what is behind the limit is not seen (--max-steps)".to_owned())
        }
        (0, _) => None,
        (failing, _) if failing == all => Some(
            "the program fails in every execution without reordering: what would happen behind the failure is not seen. Mend \
             that first (fencepost test --model sc)"
                .to_owned(),
        ),
        (failing, _) => Some(format!(
            "the program fails without reordering too, in {failing} of {all} executions; only what reordering adds is called harmful"
        )),
    }
}

fn report(
    quarry: &impl Quarry,
    options: &Options,
    chase: &Chase,
    fences: Vec<FenceAdvice>,
    started: Instant,
) -> (HuntReport, Option<Error>) {
    let mut cycles: Vec<(HuntCycle, &Chased)> =
        chase.cycles.iter().map(|chased| (describe(quarry, chased), chased)).collect();
    // What is to blame first, then what hurts most often, then what is real, then by place.
    cycles.sort_by_key(|(cycle, chased)| {
        let rank = match cycle.outcome {
            Severity::Harmful => 0,
            Severity::Benign => 1,
            Severity::Infeasible => 2,
        };
        (
            rank,
            !chased.guilty,
            cycle.trials - cycle.harmful,
            cycle.length,
            cycle.labels.iter().map(|label| label.label.clone()).collect::<Vec<_>>(),
        )
    });
    let mut findings: Vec<HuntFinding> =
        chase.seen.failures.iter().map(|finding| HuntFinding { finding: finding.clone(), cycle: Vec::new() }).collect();
    let mut problem = None;
    for (cycle, chased) in &cycles {
        let Some(witness) = &chased.witness else { continue };
        let mut finding = Finding {
            id: findings.len() as u32 + 1,
            kind: FindingKind::ScViolation,
            message: message(cycle),
            count: cycle.exposed,
            first_execution: witness.exposure.execution + 1,
            severity: cycle.outcome,
            labels: cycle.labels.clone(),
            stacks: Vec::new(),
            memory: None,
            reason: Vec::new(),
            replay: None,
        };
        match quarry.record(&finding, &witness.exposure.choices, witness.digest.clone()) {
            Ok(path) => finding.replay = Some(path),
            Err(error) => problem = problem.or(Some(error)),
        }
        findings.push(HuntFinding { finding, cycle: (0..cycle.labels.len() as u32).collect() });
    }
    let harmful = findings.iter().any(|finding| finding.finding.severity == Severity::Harmful);
    let verdict = match (harmful, chase.complete) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Incomplete,
    };
    let report = HuntReport {
        fencepost: env!("CARGO_PKG_VERSION").to_owned(),
        command: "hunt".to_owned(),
        target: quarry.name(),
        model: options.model,
        seed: options.seed,
        verdict,
        complete: chase.complete,
        executions: chase.executions,
        blocked: chase.blocked,
        seconds: started.elapsed().as_secs_f64(),
        prediction_seconds: chase.prediction.as_secs_f64(),
        findings,
        cycles: cycles.into_iter().map(|(cycle, _)| cycle).collect(),
        fences,
    };
    (report, problem)
}

fn message(cycle: &HuntCycle) -> String {
    let lines: Vec<String> = cycle.labels.iter().map(|label| label.label.line.to_string()).collect();
    let harm = cycle.harm.as_ref().map_or_else(String::new, |harm| format!("; {harm}"));
    format!("accesses at lines {} happen before each other in a circle{harm}", lines.join(", "))
}

fn describe(quarry: &impl Quarry, chased: &Chased) -> HuntCycle {
    let points = quarry.points();
    let label = |point: u32, thread: u32| {
        let point = &points[point as usize];
        let access = match (point.reads, point.writes) {
            (true, true) => "rmw",
            (_, true) => "write",
            _ => "read",
        };
        FindingLabel { label: point.label.clone(), thread: ThreadId(thread), access: access.to_owned() }
    };
    let threads = chased.threads();
    let labels = chased.cycle.segments.iter().zip(threads).flat_map(|(segment, thread)| {
        std::iter::once(label(segment.first, thread)).chain(segment.second.map(|second| label(second, thread)))
    });
    HuntCycle {
        labels: labels.collect(),
        length: chased.cycle.length(),
        models: chased.models.clone(),
        trials: chased.trials,
        exposed: chased.exposed,
        harmful: chased.harmful,
        probability: if chased.trials == 0 { 0.0 } else { chased.exposed as f64 / chased.trials as f64 },
        outcome: chased.outcome(),
        method: chased.method.map(str::to_owned),
        harm: chased.witness.as_ref().and_then(|witness| witness.exposure.harm.clone()),
    }
}
