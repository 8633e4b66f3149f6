//! Prediction, trials, confirmation.

use super::{Again, Attempt, Exposure, Options, Place, Quarry, Seen};
use crate::digest;
use crate::error::Error;
use fencepost_memory::axioms::{self, Execution, Violation};
use fencepost_predict::confirm::confirm;
use fencepost_predict::critical::{Graph, Instance, Limits};
use fencepost_predict::solve::Solver;
use fencepost_trace::{Course, Cycle, Event, FenceOrder, Method, Model, Severity, Trace};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many courses of one cycle are followed.
const COURSES: usize = 5;

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
    let courses = match options.ways.solve {
        true => solve(&chase, options),
        false => vec![Vec::new(); chase.cycles.len()],
    };
    trials(quarry, options, fences, deadline, &mut chase, courses)?;
    Ok(chase)
}

/// Courses for every cycle.
fn solve(chase: &Chase, options: &Options) -> Vec<Vec<Course>> {
    let solver = Solver::new(&chase.seen.profiles, options.model);
    let share = chase.cycles.len().div_ceil(options.jobs.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = chase
            .cycles
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

/// The trials: each course once, then those that worked; where none did, the two published strategies.
fn trials(
    quarry: &mut impl Quarry,
    options: &Options,
    fences: &[(Place, FenceOrder)],
    deadline: Option<Instant>,
    chase: &mut Chase,
    courses: Vec<Vec<Course>>,
) -> Result<(), Error> {
    let mut round = Round { quarry, fences, deadline, number: 0 };
    // By cycle and method, with how many trials.
    let mut first: Vec<(usize, Method)> = Vec::new();
    for (i, courses) in courses.into_iter().enumerate() {
        let most = options.trials.min(COURSES as u64) as usize;
        first.extend(courses.into_iter().take(most).map(|course| (i, Method::Course(course))));
    }
    let good = round.run(chase, &first, 1, "course")?;
    // What is left of the trials is divided among the courses that worked.
    let mut work: BTreeMap<(u64, &'static str), Vec<(usize, Method)>> = BTreeMap::new();
    let mut worked: Vec<Vec<usize>> = vec![Vec::new(); chase.cycles.len()];
    good.into_iter().for_each(|attempt| worked[first[attempt].0].push(attempt));
    for (i, attempts) in worked.iter().enumerate() {
        let left = options.trials.saturating_sub(chase.cycles[i].trials);
        if left == 0 {
            continue;
        }
        let mut add = |trials: u64, name: &'static str, method: Method| {
            if trials > 0 {
                work.entry((trials, name)).or_default().push((i, method));
            }
        };
        if attempts.is_empty() {
            match (options.ways.relaxer, options.ways.orion) {
                (Some(bias), Some(exact)) => {
                    add(left / 2, "relaxer", Method::Biased(bias));
                    add(left - left / 2, "orion", Method::Exact(exact));
                }
                (Some(bias), None) => add(left, "relaxer", Method::Biased(bias)),
                (None, Some(exact)) => add(left, "orion", Method::Exact(exact)),
                (None, None) => {}
            }
        } else {
            for (k, attempt) in attempts.iter().enumerate() {
                let n = attempts.len() as u64;
                let share = left / n + u64::from((k as u64) < left % n);
                add(share, "course", first[*attempt].1.clone());
            }
        }
    }
    for ((trials, name), attempts) in work {
        round.run(chase, &attempts, trials, name)?;
    }
    Ok(())
}

struct Round<'a, Q> {
    quarry: &'a mut Q,
    fences: &'a [(Place, FenceOrder)],
    deadline: Option<Instant>,
    number: u64,
}

impl<Q: Quarry> Round<'_, Q> {
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
    let again = quarry.again(&exposures)?;
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
    let point = |event: &Event| again.points[event.id.index() - 1];
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
