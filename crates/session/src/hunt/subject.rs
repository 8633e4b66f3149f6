//! A program, as the search sees it.

use crate::error::Error;
use crate::recording::Recording;
use fencepost_predict::Profile;
use fencepost_report::Describe;
use fencepost_trace::{Cycle, CyclePoint, FenceOrder, Finding, FindingKind, Label, StrategySpec, Trace};
use std::rc::Rc;

/// How many executions with reordering show what threads can do then.
pub const SAMPLES: u64 = 800;

/// How many executions with reordering are looked through for failures, and how many of those are explained.
pub const TESTED: u64 = 4_000;
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
    /// Which of its trials, counted over all attempts.
    pub execution: u64,
    /// How the program suffered, if it did.
    pub harm: Option<String>,
    pub failures: Vec<(FindingKind, Option<u32>)>,
    /// The answers that led there, for the first of its kind.
    pub choices: Vec<u32>,
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
#[derive(Default)]
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
}

/// Fences that are in force though the program does not have them.
pub type Fences = [(FencePosition, FenceOrder)];

/// A program that is searched for violations.
pub trait Subject {
    /// Runs it without reordering, with these fences in force.
    fn observe(&mut self, fences: &Fences) -> Result<Seen, Error>;

    /// Runs it with whatever reordering chance brings, with these fences in force.
    fn sample(&mut self, fences: &Fences) -> Result<Sampled, Error>;

    /// Runs it as `test` does, with these fences in force.
    fn test(&mut self, fences: &Fences) -> Result<Tested, Error>;

    /// Tries to bring cycles about, each so often, with these fences in force. How many executions were cut off, and
    /// those that were successful.
    fn attempt(
        &mut self,
        attempts: &[Attempt],
        trials: u64,
        round: u64,
        fences: &Fences,
    ) -> Result<(u64, Vec<Exposure>), Error>;

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

    /// How the execution with these answers and this digest is recorded.
    fn recording(&self, choices: &[u32], digest: String) -> Recording;
}
