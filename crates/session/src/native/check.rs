//! Every execution of a native program.

use super::Program;
use super::campaign::{requested, started, watched};
use super::conclude::{Concluded, conclude};
use super::examine::Examiner;
use super::keeper::Keeper;
use super::spec::specify;
use super::suppressions::Suppressions;
use crate::check::{Done, is_open, reason};
use crate::error::Error;
use crate::event::Log;
use crate::outcome::Outcome;
use crate::request::{CampaignRequest, CheckRequest};
use crate::saving::{OVER, Saving, Subject};
use fencepost_mailbox::{Restart, Save};
use fencepost_native::host::{self, Campaign, Explored, Results};
use fencepost_report::Command;
use fencepost_trace::{CampaignSpec, Limits, Method, Plan, StrategySpec};
use std::time::{Duration, Instant};

/// Where an explored execution is cut off if nobody says.
pub const EXPLORED_EVENTS: u64 = 10_000;

/// Every execution graph.
pub fn check(program: &Program, asked: &CheckRequest, log: &mut Log<'_>) -> Result<Outcome, Error> {
    let CheckRequest { campaign: request, method, remember, resume } = asked;
    let open = method.is_none() && is_open(request.model, request.work.executions);
    let mut chosen = Chosen { method: method.unwrap_or_default(), reason: None };
    let begun = Instant::now();
    program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
    let limits = Limits { max_steps: request.work.max_steps.unwrap_or(EXPLORED_EVENTS) };
    let strategy = StrategySpec::Follow { choices: Vec::new() };
    let plan = Plan::new(request.model, strategy, limits);
    let mut campaign = requested(program, request, &plan, Restart::InPlace);
    campaign.request.count = request.work.executions.unwrap_or(u64::MAX);
    let specified = specify(program, request.spec, &mut campaign, log)?;
    let suppressions = Suppressions::find(request.suppressions.as_deref(), &program.executable)?;
    let subject = Subject::new(Command::Check, &program.digest, request)
        .with("--method", method.map_or("auto", Method::name))
        .with("--suppressions", format!("{suppressions:?}"));
    let mut save = begin(request, *resume, &subject, log)?;
    started(request, None, log);
    let examiner = Examiner::new(program, &suppressions);
    let mut keeper = Keeper::new(Command::Check, &examiner, &plan, request.out.as_deref());
    let searched = examiner.search(&mut campaign, request.keep_going, log, |campaign, log| {
        let mut alone = campaign.clone();
        // What is suppressed makes it begin anew.
        alone.request.save = save.clone();
        save = save.take().map(|save| Save { resume: false, ..save });
        let results = watched(campaign, &mut keeper, log, || match open {
            true => trial(&mut alone, request, *remember, &mut chosen),
            false => explore(&mut alone, request, (chosen.method, *remember)),
        });
        campaign.request.campaign = alone.request.campaign;
        results
    })?;
    chosen.reason.iter().for_each(|reason| log.note(reason.clone()));
    let method = chosen.method;
    let explored =
        searched.results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0, answers: None });
    let complete = Some(explored.complete && specified);
    let concluded = Concluded {
        command: Command::Check,
        complete,
        executions: explored.executions,
        blocked: explored.blocked,
        done: Some(Done { method, answers: explored.answers }),
        begun,
    };
    Ok(conclude(&examiner, request, &campaign, &plan, searched, concluded, log))
}

/// Which method it was, and why.
struct Chosen {
    method: Method,
    reason: Option<String>,
}

