//! Native programs.

use super::{Again, Attempt, Exposure, Options, Place, PointName, Quarry, STRAYS, Seen, Strayed};
use crate::error::{Error, Status};
use crate::native::{Program, Words, campaign, finding, restarted, specify};
use crate::recording::Recording;
use crate::screen::Screen;
use fencepost_mailbox::{Fence, Frame, Hunt, Observations, Point, Record, Restart, output_fingerprint};
use fencepost_native::host::{self, Campaign, Results};
use fencepost_predict::Profile;
use fencepost_report::Describe;
use fencepost_trace::{
    CampaignSpec, Cycle, CyclePoint, Event, EventKind, Failure, FenceOrder, Finding, FindingKind, Label, Limits, Model,
    Outcome, Plan, Sampling, Scheduler, Segment, StrategySpec, Task, ThreadId, Trace, Trials, execution_seed,
};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 100_000;
/// How many executions show what the program prints without reordering, if it prints anything.
const OUTPUTS: u64 = 2_000;
/// How long violations are looked at again if there is no time left.
const LAST_LOOK: Duration = Duration::from_millis(100);
/// How long a request can be.
const LONGEST: usize = 2 << 20;

/// Hunts a native program.
pub fn native(program: &Program, options: &Options, screen: &mut Screen) -> Result<Status, Error> {
    program.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let words = Words::of(program);
    let mut prey = Prey {
        program,
        options,
        words,
        spots: Vec::new(),
        spot_names: FxHashMap::default(),
        points: Vec::new(),
        point_spots: Vec::new(),
        point_names: FxHashMap::default(),
        at: FxHashMap::default(),
        outputs: Vec::new(),
        failures: Vec::new(),
        longest: 0,
        restart: Restart::Auto,
        outcomes: None,
        judged: true,
    };
    let mut campaign = prey.campaign(Model::Sc, &[]);
    prey.judged = specify(program, options.spec, &mut campaign, screen)?;
    prey.outcomes = campaign.request.spec;
    super::run(&mut prey, options, screen)
}

struct Prey<'a> {
    program: &'a Program,
    options: &'a Options,
    words: Words,
    /// Places in the code.
    spots: Vec<Frame>,
    spot_names: FxHashMap<Frame, u32>,
    /// Program points: places that are the same to whoever reads the source.
    points: Vec<PointName>,
    point_spots: Vec<Vec<u32>>,
    point_names: FxHashMap<(Label, u64, bool, bool), u32>,
    /// The program point of a spot and what is done there.
    at: FxHashMap<(u32, bool, bool), u32>,
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

impl Prey<'_> {
    fn plan(&self, model: Model, strategy: StrategySpec) -> Plan {
        // An execution that goes on for much longer than without reordering does not end.
        let usual = if model == Model::Sc { MAX_STEPS } else { (4 * self.longest + 2_000).min(MAX_STEPS) };
        let limits = Limits { max_steps: self.options.max_steps.unwrap_or(usual) };
        let buffer = if model == Model::Sc { None } else { self.options.buffer };
        Plan { model, buffer, strategy, limits }
    }

    fn campaign(&self, model: Model, fences: &[(Place, FenceOrder)]) -> Campaign {
        let plan = self
            .plan(model, StrategySpec::Random { seed: self.options.seed, sampling: Sampling::with(Scheduler::Random) });
        let mut campaign = campaign(self.program, &plan, self.restart, Some(self.options.timeout));
        campaign.jobs = self.options.jobs;
        campaign.deadline = self.options.deadline;
        campaign.request.spec.clone_from(&self.outcomes);
        for (place, order) in fences {
            let spots = &self.point_spots[place.point as usize];
            campaign.request.fences.extend(spots.iter().map(|spot| Fence {
                place: self.spots[*spot as usize].clone(),
                before: place.before,
                order: *order,
            }));
        }
        campaign
    }

    fn run(&self, campaign: &Campaign) -> Result<Results, Error> {
        host::run_campaign(campaign).map_err(|error| Error::target(&self.program.name, error.to_string()))
    }

    fn spot(&mut self, frame: &Frame) -> u32 {
        if let Some(spot) = self.spot_names.get(frame) {
            return *spot;
        }
        let spot = self.spots.len() as u32;
        self.spots.push(frame.clone());
        self.spot_names.insert(frame.clone(), spot);
        spot
    }

    fn point(&mut self, spot: u32, reads: bool, writes: bool) -> u32 {
        if let Some(point) = self.at.get(&(spot, reads, writes)) {
            return *point;
        }
        let frame = &self.spots[spot as usize];
        let label = self.words.label(frame);
        // Without a line in the source, the place in the code tells points apart.
        let offset = if label.line == 0 { frame.offset } else { 0 };
        let key = (label.clone(), offset, reads, writes);
        let fresh = self.points.len() as u32;
        let point = *self.point_names.entry(key).or_insert(fresh);
        if point == fresh {
            self.points.push(PointName { label, reads, writes });
            self.point_spots.push(Vec::new());
        }
        self.point_spots[point as usize].push(spot);
        self.at.insert((spot, reads, writes), point);
        point
    }

    /// For each event of a trace its program point and its spot.
    fn names(&mut self, trace: &Trace, places: &[Frame]) -> Vec<(u32, u32)> {
        let spots: Vec<u32> = places.iter().map(|place| self.spot(place)).collect();
        trace
            .events
            .iter()
            .map(|event| {
                let spot = spots[event.label as usize];
                let point = match kind(event) {
                    Some((reads, writes)) => self.point(spot, reads, writes),
                    None => u32::MAX,
                };
                (point, spot)
            })
            .collect()
    }
}

