//! Native programs.

use super::options::{Options, is_late};
use super::points::Points;
use super::subject::{
    Again, Attempt, BASE_SEED, Directed, EXPLAINED, Explored, ExposedGraph, Exposure, Fences, Looked, MODELS,
    ProgramPoint, SAMPLES, Sampled, Seen, Subject, Tested,
};
use crate::error::Error;
use crate::event::Log;
use crate::native::{Program, Suppressions, Symbolizer, blocked, campaign, ended_by, finding, restarted, specify};
use crate::recording::Recording;
use fencepost_mailbox::{Fence, Frame, Hunt, Observations, Record, Report, Restart, Stack, output_fingerprint};
use fencepost_native::host::{self, Campaign, Found, Results};
use fencepost_predict::Profile;
use fencepost_report::{Command, Describe};
use fencepost_trace::{
    CampaignSpec, Cycle, CyclePoint, Limits, Method, Model, Plan, Sampling, Scheduler, Segment, StrategySpec, Task,
    ThreadId, Trace, Trials,
};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 100_000;
/// How many executions show what the program prints without reordering, if it prints anything.
const OUTPUTS: u64 = 2_000;
const USUAL: u64 = 300;
const FEWEST_OUTPUTS: u64 = 10;
/// The first look at the program has one of so many parts of the time.
const FIRST_LOOK: u32 = 4;
/// How long violations are looked at again if there is no time left.
const LAST_LOOK: Duration = Duration::from_millis(20);
/// So many violations at a time are run again where time is limited.
const AGAIN_AT_A_TIME: usize = 50;
/// A program whose executions have more events than this is not explored.
const LONG_EXECUTION: u64 = 100_000;
/// So many executions are explored at most, with so many events together.
const MOST_EXPLORED: u64 = 20_000;
const MOST_EVENTS: u64 = 6_000_000;
const FEWEST_EXPLORED: u64 = 100;
/// Where an explored execution is cut off.
const EXPLORED_EVENTS: u64 = 10_000;
/// So many executions may be needed to show all that threads can do.
const HISTORIES: u32 = 2_000;
/// A process of its own takes about as long as so many events.
const FORK: u64 = 30_000;
/// How long a request can be.
const LONGEST: usize = 2 << 20;

/// A native program as the search sees it.
pub struct NativeSubject<'a> {
    program: &'a Program,
    options: &'a Options,
    /// What it is run under: the model that was asked for, or a stronger one.
    model: Model,
    symbolizer: Rc<Symbolizer>,
    points: Points,
    /// Fingerprints of what it prints and of how it fails without reordering.
    outputs: Vec<u64>,
    failures: Vec<u64>,
    /// How many events the longest execution without reordering has.
    longest: u64,
    /// How the program is put back to its beginning: by forking, once it was seen to need that.
    restart: Restart,
    /// Has an exploration missed a failure?
    distrusted: bool,
    /// How many times as long as usual an exploration may take.
    patience: u64,
    /// The outcomes that atomic operations have, if it is to be held against them, and whether that could be done.
    outcomes: Option<Vec<Observations>>,
    judged: bool,
    suppressions: Suppressions,
}

