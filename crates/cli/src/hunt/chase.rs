//! Prediction, trials, confirmation.

use super::{Again, Attempt, Exposure, Options, Place, Quarry, Seen};
use crate::digest;
use crate::error::Error;
use fencepost_memory::axioms::{self, Execution, Violation};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_predict::critical::{Graph, Instance, Limits};
use fencepost_predict::solve::Solver;
use fencepost_trace::{Course, Cycle, Event, FenceOrder, Method, Model, Severity, Trace};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many courses of one cycle are followed.
const COURSES: usize = 5;
/// So many that work are enough, and if one does, so many that do not.
const GOOD: usize = 5;
const FAILED: usize = 2;
/// How often courses are solved for, each time with what was learned.
const STAGES: usize = 3;
/// How many trials a published strategy has at a time before it is asked what was learned, and how often.
const FEW: u64 = 2;
const REPEATS: usize = 6;
/// From how many violations is learned.
const LESSONS: usize = 200;

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

/// Predicts and tries.
pub fn chase(
    quarry: &mut impl Quarry,
    options: &Options,
    fences: &[(Place, FenceOrder)],
    deadline: Option<Instant>,
) -> Result<Chase, Error> {
    let seen = quarry.observe(fences)?;
    let started = Instant::now();
    let limits = Limits { length: options.length, ..Limits::default() };
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
        })
        .collect();
    for model in [Model::Tso, Model::Pso, Model::Pslo] {
        let possible = match model == options.model {
            true => None,
            false => Some(Graph::new(&seen.profiles, model).cycles(Limits { instances: 0, ..limits }).cycles),
        };
        for chased in &mut cycles {
            if possible.as_ref().is_none_or(|possible| possible.contains_key(&chased.cycle)) {
                chased.models.push(model);
            }
        }
    }
    let (executions, blocked) = (seen.executions, seen.blocked);
    let mut chase = Chase { seen, cycles, complete: found.complete, executions, blocked, prediction };
    trials(quarry, options, fences, deadline, &mut chase)?;
    Ok(chase)
}

