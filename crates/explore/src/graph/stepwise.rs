//! The exploration of graphs, one run at a time: an [`Explorer`](crate::Explorer) like any other.
//!
//! [`graph::Explorer::explore`](super::Explorer::explore) does the same faster, because it keeps what is left as
//! alternatives on the graph at hand.

use super::error::ExploreError;
use super::explorer::{Explorer, Restart};
use super::task::Task;
use super::trace::trace_of;
use super::visitor::{Flow, Stuck, Visitor};
use crate::explorer::Next;
use fencepost_engine::Threads;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Model, Outcome, ThreadId, Trace};

/// One run of the program.
#[derive(Debug)]
pub struct Run {
    /// What it showed: nothing if the graph turned out to be none of the model's, one execution, or one for each
    /// thread that could end the process.
    pub traces: Vec<Trace>,
    /// Did accesses race?
    pub racy: bool,
    left: Left,
}

/// What is to be done afterwards.
#[derive(Debug)]
enum Left {
    Tasks(Vec<Task>),
    /// All over again, with this.
    All(Box<Task>),
}

/// Turns what is met into traces.
struct Traces {
    model: Model,
    traces: Vec<Trace>,
    racy: bool,
}

impl Traces {
    fn note<T: Threads>(&mut self, program: &T, graph: &Graph, outcome: Outcome) -> Flow {
        self.traces.push(trace_of(program, graph, self.model, outcome));
        Flow::Continue(())
    }
}

impl<T: Threads> Visitor<T> for Traces {
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow {
        self.note(program, graph, Outcome::Finished)
    }

    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow {
        self.note(program, graph, stuck.outcome())
    }

    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        self.note(program, graph, Outcome::Failed { thread, failure })
    }

    fn race(&mut self, program: &T, graph: &Graph, _: Node, _: Node) -> Flow {
        self.racy = true;
        self.note(program, graph, Outcome::Finished)
    }

    fn races(&mut self, program: &T, graph: &Graph, _: &[(Node, Node)]) -> Flow {
        self.racy = true;
        self.note(program, graph, Outcome::Finished)
    }
}

impl<T: Threads> crate::Explorer for Explorer<T> {
    type Plan = Task;
    type Last = Run;

    fn first(&mut self) -> Vec<Task> {
        vec![Task::root()]
    }

    fn execute(&mut self, task: Task) -> Result<Run, ExploreError> {
        let mut met = Traces { model: self.options.model, traces: Vec::new(), racy: false };
        // One run, and no more.
        let left = match self.explore_task(task, &mut met, |_| Flow::Break(())) {
            Ok(_) => Left::Tasks(self.left()),
            Err(Restart::Anew(task)) => Left::All(task),
            Err(Restart::Error(error)) => return Err(error),
        };
        Ok(Run { traces: met.traces, racy: met.racy, left })
    }

    fn next(&mut self, last: &Run) -> Next<Task> {
        match &last.left {
            Left::Tasks(tasks) => Next::Also(tasks.clone()),
            Left::All(task) => Next::Anew(vec![Task::clone(task)]),
        }
    }
}
