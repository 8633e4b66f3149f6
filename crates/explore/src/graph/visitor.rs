//! Who is told of what exploration meets.

use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Outcome, ThreadId};

/// Go on, or stop the whole exploration?
pub type Flow = std::ops::ControlFlow<()>;

/// Why an exploration halts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Nothing is left.
    Done,
    /// Somebody wished it.
    Stopped,
    /// Something was learnt with which all has to begin anew: what was met before is worth nothing.
    Anew,
}

/// Why an execution has threads that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// Every thread that is left waits for something that will never come.
    Deadlock(Vec<ThreadId>),
    /// Every thread that is left waits or repeats a loop without effect, and nothing will ever change.
    Livelock(Vec<ThreadId>),
    /// It waits for a value that is there already: the execution in which it reads that is explored elsewhere.
    Redundant,
    /// The limit of events was hit: the exploration is not complete.
    Limit,
}

impl Stuck {
    /// The outcome that it stands for in a trace.
    pub fn outcome(self) -> Outcome {
        match self {
            Stuck::Deadlock(blocked) => Outcome::Deadlock { blocked },
            Stuck::Livelock(spinning) => Outcome::Livelock { spinning },
            Stuck::Redundant => Outcome::Redundant,
            Stuck::Limit => Outcome::StepLimit,
        }
    }
}

/// How a thread has ended the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Which thread.
    pub thread: ThreadId,
    /// Why; `None` if that is how the program was meant to end.
    pub failure: Option<Failure>,
}

/// Who is told of what exploration meets. The program's threads stand where the execution left them.
pub trait Visitor<T> {
    /// A complete execution.
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow;

    /// An execution that cannot be completed.
    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow;

    /// The program failed in this execution.
    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow;

    /// A thread has ended the process like this. Other threads may have run on since: what they did counts as done
    /// before. `others` have ended it in the same graph, too, in an execution of its own for each of them.
    fn ended(&mut self, program: &T, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        let _ = others;
        match end.failure {
            Some(failure) => self.failed(program, graph, end.thread, failure),
            None => self.execution(program, graph),
        }
    }

    /// A bound on preemptions ([`Options::preemptions`](super::Options)) has left something out: an execution, or all
    /// that could come of a graph.
    fn left_out(&mut self) -> Flow {
        Flow::Continue(())
    }

    /// Two accesses race (C/C++20 only).
    fn race(&mut self, program: &T, graph: &Graph, first: Node, second: Node) -> Flow;

    /// All pairs that race in one execution, where it does not end at the first ([`Races::All`](super::Races::All)).
    /// If it is complete, it is told of with this and nothing else.
    fn races(&mut self, program: &T, graph: &Graph, pairs: &[(Node, Node)]) -> Flow {
        pairs.iter().try_for_each(|(first, second)| self.race(program, graph, *first, *second))
    }
}
