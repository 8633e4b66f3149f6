//! Litmus tests.

use super::fenced::{Extra, Ran, execute_on};
use super::options::Options;
use super::subject::{Again, Attempt, Exposure, Fences, ProgramPoint, SAMPLES, Sampled, Seen, Subject, Tested};
use crate::error::Error;
use crate::limits::litmus_limits;
use crate::litmus::LitmusCase;
use crate::recording::Recording;
use fencepost_engine::{Planned, Threads};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::{MachineOptions, with_machine};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_report::{Command, Describe};
use fencepost_trace::{CyclePoint, EventKind, Limits, Model, Outcome, Plan, StrategySpec, execution_seed};
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

    fn execute(&mut self, model: Model, strategy: StrategySpec, fences: &[Extra]) -> Ran {
        let (limits, program) = (self.limits(), &mut self.program);
        let mut strategy = Planned::new(model, strategy, None).expect("internal error: a hunt follows no graph");
        let options = MachineOptions::with_buffer(self.options.buffer);
        with_machine!(model, &options, machine => execute_on(machine, program, limits, &mut strategy, fences))
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
}

impl Subject for LitmusSubject<'_> {
    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error> {
        let extra = self.extra(fences);
        let mut seen = Seen::default();
        for execution in 0..self.options.executions.max(STATES) {
            let strategy = StrategySpec::Uniform { seed: execution_seed(self.options.seed, execution) };
            let ran = self.execute(Model::Sc, strategy, &extra);
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
            let strategy = StrategySpec::Uniform { seed: execution_seed(self.options.seed, execution) };
            let ran = self.execute(self.options.model, strategy, &extra);
            sampled.blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
            let names = self.names(&ran);
            sampled.profiles.push(Profile::new(&ran.trace, |event| names[event.id.index() - 1]));
        }
        Ok(sampled)
    }

    /// What a litmus test can do, the trials of its cycles show.
    fn test(&mut self, _: &Fences) -> Result<Tested, Error> {
        Ok(Tested::default())
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
                let seed = execution_seed(self.options.seed ^ round, execution);
                let ran = self.execute(self.options.model, attempt.strategy.clone().with_seed(seed), &extra);
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
            let strategy = StrategySpec::Follow { choices: exposure.choices.clone() };
            let ran = self.execute(self.options.model, strategy, &extra);
            let names = self.names(&ran);
            again.push(Some(Again { trace: ran.trace, names }));
        }
        Ok(again)
    }

    fn point(&self, point: u32) -> CyclePoint {
        let ProgramPoint { reads, writes, .. } = self.points[point as usize];
        CyclePoint { labels: vec![self.labels[point as usize]], reads, writes }
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
        Recording::new(Command::Hunt, &self.file, &self.case.digest, plan, digest)
    }
}
