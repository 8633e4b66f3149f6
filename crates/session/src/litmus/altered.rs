//! A litmus test with more fences, or with weaker operations, than it has.

use fencepost_engine::Threads;
use fencepost_litmus::LitmusProgram;
use fencepost_trace::{
    Access, FenceOrder, Label, LoadOrder, Location, Op, Reply, RmwOrder, StoreOrder, ThreadId, Value,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is different, at a program point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A fence of this order before what is done there.
    Fence(u32, FenceOrder),
    /// A fence is left out; a seq_cst operation acquires and releases only.
    Weaken(u32),
}

/// The program, changed.
#[derive(Clone, Debug)]
pub struct Altered {
    program: LitmusProgram,
    changes: Arc<[Change]>,
    threads: Vec<Lane>,
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

impl Altered {
    pub fn new(program: LitmusProgram, changes: &[Change]) -> Altered {
        Altered { program, changes: changes.into(), threads: Vec::new() }
    }

    /// The test's own program.
    pub fn program(&self) -> &LitmusProgram {
        &self.program
    }

    fn is_weakened(&self, label: u32) -> bool {
        self.changes.contains(&Change::Weaken(label))
    }
}

/// What is left of an operation that is made weaker; `None` of a fence.
fn weaker(op: Op) -> Option<Op> {
    let Op::Access(mut access) = op else { return Some(op) };
    let rmw = |order: &mut RmwOrder| {
        if *order == RmwOrder::SeqCst {
            *order = RmwOrder::AcqRel;
        }
    };
    let load = |order: &mut LoadOrder| {
        if *order == LoadOrder::SeqCst {
            *order = LoadOrder::Acquire;
        }
    };
    match &mut access {
        Access::Fence { .. } => return None,
        Access::Load { order, .. } => load(order),
        Access::Store { order, .. } if *order == StoreOrder::SeqCst => *order = StoreOrder::Release,
        Access::Store { .. } => {}
        Access::Rmw { order, .. } => rmw(order),
        Access::CompareExchange { success, failure, .. } => {
            rmw(success);
            load(failure);
        }
    }
    Some(Op::Access(access))
}

impl Threads for Altered {
    fn start(&mut self) -> u32 {
        let threads = self.program.start();
        self.threads = vec![Lane { own: true, ..Lane::default() }; threads as usize];
        threads
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let lane = &mut self.threads[thread.index()];
        if lane.own {
            lane.answer = reply;
        }
        while self.threads[thread.index()].queue.is_empty() {
            let answer = self.threads[thread.index()].answer;
            let op = self.program.resume(thread, answer);
            let label = self.program.label(thread);
            let op = if self.is_weakened(label) { weaker(op) } else { Some(op) };
            let changes = self.changes.clone();
            let lane = &mut self.threads[thread.index()];
            lane.answer = Reply::NONE;
            let Some(op) = op else { continue };
            if let Op::Access(_) = op {
                let here = changes.iter().filter_map(|change| match change {
                    Change::Fence(at, order) if *at == label => Some(*order),
                    _ => None,
                });
                lane.queue.extend(here.map(|order| (Op::Access(Access::Fence { order }), false)));
            }
            lane.queue.push_back((op, true));
        }
        let lane = &mut self.threads[thread.index()];
        let (op, own) = lane.queue.pop_front().expect("the program asks for something");
        lane.own = own;
        op
    }

    fn initial(&self, at: Location) -> Value {
        self.program.initial(at)
    }

    fn observed(&self) -> &[Location] {
        self.program.observed()
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.program.label(thread)
    }

    fn describe(&self, label: u32) -> Label {
        self.program.describe(label)
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let left = self.threads.get(thread.index()).map_or(0, |lane| lane.queue.len());
        self.program.digest(thread).map(|digest| digest.wrapping_mul(31).wrapping_add(left as u64))
    }
}
