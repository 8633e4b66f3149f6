//! `test` and `check` on a litmus test.

use super::case::LitmusCase;
use super::collector::{Stop, Watch};
use super::exhaustive::{Pace, Paused, Way, by_method, explore_on, trial};
use super::minimise::smaller_witness;
use super::random;
use super::tally::{Found, Tally};
use super::witness::Witness;
use crate::check::{Done, is_open};
use crate::error::Error;
use crate::event::{Event, Log};
use crate::finish::{INTERRUPTED, Item, Summary, finish, prepare};
use crate::limits::{Budget, litmus_limits};
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::request::{CampaignRequest, CheckRequest, TestRequest};
use crate::saving::{OVER, Saving, Subject};
use crate::test::EXECUTIONS;
use fencepost_explore::graph::ExploreError;
use fencepost_native::interrupt;
use fencepost_report::{Command, Evidence, Seen};
use fencepost_trace::{Finding, FirstMet, Method, Severity};
use std::rc::Rc;
use std::time::Instant;

/// Many executions, at random.
pub fn test(case: &Rc<LitmusCase>, request: &TestRequest, log: &mut Log<'_>) -> Result<Outcome, Error> {
    let started = Instant::now();
    let TestRequest { campaign, sampling, buffer, .. } = request;
    let work = &campaign.work;
    let executions = work.executions.or_else(|| work.time.is_none().then_some(EXECUTIONS));
    let (draw, test) = ((campaign.seed, *sampling), &**case);
    refuse(campaign)?;
    prepare(campaign.out.as_deref())?;
    let tally = run(campaign, *buffer, Budget::new(executions, work.time), log, |watch, budget| {
        random::random(test, watch, draw, budget, work.jobs)
    })?;
    // Those that were cut off are executions like any other.
    let all = tally.executions + tally.blocked;
    let summary = Summary {
        complete: interrupt::is_wished().then_some(false),
        all_cut_off: tally.executions == 0 && tally.blocked > 0,
        executions: all,
        coverage: Some(Seen::new(tally.pairs.values().copied(), all)),
        ..summary(Command::Test, &tally, started)
    };
    conclude(case, campaign, tally, summary, request.minimise, log)
}

/// Every execution.
pub fn check(case: &Rc<LitmusCase>, asked: &CheckRequest, log: &mut Log<'_>) -> Result<Outcome, Error> {
    let started = Instant::now();
    let CheckRequest { campaign: request, method, remember, resume } = asked;
    refuse(request)?;
    let (budget, test, jobs) = (Budget::new(request.work.executions, request.work.time), &**case, request.work.jobs);
    let open = method.is_none() && is_open(request.model, request.work.executions);
    let subject =
        Subject::new(Command::Check, &case.digest, request).with("--method", method.map_or("auto", Method::name));
    let (saving, loaded) = Saving::begin(request.out.as_deref(), *resume, &subject)?;
    let paused: Option<Paused> = match (&saving, &loaded) {
        (Some(saving), Some(loaded)) => loaded.state(&saving.out)?,
        _ => None,
    };
    if loaded.is_some_and(|loaded| loaded.status.over) {
        log.note(OVER);
    }
    let saving = saving.as_ref();
    let mut tally = run(request, None, budget, log, |watch, budget| {
        let pace = Pace::new(budget, saving, jobs);
        match method {
            None if open => trial(test, watch, &pace, paused),
            None | Some(Method::Graph) => explore_on(test, watch, Way::Axioms, &pace, paused),
            Some(method) => by_method(test, watch, (*method, *remember), &pace, paused),
        }
    })?;
    saving.and_then(Saving::problem).into_iter().for_each(|problem| log.warning(problem));
    let done = Done { method: tally.method, answers: tally.answers };
    if let Some(reason) = tally.reason.take() {
        log.note(reason);
    }
    // A finding that ends the exploration leaves the rest unexplored.
    let complete = !tally.limited && (request.keep_going || tally.findings.is_empty());
    let summary = Summary { complete: Some(complete), done: Some(done), ..summary(Command::Check, &tally, started) };
    conclude(case, request, tally, summary, false, log)
}

