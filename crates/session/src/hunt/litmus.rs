//! Litmus tests.

use super::fenced::{Extra, Ran, execute_on};
use super::options::Options;
use super::subject::{Again, Attempt, Exposure, Fences, ProgramPoint, SAMPLES, Sampled, Seen, Subject};
use crate::error::Error;
use crate::limits::litmus_limits;
use crate::litmus::LitmusCase;
use crate::recording::Recording;
use fencepost_engine::{Biased, Follow, InOrder, OnCourse, Points, Random, Stop, Strategy, Threads};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::{Pslo, Pso, Sc, Tso};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_report::Describe;
use fencepost_trace::{Cycle, EventKind, Limits, Method, Model, Outcome, Plan, StrategySpec, execution_seed};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::rc::Rc;

/// How many executions show what states there are without reordering.
const STATES: u64 = 2_000;

/// A litmus test as the search sees it.
pub struct LitmusSubject<'a> {
    case: &'a Rc<LitmusCase>,
    file: String,
    options: &'a Options,
    program: LitmusProgram,
    points: Vec<ProgramPoint>,
    /// Their labels in the program.
    labels: Vec<u32>,
    /// The program point of a label and what is done there.
    names: FxHashMap<(u32, bool, bool), u32>,
    /// The final states without reordering.
    states: FxHashSet<Vec<i64>>,
}

impl<'a> LitmusSubject<'a> {
    /// Nothing is known of it yet.
    pub fn new(case: &'a Rc<LitmusCase>, file: &Path, options: &'a Options) -> LitmusSubject<'a> {
        LitmusSubject {
            case,
            file: file.display().to_string(),
            options,
            program: case.test.program(),
            points: Vec::new(),
            labels: Vec::new(),
            names: FxHashMap::default(),
            states: FxHashSet::default(),
        }
    }

    fn limits(&self) -> Limits {
        litmus_limits(self.options.max_steps)
    }

    fn execute(&mut self, model: Model, strategy: &mut impl Strategy, fences: &[Extra]) -> Ran {
        let (limits, buffer, program) = (self.limits(), self.options.buffer, &mut self.program);
        match model {
            Model::Tso => execute_on(Tso::with_buffer(buffer), program, limits, strategy, fences),
            Model::Pso => execute_on(Pso::with_buffer(buffer), program, limits, strategy, fences),
            Model::Pslo => execute_on(Pslo::default(), program, limits, strategy, fences),
            Model::Sc | Model::C11 => execute_on(Sc::default(), program, limits, strategy, fences),
        }
    }

    /// For each event its program point and its label.
    fn names(&mut self, ran: &Ran) -> Vec<(u32, u32)> {
        let mut names = Vec::with_capacity(ran.trace.events.len());
        for event in &ran.trace.events {
            let label = ran.labels[event.label as usize];
            let (reads, writes) = match event.kind {
                EventKind::Load { .. } => (true, false),
                EventKind::Store { .. } => (false, true),
                EventKind::Rmw { .. } => (true, true),
                EventKind::Fence { .. } | EventKind::Commit { .. } => {
                    names.push((u32::MAX, label));
                    continue;
                }
            };
            let fresh = self.points.len() as u32;
            let point = *self.names.entry((label, reads, writes)).or_insert(fresh);
            if point == fresh {
                self.points.push(ProgramPoint { label: self.program.describe(label), reads, writes });
                self.labels.push(label);
            }
            names.push((point, label));
        }
        names
    }

    fn extra(&self, fences: &Fences) -> Vec<Extra> {
        fences.iter().map(|(place, order)| (self.labels[place.point as usize], place.before, *order)).collect()
    }

    fn stops(&self, cycle: &Cycle) -> Vec<Stop> {
        let mut stops = Vec::new();
        for segment in &cycle.segments {
            let (first, last) = (&self.points[segment.first as usize], &self.points[segment.last() as usize]);
            let late = segment.second.is_some() && first.writes && !first.reads;
            let passable = late && (self.options.model != Model::Tso || !last.writes);
            let at = |point: u32| vec![self.labels[point as usize]];
            stops.push(Stop { labels: at(segment.first), passable, last: segment.second.is_none() });
            stops.extend(segment.second.map(|second| Stop { labels: at(second), passable: false, last: true }));
        }
        stops
    }

    fn trial(&mut self, attempt: &Attempt, seed: u64, fences: &[Extra]) -> Ran {
        let model = self.options.model;
        match &attempt.method {
            Method::Course(course) => self.execute(model, &mut OnCourse::new(course, seed), fences),
            Method::Biased(bias) => {
                let pairs = || attempt.cycle.segments.iter().filter(|segment| segment.second.is_some());
                let points = Points {
                    late: pairs().map(|segment| self.labels[segment.first as usize]).collect(),
                    early: pairs().map(|segment| self.labels[segment.last() as usize]).collect(),
                };
                self.execute(model, &mut Biased::new(&points, *bias, model, seed), fences)
            }
            Method::Exact(exact) => {
                let stops = self.stops(&attempt.cycle);
                self.execute(model, &mut InOrder::new(&stops, *exact, seed), fences)
            }
            Method::Follow { choices } => self.execute(model, &mut Follow::new(choices), fences),
        }
    }
}