impl<'a> NativeSubject<'a> {
    /// Nothing is known of it yet but the outcomes that its specification permits.
    pub fn new(program: &'a Program, options: &'a Options, log: &mut Log<'_>) -> Result<NativeSubject<'a>, Error> {
        program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
        let mut subject = NativeSubject {
            program,
            options,
            model: options.model,
            symbolizer: Rc::new(Symbolizer::of(program)),
            points: Points::default(),
            outputs: Vec::new(),
            failures: Vec::new(),
            longest: 0,
            restart: Restart::Auto,
            distrusted: false,
            patience: 1,
            outcomes: None,
            judged: true,
            suppressions: Suppressions::find(options.suppressions.as_deref(), &program.executable)?,
        };
        let mut campaign = subject.campaign(Model::Sc, &[]);
        subject.judged = specify(program, options.spec, &mut campaign, log)?;
        subject.outcomes = campaign.request.spec;
        Ok(subject)
    }

    fn plan(&self, model: Model, strategy: StrategySpec) -> Plan {
        // An execution that goes on for much longer than without reordering does not end.
        let usual = if model == Model::Sc { MAX_STEPS } else { (4 * self.longest + 2_000).min(MAX_STEPS) };
        let limits = Limits { max_steps: self.options.max_steps.unwrap_or(usual) };
        let buffer = if model == Model::Sc { None } else { self.options.buffer };
        Plan { buffer, ..Plan::new(model, strategy, limits) }
    }

    fn campaign(&self, model: Model, fences: &Fences) -> Campaign {
        let plan = self
            .plan(model, StrategySpec::Random { seed: self.options.seed, sampling: Sampling::with(Scheduler::Random) });
        let mut campaign = campaign(self.program, &plan, self.restart, Some(self.options.timeout));
        campaign.jobs = self.options.jobs;
        campaign.deadline = self.options.deadline;
        campaign.request.spec.clone_from(&self.outcomes);
        for (position, order) in fences {
            let sites = &self.points.sites_of[position.point as usize];
            campaign.request.fences.extend(sites.iter().map(|site| Fence {
                place: self.points.sites[*site as usize].clone(),
                before: position.before,
                order: *order,
            }));
        }
        campaign
    }

    fn run(&self, campaign: &Campaign) -> Result<Results, Error> {
        host::run_campaign(campaign).map_err(|error| Error::target(&self.program.name, error.to_string()))
    }

    /// Runs a campaign that looks for harm. A failure that is suppressed is none: once it has been met, everything is
    /// run again with that known.
    fn run_hunt(&mut self, campaign: &mut Campaign) -> Result<Results, Error> {
        loop {
            let results = self.run(campaign)?;
            let is_new = |found: &&Found| !self.failures.contains(&found.report.fingerprint);
            let new = results.found.iter().filter(is_new).filter(|found| self.is_suppressed(found));
            let new: Vec<u64> = new.map(|found| found.report.fingerprint).collect();
            if new.is_empty() || is_late(self.options.deadline) {
                return Ok(results);
            }
            self.failures.extend(new);
            if let Some(hunt) = &mut campaign.request.hunt {
                hunt.failures.clone_from(&self.failures);
            }
        }
    }

    /// Is it something that nobody wants to hear of?
    fn is_suppressed(&self, found: &Found) -> bool {
        let frames = |stack: &Stack| stack.frames.iter().flat_map(|frame| self.symbolizer.frames(frame)).collect();
        let stacks: Vec<_> = found.report.stacks.iter().map(frames).collect();
        self.suppressions.cover(&finding(0, found, &self.symbolizer), &stacks)
    }

    /// A cycle that was looked for in passing, or by an exploration.
    fn exposure(&self, record: Record) -> Option<Exposure> {
        let Record::Exposed { task, execution, harm, failures, choices, steps, shared, with } = record else {
            return None;
        };
        let harm = harm.map(|harm| self.symbolizer.named(&harm));
        let graph = (!steps.is_empty()).then_some(ExposedGraph { steps, shared });
        let with = with.into_iter().map(|cycle| cycle as usize).collect();
        Some(Exposure { attempt: task as usize, model: self.model, execution, harm, failures, choices, graph, with })
    }

    /// An execution that was run again, in the names of the program.
    fn again(&mut self, mut trace: Trace, places: &[Frame], length: u64, exposure: &Exposure) -> Again {
        let cut = (trace.events.len() as u64) < length;
        let names = self.names(&trace, places);
        self.symbolizer.fill(&mut trace, places);
        for (kind, thread) in &exposure.failures {
            ended_by(&mut trace, *kind, thread.map(ThreadId));
        }
        Again { trace, names, cut }
    }

    fn names(&mut self, trace: &Trace, frames: &[Frame]) -> Vec<(u32, u32)> {
        self.points.names(trace, frames, &self.symbolizer)
    }

    fn profile(&mut self, trace: &Trace, frames: &[Frame]) -> Profile {
        let names = self.names(trace, frames);
        Profile::new(trace, |event| names[event.id.index() - 1])
    }

    /// Makes trials together; are their traces wanted?
    fn follow(&mut self, model: Model, trials: Trials, traced: bool, fences: &Fences) -> Result<Results, Error> {
        let mut campaign = self.campaign(model, fences);
        if traced {
            // What has been found is to be verified, and that has a little time in any case.
            campaign.deadline = self.last_look();
            campaign.interruptible = false;
        }
        campaign.request.count = trials.tasks.len() as u64 * trials.each;
        campaign.request.keep_traces = traced;
        campaign.request.campaign = CampaignSpec::Hunt(trials);
        campaign.request.hunt = Some(self.hunt());
        if traced {
            // As a replay runs it.
            campaign.request.details = Some(Vec::new());
        }
        self.run_hunt(&mut campaign)
    }

    /// When the first look at the program has to end: what follows wants some of the time, too.
    fn share_of_time(&self) -> Option<Instant> {
        let left = self.options.deadline?.saturating_duration_since(Instant::now());
        Some(Instant::now() + left / FIRST_LOOK)
    }

    /// When a second look at violations has to end.
    fn last_look(&self) -> Option<Instant> {
        self.options.end.map(|end| end.max(Instant::now() + LAST_LOOK))
    }

    /// What the runtime has to know of the program.
    fn hunt(&self) -> Hunt {
        Hunt {
            sites: self.points.sites.clone(),
            points: self.points.for_runtime(),
            outputs: self.outputs.clone(),
            failures: self.failures.clone(),
            ..Hunt::default()
        }
    }

    /// Explores every execution of a model, unless there are too many: that is decided by their number and length, so
    /// that it does not depend on the machine.
    fn explore_all(&mut self, model: Model, hunt: Hunt, fences: &Fences) -> Result<Option<Results>, Error> {
        if self.distrusted || self.restart == Restart::Fork || self.longest > LONG_EXECUTION {
            return Ok(None);
        }
        let mut campaign = self.campaign(model, fences);
        let left = campaign.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = self.options.timeout.as_nanos().try_into().unwrap_or(u64::MAX);
        let deadline = left.map(host::monotonic_after);
        campaign.request.campaign = CampaignSpec::Explore {
            jobs: 1,
            deadline,
            timeout,
            findings: u64::MAX,
            method: Method::Graph,
            remember: None,
        };
        let most = MOST_EXPLORED.min(MOST_EVENTS / self.longest.max(1)).max(FEWEST_EXPLORED);
        campaign.request.count = self.patience * most;
        campaign.request.max_steps = EXPLORED_EVENTS;
        campaign.request.restart = Restart::InPlace;
        campaign.request.keep_outputs = true;
        campaign.request.hunt = Some(hunt);
        // Who looks for cycles keeps books in functions without instrumentation, so that they are no part of them.
        // That the exploration does not see that memory is known here: random executions are held against it.
        campaign.request.hidden.iter_mut().for_each(|hidden| hidden.functions.clear());
        campaign.jobs = 1;
        Ok(Some(self.run_hunt(&mut campaign)?))
    }

    /// How the program failed as it never does without reordering, if it did.
    fn new_failure(&self, results: &Results) -> Option<String> {
        let new = results.found.iter().find(|found| !self.failures.contains(&found.report.fingerprint));
        let failure =
            new.map(|found| format!("{}: {}", found.report.kind, self.symbolizer.named(&found.report.message)));
        let wrong = || {
            let text = results.outputs.keys().find(|text| !self.outputs.contains(&output_fingerprint(text)))?;
            Some(format!("wrong output: it printed {:?}, which it never does without reordering", text.trim_end()))
        };
        failure.or_else(wrong)
    }
}

impl NativeSubject<'_> {
    /// The answers that led to executions that fail as none without reordering does.
    fn failing(&self, results: &Results) -> Vec<Vec<u32>> {
        let new = results.found.iter().filter(|found| !self.failures.contains(&found.report.fingerprint));
        let mut failing: Vec<Vec<u32>> = new.map(|found| found.report.choices.clone()).collect();
        let wrong = results.output_choices.iter().filter(|(text, _)| !self.outputs.contains(&output_fingerprint(text)));
        failing.extend(wrong.map(|(_, choices)| choices.clone()));
        failing.truncate(EXPLAINED);
        failing
    }
}

