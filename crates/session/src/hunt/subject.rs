//! A program, as the search sees it.

use crate::error::Error;
use crate::recording::Recording;
use fencepost_predict::Profile;
use fencepost_report::Describe;
use fencepost_trace::{
    Cycle, CyclePoint, FenceOrder, Finding, FindingKind, GraphStep, Label, Model, StrategySpec, Trace,
};
use std::collections::BTreeSet;
use std::rc::Rc;

/// How many executions with reordering show what threads can do then.
pub const SAMPLES: u64 = 800;

/// The seed of all that decides which violations are real and do harm: the same whatever seed the trials have.
pub const BASE_SEED: u64 = 1;

/// How many failures of executions with reordering are explained.
pub const EXPLAINED: usize = 8;

/// Executions with reordering, as `test` has them.
#[derive(Default)]
pub struct Tested {
    pub executions: u64,
    pub blocked: u64,
    /// The answers that led to executions that fail as none without reordering does: one for each kind of failure. None
    /// of an execution that was too long for its answers to be kept.
    pub failing: Vec<Vec<u32>>,
}

/// Executions in which cycles were to be brought about.
#[derive(Default)]
pub struct Directed {
    /// As in [`Tested`], whether the cycle is in them or not.
    pub failing: Vec<Vec<u32>>,
    /// The attempts that were successful in some execution.
    pub met: BTreeSet<usize>,
}

/// Executions with reordering in which cycles were looked for.
#[derive(Default)]
pub struct Looked {
    pub executions: u64,
    pub blocked: u64,
    /// Cycles that were met, as in [`Explored`].
    pub exposures: Vec<Exposure>,
    /// Does the program fail as it never does without reordering?
    pub fails: bool,
}

/// A program point that cycles name: where, and what is done there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramPoint {
    pub label: Label,
    pub reads: bool,
    pub writes: bool,
}

/// A cycle to bring about, and how.
#[derive(Clone)]
pub struct Attempt {
    pub cycle: Cycle,
    /// Its seed does not count: each trial has its own.
    pub strategy: StrategySpec,
}

/// A trial that brought its cycle about.
#[derive(Clone, Debug)]
pub struct Exposure {
    /// Which attempt.
    pub attempt: usize,
    /// What it was run under: the model that is hunted under, or a stronger one.
    pub model: Model,
    /// Which of its trials, counted over all attempts.
    pub execution: u64,
    /// How the program suffered, if it did.
    pub harm: Option<String>,
    pub failures: Vec<(FindingKind, Option<u32>)>,
    /// The answers that led there, for the first of its kind.
    pub choices: Vec<u32>,
    /// The execution graph instead, of what an exploration has met.
    pub graph: Option<ExposedGraph>,
    /// The cycles that made the program fail together, if it took several.
    pub with: Vec<usize>,
}

impl Exposure {
    /// How to run it again; `None` if that was not kept.
    pub fn strategy(&self) -> Option<StrategySpec> {
        match &self.graph {
            Some(graph) => Some(StrategySpec::Graph { steps: graph.steps.clone(), shared: graph.shared.clone() }),
            None if self.choices.is_empty() => None,
            None => Some(StrategySpec::Follow { choices: self.choices.clone() }),
        }
    }
}

/// An execution graph, and the memory whose plain accesses are in it.
#[derive(Clone, Debug)]
pub struct ExposedGraph {
    pub steps: Vec<GraphStep>,
    pub shared: Vec<(u64, u8)>,
}

/// Every execution of a model, as far as that goes.
#[derive(Default)]
pub struct Explored {
    /// Was that every one?
    pub complete: bool,
    pub executions: u64,
    /// Executions that show every thread do all that it can do, if no cycles were looked for.
    pub profiles: Vec<Profile>,
    /// Cycles that were met, with the number of the cycle as the attempt: for each the first time, and the first time
    /// that it alone made the program fail.
    pub exposures: Vec<Exposure>,
    /// How the program fails as it never does without reordering, if it does.
    pub fails: Option<String>,
    /// Executions that fail like that: one for each kind of failure.
    pub failing: Vec<ExposedGraph>,
    /// Without reordering: how the program fails, as far as executions at random have not shown it.
    pub failures: Vec<Finding>,
}