impl Subject for LitmusSubject<'_> {
    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error> {
        let extra = self.extra(fences);
        let mut seen = Seen::default();
        for execution in 0..self.options.executions.max(STATES) {
            let ran = self.execute(Model::Sc, &mut Random::new(execution_seed(self.options.seed, execution)), &extra);
            seen.executions += 1;
            seen.blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
            if execution < self.options.executions {
                let names = self.names(&ran);
                seen.profiles.push(Profile::new(&ran.trace, |event| names[event.id.index() - 1]));
            }
            self.states.extend(ran.state);
        }
        Ok(seen)
    }

    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error> {
        let extra = self.extra(fences);
        let mut sampled = Sampled { executions: SAMPLES, ..Sampled::default() };
        for execution in 0..SAMPLES {
            let mut random = Random::new(execution_seed(self.options.seed, execution));
            let ran = self.execute(self.options.model, &mut random, &extra);
            sampled.blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
            let names = self.names(&ran);
            sampled.profiles.push(Profile::new(&ran.trace, |event| names[event.id.index() - 1]));
        }
        Ok(sampled)
    }

    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        round: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error> {
        let extra = self.extra(fences);
        let (mut blocked, mut exposures) = (0, Vec::new());
        for (i, attempt) in attempts.iter().enumerate() {
            for trial in 0..trials {
                let execution = i as u64 * trials + trial;
                let ran = self.trial(attempt, execution_seed(self.options.seed ^ round, execution), &extra);
                blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
                let names = self.names(&ran);
                if confirm(&ran.trace, &attempt.cycle, |event| names[event.id.index() - 1].0).is_none() {
                    continue;
                }
                let harm = match (&ran.state, &ran.trace.outcome) {
                    (Some(state), _) if self.states.contains(state) => None,
                    (Some(state), _) => Some(format!(
                        "a final state that does not exist without reordering: {}",
                        self.case.state_words(state)
                    )),
                    (None, Outcome::StepLimit) => None,
                    (None, outcome) => Some(format!("it ends otherwise: {outcome:?}")),
                };
                let choices = ran.trace.choices.clone();
                exposures.push(Exposure { attempt: i, execution, harm, failures: Vec::new(), choices });
            }
        }
        Ok((blocked, exposures))
    }

    fn again(&mut self, exposures: &[&Exposure], fences: &Fences) -> Result<Vec<Option<Again>>, Error> {
        let extra = self.extra(fences);
        let mut again = Vec::new();
        for exposure in exposures {
            let ran = self.execute(self.options.model, &mut Follow::new(&exposure.choices), &extra);
            let names = self.names(&ran);
            again.push(Some(Again { trace: ran.trace, names }));
        }
        Ok(again)
    }

    fn points(&self) -> &[ProgramPoint] {
        &self.points
    }

    fn describe(&self) -> Rc<dyn Describe> {
        self.case.clone()
    }

    fn name(&self) -> String {
        self.file.clone()
    }

    fn recording(&self, choices: &[u32], digest: String) -> Recording {
        let strategy = StrategySpec::Follow { choices: choices.to_vec() };
        let plan = Plan { model: self.options.model, buffer: self.options.buffer, strategy, limits: self.limits() };
        Recording::new("hunt", &self.file, &self.case.digest, plan, digest)
    }
}
