//! Many executions of a native program, at random.

use super::Program;
use super::campaign::{blocked, requested, started, watched};
use super::conclude::{Concluded, conclude};
use super::examine::Examiner;
use super::keeper::Keeper;
use super::spec::specify;
use super::suppressions::Suppressions;
use crate::error::Error;
use crate::event::Log;
use crate::finish::prepare;
use crate::outcome::Outcome;
use crate::request::{CampaignRequest, TestRequest};
use crate::test::EXECUTIONS;
use fencepost_mailbox::Restart;
use fencepost_native::host::{self, Campaign, Results};
use fencepost_native::interrupt;
use fencepost_report::Command;
use fencepost_trace::{CampaignSpec, Limits, Plan, SEASON, StrategySpec};
use std::time::Instant;

/// With a limit of time alone, the work is given out in pieces of so many.
const PIECE: u64 = 10 * SEASON;
/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 1_000_000;

/// Many executions, at random.
pub fn test(program: &Program, request: &TestRequest, log: &mut Log<'_>) -> Result<Outcome, Error> {
    let begun = Instant::now();
    let TestRequest { campaign: request, sampling, buffer, restart, prune, watch, minimise, all_accesses } = request;
    program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
    let limits = Limits { max_steps: request.work.max_steps.unwrap_or(MAX_STEPS) };
    let strategy = StrategySpec::Random { seed: request.seed, sampling: *sampling };
    // Who watches for ways out of sc has to see everything.
    let skip_private = (!all_accesses && watch.is_empty()).then_some(Plan::LONG);
    let plan = Plan { buffer: *buffer, skip_private, ..Plan::new(request.model, strategy, limits) };
    let mut campaign = requested(program, request, &plan, *restart);
    campaign.request.campaign = CampaignSpec::Sample { seed: request.seed, sampling: *sampling };
    campaign.request.prune = *prune;
    campaign.request.watch.clone_from(watch);
    campaign.jobs = request.work.jobs;
    let specified = specify(program, request.spec, &mut campaign, log)?;
    let suppressions = Suppressions::find(request.suppressions.as_deref(), &program.executable)?;
    prepare(request.out.as_deref())?;
    started(request, request.work.time.is_none().then_some(EXECUTIONS), log);
    let mut examiner = Examiner::new(program, &suppressions);
    examiner.minimises = *minimise;
    let examiner = examiner;
    let mut keeper = Keeper::new(Command::Test, &examiner, &plan, request.out.as_deref());
    let searched = examiner.search(&mut campaign, request.keep_going, log, |campaign, log| {
        let mut results = watched(campaign, &mut keeper, log, || run(campaign, request))?;
        results.executions += campaign.request.first;
        if results.forked {
            campaign.request.restart = Restart::Fork;
        }
        results.notes.drain(..).for_each(|note| log.note(examiner.symbolizer.note(&note)));
        if !request.keep_going {
            stop_at_first(&mut results);
        }
        Ok(results)
    })?;
    let (executions, blocked) = (searched.results.executions, blocked(&searched.results));
    // What a limit of time leaves out is what was asked for; what somebody has interrupted is not.
    let complete = (!specified || interrupt::is_wished()).then_some(false);
    let concluded = Concluded { command: Command::Test, complete, executions, blocked, done: None, begun };
    Ok(conclude(&examiner, request, &campaign, &plan, searched, concluded, log))
}

/// Runs as many executions as the limits say.
fn run(campaign: &Campaign, request: &CampaignRequest) -> std::io::Result<Results> {
    let mut campaign = campaign.clone();
    if campaign.deadline.is_none() {
        let most = request.work.executions.unwrap_or(EXECUTIONS);
        campaign.request.count = most.saturating_sub(campaign.request.first);
        return host::run_campaign(&campaign);
    }
    let most = request.work.executions.unwrap_or(u64::MAX);
    let mut results = Results::default();
    while !campaign.is_over() && campaign.request.first < most {
        campaign.request.count = PIECE.min(most - campaign.request.first);
        host::merge(&mut results, host::run_campaign(&campaign)?);
        if campaign.request.stop_at_first && !results.found.is_empty() {
            break;
        }
        campaign.request.first += campaign.request.count;
    }
    Ok(results)
}

/// Leaves only what happened up to the first finding: how far the other workers came by then is a matter of chance.
fn stop_at_first(results: &mut Results) {
    let Some(first) = results.found.iter().map(|found| found.first_execution).min() else { return };
    results.found.retain(|found| found.first_execution == first);
    if results.irreversible.as_ref().is_some_and(|irreversible| irreversible.execution > first) {
        (results.irreversible, results.forked) = (None, false);
    }
    results.found.iter_mut().for_each(|found| found.count = 1);
    results.executions = first + 1;
    results.pairs.retain(|_, execution| *execution <= first);
    results.failing = 1;
    // How many of them were cut off is not known.
    results.ended.clear();
    results.cut_off.clear();
}
