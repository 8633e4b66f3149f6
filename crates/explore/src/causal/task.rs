//! What is still to be explored, as plain values.

use super::knowledge::{History, Label};
use super::question::Base;
use super::run::Pending;
use super::steps::Steps;
use crate::graph::walk::Stand;
use fencepost_memory::graph::Graph;
use fencepost_trace::{Location, ThreadId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    pub(super) steps: Steps,
    /// So many of the steps.
    pub(super) length: u32,
    pub(super) choice: Option<Choice>,
    /// What its last read is, and the state before that: for whoever knows these histories.
    #[serde(skip)]
    pub(super) last: Option<Box<Last>>,
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
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub graph: Graph,
    pub stand: Stand,
    pub pending: Vec<Option<Pending>>,
    /// What is known of the graph.
    pub base: Base,
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
        Task { steps: Steps::none(), length: 0, choice: None, last: None }
    }

    /// Leaves out what takes much memory, since it may wait for long. That is returned.
    pub(super) fn take_whole(&mut self) -> Option<Arc<Whole>> {
        let last = self.last.as_mut()?;
        last.other = None;
        last.whole.take()
    }
}
