//! A cycle that was predicted, and what became of it.

use super::subject::Exposure;
use fencepost_predict::critical::{Instance, Node};
use fencepost_report::HuntMethod;
use fencepost_trace::{Cycle, Model, Severity, Trace};

/// A cycle and what became of it.
pub struct Candidate {
    pub cycle: Cycle,
    pub instances: Vec<Instance>,
    /// The models that can reorder it.
    pub models: Vec<Model>,
    pub trials: u64,
    pub exposed: u64,
    pub harmful: u64,
    /// What brought it about.
    pub method: Option<HuntMethod>,
    /// The execution that shows it: a harmful one, if there is one.
    pub witness: Option<Witness>,
    /// Has that been learned from?
    pub learned: bool,
    /// What the exploration of every execution says of it, if there was one.
    pub settled: Option<Settled>,
    /// Is it one of the few harmful cycles that together explain every failure?
    pub root_cause: bool,
}

/// What is known of a cycle once every execution of the model was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    /// No execution contains it.
    Infeasible,
    /// Where nothing but its pairs is reordered, the program never fails.
    Benign,
    /// Where nothing but its pairs is reordered, the program can fail.
    Harmful,
}

/// Trials, and what came of them.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub trials: u64,
    pub exposed: u64,
    pub harmful: u64,
}

/// An execution that shows a cycle.
pub struct Witness {
    pub exposure: Exposure,
    /// The digest of its trace, once it has been run again.
    pub digest: String,
    /// The trace, to be shown, if there was room for it.
    pub trace: Option<Trace>,
}

impl Witness {
    /// What was met, and not run again yet.
    pub fn new(exposure: Exposure) -> Witness {
        Witness { exposure, digest: String::new(), trace: None }
    }
}

impl Candidate {
    /// Predicted, and not tried yet.
    pub fn new(cycle: Cycle, instances: Vec<Instance>) -> Candidate {
        Candidate {
            cycle,
            instances,
            models: Vec::new(),
            trials: 0,
            exposed: 0,
            harmful: 0,
            method: None,
            witness: None,
            learned: false,
            settled: None,
            root_cause: false,
        }
    }

    /// The threads that took part, one for each segment.
    pub fn threads(&self) -> Vec<u32> {
        let first = self.instances.first().map(Vec::as_slice).unwrap_or_default();
        first.iter().map(|(node, _)| node.thread).collect()
    }

    pub fn outcome(&self) -> Severity {
        match (self.settled, self.harmful, self.exposed) {
            (Some(Settled::Infeasible), ..) => Severity::Infeasible,
            (Some(Settled::Harmful), ..) => Severity::Harmful,
            (Some(Settled::Benign), ..) => Severity::Benign,
            (None, 0, 0) => Severity::Unknown,
            (None, 0, _) => Severity::Benign,
            (None, ..) => Severity::Harmful,
        }
    }

    /// Does it make the program fail?
    pub fn is_harmful(&self) -> bool {
        self.outcome() == Severity::Harmful
    }

    /// Is it known that it is in no execution?
    pub fn is_infeasible(&self) -> bool {
        self.settled == Some(Settled::Infeasible)
    }

    /// How many of its pairs only a full fence keeps in order: a store before a load.
    pub fn full_fences(&self) -> usize {
        let first = self.instances.first().map(Vec::as_slice).unwrap_or_default();
        let full = |(a, b): &&(Node, Option<Node>)| !a.access.0 && b.is_some_and(|b| !b.access.1);
        first.iter().filter(full).count()
    }

    /// Counts trials from 0 again; those that were counted.
    pub fn start_over(&mut self) -> Tally {
        let tally = Tally { trials: self.trials, exposed: self.exposed, harmful: self.harmful };
        (self.trials, self.exposed, self.harmful) = (0, 0, 0);
        tally
    }

    /// Counts these as well.
    pub fn count(&mut self, more: Tally) {
        self.trials += more.trials;
        self.exposed += more.exposed;
        self.harmful += more.harmful;
    }

    pub fn note(&mut self, exposure: Exposure, method: HuntMethod) {
        self.exposed += 1;
        self.harmful += u64::from(exposure.harm.is_some());
        self.method = self.method.or(Some(method));
        let better = match &self.witness {
            None => true,
            Some(witness) => witness.exposure.harm.is_none() && exposure.harm.is_some(),
        };
        if better && exposure.strategy().is_some() {
            self.witness = Some(Witness::new(exposure));
        }
    }
}
