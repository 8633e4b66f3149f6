//! What is still to be explored, as plain values.

use super::knowledge::{History, Label};
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::{Location, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One event of an execution: whose, and for a read what it got.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "Words", into = "Words")]
pub(super) struct Step {
    pub thread: u32,
    /// The event that a read reads, by number.
    pub source: u32,
    /// Which of several results a read has.
    pub variant: u32,
    /// Where a write stands in coherence order.
    pub position: u32,
    /// What a read got.
    pub value: Value,
}

/// A step as it is written: there are many of them.
type Words = (u32, u32, u32, u32, Value);

impl From<Words> for Step {
    fn from((thread, source, variant, position, value): Words) -> Step {
        Step { thread, source, variant, position, value }
    }
}

impl From<Step> for Words {
    fn from(Step { thread, source, variant, position, value }: Step) -> Words {
        (thread, source, variant, position, value)
    }
}

/// The events of a graph in the order of addition.
pub(super) fn steps_of(graph: &Graph) -> Arc<[Step]> {
    graph
        .nodes()
        .map(|(_, data)| Step {
            thread: data.thread.0,
            source: data.source.0,
            variant: data.variant,
            position: data.position,
            value: if data.flags.has(Flags::READ) { data.value } else { Value::ZERO },
        })
        .collect()
}

/// A read to begin with.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Choice {
    pub thread: u32,
    pub source: u32,
    pub variant: u32,
}

/// A thread in a state of which what can be read was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub thread: u32,
    /// What it has read.
    pub history: History,
    /// If it was asked: where it reads next, and whether it may stay there forever.
    pub asked: Option<(Location, bool)>,
}

/// The read that leads to a state, and the state before it: the same may come of other reads from there (`order`).
#[derive(Clone, Debug)]
pub(super) struct Last {
    /// Those who can go on.
    pub threads: Arc<[Standing]>,
    pub thread: u32,
    pub label: Label,
}

/// A state: these events, and this read. How it goes on is to be explored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    #[serde(with = "steps")]
    pub(super) steps: Arc<[Step]>,
    /// So many of the steps.
    pub(super) length: usize,
    pub(super) choice: Option<Choice>,
    /// How the state was reached, while whoever noted it remembers.
    #[serde(skip)]
    pub(super) last: Option<Last>,
}

impl Task {
    /// Everything.
    pub fn root() -> Task {
        Task { steps: Arc::new([]), length: 0, choice: None, last: None }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps[..self.length]
    }
}

/// The node of a step.
pub(super) fn node_of(step: usize) -> Node {
    Node(step as u32 + 1)
}

/// Steps as a list.
pub(super) mod steps {
    use super::Step;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(steps: &Arc<[Step]>, s: S) -> Result<S::Ok, S::Error> {
        steps.as_ref().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Arc<[Step]>, D::Error> {
        Vec::<Step>::deserialize(d).map(Arc::from)
    }
}
