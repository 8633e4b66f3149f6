//! Litmus tests.

use super::fenced::{Fenced, Ran, execute_on, fenced};
use super::options::Options;
use super::subject::{
    Again, Attempt, BASE_SEED, Explored, ExposedGraph, Exposure, FencePosition, Fences, Looked, ProgramPoint, SAMPLES,
    Sampled, Seen, Subject, Tested,
};
use crate::error::Error;
use crate::limits::litmus_limits;
use crate::litmus::{Change, LitmusCase};
use crate::recording::Recording;
use fencepost_engine::{Planned, Threads};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{
    ExploreError, Explorer, Flow, Options as ExploreOptions, Races, Stuck, Visitor, replay_steps, steps_of, trace_of,
};
use fencepost_explore::violations::{Violations, is_alone};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Graph, Node};
use fencepost_memory::{MachineOptions, with_machine};
use fencepost_predict::Profile;
use fencepost_predict::confirm::confirm;
use fencepost_report::{Command, Describe};
use fencepost_trace::{
    Cycle, CyclePoint, Event, EventKind, Failure, FenceOrder, GraphStep, Limits, Model, Outcome, Plan, StrategySpec,
    ThreadId, execution_seed,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::rc::Rc;

/// How many executions show what states there are without reordering.
const STATES: u64 = 2_000;
/// So many executions are explored at most.
const MOST: u64 = 20_000;
/// An execution of a machine that takes so many steps is taken to be in a loop.
const LONG: u64 = 1_000;

/// A litmus test as the search sees it.
pub struct LitmusSubject<'a> {
    case: &'a Rc<LitmusCase>,
    file: String,
    options: &'a Options,
    /// What it is run under: the model that was asked for, or a stronger one.
    model: Model,
    program: LitmusProgram,
    points: Vec<ProgramPoint>,
    /// Their labels in the program.
    labels: Vec<u32>,
    /// The program point of a label and what is done there.
    names: FxHashMap<(u32, bool, bool), u32>,
    /// The final states without reordering, and other ways to end.
    states: FxHashSet<Vec<i64>>,
    ends: Vec<Outcome>,
    /// How many times as long as usual an exploration may take.
    patience: u64,
}

impl<'a> LitmusSubject<'a> {
    /// Nothing is known of it yet.
    pub fn new(case: &'a Rc<LitmusCase>, file: &Path, options: &'a Options) -> LitmusSubject<'a> {
        LitmusSubject {
            case,
            file: file.display().to_string(),
            options,
            model: options.model,
            program: case.test.program(),
            points: Vec::new(),
            labels: Vec::new(),
            names: FxHashMap::default(),
            states: FxHashSet::default(),
            ends: Vec::new(),
            patience: 1,
        }
    }

    fn limits(&self) -> Limits {
        litmus_limits(self.options.max_steps)
    }

    fn execute(&mut self, model: Model, strategy: StrategySpec, fences: &[Change]) -> Ran {
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

    /// How the test suffers from an execution.
    fn harm(&self, state: Option<&Vec<i64>>, outcome: &Outcome) -> Option<String> {
        match (state, outcome) {
            (Some(state), _) if self.states.contains(state) => None,
            (Some(state), _) => {
                let words = self.case.state_words(state);
                Some(format!("a final state that does not exist without reordering: {words}"))
            }
            (None, Outcome::StepLimit | Outcome::Redundant) => None,
            (None, outcome) if self.ends.contains(outcome) => None,
            (None, outcome) => Some(format!("it ends otherwise: {outcome:?}")),
        }
    }

    /// Runs one execution graph again.
    fn replay(&mut self, model: Model, steps: &[GraphStep], fences: &[Change]) -> Option<Ran> {
        let (trace, _) = replay_steps(fenced(&mut self.program, fences), model, steps).ok()?;
        Some(Ran::of(&self.program, trace))
    }

    /// Every execution of a model: by its axioms, or by its machine where it has none to explore by.
    fn explore_all(&self, model: Model, rounds: u32, fences: &[Change]) -> Result<Everything, Error> {
        let mut program = self.case.test.program();
        let limit = self.limits();
        let most = self.patience * MOST;
        let everything = || Everything { model, met: Vec::new(), most, cut: false };
        if model == Model::Pslo {
            let limits = Limits { max_steps: limit.max_steps.min(LONG) };
            let mut all = everything();
            let mut fenced = fenced(&mut program, fences);
            let done = enumerate(&mut fenced, model, None, limits, most, |fenced, executed| {
                all.cut |= executed.trace.outcome == Outcome::StepLimit;
                all.met.push((Ran::of(fenced.program(), executed.trace.clone()), None));
                if all.cut { Flow::Break(()) } else { Flow::Continue(()) }
            });
            all.cut |= !done.complete;
            return Ok(all);
        }
        let max_events = usize::try_from(limit.max_steps).unwrap_or(usize::MAX);
        let options = ExploreOptions { max_events, races: Races::Ignore, rounds, ..ExploreOptions::new(model) };
        let wrong = |error: ExploreError| Error::target(&self.file, error.to_string());
        let mut explorer = Explorer::new(fenced(&mut program, fences), options).map_err(wrong)?;
        explorer.explore(everything).map_err(wrong)
    }

    fn extra(&self, fences: &Fences) -> Vec<Change> {
        let extra = |(place, order): &(FencePosition, FenceOrder)| Change::Fence {
            at: self.labels[place.point as usize],
            before: place.before,
            order: *order,
        };
        fences.iter().map(extra).collect()
    }
}

