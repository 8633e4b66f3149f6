//! A visitor that only counts, so that nothing but exploration is measured.

use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor};
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Model, ThreadId};

/// How many executions of each kind there were.
#[derive(Default)]
pub struct Counts {
    /// complete ones
    pub executions: u64,
    /// those that could not be completed
    pub blocked: u64,
}

impl Visitor<LitmusProgram> for Counts {
    fn execution(&mut self, _: &LitmusProgram, _: &Graph) -> Flow {
        self.executions += 1;
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &LitmusProgram, _: &Graph, _: Stuck) -> Flow {
        self.blocked += 1;
        Flow::Continue(())
    }
    fn failed(&mut self, _: &LitmusProgram, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        Flow::Continue(())
    }
    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Break(())
    }
}

/// Explores a test under a model, on one core.
pub fn explore(test: &LitmusTest, model: Model) -> Counts {
    let mut explorer = Explorer::new(test.program(), Options::new(model)).expect("the model has axioms");
    explorer.explore(Counts::default).expect("a litmus test can be explored")
}
