//! A litmus test with more fences, or with weaker operations, than it has.

use fencepost_engine::Threads;
use fencepost_litmus::LitmusProgram;
use fencepost_trace::{Access, FenceOrder, Label, Location, Op, Reply, RmwOrder, ThreadId, Value};
use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is different, at a program point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A fence before or behind what is done there.
    Fence {
        /// The program point.
        at: u32,
        /// Before it, or behind it?
        before: bool,
        /// The fence's order.
        order: FenceOrder,
    },
    /// A fence or a seq_cst operation that is weaker; see [`Access::weakened`].
    Weaken {
        /// The program point.
        at: u32,
        /// How strong it still is.
        to: RmwOrder,
    },
}

/// The program, changed.
#[derive(Clone, Debug)]
pub struct Altered<P> {
    program: P,
    changes: Arc<[Change]>,
    threads: Vec<Lane>,
    numbered: bool,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// What the thread asks for next, and whether the program itself does.
    queue: VecDeque<(Op, bool)>,
    /// Was what it asked for last the program's own?
    own: bool,
    /// The answer to that.
    answer: Reply,
}

impl<P: BorrowMut<LitmusProgram>> Altered<P> {
    pub fn new(program: P, changes: &[Change]) -> Altered<P> {
        Altered { program, changes: changes.into(), threads: Vec::new(), numbered: false }
    }

    /// Program points are described by their numbers, as lines.
    pub fn numbered(self) -> Altered<P> {
        Altered { numbered: true, ..self }
    }

    /// The test's own program.
    pub fn program(&self) -> &LitmusProgram {
        self.program.borrow()
    }

    /// What is left of an operation; `None` of a fence that is left out.
    fn weakened(&self, op: Op, label: u32) -> Option<Op> {
        let Op::Access(access) = op else { return Some(op) };
        let to = self.changes.iter().find_map(|change| match change {
            Change::Weaken { at, to } if *at == label => Some(*to),
            _ => None,
        });
        to.map_or(Some(access), |to| access.weakened(to)).map(Op::Access)
    }

    /// The program's next operation, with the fences around it.
    fn enqueue(&mut self, thread: ThreadId) {
        let lane = &mut self.threads[thread.index()];
        let answer = std::mem::replace(&mut lane.answer, Reply::NONE);
        let op = self.program.borrow_mut().resume(thread, answer);
        let label = self.program().label(thread);
        let Some(op) = self.weakened(op, label) else { return };
        let fences = |side: bool| {
            let here = self.changes.iter().filter_map(move |change| match change {
                Change::Fence { at, before, order } if *at == label && *before == side => Some(*order),
                _ => None,
            });
            here.map(|order| (Op::Access(Access::Fence { order }), false))
        };
        let is_access = matches!(op, Op::Access(_));
        let queue = &mut self.threads[thread.index()].queue;
        queue.extend(fences(true).filter(|_| is_access));
        queue.push_back((op, true));
        queue.extend(fences(false).filter(|_| is_access));
    }
}

impl<P: BorrowMut<LitmusProgram>> Threads for Altered<P> {
    fn start(&mut self) -> u32 {
        let threads = self.program.borrow_mut().start();
        self.threads = vec![Lane { own: true, ..Lane::default() }; threads as usize];
        threads
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let lane = &mut self.threads[thread.index()];
        if lane.own {
            lane.answer = reply;
        }
        while self.threads[thread.index()].queue.is_empty() {
            self.enqueue(thread);
        }
        let lane = &mut self.threads[thread.index()];
        let (op, own) = lane.queue.pop_front().expect("the program asks for something");
        lane.own = own;
        op
    }

    fn initial(&self, at: Location) -> Value {
        self.program().initial(at)
    }

    fn observed(&self) -> &[Location] {
        self.program().observed()
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.program().label(thread)
    }

    fn describe(&self, label: u32) -> Label {
        if self.numbered { Label { line: label, ..Label::default() } } else { self.program().describe(label) }
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let lane = self.threads.get(thread.index())?;
        let here = (lane.queue.len() as u64) << 1 | u64::from(lane.own);
        Some(self.program().digest(thread)? ^ here.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