/// Courses for these cycles, from these executions.
fn solve(profiles: &[Profile], cycles: &[&Chased], options: &Options) -> Vec<Vec<Course>> {
    let solver = Solver::new(profiles, options.model);
    let share = cycles.len().div_ceil(options.jobs.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = cycles
            .chunks(share)
            .map(|part| {
                let solver = &solver;
                scope.spawn(move || -> Vec<Vec<Course>> {
                    part.iter().map(|chased| solver.courses(&chased.instances, COURSES)).collect()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("the solver does not panic")).collect()
    })
}

/// The trials. Each cycle has courses, and each course is tried once, until a few have worked; then those share what is left of the trials. Where
/// none works, what was learned from the violations of other cycles may give new courses: threads that have read what they never read without
/// reordering do new things. Where still none works, the two published strategies have a few trials; if one of them is successful, its execution
/// gives a course for the rest.
fn trials(
    quarry: &mut impl Quarry,
    options: &Options,
    fences: &[(Place, FenceOrder)],
    deadline: Option<Instant>,
    chase: &mut Chase,
) -> Result<(), Error> {
    let mut round = Round { quarry, fences, deadline, number: 0 };
    let mut good: Vec<Vec<Course>> = vec![Vec::new(); chase.cycles.len()];
    let mut learned: Vec<Profile> = Vec::new();
    if options.ways.solve {
        for stage in 0..STAGES {
            let open: Vec<usize> = (0..good.len()).filter(|i| good[*i].is_empty()).collect();
            let profiles = if stage == 0 { &chase.seen.profiles } else { &learned };
            if open.is_empty() || profiles.is_empty() {
                break;
            }
            let cycles: Vec<&Chased> = open.iter().map(|i| &chase.cycles[*i]).collect();
            let courses = solve(profiles, &cycles, options);
            round.probe(chase, options, &open, courses, &mut good)?;
            learned = round.learn(chase, &chase.seen.profiles)?;
        }
    }
    // A few trials of each published strategy at a time; what they expose gives a course for the rest.
    for _ in 0..if options.ways.solve { REPEATS } else { 0 } {
        let mut work: BTreeMap<(u64, &'static str), Vec<(usize, Method)>> = BTreeMap::new();
        for i in (0..good.len()).filter(|i| good[*i].is_empty()) {
            let left = options.trials.saturating_sub(chase.cycles[i].trials);
            let ways = [
                options.ways.relaxer.map(|bias| ("relaxer", Method::Biased(bias))),
                options.ways.orion.map(|exact| ("orion", Method::Exact(exact))),
            ];
            let ways: Vec<_> = ways.into_iter().flatten().collect();
            let share = (left / ways.len().max(1) as u64).min(FEW);
            for (name, method) in ways {
                work.entry((share, name)).or_default().push((i, method));
            }
        }
        round.work(chase, work)?;
        let open: Vec<usize> =
            (0..good.len()).filter(|i| good[*i].is_empty() && chase.cycles[*i].witness.is_some()).collect();
        if !open.is_empty() {
            let learned = round.learn(chase, &chase.seen.profiles)?;
            let cycles: Vec<&Chased> = open.iter().map(|i| &chase.cycles[*i]).collect();
            let courses = solve(&learned, &cycles, options);
            round.probe(chase, options, &open, courses, &mut good)?;
        }
    }
    // What is left is divided among the courses that worked, or among the strategies.
    let mut work: BTreeMap<(u64, &'static str), Vec<(usize, Method)>> = BTreeMap::new();
    for (i, courses) in good.into_iter().enumerate() {
        let mut ways: Vec<(&'static str, Method)> =
            courses.into_iter().map(|course| ("course", Method::Course(course))).collect();
        if ways.is_empty() {
            ways.extend(options.ways.relaxer.map(|bias| ("relaxer", Method::Biased(bias))));
            ways.extend(options.ways.orion.map(|exact| ("orion", Method::Exact(exact))));
        }
        let (left, n) = (options.trials.saturating_sub(chase.cycles[i].trials), ways.len() as u64);
        for (k, (name, method)) in ways.into_iter().enumerate() {
            let share = left / n + u64::from((k as u64) < left % n);
            work.entry((share, name)).or_default().push((i, method));
        }
    }
    round.work(chase, work)
}

struct Round<'a, Q> {
    quarry: &'a mut Q,
    fences: &'a [(Place, FenceOrder)],
    deadline: Option<Instant>,
    number: u64,
}

impl<Q: Quarry> Round<'_, Q> {
    /// Tries the courses of some cycles, each once, until a few have worked or some have failed.
    fn probe(
        &mut self,
        chase: &mut Chase,
        options: &Options,
        cycles: &[usize],
        courses: Vec<Vec<Course>>,
        good: &mut [Vec<Course>],
    ) -> Result<(), Error> {
        for k in 0..COURSES {
            let mut attempts: Vec<(usize, Method)> = Vec::new();
            for (i, courses) in cycles.iter().zip(&courses) {
                let failed = k.saturating_sub(good[*i].len());
                let enough = !good[*i].is_empty() && (good[*i].len() >= GOOD || failed >= FAILED);
                if let (Some(course), false) = (courses.get(k), enough || chase.cycles[*i].trials >= options.trials) {
                    attempts.push((*i, Method::Course(course.clone())));
                }
            }
            for attempt in self.run(chase, &attempts, 1, "course")? {
                let (i, method) = &attempts[attempt];
                if let Method::Course(course) = method {
                    good[*i].push(course.clone());
                }
            }
        }
        Ok(())
    }

    /// The executions of violations, with those without reordering behind them.
    fn learn(&mut self, chase: &Chase, seen: &[Profile]) -> Result<Vec<Profile>, Error> {
        // The newest lessons first: those of the strategies.
        let mut chased: Vec<&Chased> = chase.cycles.iter().filter(|chased| chased.witness.is_some()).collect();
        chased.sort_by_key(|chased| chased.method == Some("course"));
        let witnesses = chased.into_iter().filter_map(|chased| Some(&chased.witness.as_ref()?.exposure));
        let exposures: Vec<&Exposure> = witnesses.take(LESSONS).collect();
        if exposures.is_empty() {
            return Ok(Vec::new());
        }
        let again = self.quarry.again(&exposures, self.fences)?;
        let short = again.into_iter().flatten().filter(|again| again.trace.events.len() <= LONGEST);
        let mut profiles: Vec<Profile> =
            short.map(|again| Profile::new(&again.trace, |event| again.names[event.id.index() - 1])).collect();
        profiles.extend(seen.iter().cloned());
        Ok(profiles)
    }

    /// Many attempts, by how often each is made and by what.
    fn work(
        &mut self,
        chase: &mut Chase,
        work: BTreeMap<(u64, &'static str), Vec<(usize, Method)>>,
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
        attempts: &[(usize, Method)],
        trials: u64,
        name: &'static str,
    ) -> Result<Vec<usize>, Error> {
        self.number += 1;
        let mut good = Vec::new();
        // So many at a time that a limit of time is kept.
        for (part, list) in attempts.chunks(200).enumerate() {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                chase.complete = false;
                return Ok(good);
            }
            let asked: Vec<Attempt> = list
                .iter()
                .map(|(i, method)| Attempt { cycle: chase.cycles[*i].cycle.clone(), method: method.clone() })
                .collect();
            let number = self.number << 20 | part as u64;
            let (blocked, exposures) = self.quarry.attempt(&asked, trials, number, self.fences)?;
            chase.blocked += blocked;
            chase.executions += trials * list.len() as u64;
            list.iter().for_each(|(i, _)| chase.cycles[*i].trials += trials);
            for exposure in exposures {
                let attempt = exposure.attempt;
                good.push(200 * part + attempt);
                chase.cycles[list[attempt].0].note(exposure, name);
            }
        }
        good.sort_unstable();
        good.dedup();
        Ok(good)
    }
}

/// Runs the execution of every cycle that was brought about again: it must be the same, the model's axioms must accept it, those of sequential
/// consistency must not, and the cycle must be in it. What fails that is not counted, and said.
pub fn verify(quarry: &mut impl Quarry, model: Model, chase: &mut Chase) -> Result<(), Error> {
    let exposures: Vec<&Exposure> =
        chase.cycles.iter().filter_map(|chased| Some(&chased.witness.as_ref()?.exposure)).collect();
    let again = quarry.again(&exposures, &[])?;
    let chased = chase.cycles.iter_mut().filter(|chased| chased.witness.is_some());
    for (chased, again) in chased.zip(again) {
        let problem = match again {
            None => Some("its execution left no trace".to_owned()),
            Some(again) => match examine(&again, &chased.cycle, model) {
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
