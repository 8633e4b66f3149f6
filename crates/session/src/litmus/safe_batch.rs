//! `safe` on litmus tests: one with all details, or many, a line each.

use super::case::LitmusCase;
use super::in_order::in_order;
use super::inputs::{Input, inputs_of};
use super::safe::{Judged, Leaving, Paused, Task, judge};
use super::witness::Witness;
use crate::error::Error;
use crate::event::{Event, Log, Sink};
use crate::finish::{Item, Summary, finish};
use crate::limits::{Budget, litmus_limits};
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::request::{CampaignRequest, SafeRequest};
use crate::saving::{OVER, Saving, Subject};
use crate::target::parse_litmus;
use fencepost_explore::graph::ExploreError;
use fencepost_report::{Command, Evidence, Report, Safety};
use fencepost_trace::{Finding, FindingKind, FindingLabel, Model, Plan, Severity, StrategySpec};
use std::rc::Rc;
use std::time::Instant;

/// A litmus test or program that has been judged under a model.
#[derive(Clone, PartialEq, Debug)]
pub struct SafeJudged {
    /// Its name.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The model.
    pub model: Model,
    /// How many executions were explored.
    pub executions: u64,
    /// Was everything?
    pub complete: bool,
    /// Has it a data race?
    pub race: bool,
    /// What it comes to.
    pub safety: Safety,
}

/// What a batch comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SafeTotals {
    /// How many tests, each under each model, are safe.
    pub safe: u64,
    /// How many are not.
    pub unsafe_: u64,
    /// Of how many that is not known.
    pub incomplete: u64,
    /// How many could not be judged.
    pub failed: u64,
}

impl SafeTotals {
    /// One more.
    pub(crate) fn count(&mut self, trace_safe: Option<bool>) {
        match trace_safe {
            Some(true) => self.safe += 1,
            Some(false) => self.unsafe_ += 1,
            None => self.incomplete += 1,
        }
    }

    /// And these.
    pub(crate) fn add(&mut self, other: SafeTotals) {
        self.safe += other.safe;
        self.unsafe_ += other.unsafe_;
        self.incomplete += other.incomplete;
        self.failed += other.failed;
    }
}

/// Judges litmus tests under models, and tells of each in the order in which they were named.
pub fn safe_batch(request: &SafeRequest, sink: &mut dyn Sink) -> Result<SafeTotals, Error> {
    let inputs = inputs_of(&request.targets);
    let jobs_each = if inputs.len() == 1 { request.work.jobs } else { 1 };
    let mut log = Log::new(sink);
    let mut totals = SafeTotals::default();
    let tell = |done: Result<Lines, Error>| {
        match done {
            Err(error) => {
                totals.failed += 1;
                log.emit(Event::LitmusFailed { error: &error, model: None });
            }
            Ok(lines) => {
                for line in lines {
                    match line {
                        Ok(line) => {
                            totals.count(line.safety.trace_safe);
                            log.emit(Event::Safe(&line));
                        }
                        Err((model, error)) => {
                            totals.failed += 1;
                            let error = Error::Explore { target: String::new(), error };
                            log.emit(Event::LitmusFailed { error: &error, model: Some(model) });
                        }
                    }
                }
            }
        }
        if log.is_closed() { Err(()) } else { Ok(()) }
    };
    // An error here is that nobody listens any more.
    let _ = in_order(&inputs, request.work.jobs, |input| judge_all(input, request, jobs_each), tell);
    Ok(totals)
}

type Lines = Vec<Result<SafeJudged, (Model, ExploreError)>>;

fn judge_all(input: &Input, request: &SafeRequest, jobs: usize) -> Result<Lines, Error> {
    let (name, bytes) = input.read()?;
    let case = parse_litmus(&name, &bytes)?;
    let progress = Progress::default();
    let line = |model: &Model| {
        let judged = judge(task(&case, *model, request, jobs, &progress), None).map_err(|error| (*model, error))?;
        Ok(SafeJudged {
            test: case.test.name().to_owned(),
            file: name.clone(),
            model: *model,
            executions: judged.executions,
            complete: judged.complete,
            race: judged.race.is_some(),
            safety: judged.safety,
        })
    };
    Ok(request.models.iter().map(line).collect())
}