/// Where an ordering is that the program does not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FencePosition {
    /// The program point.
    pub point: u32,
    /// Before what is done there, or behind it?
    pub before: bool,
}

/// Executions without reordering.
#[derive(Clone, Default)]
pub struct Seen {
    pub profiles: Vec<Profile>,
    /// How the program fails by itself.
    pub failures: Vec<Finding>,
    pub executions: u64,
    /// How many of them failed.
    pub failing: u64,
    pub blocked: u64,
    /// Could results not be held against what they should be?
    pub unjudged: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Executions of the model itself, at random.
#[derive(Default)]
pub struct Sampled {
    pub profiles: Vec<Profile>,
    pub executions: u64,
    pub blocked: u64,
}

/// An execution that was run again: its trace, and for each event its program point and its access site.
pub struct Again {
    pub trace: Trace,
    pub names: Vec<(u32, u32)>,
    /// Was it too long to be kept whole?
    pub cut: bool,
}

/// Fences that are in force though the program does not have them.
pub type Fences = [(FencePosition, FenceOrder)];

/// The models, each of which has all executions of those before it.
pub const MODELS: [Model; 3] = [Model::Tso, Model::Pso, Model::Pslo];

/// The model before this one.
pub fn stronger(model: Model) -> Option<Model> {
    let at = MODELS.iter().position(|other| *other == model)?;
    at.checked_sub(1).map(|at| MODELS[at])
}

/// A program that is searched for violations.
pub trait Subject {
    /// Runs it under this model from now on.
    fn set_model(&mut self, model: Model);

    /// Runs it without reordering, with these fences in force.
    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error>;

    /// Explores it without reordering, with these fences in force: from then on, it is known how it can end.
    fn baseline(&mut self, fences: &Fences) -> Result<Explored, Error>;

    /// Explores it no more: what an exploration said has turned out to be wrong.
    fn distrust(&mut self) {}

    /// Lets explorations take so many times as long as usual, from now on.
    fn set_patience(&mut self, times: u64);

    /// Explores it under the model, with these fences in force, and looks for these cycles. A thread goes around a loop
    /// that waits so often at most.
    fn explore(&mut self, cycles: &[Cycle], rounds: u32, fences: &Fences) -> Result<Explored, Error>;

    /// Runs it with whatever reordering chance brings, with these fences in force.
    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error>;

    /// Runs so many executions as `test` does, the first so many left out, with these fences in force.
    fn test(&mut self, first: u64, executions: u64, fences: &Fences) -> Result<Tested, Error>;

    /// Runs the same executions and looks for these cycles in each. `None` if that cannot be done.
    fn look_through(
        &mut self,
        cycles: &[Cycle],
        first: u64,
        executions: u64,
        fences: &Fences,
    ) -> Result<Option<Looked>, Error>;

    /// How many events its longest execution without reordering has.
    fn longest(&self) -> u64;

    /// Tries to bring cycles about, each so often, drawing from this seed, with these fences in force. How many
    /// executions were cut off, and those that were successful.
    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        seed: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error>;

    /// Tries to bring cycles about in the same way, and looks at whatever fails.
    fn direct(&mut self, attempts: &[Attempt], trials: u64, seed: u64, fences: &Fences) -> Result<Directed, Error> {
        let (_, exposures) = self.attempt(attempts, trials, seed, fences)?;
        let met = exposures.iter().map(|exposure| exposure.attempt).collect();
        let failing = exposures.into_iter().filter(|exposure| exposure.harm.is_some() && !exposure.choices.is_empty());
        Ok(Directed { failing: failing.map(|exposure| exposure.choices).take(EXPLAINED).collect(), met })
    }

    /// Runs executions again, with these fences in force; one that left no trace is `None`.
    fn again(&mut self, exposures: &[&Exposure], fences: &Fences) -> Result<Vec<Option<Again>>, Error>;

    /// A program point that cycles name, with labels as strategies name them.
    fn point(&self, point: u32) -> CyclePoint;

    /// The program points met so far.
    fn points(&self) -> &[ProgramPoint];

    /// The names of the program.
    fn describe(&self) -> Rc<dyn Describe>;

    /// The name of the program.
    fn name(&self) -> String;

    /// How the execution of this strategy and this digest is recorded.
    fn recording(&self, model: Model, strategy: StrategySpec, digest: String) -> Recording;
}