/// So many executions by graphs are made before another method is tried, and so many by values. A trial by numbers
/// comes out the same on every machine, but for one on which the second takes longer than anybody would wait.
const GRAPHS: u64 = 100_000;
const VECTORS: u64 = 20_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// A trial of execution graphs, then of values if there are more of those, then what is left of the graphs. What is
/// saved is the exploration of graphs: one that is resumed comes to the same trial.
fn trial(
    campaign: &mut Campaign,
    request: &CampaignRequest,
    remember: Option<u64>,
    chosen: &mut Chosen,
) -> std::io::Result<Results> {
    campaign.request.count = GRAPHS;
    let mut by_graphs = explore_on(campaign, 1, (Method::Graph, remember))?;
    campaign.request.count = u64::MAX;
    let is_limited = by_graphs
        .explored
        .is_some_and(|explored| !explored.complete && explored.executions + explored.blocked >= GRAPHS);
    if !is_limited || is_ended(request, &by_graphs) {
        return Ok(by_graphs);
    }
    let mut values = campaign.clone();
    values.request.save = None;
    values.request.count = VECTORS;
    let patience = Instant::now() + PATIENCE;
    values.deadline = Some(values.deadline.map_or(patience, |deadline| deadline.min(patience)));
    let by_values = explore_on(&mut values, 1, (Method::Causal, remember))?;
    if by_values.explored.is_some_and(|explored| explored.complete) || is_ended(request, &by_values) {
        campaign.request.campaign = values.request.campaign;
        let reason = format!("method causal: it is done, where {GRAPHS} execution graphs were not all");
        *chosen = Chosen { method: Method::Causal, reason: Some(reason) };
        return Ok(by_values);
    }
    if campaign.is_over() {
        by_graphs.notes.retain(|note| !note.text.contains("limit of executions"));
        by_graphs.notes.push("stopped in a trial of method causal".into());
        return Ok(by_graphs);
    }
    chosen.reason = Some(reason(Method::Graph));
    campaign.request.save = campaign.request.save.take().map(|save| Save { resume: true, ..save });
    explore(campaign, request, (Method::Graph, remember))
}

/// Has a finding ended it?
fn is_ended(request: &CampaignRequest, results: &Results) -> bool {
    !request.keep_going && !results.found.is_empty()
}

/// Before an exploration: where the runtime is to save it, and whether to go on from there.
pub fn begin(
    request: &CampaignRequest,
    resume: bool,
    subject: &Subject,
    log: &mut Log<'_>,
) -> Result<Option<Save>, Error> {
    let (saving, loaded) = Saving::begin(request.out.as_deref(), resume, subject)?;
    if loaded.is_some_and(|loaded| loaded.status.over) {
        log.note(OVER);
    }
    Ok(saving.and_then(|saving| saving.for_runtime(resume)))
}

/// Explores on as many cores as there are to be. What comes first only one worker can tell, so that one looks again
/// if many have found something: until it has met everything that they found.
pub fn explore(
    campaign: &mut Campaign,
    request: &CampaignRequest,
    how: (Method, Option<u64>),
) -> std::io::Result<Results> {
    // Which executions a limit on their number cuts off is only certain if one worker explores.
    let jobs = if request.work.executions.is_some() { 1 } else { request.work.jobs as u32 };
    explore_on(campaign, jobs, how)
}

/// Explores on so many cores.
fn explore_on(
    campaign: &mut Campaign,
    jobs: u32,
    (method, remember): (Method, Option<u64>),
) -> std::io::Result<Results> {
    let left = campaign.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let deadline = left.map(host::monotonic_after);
    let timeout = campaign.timeout.as_nanos().try_into().unwrap_or(u64::MAX);
    campaign.request.campaign = CampaignSpec::Explore { jobs, deadline, timeout, findings: u64::MAX, method, remember };
    let mut results = host::run_campaign(campaign)?;
    if jobs > 1 && results.shared_out && !results.found.is_empty() && !campaign.is_over() {
        let findings = results.found.len() as u64;
        campaign.request.campaign = CampaignSpec::Explore { jobs: 1, deadline, timeout, findings, method, remember };
        campaign.request.save = None;
        let alone = host::run_campaign(campaign)?;
        if alone.found.is_empty() {
            // There was no time for that.
            return Ok(results);
        }
        if campaign.request.stop_at_first {
            return Ok(alone);
        }
        for found in &mut results.found {
            if let Some(same) = alone.found.iter().find(|f| f.report.fingerprint == found.report.fingerprint) {
                (found.first_execution, found.report) = (same.first_execution, same.report.clone());
            }
        }
        results.found.sort_by_key(|found| found.first_execution);
    }
    Ok(results)
}
