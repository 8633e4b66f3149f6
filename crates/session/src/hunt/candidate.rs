//! A cycle that was predicted, and what became of it.

use super::subject::Exposure;
use fencepost_predict::critical::{Instance, Node};
use fencepost_report::HuntMethod;
use fencepost_trace::{Cycle, Model, Severity};

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
    /// Is it one of the few harmful cycles that together explain every failure?
    pub root_cause: bool,
}

/// An execution that shows a cycle.
pub struct Witness {
    pub exposure: Exposure,
    /// The digest of its trace, once it has been run again.
    pub digest: String,
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
            root_cause: false,
        }
    }

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
    pub fn full_fences(&self) -> usize {
        let first = self.instances.first().map(Vec::as_slice).unwrap_or_default();
        let full = |(a, b): &&(Node, Option<Node>)| !a.access.0 && b.is_some_and(|b| !b.access.1);
        first.iter().filter(full).count()
    }

    pub fn note(&mut self, exposure: Exposure, method: HuntMethod) {
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