/// Does the event read, does it write? `None` for fences and commits.
fn kind(event: &Event) -> Option<(bool, bool)> {
    match event.kind {
        EventKind::Load { .. } => Some((true, false)),
        EventKind::Store { .. } => Some((false, true)),
        EventKind::Rmw { .. } => Some((true, true)),
        EventKind::Fence { .. } | EventKind::Commit { .. } => None,
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

/// The executions that were cut off.
fn blocked(results: &Results) -> u64 {
    ["step-limit", "timeout"].iter().filter_map(|end| results.ended.get(end)).sum()
}

impl Quarry for Prey<'_> {
    fn observe(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Seen, Error> {
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
            let reason = restarted(&results, &self.words).reason;
            let because = reason.map_or_else(String::new, |reason| format!(", because {reason}"));
            seen.notes.push(format!("every execution is run in a process of its own{because}: this takes longer"));
        }
        if (traces.len() as u64) < results.executions {
            let (kept, all) = (traces.len(), results.executions);
            seen.notes.push(format!("only {kept} of {all} executions fit the memory for traces: try fewer"));
        }
        for (_, trace, places) in &traces {
            if super::chase::is_late(self.options.deadline) {
                break;
            }
            self.longest = self.longest.max(trace.events.len() as u64);
            let names = self.names(trace, places);
            seen.profiles.push(Profile::new(trace, |event| names[event.id.index() - 1]));
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
        seen.failures = results.found.iter().enumerate().map(|(i, f)| finding(i as u32 + 1, f, &self.words)).collect();
        seen.notes.extend(results.notes);
        Ok(seen)
    }

    fn stray(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Strayed, Error> {
        let mut campaign = self.campaign(self.options.model, fences);
        campaign.request.campaign = CampaignSpec::Sample { seed: self.options.seed, sampling: Sampling::default() };
        campaign.request.count = STRAYS;
        campaign.request.keep_traces = true;
        let mut results = self.run(&campaign)?;
        let mut strayed = Strayed { executions: results.executions, blocked: blocked(&results), ..Strayed::default() };
        for (_, trace, places) in traces(&mut results) {
            let names = self.names(&trace, &places);
            strayed.profiles.push(Profile::new(&trace, |event| names[event.id.index() - 1]));
        }
        Ok(strayed)
    }

    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        round: u64,
        fences: &[(Place, FenceOrder)],
    ) -> Result<(u64, Vec<Exposure>), Error> {
        let mut exposures = Vec::new();
        let mut cut_off = 0;
        for (first, tasks) in self.pieces(attempts) {
            let count = tasks.len() as u64 * trials;
            let (mut results, offset) = (Results::default(), first as u64 * trials);
            self.follow(tasks, trials, execution_seed(self.options.seed, round), fences, count, false, &mut results)?;
            cut_off += blocked(&results);
            for record in results.exposed {
                if let Record::Exposed { task, execution, harm, failures, choices } = record {
                    let execution = execution + offset;
                    let harm = harm.map(|harm| self.words.named(&harm));
                    exposures.push(Exposure { attempt: task as usize, execution, harm, failures, choices });
                }
            }
        }
        exposures.sort_by_key(|exposure| exposure.execution);
        Ok((cut_off, exposures))
    }

    fn again(&mut self, exposures: &[&Exposure], fences: &[(Place, FenceOrder)]) -> Result<Vec<Option<Again>>, Error> {
        let attempts: Vec<Attempt> = exposures
            .iter()
            .map(|exposure| Attempt {
                cycle: Cycle { segments: vec![Segment { first: u32::MAX - 1, second: None }] },
                strategy: StrategySpec::Follow { choices: exposure.choices.clone() },
            })
            .collect();
        let mut again: Vec<Option<Again>> = exposures.iter().map(|_| None).collect();
        for (first, tasks) in self.pieces(&attempts) {
            let mut results = Results::default();
            let count = tasks.len() as u64;
            self.follow(tasks, 1, self.options.seed, fences, count, true, &mut results)?;
            for record in results.traces {
                if let Record::Trace { execution, mut trace, places } = record {
                    let names = self.names(&trace, &places);
                    self.words.fill(&mut trace, &places);
                    let index = first + execution as usize;
                    exposures[index].failures.iter().for_each(|failure| ended_by(&mut trace, *failure));
                    again[index] = Some(Again { trace, names });
                }
            }
        }
        Ok(again)
    }

    fn point(&self, point: u32) -> CyclePoint {
        let PointName { reads, writes, .. } = self.points[point as usize];
        CyclePoint { labels: self.point_spots[point as usize].clone(), reads, writes }
    }

    fn points(&self) -> &[PointName] {
        &self.points
    }

    fn words(&self) -> &dyn Describe {
        &self.words
    }

    fn name(&self) -> String {
        self.program.name.clone()
    }

    fn record(&self, finding: &Finding, choices: &[u32], digest: String) -> Result<String, Error> {
        let path = self.options.out.join(format!("finding-{}.json", finding.id));
        let mut finding = finding.clone();
        finding.replay = Some(path.display().to_string());
        let plan = self.plan(self.options.model, StrategySpec::Follow { choices: choices.to_vec() });
        let request = self.campaign(self.options.model, &[]).request;
        Recording::native("hunt", self.program, plan, &request, None, digest, &finding).write(
            &self.options.out,
            &format!("finding-{}", finding.id),
            None,
        )?;
        Ok(path.display().to_string())
    }
}

impl Prey<'_> {
    /// Attempts in pieces that fit a request, each with the number of its first.
    fn pieces(&self, attempts: &[Attempt]) -> Vec<(usize, Vec<Task>)> {
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

    #[allow(clippy::too_many_arguments)]
    fn follow(
        &self,
        tasks: Vec<Task>,
        trials: u64,
        seed: u64,
        fences: &[(Place, FenceOrder)],
        count: u64,
        traces: bool,
        results: &mut Results,
    ) -> Result<(), Error> {
        let mut campaign = self.campaign(self.options.model, fences);
        if traces {
            // What has been found is to be verified, and that has a little time in any case.
            campaign.deadline = campaign.deadline.map(|deadline| deadline.max(Instant::now() + LAST_LOOK));
        }
        let points = self.points.iter().zip(&self.point_spots);
        campaign.request.campaign = CampaignSpec::Hunt(Trials { seed, each: trials, tasks });
        campaign.request.hunt = Some(Hunt {
            spots: self.spots.clone(),
            points: points
                .map(|(point, spots)| Point { spots: spots.clone(), reads: point.reads, writes: point.writes })
                .collect(),
            outputs: self.outputs.clone(),
            failures: self.failures.clone(),
        });
        campaign.request.count = count;
        campaign.request.keep_traces = traces;
        *results = self.run(&campaign)?;
        Ok(())
    }
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
    const FRAME: usize = r#"{"id":,"cycle":,"method":"course",}"#.len() - 2;
    length(serde_json::to_vec(&task.id)) + length(serde_json::to_vec(&task.cycle)) + own + FRAME
}

/// The end that a failure gave the execution, which the engine has not seen: as a replay has it.
fn ended_by(trace: &mut Trace, (kind, thread): (FindingKind, Option<u32>)) {
    let failure = match kind {
        FindingKind::Assertion => Failure::Assertion,
        FindingKind::Abort => Failure::Abort,
        FindingKind::Panic => Failure::Panic,
        FindingKind::Crash => Failure::Crash,
        _ => return,
    };
    trace.outcome = Outcome::Failed { thread: ThreadId(thread.unwrap_or(0)), failure };
}