impl Subject for LitmusSubject<'_> {
    fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    fn set_patience(&mut self, times: u64) {
        self.patience = times;
    }

    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error> {
        let extra = self.extra(fences);
        let mut seen = Seen::default();
        for execution in 0..self.options.executions.max(STATES) {
            let strategy = StrategySpec::Uniform { seed: execution_seed(BASE_SEED, execution) };
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

    fn baseline(&mut self, fences: &Fences) -> Result<Explored, Error> {
        let extra = self.extra(fences);
        let all = self.explore_all(Model::Sc, 0, &extra)?;
        let (complete, executions) = (!all.cut, all.met.len() as u64);
        for (ran, _) in all.met {
            match ran.state {
                Some(state) => _ = self.states.insert(state),
                None => self.ends.push(ran.trace.outcome),
            }
        }
        Ok(Explored { complete, executions, ..Explored::default() })
    }

    fn explore(&mut self, cycles: &[Cycle], rounds: u32, fences: &Fences) -> Result<Explored, Error> {
        let extra = self.extra(fences);
        let model = self.model;
        let all = self.explore_all(model, rounds, &extra)?;
        let mut explored = Explored { complete: !all.cut, executions: all.met.len() as u64, ..Explored::default() };
        let mut violations = Violations::new(model, cycles.to_vec());
        let mut met: FxHashSet<u64> = FxHashSet::default();
        for (execution, (ran, steps)) in all.met.into_iter().enumerate() {
            let names = self.names(&ran);
            let harm = self.harm(ran.state.as_ref(), &ran.trace.outcome);
            explored.fails = explored.fails.or_else(|| harm.clone());
            let shown = violations.look(&ran.trace, |event| names[event.id.index() - 1].0, harm.is_some());
            let together = (!shown.together.is_empty()).then(|| (shown.together[0], true, shown.together.clone()));
            let alone = shown.news.iter().map(|new| (new.cycle, new.harmful, Vec::new()));
            explored.exposures.extend(alone.chain(together).map(|(cycle, harmful, with)| Exposure {
                attempt: cycle,
                model,
                with,
                execution: execution as u64,
                harm: harm.clone().filter(|_| harmful),
                failures: Vec::new(),
                choices: ran.trace.choices.clone(),
                graph: steps.clone().map(|steps| ExposedGraph { steps, shared: Vec::new() }),
            }));
            if cycles.is_empty() {
                let profile = Profile::new(&ran.trace, |event| names[event.id.index() - 1]);
                if profile.digests().filter(|digest| met.insert(*digest)).count() > 0 {
                    explored.profiles.push(profile);
                }
            }
        }
        Ok(explored)
    }

    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error> {
        let extra = self.extra(fences);
        let mut sampled = Sampled { executions: SAMPLES, ..Sampled::default() };
        for execution in 0..SAMPLES {
            let strategy = StrategySpec::Uniform { seed: execution_seed(BASE_SEED, execution) };
            let ran = self.execute(self.model, strategy, &extra);
            sampled.blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
            let names = self.names(&ran);
            sampled.profiles.push(Profile::new(&ran.trace, |event| names[event.id.index() - 1]));
        }
        Ok(sampled)
    }

    /// What a litmus test can do, exploration and the trials of its cycles show.
    fn test(&mut self, _: u64, _: u64, _: &Fences) -> Result<Tested, Error> {
        Ok(Tested::default())
    }

    fn look_through(&mut self, _: &[Cycle], _: u64, _: u64, _: &Fences) -> Result<Option<Looked>, Error> {
        Ok(None)
    }

    fn longest(&self) -> u64 {
        0
    }

    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        seed: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error> {
        let extra = self.extra(fences);
        let (mut blocked, mut exposures) = (0, Vec::new());
        for (i, attempt) in attempts.iter().enumerate() {
            for trial in 0..trials {
                let execution = i as u64 * trials + trial;
                let seed = execution_seed(seed, execution);
                let ran = self.execute(self.model, attempt.strategy.clone().with_seed(seed), &extra);
                blocked += u64::from(ran.trace.outcome == Outcome::StepLimit);
                let names = self.names(&ran);
                if confirm(&ran.trace, &attempt.cycle, |event| names[event.id.index() - 1].0).is_none() {
                    continue;
                }
                let harm = self.harm(ran.state.as_ref(), &ran.trace.outcome);
                // What fails because of something else besides is not its doing.
                let class = |event: &Event| names[event.id.index() - 1].0;
                let alone = |_: &String| is_alone(self.model, &ran.trace, class, &attempt.cycle) != Some(false);
                let harm = harm.filter(alone);
                let choices = ran.trace.choices.clone();
                let failures = Vec::new();
                exposures.push(Exposure {
                    attempt: i,
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
        Ok((blocked, exposures))
    }

    fn again(&mut self, exposures: &[&Exposure], fences: &Fences) -> Result<Vec<Option<Again>>, Error> {
        let extra = self.extra(fences);
        let mut again = Vec::new();
        for exposure in exposures {
            let ran = match &exposure.graph {
                Some(graph) => self.replay(exposure.model, &graph.steps, &extra),
                None => {
                    let strategy = StrategySpec::Follow { choices: exposure.choices.clone() };
                    Some(self.execute(exposure.model, strategy, &extra))
                }
            };
            again.push(ran.map(|ran| Again { names: self.names(&ran), trace: ran.trace, cut: false }));
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

    fn recording(&self, model: Model, strategy: StrategySpec, digest: String) -> Recording {
        let plan = Plan { buffer: self.options.buffer, ..Plan::new(model, strategy, self.limits()) };
        Recording::new(Command::Hunt, &self.file, &self.case.digest, plan, digest)
    }
}

/// Executions that were explored, with their graphs.
struct Everything {
    model: Model,
    met: Vec<(Ran, Option<Vec<GraphStep>>)>,
    /// So many are kept.
    most: u64,
    /// Were some left out?
    cut: bool,
}

impl Everything {
    fn keep(&mut self, fenced: &Fenced<'_>, graph: &Graph, outcome: Outcome) -> Flow {
        if self.met.len() as u64 == self.most {
            self.cut = true;
            return Flow::Break(());
        }
        let trace = trace_of(fenced, graph, self.model, outcome);
        self.met.push((Ran::of(fenced.program(), trace), Some(steps_of(graph))));
        Flow::Continue(())
    }
}

impl<'a> Visitor<Fenced<'a>> for Everything {
    fn execution(&mut self, program: &Fenced<'a>, graph: &Graph) -> Flow {
        self.keep(program, graph, Outcome::Finished)
    }

    fn stuck(&mut self, program: &Fenced<'a>, graph: &Graph, stuck: Stuck) -> Flow {
        self.cut |= stuck == Stuck::Limit;
        self.keep(program, graph, stuck.outcome())
    }

    fn failed(&mut self, program: &Fenced<'a>, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        self.keep(program, graph, Outcome::Failed { thread, failure })
    }

    fn race(&mut self, program: &Fenced<'a>, graph: &Graph, _: Node, _: Node) -> Flow {
        self.keep(program, graph, Outcome::Finished)
    }
}
