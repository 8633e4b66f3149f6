//! Memory-model safety of a native program: every execution under sc, each judged inside the program's process.

use super::Program;
use super::campaign::{requested, started, watched};
use super::check::{EXPLORED_EVENTS, begin, explore};
use super::conclude::{Concluded, conclude};
use super::examine::Examiner;
use super::keeper::Keeper;
use super::suppressions::Suppressions;
use super::symbolizer::Symbolizer;
use crate::error::Error;
use crate::event::Log;
use crate::outcome::Outcome;
use crate::request::{CampaignRequest, SafeRequest};
use crate::saving::Subject;
use fencepost_mailbox::{Fence, Restart, Stack};
use fencepost_native::host::{Campaign, Explored, Results};
use fencepost_report::{Command, FenceAdvice, FenceKind, Report, Safety, Verdict, VerifiedBy};
use fencepost_trace::{Action, FenceOrder, FindingKind, Limits, Method, Model, Plan, StrategySpec};
use std::time::{Duration, Instant};

/// So long it is tried which orderings are needed, if the user sets no limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// So often orderings are added.
const ROUNDS: usize = 8;

/// Explores under sc; what is found is an execution of the model that was asked about.
pub fn safe(
    program: &Program,
    asked: &SafeRequest,
    request: &CampaignRequest,
    log: &mut Log<'_>,
) -> Result<Outcome, Error> {
    let begun = Instant::now();
    program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
    let limits = Limits { max_steps: request.work.max_steps.unwrap_or(EXPLORED_EVENTS) };
    let strategy = StrategySpec::Follow { choices: Vec::new() };
    let plan = Plan { model: request.model, buffer: None, strategy, limits };
    let mut campaign = requested(program, request, &plan, Restart::InPlace);
    campaign.request.count = request.work.executions.unwrap_or(u64::MAX);
    let suppressions = Suppressions::find(None, &program.executable)?;
    let subject = Subject::new(Command::Safe, &program.digest, request);
    let save = begin(request, asked.resume, &subject, log)?;
    started(request, None, log);
    let examiner = Examiner::new(program, &suppressions);
    let mut keeper = Keeper::new(Command::Safe, &examiner, &plan, request.out.as_deref());
    let searched = examiner.search(&mut campaign, true, log, |campaign, log| {
        let mut under_sc = under_sc(campaign, request.model);
        under_sc.request.save = save.clone();
        watched(campaign, &mut keeper, log, || explore(&mut under_sc, request, (Method::Graph, None)))
    })?;
    let explored =
        searched.results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0, answers: None });
    let concluded = Concluded {
        command: Command::Safe,
        complete: Some(explored.complete),
        executions: explored.executions,
        blocked: explored.blocked,
        done: None,
        begun,
    };
    let orderings = match asked.orderings && explored.complete {
        true => Search { request, campaign: &campaign, begun: Instant::now() }.orderings(&searched.results),
        false => Vec::new(),
    };
    let describe = |(fence, verified): (Fence, bool)| advice(&fence, verified, &examiner.symbolizer);
    let orderings = orderings.into_iter().map(describe).collect();
    let mut outcome = conclude(&examiner, request, &campaign, &plan, searched, concluded, log);
    if let Report::Run(run) = &mut outcome.report {
        let leaves = |kind| matches!(kind, FindingKind::ScViolation | FindingKind::DataRace);
        let trace_safe = match run.findings.iter().any(|finding| leaves(finding.kind)) {
            true => Some(false),
            false => explored.complete.then_some(true),
        };
        // Where the executions are the same, so is what they show. Otherwise outcomes were not compared.
        let state_safe = trace_safe.filter(|safe| *safe);
        run.safety = Some(Safety { trace_safe, state_safe, orderings, superfluous: Vec::new() });
        run.verdict = if run.findings.is_empty() { Verdict::of(false, explored.complete) } else { Verdict::Fail };
    }
    Ok(outcome)
}

/// The exploration: under sc, watched for the model that was asked about.
fn under_sc(campaign: &Campaign, model: Model) -> Campaign {
    let mut campaign = campaign.clone();
    campaign.request.model = Model::Sc;
    campaign.request.watch = vec![model];
    campaign
}

