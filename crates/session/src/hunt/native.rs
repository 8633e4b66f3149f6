//! Native programs.

use super::options::{Options, is_late};
use super::points::Points;
use super::subject::{
    Again, Attempt, EXPLAINED, Exposure, Fences, ProgramPoint, SAMPLES, Sampled, Seen, Subject, TESTED, Tested,
};
use crate::error::Error;
use crate::event::Log;
use crate::native::{Program, Symbolizer, blocked, campaign, ended_by, finding, restarted, specify};
use crate::recording::Recording;
use fencepost_mailbox::{Fence, Frame, Hunt, Observations, Record, Restart, output_fingerprint};
use fencepost_native::host::{self, Campaign, Results};
use fencepost_predict::Profile;
use fencepost_report::{Command, Describe};
use fencepost_trace::{
    CampaignSpec, Cycle, CyclePoint, Limits, Model, Plan, Sampling, Scheduler, Segment, StrategySpec, Task, ThreadId,
    Trace, Trials, execution_seed,
};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 100_000;
/// How many executions show what the program prints without reordering, if it prints anything.
const OUTPUTS: u64 = 2_000;
/// How long violations are looked at again if there is no time left.
const LAST_LOOK: Duration = Duration::from_millis(100);
/// How long a request can be.
const LONGEST: usize = 2 << 20;

/// A native program as the search sees it.
pub struct NativeSubject<'a> {
    program: &'a Program,
    options: &'a Options,
    symbolizer: Rc<Symbolizer>,
    points: Points,
    /// Fingerprints of what it prints and of how it fails without reordering.
    outputs: Vec<u64>,
    failures: Vec<u64>,
    /// How many events the longest execution without reordering has.
    longest: u64,
    /// How the program is put back to its beginning: by forking, once it was seen to need that.
    restart: Restart,
    /// The outcomes that atomic operations have, if it is to be held against them, and whether that could be done.
    outcomes: Option<Vec<Observations>>,
    judged: bool,
}

