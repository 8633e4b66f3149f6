//! What is left to be explored, as values.

use super::cells::Cells;
use fencepost_engine::WaitSets;
use fencepost_memory::graph::{Graph, Node};
use serde::{Deserialize, Serialize};

/// One thing still to be tried, at an event: everything added after it is cut off first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Alternative {
    /// The read reads another write.
    Source { read: Node, source: Node, variant: u32 },
    /// The write stands elsewhere in coherence order.
    Position { write: Node, position: u32 },
    /// An earlier read reads the write.
    Revisit { write: Node, read: Node, variant: u32 },
}

impl Alternative {
    pub(super) fn node(self) -> Node {
        match self {
            Alternative::Source { read, .. } => read,
            Alternative::Position { write, .. } | Alternative::Revisit { write, .. } => write,
        }
    }
}

/// Part of an exploration that has not been done: a graph and what is to be tried on it. Nothing but the program is
/// needed to do it, so that another worker, another process or another machine can; its form in JSON says everything.
/// Program points in it are the program's own numbers ([`Threads::label`](fencepost_engine::Threads::label)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub(super) graph: Graph,
    /// Empty for a graph that was not run yet.
    pub(super) todo: Vec<Alternative>,
    pub(super) cells: Cells,
    /// What the values of condition variables in the graph stand for.
    pub(super) sets: WaitSets,
    /// Where threads are known to come by again: see [`Walk`](super::walk::Walk).
    pub(super) loops: u64,
    /// By thread, how many rounds that write, and that nobody has observed, it may go: see `rounds`.
    #[serde(default)]
    pub(super) unobserved: Vec<u32>,
    /// Where threads are known to give way by themselves: see [`Walk`](super::walk::Walk).
    #[serde(default)]
    pub(super) volunteers: u64,
}

impl Task {
    /// The whole exploration.
    pub fn root() -> Task {
        Task::with(Cells::default(), 0)
    }

    /// The whole exploration, of a program of which it is known which bytes belong together, and where threads give
    /// way by themselves.
    pub(super) fn with(cells: Cells, volunteers: u64) -> Task {
        let (todo, sets, unobserved) = (Vec::new(), WaitSets::default(), Vec::new());
        Task { graph: Graph::new(), todo, cells, sets, loops: 0, volunteers, unobserved }
    }

    /// The same, in which each thread may go so many rounds that nobody has observed.
    pub(super) fn going(self, unobserved: Vec<u32>) -> Task {
        Task { unobserved, ..self }
    }

    /// How many alternatives it holds; each leads to one graph at least, or turns out to be none.
    pub fn alternatives(&self) -> usize {
        self.todo.len().max(1)
    }
}