/// Looks for the orderings that make a program safe.
struct Search<'a> {
    request: &'a CampaignRequest,
    campaign: &'a Campaign,
    begun: Instant,
}

impl Search<'_> {
    /// Fences around every way out, until there is none; then one after the other is taken away, or made weaker, as
    /// long as the program stays safe. Each answer is an exploration of its own. Whether the result was verified to the
    /// end.
    fn orderings(&self, results: &Results) -> Vec<(Fence, bool)> {
        let mut fences: Vec<Fence> = Vec::new();
        let mut ways_out = leavings(results);
        for _ in 0..ROUNDS {
            if ways_out.is_empty() {
                break;
            }
            let before = fences.len();
            for (early, passed) in &ways_out {
                add(&mut fences, early, true);
                add(&mut fences, passed, false);
            }
            if fences.len() == before {
                return Vec::new();
            }
            match self.explored(&fences, false) {
                Some(results) => ways_out = leavings(&results),
                None => return Vec::new(),
            }
        }
        if !ways_out.is_empty() {
            return Vec::new();
        }
        let mut verified = true;
        let mut i = 0;
        while i < fences.len() {
            let mut fewer = fences.clone();
            fewer.remove(i);
            match self.is_safe(&fewer) {
                Some(true) => fences = fewer,
                answer => {
                    verified &= answer.is_some();
                    i += 1;
                }
            }
        }
        for i in 0..fences.len() {
            for order in [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel] {
                let mut weaker = fences.clone();
                weaker[i].order = order;
                if self.is_safe(&weaker) == Some(true) {
                    fences = weaker;
                    break;
                }
            }
        }
        fences.into_iter().map(|fence| (fence, verified)).collect()
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() > PATIENCE || self.campaign.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Is the program safe with these fences? `None` if that cannot be found out in time.
    fn is_safe(&self, fences: &[Fence]) -> Option<bool> {
        let results = self.explored(fences, true)?;
        let complete = results.explored.as_ref().is_some_and(|explored| explored.complete);
        match leavings(&results).is_empty() {
            false => Some(false),
            true => complete.then_some(true),
        }
    }

    fn explored(&self, fences: &[Fence], stop: bool) -> Option<Results> {
        if self.is_late() {
            return None;
        }
        let mut campaign = under_sc(self.campaign, self.request.model);
        campaign.request.fences = fences.to_vec();
        campaign.request.stop_at_first = stop;
        explore(&mut campaign, self.request, (Method::Graph, None)).ok()
    }
}

/// The ways out of sc: the access that comes too early, and the store that it passes.
fn leavings(results: &Results) -> Vec<(Stack, Stack)> {
    let ways = results.found.iter().filter(|found| found.report.kind == FindingKind::ScViolation);
    ways.filter_map(|found| match &found.report.stacks[..] {
        [early, passed, ..] => Some((early.clone(), passed.clone())),
        _ => None,
    })
    .collect()
}

fn add(fences: &mut Vec<Fence>, at: &Stack, before: bool) {
    let Some(place) = at.frames.first().cloned() else { return };
    let fence = Fence { place, before, order: FenceOrder::SeqCst };
    if !fences.contains(&fence) {
        fences.push(fence);
    }
}

/// An ordering in the words of the source.
fn advice(fence: &Fence, verified: bool, symbolizer: &Symbolizer) -> FenceAdvice {
    let stack = Stack { thread: 0, access: Action::Unnamed, frames: vec![fence.place.clone()] };
    let label = symbolizer.finding_label(&stack).label;
    let (kind, name) = match fence.order {
        FenceOrder::SeqCst => (FenceKind::Full, "full fence"),
        FenceOrder::Release => (FenceKind::StoreStore, "release fence"),
        FenceOrder::Acquire => (FenceKind::LoadLoad, "acquire fence"),
        FenceOrder::AcqRel => (FenceKind::Both, "acquire and release fence"),
    };
    let side = if fence.before { "before" } else { "behind" };
    let short = label.file.rsplit('/').next().unwrap_or(&label.file).to_owned();
    let advice = format!("{short}:{}: {name} {side} this line", label.line);
    FenceAdvice {
        advice,
        file: label.file,
        line: label.line,
        before: fence.before,
        order: kind,
        pairs: Vec::new(),
        verified,
        by: verified.then_some(VerifiedBy::Explored),
        reads: None,
    }
}