fn task<'a>(
    case: &'a LitmusCase,
    model: Model,
    request: &SafeRequest,
    jobs: usize,
    progress: &'a Progress,
) -> Task<'a> {
    let budget = Budget::new(request.work.executions, request.work.time);
    let limits = litmus_limits(request.work.max_steps);
    Task { case, model, limits, budget, jobs, orderings: request.orderings, progress, saving: None }
}

/// One test, with all details.
pub fn safe(
    case: &Rc<LitmusCase>,
    request: &SafeRequest,
    campaign: &CampaignRequest,
    log: &mut Log<'_>,
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let progress = Progress::default();
    let target = campaign.target.display().to_string();
    let subject = Subject::new(Command::Safe, &case.digest, campaign);
    let (saving, loaded) = Saving::begin(campaign.out.as_deref(), request.resume, &subject)?;
    let paused: Option<Paused> = match (&saving, &loaded) {
        (Some(saving), Some(loaded)) => loaded.state(&saving.out)?,
        _ => None,
    };
    if loaded.is_some_and(|loaded| loaded.status.over) {
        log.note(OVER);
    }
    let task = task(case, campaign.model, request, request.work.jobs, &progress);
    let task = Task { saving: saving.as_ref(), ..task };
    log.emit(Event::Started(task.budget));
    let explore = |error| Error::Explore { target: target.clone(), error };
    let judged = log.watch(|| progress.get(), || judge(task, paused)).map_err(explore)?;
    saving.as_ref().and_then(Saving::problem).into_iter().for_each(|problem| log.warning(problem));
    let Judged { safety, executions, blocked, complete, race, leavings } = judged;
    let plan = |strategy: StrategySpec, model| Plan::new(model, strategy, task.limits);
    let mut items = Vec::new();
    if let Some((labels, strategy)) = race {
        let message = "the program has a data race under sc already: under c11 it means nothing".to_owned();
        let witness = Witness::new(case, plan(strategy, Model::Sc)).map_err(explore)?;
        let recording = Some(witness.recording(Command::Safe, &target, case));
        let finding = finding(FindingKind::DataRace, message, executions, labels);
        items.push(Item { finding, evidence: witness.shown(case).into(), recording, first: None });
    }
    for Leaving { message, labels, first, strategy } in leavings {
        let finding = finding(FindingKind::ScViolation, message, first, labels);
        let item = match strategy {
            Some(strategy) => {
                let witness = Witness::new(case, plan(strategy, campaign.model)).map_err(explore)?;
                let recording = Some(witness.recording(Command::Safe, &target, case));
                Item { finding, evidence: witness.shown(case).into(), recording, first: None }
            }
            None => Item { finding, evidence: Evidence::default(), recording: None, first: None },
        };
        items.push(item);
    }
    let summary = Summary {
        command: Command::Safe,
        complete: Some(complete),
        all_cut_off: false,
        executions,
        blocked,
        failing: 0,
        suppressed: 0,
        states: None,
        coverage: None,
        done: None,
        restart: None,
        races: Vec::new(),
        started,
    };
    let report = |findings| {
        let mut report = summary.report(campaign, findings);
        if let Report::Run(run) = &mut report {
            run.safety = Some(safety);
        }
        report
    };
    Ok(finish(items, campaign.out.as_deref(), case.clone(), log, report))
}

fn finding(kind: FindingKind, message: String, first: u64, labels: Vec<FindingLabel>) -> Finding {
    Finding {
        id: 0,
        kind,
        message,
        count: 1,
        first_execution: first,
        severity: Severity::Harmful,
        labels,
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: None,
    }
}
