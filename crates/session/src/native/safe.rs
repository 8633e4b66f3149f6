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
use crate::orderings::{WEAKER_FENCES, advice, fewest, spare, spared, weaker_than, weakest};
use crate::outcome::Outcome;
use crate::request::{CampaignRequest, SafeRequest};
use crate::saving::Subject;
use fencepost_mailbox::{Fence, Frame, Restart, Stack, Weaker};
use fencepost_native::host::{Campaign, Explored, Found, Results};
use fencepost_report::{Command, Report, Safety, Verdict};
use fencepost_trace::{Access, Action, FenceOrder, FindingKind, Limits, Method, Model, Plan, RmwOrder, StrategySpec};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// So long it is tried which orderings are needed, if the user sets no limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// So often orderings are added.
const ROUNDS: usize = 16;

/// So many sets of orderings are tried besides the first that none can be left out of.
const MOST_SETS: usize = 200;

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
        watched(campaign, &mut keeper, log, || explore(&mut under_sc, request, Method::Graph))
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
    let leaves = |found: &Found| matches!(found.report.kind, FindingKind::ScViolation | FindingKind::DataRace);
    let trace_safe = match searched.results.found.iter().any(leaves) {
        true => Some(false),
        false => explored.complete.then_some(true),
    };
    let mut safety = Safety { trace_safe, state_safe: trace_safe.filter(|safe| *safe), ..Safety::default() };
    if asked.orderings && explored.complete {
        let search = Search::new(request, &campaign, &searched.results);
        search.complete(&mut safety, &searched.results, &examiner.symbolizer);
    }
    let mut outcome = conclude(&examiner, request, &campaign, &plan, searched, concluded, log);
    if let Report::Run(run) = &mut outcome.report {
        run.safety = Some(safety);
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

/// Looks for what makes a program safe, or for what it could do without.
struct Search<'a> {
    request: &'a CampaignRequest,
    campaign: Campaign,
    /// Until then.
    deadline: Instant,
    /// Was a question left open because there was no time?
    late: Cell<bool>,
}

