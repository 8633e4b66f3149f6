//! What is still to be explored, as plain values.

use super::knowledge::{History, Label};
use super::question::Base;
use super::run::Pending;
use crate::graph::walk::Stand;
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::{Location, ThreadId, Value};
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

/// A state: these events, and this read. How it goes on is to be explored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    #[serde(with = "steps")]
    pub(super) steps: Arc<[Step]>,
    /// So many of the steps.
    pub(super) length: usize,
    pub(super) choice: Option<Choice>,
    /// What its last read is, and the state before that: for whoever knows these histories.
    #[serde(skip)]
    pub(super) last: Option<Last>,
}

/// The last read of a state.
#[derive(Clone, Debug)]
pub(super) struct Last {
    pub before: Arc<Before>,
    pub thread: ThreadId,
    pub label: Label,
    /// All of the state before, to go on from without running it again.
    pub whole: Option<Arc<Whole>>,
    /// The graph with this read, if it is another one than that of the state before.
    pub other: Option<Arc<Graph>>,
}

/// A state, as far as it says what threads can read after one more read of another.
#[derive(Debug)]
pub(super) struct Before {
    pub name: u128,
    pub histories: Vec<Option<History>>,
    /// Those who are at a read that cannot wait.
    pub readers: Vec<Reader>,
    /// What threads with these histories cannot read next.
    pub refuted: Vec<(History, Label)>,
}

/// All of a state.
#[derive(Debug)]
pub(super) struct Whole {
    pub graph: Graph,
    pub stand: Stand,
    pub pending: Vec<Option<Pending>>,
    /// What is known of the graph.
    pub base: Option<Base>,
}

/// A thread that is at a read.
#[derive(Debug)]
pub(super) struct Reader {
    pub thread: ThreadId,
    pub cell: Location,
    /// What is there to be read, as far as it is not known to be impossible.
    pub labels: Vec<Label>,
    /// Are these all that is there?
    pub all: bool,
}

impl Task {
    /// Everything.
    pub fn root() -> Task {
        Task { steps: Arc::new([]), length: 0, choice: None, last: None }
    }

    /// The same without what takes much memory: it may wait for long.
    pub(super) fn lean(mut self) -> Task {
        if let Some(last) = &mut self.last {
            (last.whole, last.other) = (None, None);
        }
        self
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
