//! A visitor that only counts, so that nothing but exploration is measured.

use fencepost_explore::graph::{Flow, Stuck, Visitor};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, ThreadId};

/// How many executions of each kind there were.
#[derive(Default)]
pub struct Counts {
    /// complete ones
    pub executions: u64,
    /// those that could not be completed
    pub blocked: u64,
}

impl<T> Visitor<T> for Counts {
    fn execution(&mut self, _: &T, _: &Graph) -> Flow {
        self.executions += 1;
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &T, _: &Graph, _: Stuck) -> Flow {
        self.blocked += 1;
        Flow::Continue(())
    }
    fn failed(&mut self, _: &T, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        Flow::Continue(())
    }
    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Break(())
    }
}