impl Subject for NativeSubject<'_> {
    fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    fn set_patience(&mut self, times: u64) {
        self.patience = times;
    }

    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error> {
        let mut campaign = self.campaign(Model::Sc, fences);
        campaign.request.campaign =
            CampaignSpec::Sample { seed: BASE_SEED, sampling: Sampling::with(Scheduler::Random) };
        campaign.request.count = self.options.executions;
        campaign.request.keep_traces = true;
        campaign.request.shared_only = true;
        campaign.request.keep_outputs = true;
        campaign.deadline = self.share_of_time();
        let mut results = self.run(&campaign)?;
        let traces = traces(&mut results);
        let mut seen = Seen {
            executions: results.executions,
            failing: results.failing,
            blocked: blocked(&results),
            unjudged: !self.judged,
            ..Seen::default()
        };
        seen.notes.append(&mut results.warnings);
        if results.forked && self.restart != Restart::Fork {
            // From now on, so that every execution is the same again.
            self.restart = Restart::Fork;
            let reason = restarted(&results, &self.symbolizer).reason;
            let because = reason.map_or_else(String::new, |reason| format!(", because {reason}"));
            seen.notes.push(format!("every execution is run in a process of its own{because}: this takes longer"));
        }
        if (traces.len() as u64) < results.executions {
            let (kept, all) = (traces.len(), results.executions);
            seen.notes.push(format!("only {kept} of {all} executions fit the memory for traces: try fewer"));
        }
        for Traced { trace, frames, length, .. } in &traces {
            if is_late(self.options.deadline) {
                break;
            }
            self.longest = self.longest.max(*length);
            seen.profiles.push(self.profile(trace, frames));
        }
        if results.outputs.keys().any(|text| !text.is_empty()) {
            campaign.request.keep_traces = false;
            campaign.request.first = self.options.executions;
            campaign.deadline = self.share_of_time();
            // Fewer if executions are long.
            campaign.request.count = (OUTPUTS * USUAL / self.longest.max(USUAL)).max(FEWEST_OUTPUTS);
            let more = self.run(&campaign)?;
            seen.executions += more.executions;
            host::merge(&mut results, more);
        }
        self.outputs = results.outputs.keys().map(|text| output_fingerprint(text)).collect();
        self.failures = results.found.iter().map(|found| found.report.fingerprint).collect();
        let failures = results.found.iter().filter(|found| !self.is_suppressed(found)).enumerate();
        seen.failures = failures.map(|(i, found)| finding(i as u32 + 1, found, &self.symbolizer)).collect();
        seen.notes.extend(results.notes.iter().map(|note| self.symbolizer.note(note)));
        Ok(seen)
    }

    fn baseline(&mut self, fences: &Fences) -> Result<Explored, Error> {
        let hunt = self.hunt();
        let Some(results) = self.explore_all(Model::Sc, hunt, fences)? else { return Ok(Explored::default()) };
        for text in results.outputs.keys() {
            let fingerprint = output_fingerprint(text);
            if !self.outputs.contains(&fingerprint) {
                self.outputs.push(fingerprint);
            }
        }
        let mut explored = explored(&results);
        for found in &results.found {
            if !self.failures.contains(&found.report.fingerprint) {
                self.failures.push(found.report.fingerprint);
                if !self.is_suppressed(found) {
                    explored.failures.push(finding(0, found, &self.symbolizer));
                }
            }
        }
        Ok(explored)
    }

    fn distrust(&mut self) {
        self.distrusted = true;
    }

    fn explore(&mut self, cycles: &[Cycle], rounds: u32, fences: &Fences) -> Result<Explored, Error> {
        let histories = if cycles.is_empty() { HISTORIES } else { 0 };
        let hunt = Hunt { cycles: cycles.to_vec(), histories, rounds, ..self.hunt() };
        let Some(mut results) = self.explore_all(self.model, hunt, fences)? else {
            return Ok(Explored::default());
        };
        let mut explored = explored(&results);
        explored.fails = self.new_failure(&results);
        let new = results.found.iter().map(|found| &found.report);
        let new = new.filter(|report| !self.failures.contains(&report.fingerprint) && !report.steps.is_empty());
        let graph = |report: &Report| ExposedGraph { steps: report.steps.clone(), shared: report.shared.clone() };
        explored.failing = new.take(EXPLAINED).map(graph).collect();
        for Traced { trace, frames, .. } in traces(&mut results) {
            explored.profiles.push(self.profile(&trace, &frames));
        }
        for record in results.exposed {
            explored.exposures.extend(self.exposure(record));
        }
        Ok(explored)
    }

    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error> {
        let mut campaign = self.campaign(self.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: BASE_SEED, sampling: Sampling::default() };
        campaign.request.count = SAMPLES;
        campaign.request.keep_traces = true;
        campaign.request.shared_only = true;
        let mut results = self.run(&campaign)?;
        let mut sampled = Sampled { executions: results.executions, blocked: blocked(&results), ..Sampled::default() };
        for Traced { trace, frames, .. } in traces(&mut results) {
            sampled.profiles.push(self.profile(&trace, &frames));
        }
        Ok(sampled)
    }

    fn longest(&self) -> u64 {
        // A process of its own costs as much as many events.
        if self.restart == Restart::Fork { self.longest.max(FORK) } else { self.longest }
    }

    fn test(&mut self, first: u64, executions: u64, fences: &Fences) -> Result<Tested, Error> {
        let mut campaign = self.campaign(self.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: BASE_SEED, sampling: Sampling::default() };
        campaign.request.first = first;
        campaign.request.count = executions;
        campaign.request.keep_outputs = true;
        let results = self.run_hunt(&mut campaign)?;
        let failing = self.failing(&results);
        Ok(Tested { executions: results.executions, blocked: blocked(&results), failing })
    }

    fn look_through(
        &mut self,
        cycles: &[Cycle],
        first: u64,
        executions: u64,
        fences: &Fences,
    ) -> Result<Option<Looked>, Error> {
        // A child would forget what others have met.
        if self.restart == Restart::Fork {
            return Ok(None);
        }
        let mut campaign = self.campaign(self.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: BASE_SEED, sampling: Sampling::default() };
        campaign.request.first = first;
        campaign.request.count = executions;
        campaign.request.keep_outputs = true;
        campaign.request.hunt = Some(Hunt { cycles: cycles.to_vec(), ..self.hunt() });
        // What is said of an execution depends on those before it.
        campaign.jobs = 1;
        let results = self.run_hunt(&mut campaign)?;
        let fails = self.new_failure(&results).is_some();
        let (executions, blocked) = (results.executions, blocked(&results));
        let exposures = results.exposed.into_iter().filter_map(|record| self.exposure(record)).collect();
        Ok(Some(Looked { executions, blocked, exposures, fails }))
    }

    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        seed: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error> {
        let mut exposures = Vec::new();
        let mut cut_off = 0;
        for (first, tasks) in pieces(attempts) {
            let results = self.follow(self.model, Trials { seed, each: trials, tasks }, false, fences)?;
            cut_off += blocked(&results);
            for record in results.exposed {
                if let Record::Exposed { task, execution, harm, failures, choices, .. } = record {
                    let execution = execution + first as u64 * trials;
                    let harm = harm.map(|harm| self.symbolizer.named(&harm));
                    let attempt = task as usize;
                    exposures.push(Exposure {
                        attempt,
                        model: self.model,
                        execution,
                        harm,
                        failures,
                        choices,
                        graph: None,
                        with: Vec::new(),
                    });
                }
            }
        }
        exposures.sort_by_key(|exposure| exposure.execution);
        Ok((cut_off, exposures))
    }

    fn direct(&mut self, attempts: &[Attempt], trials: u64, seed: u64, fences: &Fences) -> Result<Directed, Error> {
        let mut directed = Directed::default();
        for (_, tasks) in pieces(attempts) {
            let mut campaign = self.campaign(self.model, fences);
            campaign.request.count = tasks.len() as u64 * trials;
            campaign.request.keep_outputs = true;
            campaign.request.campaign = CampaignSpec::Hunt(Trials { seed, each: trials, tasks });
            campaign.request.hunt = Some(self.hunt());
            let results = self.run_hunt(&mut campaign)?;
            directed.failing.extend(self.failing(&results));
            let met = results.exposed.iter().filter_map(|record| match record {
                Record::Exposed { task, .. } => Some(*task as usize),
                _ => None,
            });
            directed.met.extend(met);
            if !directed.failing.is_empty() || is_late(self.options.deadline) {
                break;
            }
        }
        directed.failing.truncate(EXPLAINED);
        Ok(directed)
    }

    fn again(&mut self, exposures: &[&Exposure], fences: &Fences) -> Result<Vec<Option<Again>>, Error> {
        let mut again: Vec<Option<Again>> = exposures.iter().map(|_| None).collect();
        for model in MODELS {
            let is_answered = |i: &usize| exposures[*i].model == model && exposures[*i].graph.is_none();
            let answers: Vec<usize> = (0..exposures.len()).filter(is_answered).collect();
            let attempt = |i: &usize| Attempt {
                cycle: Cycle { segments: vec![Segment { first: u32::MAX - 1, second: None }] },
                strategy: StrategySpec::Follow { choices: exposures[*i].choices.clone() },
            };
            let attempts: Vec<Attempt> = answers.iter().map(attempt).collect();
            // Few at a time where time is limited: their traces have to be read, too.
            let most = self.options.end.map_or(usize::MAX, |_| AGAIN_AT_A_TIME);
            for (first, tasks) in pieces(&attempts) {
                let size = most.min(tasks.len());
                for (k, tasks) in tasks.chunks(size).enumerate() {
                    let first = first + k * size;
                    if first > 0 && is_late(self.options.end) {
                        return Ok(again);
                    }
                    let trials = Trials { seed: self.options.seed, each: 1, tasks: tasks.to_vec() };
                    for record in self.follow(model, trials, true, fences)?.traces {
                        if let Record::Trace { execution, trace, places, length } = record {
                            let index = answers[first + execution as usize];
                            again[index] = Some(self.again(trace, &places, length, exposures[index]));
                        }
                    }
                }
            }
        }
        for i in (0..exposures.len()).filter(|i| exposures[*i].graph.is_some()) {
            if is_late(self.options.end) {
                break;
            }
            let Some(strategy) = exposures[i].strategy() else { continue };
            let mut campaign = self.campaign(exposures[i].model, fences);
            campaign.request.campaign = CampaignSpec::Repeat(strategy);
            campaign.request.restart = Restart::InPlace;
            campaign.request.keep_traces = true;
            campaign.request.details = Some(Vec::new());
            campaign.deadline = self.last_look();
            let mut results = self.run(&campaign)?;
            if let Some(Traced { trace, frames, length, .. }) = traces(&mut results).pop() {
                again[i] = Some(self.again(trace, &frames, length, exposures[i]));
            }
        }
        Ok(again)
    }

    fn point(&self, point: u32) -> CyclePoint {
        let ProgramPoint { reads, writes, .. } = self.points.points[point as usize];
        CyclePoint { labels: self.points.sites_of[point as usize].clone(), reads, writes }
    }

    fn points(&self) -> &[ProgramPoint] {
        &self.points.points
    }

    fn describe(&self) -> Rc<dyn Describe> {
        self.symbolizer.clone()
    }

    fn name(&self) -> String {
        self.program.name.clone()
    }

    fn recording(&self, model: Model, strategy: StrategySpec, digest: String) -> Recording {
        let plan = self.plan(model, strategy);
        let request = self.campaign(model, &[]).request;
        Recording::native(Command::Hunt, self.program, plan, &request, None, digest)
    }
}