/// Complains about what a litmus test has no use for.
fn refuse(request: &CampaignRequest) -> Result<(), Error> {
    let option = match (&request.volatile, &request.suppressions, &request.spec) {
        (Some(_), _, _) => "--volatile",
        (_, Some(_), _) => "--suppressions",
        (_, _, Some(_)) => "--spec",
        _ => return Ok(()),
    };
    Err(Error::Usage(format!("{option} is for native programs: {} is a litmus test", request.target.display())))
}

/// Does the work.
fn run(
    request: &CampaignRequest,
    buffer: Option<u32>,
    budget: Budget,
    log: &mut Log<'_>,
    work: impl FnOnce(Watch<'_>, Budget) -> Result<Tally, ExploreError> + Send,
) -> Result<Tally, Error> {
    let target = request.target.display();
    let progress = Progress::default();
    let watch = Watch {
        model: request.model,
        buffer,
        limits: litmus_limits(request.work.max_steps),
        condition: true,
        stop: if request.keep_going { Stop::Never } else { Stop::AtFinding },
        progress: &progress,
    };
    log.emit(Event::Started(budget));
    log.watch(|| progress.get(), || work(watch, budget))
        .map_err(|error| Error::Explore { target: target.to_string(), error })
}

fn summary(command: Command, tally: &Tally, started: Instant) -> Summary {
    Summary {
        command,
        complete: None,
        all_cut_off: false,
        executions: tally.executions,
        blocked: tally.blocked,
        failing: tally.failing,
        suppressed: 0,
        states: Some(tally.states.len() as u64),
        coverage: None,
        restart: None,
        races: Vec::new(),
        done: None,
        started,
    }
}

fn conclude(
    case: &Rc<LitmusCase>,
    request: &CampaignRequest,
    mut tally: Tally,
    summary: Summary,
    minimise: bool,
    log: &mut Log<'_>,
) -> Result<Outcome, Error> {
    if interrupt::is_wished() {
        log.note(INTERRUPTED);
    }
    tally.findings.sort_by_key(|found| found.first);
    let target = request.target.display().to_string();
    let (mut items, count) = (Vec::new(), tally.findings.len());
    for (i, found) in tally.findings.into_iter().enumerate() {
        let failed = |error| Error::Explore { target: target.clone(), error };
        let first = Witness::new(case, found.plan.clone()).map_err(failed)?;
        let mut smaller = None;
        if minimise {
            log.emit(Event::Minimising { finding: i as u64 + 1, of: count as u64 });
            smaller = smaller_witness(case, &found, &first, count).map_err(failed)?;
        }
        let mut finding = finding(found);
        let needs = (summary.command == Command::Test).then(|| first.needs());
        let recording = |witness: &Witness| Some(witness.recording(summary.command, &target, case));
        items.push(match smaller {
            Some((smaller, tried)) => {
                finding.needs = Some(smaller.needs());
                finding.first_met = needs.map(|needs| FirstMet { needs, tried, replay: None });
                let (recording, first_recording) = (recording(&smaller), recording(&first));
                let mut evidence: Evidence = smaller.shown(case).into();
                evidence.first = Some(first.shown(case));
                Item { finding, evidence, recording, first: first_recording }
            }
            None => {
                finding.needs = needs;
                Item { finding, recording: recording(&first), evidence: first.shown(case).into(), first: None }
            }
        });
    }
    let report = |findings| summary.report(request, findings);
    Ok(finish(items, request.out.as_deref(), case.clone(), log, report))
}

fn finding(found: Found) -> Finding {
    Finding {
        id: 0,
        kind: found.key.kind,
        message: found.message,
        count: found.count,
        first_execution: found.first,
        severity: Severity::Harmful,
        labels: found.key.labels,
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: None,
    }
}