impl<'a> Search<'a> {
    fn new(request: &'a CampaignRequest, campaign: &Campaign, results: &Results) -> Search<'a> {
        let mut campaign = campaign.clone();
        // How the program fails under sc has been told, and is not asked about.
        let others = results.found.iter().filter(|found| found.report.kind != FindingKind::ScViolation);
        campaign.request.ignored.extend(others.map(|found| found.report.fingerprint));
        let deadline = Instant::now() + PATIENCE;
        let deadline = campaign.deadline.map_or(deadline, |limit| limit.min(deadline));
        campaign.deadline = Some(deadline);
        Search { request, campaign, deadline, late: Cell::new(false) }
    }

    /// Fills in what takes explorations of its own.
    fn complete(&self, safety: &mut Safety, results: &Results, symbolizer: &Symbolizer) {
        let place = |frame: &Frame| {
            let stack = Stack { thread: 0, access: Action::Unnamed, frames: vec![frame.clone()] };
            let label = symbolizer.finding_label(&stack).label;
            let place = format!("{}:{}", label.file.rsplit('/').next().unwrap_or(&label.file), label.line);
            (label, place)
        };
        let race = results.found.iter().any(|found| found.report.kind == FindingKind::DataRace);
        match safety.trace_safe {
            Some(false) if race => safety.state_safe = Some(false),
            Some(false) => {
                let describe = |fence: Fence| {
                    let (label, place) = place(&fence.place);
                    advice(&label, &place, fence.before, fence.order)
                };
                safety.orderings = self.orderings(results).into_iter().map(describe).collect();
                safety.minimal = (!safety.orderings.is_empty()).then_some(!self.late.get());
                safety.state_safe = self.state_safe();
            }
            Some(true) => {
                let (strong, list) = self.superfluous(results);
                let access = |frame: &Frame| strong.iter().find(|(at, _)| at == frame).map(|(_, access)| *access);
                let describe = |(frame, to): (Frame, RmwOrder)| Some(spared(&place(&frame).1, &access(&frame)?, to));
                safety.superfluous = list.into_iter().filter_map(describe).collect();
            }
            None => {}
        }
    }

    /// The fewest fences that make the program safe, each as weak as can be; none if there was no time to find any.
    ///
    /// Candidates are those before the access of each way out and behind the store that it passes, until there is no
    /// way out with all of them. Where that does not come to an end (under c11 others have to order things, too), they
    /// are those before every access.
    fn orderings(&self, results: &Results) -> Vec<Fence> {
        let enough = |fences: &[Fence]| Ok::<_, Infallible>(self.is_safe(fences, &[]));
        let candidates = self.around_ways_out(results).unwrap_or_else(|| {
            let fence = |place: &Frame| Fence { place: place.clone(), before: true, order: FenceOrder::SeqCst };
            accesses(results).iter().map(|(place, _)| fence(place)).collect()
        });
        let Ok(Some(mut fences)) = fewest(&candidates, MOST_SETS, enough) else { return Vec::new() };
        let weaker = |fence: &Fence| WEAKER_FENCES.map(|order| Fence { order, ..fence.clone() }).to_vec();
        let Ok(()) = weakest(&mut fences, weaker, enough);
        fences
    }

    /// Fences around every way out, until there is none; `None` if there always is one.
    fn around_ways_out(&self, results: &Results) -> Option<Vec<Fence>> {
        let mut fences: Vec<Fence> = Vec::new();
        let mut ways_out = ways_out(results);
        for _ in 0..ROUNDS {
            if ways_out.is_empty() {
                return Some(fences);
            }
            let before = fences.len();
            for (early, passed) in &ways_out {
                add(&mut fences, early, true);
                add(&mut fences, passed, false);
            }
            if fences.len() == before {
                return None;
            }
            let results = self.changed(&fences, &[], false)?;
            ways_out = self::ways_out(&results);
        }
        None
    }

    /// What could be weaker, all together; and what was considered.
    fn superfluous(&self, results: &Results) -> (Vec<(Frame, Access)>, Vec<(Frame, RmwOrder)>) {
        let mut strong = accesses(results);
        strong.retain(|(_, access)| !weaker_than(access).is_empty());
        let safe = |list: &[(Frame, RmwOrder)]| {
            let weaker = list.iter().map(|(place, to)| Weaker { place: place.clone(), to: *to });
            Ok::<_, Infallible>(self.is_safe(&[], &weaker.collect::<Vec<_>>()))
        };
        let Ok(list) = spare(&strong, safe);
        (strong, list)
    }

    /// Does it print the same, with the same exit status, and fail in the same ways, as under sc?
    fn state_safe(&self) -> Option<bool> {
        let outcomes = |model| {
            let mut campaign = self.campaign.clone();
            campaign.request.model = model;
            campaign.request.ignored.clear();
            campaign.request.keep_outputs = true;
            campaign.request.stop_at_first = false;
            let results = self.explore(campaign)?;
            let complete = results.explored.is_some_and(|explored| explored.complete);
            let failures: BTreeSet<u64> = results.found.iter().map(|found| found.report.fingerprint).collect();
            let printed: BTreeSet<String> = results.outputs.into_keys().collect();
            complete.then_some((printed, failures))
        };
        Some(outcomes(Model::Sc)? == outcomes(self.request.model)?)
    }

    /// Is the program safe with these changes? What cannot be found out in time is not.
    fn is_safe(&self, fences: &[Fence], weaker: &[Weaker]) -> bool {
        let answer = self.changed(fences, weaker, true).and_then(|results| {
            let complete = results.explored.is_some_and(|explored| explored.complete);
            if ways_out(&results).is_empty() { complete.then_some(true) } else { Some(false) }
        });
        self.late.set(self.late.get() || answer.is_none());
        answer.unwrap_or(false)
    }

    /// Rides on the executions of the program with changes.
    fn changed(&self, fences: &[Fence], weaker: &[Weaker], stop: bool) -> Option<Results> {
        let mut campaign = under_sc(&self.campaign, self.request.model);
        campaign.request.fences = fences.to_vec();
        campaign.request.weaker = weaker.to_vec();
        campaign.request.stop_at_first = stop;
        self.explore(campaign)
    }

    /// Explores, if there is time.
    fn explore(&self, mut campaign: Campaign) -> Option<Results> {
        if Instant::now() >= self.deadline {
            return None;
        }
        explore(&mut campaign, self.request, Method::Graph).ok()
    }
}

/// The program points of a watched exploration, each once, in an order that does not depend on who met them.
fn accesses(results: &Results) -> Vec<(Frame, Access)> {
    let mut list = results.accesses.clone();
    list.sort_by(|(a, _), (b, _)| a.cmp(b));
    list.dedup_by(|(a, _), (b, _)| a == b);
    list
}

/// The ways out of sc: the access that comes too early, and the store that it passes.
fn ways_out(results: &Results) -> Vec<(Stack, Stack)> {
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