/// The trace of an execution.
struct Traced {
    execution: u64,
    trace: Trace,
    frames: Vec<Frame>,
    /// How many events it had before some were left out.
    length: u64,
}

/// The traces among results, in the order of their executions.
fn traces(results: &mut Results) -> Vec<Traced> {
    let mut traces: Vec<Traced> = Vec::new();
    for record in std::mem::take(&mut results.traces) {
        if let Record::Trace { execution, trace, places: frames, length } = record {
            traces.push(Traced { execution, trace, frames, length });
        }
    }
    traces.sort_by_key(|traced| traced.execution);
    traces
}

/// What an exploration came to.
fn explored(results: &Results) -> Explored {
    let (complete, executions) =
        results.explored.map_or((false, 0), |explored| (explored.complete, explored.executions));
    Explored { complete, executions, ..Explored::default() }
}

/// Attempts in pieces that fit a request, each with the number of its first.
fn pieces(attempts: &[Attempt]) -> Vec<(usize, Vec<Task>)> {
    let mut pieces: Vec<(usize, Vec<Task>)> = Vec::new();
    let mut room = 0;
    for (i, attempt) in attempts.iter().enumerate() {
        let task = Task { id: i as u32, cycle: attempt.cycle.clone(), strategy: attempt.strategy.clone() };
        let size = weight(&task);
        if pieces.is_empty() || size > room {
            pieces.push((i, Vec::new()));
            room = LONGEST;
        }
        room = room.saturating_sub(size);
        pieces.last_mut().expect("there is one").1.push(task);
    }
    pieces
}

/// How much of a request a task takes, about. The number is part of what a seed means, since seeds are counted by
/// piece: it is the length of the task's description without what follows from the cycle.
fn weight(task: &Task) -> usize {
    let length = |text: serde_json::Result<Vec<u8>>| text.map_or(0, |text| text.len());
    let own = match &task.strategy {
        StrategySpec::Schedule { schedule, .. } => length(serde_json::to_vec(schedule)),
        StrategySpec::Relaxer { options, .. } => length(serde_json::to_vec(options)),
        StrategySpec::Orion { options, .. } => length(serde_json::to_vec(options)) - 1,
        other => length(serde_json::to_vec(other)) - FOLLOW,
    };
    const FOLLOW: usize = r#""strategy":"follow","#.len();
    const FRAME: usize = r#"{"id":,"cycle":,"method":"solve",}"#.len() - 1;
    length(serde_json::to_vec(&task.id)) + length(serde_json::to_vec(&task.cycle)) + own + FRAME
}
