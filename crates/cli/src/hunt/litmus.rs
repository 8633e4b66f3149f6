//! Litmus tests.

use super::{Again, Attempt, Exposure, Options, Place, PointName, Quarry, STRAYS, Seen, Strayed};
use crate::error::{Error, Status};
use crate::recording::Recording;
use crate::screen::Screen;
use crate::subject::Subject;
use fencepost_engine::{Execution, Planned, Strategy, Threads, run};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::{Machine, MachineOptions, with_machine};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_report::Describe;
use fencepost_trace::{
    Access, CyclePoint, EventKind, FenceOrder, Finding, Label, Limits, Location, Model, Op, Outcome, Plan, Reply,
    StrategySpec, ThreadId, Trace, Value, execution_seed,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// How many executions show what states there are without reordering.
const STATES: u64 = 2_000;

/// Hunts a litmus test.
pub fn litmus(
    subject: &Subject,
    file_digest: &str,
    file: &std::path::Path,
    options: &Options,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let mut prey = Prey {
        subject,
        file_digest,
        file: file.display().to_string(),
        options,
        program: subject.test.program(),
        points: Vec::new(),
        labels: Vec::new(),
        names: FxHashMap::default(),
        states: FxHashSet::default(),
    };
    super::run(&mut prey, options, screen)
}

struct Prey<'a> {
    subject: &'a Subject,
    file_digest: &'a str,
    file: String,
    options: &'a Options,
    program: LitmusProgram,
    points: Vec<PointName>,
    /// Their labels in the program.
    labels: Vec<u32>,
    /// The program point of a label and what is done there.
    names: FxHashMap<(u32, bool, bool), u32>,
    /// The final states without reordering.
    states: FxHashSet<Vec<i64>>,
}

/// A fence that the program does not have: at which label, before or behind it, of which order.
type Extra = (u32, bool, FenceOrder);

/// A program with more fences.
struct Fenced<'a> {
    program: &'a mut LitmusProgram,
    fences: &'a [Extra],
    threads: Vec<Lane>,
}

#[derive(Clone, Default)]
struct Lane {
    /// What the thread asks for next, and whether the program itself does.
    queue: VecDeque<(Op, bool)>,
    /// Was what it asked for last the program's own?
    own: bool,
    /// The answer to that.
    answer: Reply,
}

impl Threads for Fenced<'_> {
    fn start(&mut self) -> u32 {
        let threads = self.program.start();
        self.threads = vec![Lane { own: true, ..Lane::default() }; threads as usize];
        threads
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let lane = &mut self.threads[thread.index()];
        if lane.own {
            lane.answer = reply;
        }
        if lane.queue.is_empty() {
            let op = self.program.resume(thread, lane.answer);
            let label = self.program.label(thread);
            let fences = |before: bool| {
                let here = self.fences.iter().filter(move |(at, first, _)| *at == label && *first == before);
                here.map(|(_, _, order)| (Op::Access(Access::Fence { order: *order }), false))
            };
            let access = matches!(op, Op::Access(_));
            lane.queue.extend(fences(true).filter(|_| access));
            lane.queue.push_back((op, true));
            lane.queue.extend(fences(false).filter(|_| access));
        }
        let (op, own) = lane.queue.pop_front().expect("the program asks for something");
        lane.own = own;
        op
    }

    fn initial(&self, at: Location) -> Value {
        self.program.initial(at)
    }

    fn observed(&self) -> &[Location] {
        self.program.observed()
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.program.label(thread)
    }

    fn describe(&self, label: u32) -> Label {
        self.program.describe(label)
    }

    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

/// An execution: its trace, the label numbers of its labels, and its final state if it has one.
struct Ran {
    trace: Trace,
    labels: Vec<u32>,
    state: Option<Vec<i64>>,
}

fn execute_on<M: Machine>(
    machine: M,
    program: &mut LitmusProgram,
    limits: Limits,
    strategy: &mut impl Strategy,
    fences: &[Extra],
) -> Ran {
    let mut execution = Execution::new(machine);
    let mut fenced = Fenced { program, fences, threads: Vec::new() };
    run(&mut execution, &mut fenced, strategy, limits);
    let numbers = execution.trace(|label| Label { line: label, ..Label::default() });
    let trace = execution.trace(|label| fenced.describe(label));
    let state = (trace.outcome == Outcome::Finished).then(|| Subject::state(program, &trace));
    Ran { trace, labels: numbers.labels.iter().map(|label| label.line).collect(), state }
}

impl Prey<'_> {
    fn limits(&self) -> Limits {
        self.options.max_steps.map_or(crate::limits::LITMUS_LIMITS, |max_steps| Limits { max_steps })
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
                self.points.push(PointName { label: self.program.describe(label), reads, writes });
                self.labels.push(label);
            }
            names.push((point, label));
        }
        names
    }

    fn extra(&self, fences: &[(Place, FenceOrder)]) -> Vec<Extra> {
        fences.iter().map(|(place, order)| (self.labels[place.point as usize], place.before, *order)).collect()
    }
}

impl Quarry for Prey<'_> {
    fn observe(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Seen, Error> {
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

    fn stray(&mut self, fences: &[(Place, FenceOrder)]) -> Result<Strayed, Error> {
        let extra = self.extra(fences);
        let mut strayed = Strayed { executions: STRAYS, ..Strayed::default() };
        for execution in 0..STRAYS {
            let strategy = StrategySpec::Uniform { seed: execution_seed(self.options.seed, execution) };
            let ran = self.execute(self.options.model, strategy, &extra);
            strayed.blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
            let names = self.names(&ran);
            strayed.profiles.push(Profile::new(&ran.trace, |event| names[event.id.index() - 1]));
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
                        self.subject.state_words(state)
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

    fn again(&mut self, exposures: &[&Exposure], fences: &[(Place, FenceOrder)]) -> Result<Vec<Option<Again>>, Error> {
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
        let PointName { reads, writes, .. } = self.points[point as usize];
        CyclePoint { labels: vec![self.labels[point as usize]], reads, writes }
    }

    fn points(&self) -> &[PointName] {
        &self.points
    }

    fn words(&self) -> &dyn Describe {
        self.subject
    }

    fn name(&self) -> String {
        self.file.clone()
    }

    fn record(&self, finding: &Finding, choices: &[u32], trace_digest: String) -> Result<String, Error> {
        let path = self.options.out.join(format!("finding-{}.json", finding.id));
        let strategy = StrategySpec::Follow { choices: choices.to_vec() };
        let plan = Plan { model: self.options.model, buffer: self.options.buffer, strategy, limits: self.limits() };
        let mut finding = finding.clone();
        finding.replay = Some(path.display().to_string());
        Recording::of("hunt", &self.file, self.file_digest, plan, trace_digest, &finding).write(
            &self.options.out,
            &format!("finding-{}", finding.id),
            None,
        )?;
        Ok(path.display().to_string())
    }
}