impl<'a> NativeSubject<'a> {
    /// Nothing is known of it yet but the outcomes that its specification permits.
    pub fn new(program: &'a Program, options: &'a Options, log: &mut Log<'_>) -> Result<NativeSubject<'a>, Error> {
        program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
        let mut subject = NativeSubject {
            program,
            options,
            symbolizer: Rc::new(Symbolizer::of(program)),
            points: Points::default(),
            outputs: Vec::new(),
            failures: Vec::new(),
            longest: 0,
            restart: Restart::Auto,
            outcomes: None,
            judged: true,
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
        Plan { model, buffer, strategy, limits }
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

    fn names(&mut self, trace: &Trace, frames: &[Frame]) -> Vec<(u32, u32)> {
        self.points.names(trace, frames, &self.symbolizer)
    }

    fn profile(&mut self, trace: &Trace, frames: &[Frame]) -> Profile {
        let names = self.names(trace, frames);
        Profile::new(trace, |event| names[event.id.index() - 1])
    }

    /// Makes trials together; are their traces wanted?
    fn follow(&self, trials: Trials, traced: bool, fences: &Fences) -> Result<Results, Error> {
        let mut campaign = self.campaign(self.options.model, fences);
        if traced {
            // What has been found is to be verified, and that has a little time in any case.
            campaign.deadline = campaign.deadline.map(|deadline| deadline.max(Instant::now() + LAST_LOOK));
            campaign.interruptible = false;
        }
        campaign.request.count = trials.tasks.len() as u64 * trials.each;
        campaign.request.keep_traces = traced;
        campaign.request.campaign = CampaignSpec::Hunt(trials);
        campaign.request.hunt = Some(Hunt {
            sites: self.points.sites.clone(),
            points: self.points.for_runtime(),
            outputs: self.outputs.clone(),
            failures: self.failures.clone(),
        });
        self.run(&campaign)
    }
}

impl Subject for NativeSubject<'_> {
    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error> {
        let mut campaign = self.campaign(Model::Sc, fences);
        campaign.request.campaign =
            CampaignSpec::Sample { seed: self.options.seed, sampling: Sampling::with(Scheduler::Random) };
        campaign.request.count = self.options.executions;
        campaign.request.keep_traces = true;
        campaign.request.keep_outputs = true;
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
        for (_, trace, frames) in &traces {
            if is_late(self.options.deadline) {
                break;
            }
            self.longest = self.longest.max(trace.events.len() as u64);
            seen.profiles.push(self.profile(trace, frames));
        }
        if results.outputs.keys().any(|text| !text.is_empty()) {
            campaign.request.keep_traces = false;
            campaign.request.first = self.options.executions;
            campaign.request.count = OUTPUTS;
            let more = self.run(&campaign)?;
            seen.executions += more.executions;
            host::merge(&mut results, more);
        }
        self.outputs = results.outputs.keys().map(|text| output_fingerprint(text)).collect();
        self.failures = results.found.iter().map(|found| found.report.fingerprint).collect();
        let failures = results.found.iter().enumerate();
        seen.failures = failures.map(|(i, found)| finding(i as u32 + 1, found, &self.symbolizer)).collect();
        seen.notes.extend(results.notes.iter().map(|note| self.symbolizer.note(note)));
        Ok(seen)
    }

    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error> {
        let mut campaign = self.campaign(self.options.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: self.options.seed, sampling: Sampling::default() };
        campaign.request.count = SAMPLES;
        campaign.request.keep_traces = true;
        let mut results = self.run(&campaign)?;
        let mut sampled = Sampled { executions: results.executions, blocked: blocked(&results), ..Sampled::default() };
        for (_, trace, frames) in traces(&mut results) {
            sampled.profiles.push(self.profile(&trace, &frames));
        }
        Ok(sampled)
    }

    fn test(&mut self, fences: &Fences) -> Result<Tested, Error> {
        let mut campaign = self.campaign(self.options.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: self.options.seed, sampling: Sampling::default() };
        campaign.request.count = TESTED;
        campaign.request.keep_outputs = true;
        let results = self.run(&campaign)?;
        let new = results.found.iter().filter(|found| !self.failures.contains(&found.report.fingerprint));
        let mut failing: Vec<Vec<u32>> = new.map(|found| found.report.choices.clone()).collect();
        let wrong = results.output_choices.iter().filter(|(text, _)| !self.outputs.contains(&output_fingerprint(text)));
        failing.extend(wrong.map(|(_, choices)| choices.clone()));
        failing.truncate(EXPLAINED);
        Ok(Tested { executions: results.executions, blocked: blocked(&results), failing })
    }

    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        round: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error> {
        let mut exposures = Vec::new();
        let mut cut_off = 0;
        for (first, tasks) in pieces(attempts) {
            let seed = execution_seed(self.options.seed, round);
            let results = self.follow(Trials { seed, each: trials, tasks }, false, fences)?;
            cut_off += blocked(&results);
            for record in results.exposed {
                if let Record::Exposed { task, execution, harm, failures, choices } = record {
                    let execution = execution + first as u64 * trials;
                    let harm = harm.map(|harm| self.symbolizer.named(&harm));
                    exposures.push(Exposure { attempt: task as usize, execution, harm, failures, choices });
                }
            }
        }
        exposures.sort_by_key(|exposure| exposure.execution);
        Ok((cut_off, exposures))
    }

    fn again(&mut self, exposures: &[&Exposure], fences: &Fences) -> Result<Vec<Option<Again>>, Error> {
        let attempts: Vec<Attempt> = exposures
            .iter()
            .map(|exposure| Attempt {
                cycle: Cycle { segments: vec![Segment { first: u32::MAX - 1, second: None }] },
                strategy: StrategySpec::Follow { choices: exposure.choices.clone() },
            })
            .collect();
        let mut again: Vec<Option<Again>> = exposures.iter().map(|_| None).collect();
        for (first, tasks) in pieces(&attempts) {
            let results = self.follow(Trials { seed: self.options.seed, each: 1, tasks }, true, fences)?;
            for record in results.traces {
                if let Record::Trace { execution, mut trace, places } = record {
                    let names = self.names(&trace, &places);
                    self.symbolizer.fill(&mut trace, &places);
                    let index = first + execution as usize;
                    for (kind, thread) in &exposures[index].failures {
                        ended_by(&mut trace, *kind, thread.map(ThreadId));
                    }
                    again[index] = Some(Again { trace, names });
                }
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

    fn recording(&self, choices: &[u32], digest: String) -> Recording {
        let plan = self.plan(self.options.model, StrategySpec::Follow { choices: choices.to_vec() });
        let request = self.campaign(self.options.model, &[]).request;
        Recording::native(Command::Hunt, self.program, plan, &request, None, digest)
    }
}

/// The traces among results, in the order of their executions.
fn traces(results: &mut Results) -> Vec<(u64, Trace, Vec<Frame>)> {
    let mut traces: Vec<(u64, Trace, Vec<Frame>)> = Vec::new();
    for record in std::mem::take(&mut results.traces) {
        if let Record::Trace { execution, trace, places } = record {
            traces.push((execution, trace, places));
        }
    }
    traces.sort_by_key(|(execution, ..)| *execution);
    traces
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
