//! Prediction, trials, confirmation.

use super::{Again, Attempt, Exposure, Options, Place, Quarry, Seen};
use crate::digest;
use crate::error::Error;
use fencepost_memory::axioms::{self, Execution, Violation};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_predict::critical::{Graph, Instance, Limits, Node};
use fencepost_predict::solve::{Places, Solver};
use fencepost_trace::{Cycle, Event, FenceOrder, Model, Points, Schedule, Severity, Stop, StrategySpec, Trace};
use rustc_hash::{FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many schedules of one cycle are followed.
const SCHEDULES: usize = 5;
/// So many that work are enough, and so many that do not: then something else may be better.
const GOOD: usize = 5;
const FAILED: usize = 2;
/// How often schedules are solved for, each time with what was learned.
const STAGES: usize = 4;
/// How many trials the published strategies have at a time before it is asked what was learned, and how often.
/// Relaxer's leaves more to chance.
const BIASED: u64 = 2;
const EXACT: u64 = 1;
const REPEATS: usize = 3;
/// From how many violations is learned at a time.
const LESSONS: usize = 200;
/// So many executions at a time, so that a limit of time is kept.
const PORTION: u64 = 4_000;

/// How many harmful cycles are asked which of them are to blame.
const BLAMED: usize = 200;

/// Of a witness with more events than this only the beginning is held against the axioms.
const LONGEST: usize = 1_000;

/// A hunt under way.
pub struct Chase {
    pub seen: Seen,
    pub cycles: Vec<Chased>,
    /// Were all cycles enumerated and tried?
    pub complete: bool,
    pub executions: u64,
    pub blocked: u64,
    /// How long the prediction took.
    pub prediction: Duration,
}

/// A cycle and what became of it.
pub struct Chased {
    pub cycle: Cycle,
    pub instances: Vec<Instance>,
    /// The models that can reorder it.
    pub models: Vec<Model>,
    pub trials: u64,
    pub exposed: u64,
    pub harmful: u64,
    /// What brought it about.
    pub method: Option<&'static str>,
    /// The execution that shows it: a harmful one, if there is one.
    pub witness: Option<Witness>,
    /// Has that been learned from?
    learned: bool,
    /// Is it one of the few harmful cycles that together explain every failure?
    pub guilty: bool,
}

/// An execution that shows a cycle.
pub struct Witness {
    pub exposure: Exposure,
    /// The digest of its trace, once it has been run again.
    pub digest: String,
}

impl Chased {
    /// The threads that took part, one for each segment.
    pub fn threads(&self) -> Vec<u32> {
        let first = self.instances.first().map(Vec::as_slice).unwrap_or_default();
        first.iter().map(|(node, _)| node.thread).collect()
    }

    pub fn outcome(&self) -> Severity {
        match (self.harmful, self.exposed) {
            (0, 0) => Severity::Infeasible,
            (0, _) => Severity::Benign,
            _ => Severity::Harmful,
        }
    }

    /// How many of its pairs only a full fence keeps in order: a store before a load.
    fn full_fences(&self) -> usize {
        let first = self.instances.first().map(Vec::as_slice).unwrap_or_default();
        let full = |(a, b): &&(Node, Option<Node>)| !a.access.0 && b.is_some_and(|b| !b.access.1);
        first.iter().filter(full).count()
    }

    fn note(&mut self, exposure: Exposure, method: &'static str) {
        self.exposed += 1;
        self.harmful += u64::from(exposure.harm.is_some());
        self.method = self.method.or(Some(method));
        let better = match &self.witness {
            None => true,
            Some(witness) => witness.exposure.harm.is_none() && exposure.harm.is_some(),
        };
        if better && !exposure.choices.is_empty() {
            self.witness = Some(Witness { exposure, digest: String::new() });
        }
    }
}

/// Is there no time left?
pub fn is_late(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Predicts and tries.
pub fn chase(
    quarry: &mut impl Quarry,
    options: &Options,
    fences: &[(Place, FenceOrder)],
    deadline: Option<Instant>,
) -> Result<Chase, Error> {
    let seen = quarry.observe(fences)?;
    let started = Instant::now();
    let limits = Limits { length: options.length, until: deadline, ..Limits::default() };
    let found = Graph::new(&seen.profiles, options.model).cycles(limits);
    let prediction = started.elapsed();
    let mut cycles: Vec<Chased> = found
        .cycles
        .into_iter()
        .map(|(cycle, instances)| Chased {
            cycle,
            instances,
            models: Vec::new(),
            trials: 0,
            exposed: 0,
            harmful: 0,
            method: None,
            witness: None,
            learned: false,
            guilty: false,
        })
        .collect();
    for model in [Model::Tso, Model::Pso, Model::Pslo] {
        let possible = match model == options.model {
            true => None,
            false if is_late(deadline) => Some(BTreeMap::new()),
            false => Some(Graph::new(&seen.profiles, model).cycles(Limits { instances: 0, ..limits }).cycles),
        };
        for chased in &mut cycles {
            if possible.as_ref().is_none_or(|possible| possible.contains_key(&chased.cycle)) {
                chased.models.push(model);
            }
        }
    }
    let (executions, blocked, unjudged) = (seen.executions, seen.blocked, seen.unjudged);
    let mut chase = Chase {
        seen,
        cycles,
        complete: found.complete && !unjudged && !is_late(deadline),
        executions,
        blocked,
        prediction,
    };
    trials(quarry, options, fences, deadline, &mut chase)?;
    Ok(chase)
}

/// Executions that schedules are made from.
struct Lessons {
    profiles: Vec<Profile>,
    /// How many of them have been solved with.
    known: usize,
    /// What threads did in them.
    met: FxHashSet<u64>,
    /// For each cycle the schedules that have not been followed.
    spare: Vec<Vec<Schedule>>,
}

/// Can a schedule be made from it?
fn is_short(profile: &Profile) -> bool {
    profile.threads.iter().map(Vec::len).sum::<usize>() <= LONGEST
}

impl Lessons {
    /// Keeps executions that no other is like.
    fn add(&mut self, profiles: impl IntoIterator<Item = Profile>) {
        for profile in profiles.into_iter().filter(is_short) {
            let digests: Vec<u64> = profile.digests().collect();
            let mut hasher = FxHasher::default();
            digests.hash(&mut hasher);
            if self.met.insert(hasher.finish()) {
                self.met.extend(digests);
                self.profiles.push(profile);
            }
        }
    }

    /// Keeps those that show a thread do something new: there may be many.
    fn add_new(&mut self, profiles: impl IntoIterator<Item = Profile>) {
        for profile in profiles.into_iter().filter(is_short) {
            if profile.digests().filter(|digest| self.met.insert(*digest)).count() > 0 {
                self.profiles.push(profile);
            }
        }
    }

    /// Schedules for these cycles that what was added since the last time gives.
    fn solve(&mut self, cycles: &[&Chased], mixed: bool, options: &Options) -> Vec<Vec<Schedule>> {
        let known = std::mem::replace(&mut self.known, self.profiles.len());
        if known == self.profiles.len() {
            return vec![Vec::new(); cycles.len()];
        }
        let solver = Solver::new(&self.profiles, known, options.model);
        let next = AtomicUsize::new(0);
        let mut schedules: Vec<(usize, Vec<Schedule>)> = std::thread::scope(|scope| {
            let work = || {
                let (mut done, mut places) = (Vec::new(), Places::default());
                while let Some((i, chased)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cycles.get(i).map(|chased| (i, chased))
                } {
                    // Without time there is nobody to follow them.
                    let schedules = match is_late(options.deadline) {
                        true => Vec::new(),
                        false => solver.schedules(&chased.instances, SCHEDULES, mixed, &mut places),
                    };
                    done.push((i, schedules));
                }
                done
            };
            let workers: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("the solver does not panic")).collect()
        });
        schedules.sort_by_key(|(i, _)| *i);
        schedules.into_iter().map(|(_, schedules)| schedules).collect()
    }
}

/// The trials. Each cycle has schedules, and each schedule is tried once, until a few have worked; then those share what
/// is left of the trials. Where none works, executions with reordering may give new schedules: threads that have read
/// what they never read without reordering do new things. They are executions at random, and the violations of other
/// cycles. Where still none works, the two published strategies have a few trials; if one of them is successful, its
/// execution gives a schedule for the rest.
fn trials(
    quarry: &mut impl Quarry,
    options: &Options,
    fences: &[(Place, FenceOrder)],
    deadline: Option<Instant>,
    chase: &mut Chase,
) -> Result<(), Error> {
    let mut round = Round { quarry, options, fences, deadline, number: 0 };
    let mut good: Vec<Vec<Schedule>> = vec![Vec::new(); chase.cycles.len()];
    if options.ways.solve {
        let mut lessons = Lessons {
            profiles: chase.seen.profiles.clone(),
            known: 0,
            met: FxHashSet::default(),
            spare: vec![Vec::new(); good.len()],
        };
        lessons.met.extend(chase.seen.profiles.iter().flat_map(Profile::digests));
        for stage in 0..STAGES {
            if stage == 1 && good.iter().any(Vec::is_empty) {
                let strayed = round.quarry.stray(fences)?;
                chase.executions += strayed.executions;
                chase.blocked += strayed.blocked;
                lessons.add_new(strayed.profiles);
            }
            round.solve(chase, &mut lessons, stage <= 2, &mut good)?;
        }
        // What was put aside because something else looked better.
        let open: Vec<usize> = (0..good.len()).filter(|i| good[*i].is_empty()).collect();
        let schedules: Vec<Vec<Schedule>> = open.iter().map(|i| std::mem::take(&mut lessons.spare[*i])).collect();
        round.probe(chase, &open, schedules, &mut good, &mut lessons.spare)?;
        // A few trials of each published strategy at a time; what they expose gives a schedule for the rest.
        for _ in 0..REPEATS {
            let mut work: BTreeMap<(u64, &'static str), Vec<(usize, StrategySpec)>> = BTreeMap::new();
            for i in (0..good.len()).filter(|i| good[*i].is_empty()) {
                let mut left = options.trials.saturating_sub(chase.cycles[i].trials);
                for (name, strategy) in published(options, round.quarry, &chase.cycles[i].cycle) {
                    let share = left.min(if name == RELAXER { BIASED } else { EXACT });
                    left -= share;
                    work.entry((share, name)).or_default().push((i, strategy));
                }
            }
            round.work(chase, work)?;
            round.solve(chase, &mut lessons, false, &mut good)?;
        }
    }
    // What is left is divided among the schedules that worked, or among the strategies.
    let mut work: BTreeMap<(u64, &'static str), Vec<(usize, StrategySpec)>> = BTreeMap::new();
    for (i, schedules) in good.into_iter().enumerate() {
        let mut ways: Vec<(&'static str, StrategySpec)> =
            schedules.into_iter().map(|schedule| (SOLVED, on(schedule))).collect();
        if ways.is_empty() && (!options.ways.solve || chase.cycles[i].exposed > 0) {
            ways = published(options, round.quarry, &chase.cycles[i].cycle);
        }
        let (left, n) = (options.trials.saturating_sub(chase.cycles[i].trials), ways.len() as u64);
        for (k, (name, strategy)) in ways.into_iter().enumerate() {
            let share = left / n + u64::from((k as u64) < left % n);
            work.entry((share, name)).or_default().push((i, strategy));
        }
    }
    round.work(chase, work)
}

/// The names of methods, as reports have them.
const SOLVED: &str = "course";
const RELAXER: &str = "relaxer";
const ORION: &str = "orion";

/// On a schedule that was solved for.
fn on(schedule: Schedule) -> StrategySpec {
    StrategySpec::Schedule { seed: 0, schedule }
}

/// The published strategies that are asked for, for one cycle.
fn published(options: &Options, quarry: &impl Quarry, cycle: &Cycle) -> Vec<(&'static str, StrategySpec)> {
    let relaxer = options.ways.relaxer.map(|options| {
        let points = Points::of(cycle, |point| quarry.point(point).labels);
        (RELAXER, StrategySpec::Relaxer { seed: 0, points, options })
    });
    let model = options.model;
    let orion = options.ways.orion.map(|options| {
        let stops = Stop::of(cycle, model, |point| quarry.point(point));
        (ORION, StrategySpec::Orion { seed: 0, stops, options })
    });
    relaxer.into_iter().chain(orion).collect()
}

struct Round<'a, Q> {
    quarry: &'a mut Q,
    options: &'a Options,
    fences: &'a [(Place, FenceOrder)],
    deadline: Option<Instant>,
    number: u64,
}

impl<Q: Quarry> Round<'_, Q> {
    /// Solves for the cycles that have no schedule yet, with what was learned, and tries the schedules.
    fn solve(
        &mut self,
        chase: &mut Chase,
        lessons: &mut Lessons,
        mixed: bool,
        good: &mut [Vec<Schedule>],
    ) -> Result<(), Error> {
        let open: Vec<usize> = (0..good.len()).filter(|i| good[*i].is_empty()).collect();
        if open.is_empty() {
            return Ok(());
        }
        lessons.add(self.learn(chase)?);
        let cycles: Vec<&Chased> = open.iter().map(|i| &chase.cycles[*i]).collect();
        let schedules = lessons.solve(&cycles, mixed, self.options);
        self.probe(chase, &open, schedules, good, &mut lessons.spare)
    }

    /// Tries the schedules of some cycles, each once, until a few have worked or some have failed.
    fn probe(
        &mut self,
        chase: &mut Chase,
        cycles: &[usize],
        schedules: Vec<Vec<Schedule>>,
        good: &mut [Vec<Schedule>],
        spare: &mut [Vec<Schedule>],
    ) -> Result<(), Error> {
        for k in 0..schedules.iter().map(Vec::len).max().unwrap_or(0) {
            let mut attempts: Vec<(usize, StrategySpec)> = Vec::new();
            for (i, schedules) in cycles.iter().zip(&schedules) {
                let Some(schedule) = schedules.get(k) else { continue };
                let enough = good[*i].len() >= GOOD || k.saturating_sub(good[*i].len()) >= FAILED;
                if enough || chase.cycles[*i].trials >= self.options.trials {
                    spare[*i].push(schedule.clone());
                } else {
                    attempts.push((*i, on(schedule.clone())));
                }
            }
            for attempt in self.run(chase, &attempts, 1, SOLVED)? {
                let (i, strategy) = &attempts[attempt];
                if let StrategySpec::Schedule { schedule, .. } = strategy {
                    good[*i].push(schedule.clone());
                }
            }
        }
        Ok(())
    }

    /// The executions of violations that nothing has been learned from.
    fn learn(&mut self, chase: &mut Chase) -> Result<Vec<Profile>, Error> {
        let new = chase.cycles.iter_mut().filter(|chased| chased.witness.is_some() && !chased.learned);
        let mut exposures: Vec<&Exposure> = Vec::new();
        for chased in new.take(LESSONS) {
            chased.learned = true;
            exposures.extend(chased.witness.as_ref().map(|witness| &witness.exposure));
        }
        if exposures.is_empty() {
            return Ok(Vec::new());
        }
        let again = self.quarry.again(&exposures, self.fences)?.into_iter().flatten();
        Ok(again.map(|again| Profile::new(&again.trace, |event| again.names[event.id.index() - 1])).collect())
    }

    /// Many attempts, by how often each is made and by what.
    fn work(
        &mut self,
        chase: &mut Chase,
        work: BTreeMap<(u64, &'static str), Vec<(usize, StrategySpec)>>,
    ) -> Result<(), Error> {
        for ((trials, name), attempts) in work {
            if trials > 0 {
                self.run(chase, &attempts, trials, name)?;
            }
        }
        Ok(())
    }

    /// Makes attempts, each so often. Those that were successful.
    fn run(
        &mut self,
        chase: &mut Chase,
        attempts: &[(usize, StrategySpec)],
        trials: u64,
        name: &'static str,
    ) -> Result<Vec<usize>, Error> {
        self.number += 1;
        let mut good = Vec::new();
        let portion = (PORTION / trials).max(100) as usize;
        for (part, list) in attempts.chunks(portion).enumerate() {
            if is_late(self.deadline) {
                chase.complete = false;
                return Ok(good);
            }
            let asked: Vec<Attempt> = list
                .iter()
                .map(|(i, strategy)| Attempt { cycle: chase.cycles[*i].cycle.clone(), strategy: strategy.clone() })
                .collect();
            let number = self.number << 20 | part as u64;
            let (blocked, exposures) = self.quarry.attempt(&asked, trials, number, self.fences)?;
            chase.complete &= !is_late(self.deadline);
            chase.blocked += blocked;
            chase.executions += trials * list.len() as u64;
            list.iter().for_each(|(i, _)| chase.cycles[*i].trials += trials);
            for exposure in exposures {
                let attempt = exposure.attempt;
                good.push(portion * part + attempt);
                chase.cycles[list[attempt].0].note(exposure, name);
            }
        }
        good.sort_unstable();
        good.dedup();
        Ok(good)
    }
}

/// Runs the execution of every cycle that was brought about again: it must be the same, the model's axioms must
/// accept it, those of sequential consistency must not, and the cycle must be in it. What fails that is not counted,
/// and said.
pub fn verify(quarry: &mut impl Quarry, model: Model, chase: &mut Chase) -> Result<(), Error> {
    let exposures: Vec<&Exposure> =
        chase.cycles.iter().filter_map(|chased| Some(&chased.witness.as_ref()?.exposure)).collect();
    let again = quarry.again(&exposures, &[])?;
    let chased = chase.cycles.iter_mut().filter(|chased| chased.witness.is_some());
    for (chased, again) in chased.zip(&again) {
        let problem = match again {
            None => Some("its execution left no trace".to_owned()),
            Some(again) => match examine(again, &chased.cycle, model) {
                Ok(()) => {
                    if let Some(witness) = &mut chased.witness {
                        witness.digest = digest::of_trace(&again.trace);
                    }
                    None
                }
                Err(problem) => Some(problem),
            },
        };
        if let Some(problem) = problem {
            let labels: Vec<u32> = chased.cycle.labels().collect();
            chase.seen.notes.push(format!("a cycle ({labels:?}) was not counted: {problem}"));
            eprintln!("note: a cycle was not counted: {problem}");
            (chased.exposed, chased.harmful, chased.witness) = (0, 0, None);
        }
    }
    Ok(())
}

/// Says which harmful cycles are to blame. An execution that fails may contain several, of which one would have been
/// enough: so the fewest are looked for that leave no failure unexplained: first those that explain most, then those
/// that take the least to prevent, then those that hurt most reliably.
pub fn blame(quarry: &mut impl Quarry, chase: &mut Chase, fences: &[(Place, FenceOrder)]) -> Result<(), Error> {
    let harmful: Vec<usize> = (0..chase.cycles.len()).filter(|i| chase.cycles[*i].harmful > 0).take(BLAMED).collect();
    let harm = |i: &usize| Some(&chase.cycles[*i].witness.as_ref()?.exposure);
    let (witnessed, exposures): (Vec<usize>, Vec<&Exposure>) =
        harmful.iter().filter_map(|i| Some((*i, harm(i)?))).unzip();
    let again = quarry.again(&exposures, fences)?;
    let point = |again: &Again, event: &Event| again.names[event.id.index() - 1].0;
    // For each failure the cycles that are in it.
    let mut unexplained: Vec<Vec<usize>> = Vec::new();
    for (own, again) in witnessed.iter().zip(&again) {
        let is_in = |i: &usize| {
            i == own
                || again.as_ref().is_some_and(|again| {
                    confirm(&again.trace, &chase.cycles[*i].cycle, |event| point(again, event)).is_some()
                })
        };
        unexplained.push(harmful.iter().copied().filter(is_in).collect());
    }
    while !unexplained.is_empty() {
        let rate = |i: &usize| {
            let chased = &chase.cycles[*i];
            let explains = unexplained.iter().filter(|cycles| cycles.contains(i)).count();
            (
                explains,
                std::cmp::Reverse(chased.full_fences()),
                100 * chased.harmful / chased.trials.max(1),
                std::cmp::Reverse((chased.cycle.length(), *i)),
            )
        };
        let Some(best) = harmful.iter().copied().max_by_key(rate) else { break };
        chase.cycles[best].guilty = true;
        unexplained.retain(|cycles| !cycles.contains(&best));
    }
    Ok(())
}

/// Is it an execution of the model, but not of sequential consistency, with the cycle in it?
fn examine(again: &Again, cycle: &Cycle, model: Model) -> Result<(), String> {
    let point = |event: &Event| again.names[event.id.index() - 1].0;
    let Some(events) = confirm(&again.trace, cycle, point) else {
        return Err("its execution does not repeat".to_owned());
    };
    // The models are closed under prefixes: of a long execution the part up to the end of the cycle is looked at.
    let end = events.iter().map(|event| event.index()).max().unwrap_or(0);
    let short = again.trace.events.len() <= LONGEST;
    let trace = if short { again.trace.clone() } else { prefix(&again.trace, end) };
    let wrong = |violation: Violation| format!("its execution is not one of {model}: {violation}");
    let execution = Execution::from_trace(&trace).map_err(wrong)?;
    axioms::consistent(&execution, model).map_err(wrong)?;
    match axioms::consistent(&execution, Model::Sc) {
        Ok(()) => Err("its execution is sequentially consistent".to_owned()),
        Err(_) => Ok(()),
    }
}

/// The first events of a trace.
fn prefix(trace: &Trace, length: usize) -> Trace {
    let mut trace = trace.clone();
    trace.events.truncate(length);
    for list in &mut trace.coherence {
        list.stores.retain(|store| store.index() <= length);
    }
    trace
}
