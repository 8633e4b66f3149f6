//! A litmus test with fences that it does not have, and one execution of it.

use crate::litmus::LitmusCase;
use fencepost_engine::{Execution, Strategy, Threads, run};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::Machine;
use fencepost_trace::{Access, FenceOrder, Label, Limits, Location, Op, Outcome, Reply, ThreadId, Trace, Value};
use std::collections::VecDeque;

/// A fence that the program does not have: at which label, before or behind it, of which order.
pub type Extra = (u32, bool, FenceOrder);

/// A program with more fences.
pub struct Fenced<'a> {
    pub program: &'a mut LitmusProgram,
    fences: &'a [Extra],
    threads: Vec<Lane>,
}

#[derive(Clone, Default)]
struct Lane {
    /// What the thread asks for next, and whether the program itself does.
    queue: VecDeque<(Op, bool)>,
    /// Was what it asked for last the program's own?
    own: bool,
    /// The answer to that.
    answer: Reply,
}

impl<'a> Fenced<'a> {
    /// The program with these fences.
    pub fn new(program: &'a mut LitmusProgram, fences: &'a [Extra]) -> Fenced<'a> {
        Fenced { program, fences, threads: Vec::new() }
    }
}

impl Threads for Fenced<'_> {
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
        if lane.queue.is_empty() {
            let op = self.program.resume(thread, lane.answer);
            let label = self.program.label(thread);
            let fences = |before: bool| {
                let here = self.fences.iter().filter(move |(at, first, _)| *at == label && *first == before);
                here.map(|(_, _, order)| (Op::Access(Access::Fence { order: *order }), false))
            };
            let access = matches!(op, Op::Access(_));
            lane.queue.extend(fences(true).filter(|_| access));
            lane.queue.push_back((op, true));
            lane.queue.extend(fences(false).filter(|_| access));
        }
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

    /// By its number.
    fn describe(&self, label: u32) -> Label {
        Label { line: label, ..Label::default() }
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let lane = &self.threads[thread.index()];
        let here = (lane.queue.len() as u64) << 1 | u64::from(lane.own);
        Some(self.program.digest(thread)? ^ here.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// An execution: its trace, the label numbers of its labels, and its final state if it has one.
pub struct Ran {
    pub trace: Trace,
    pub labels: Vec<u32>,
    pub state: Option<Vec<i64>>,
}

impl Ran {
    /// An execution that the program has just run, whose labels are numbers.
    pub fn of(program: &LitmusProgram, mut trace: Trace) -> Ran {
        let labels: Vec<u32> = trace.labels.iter().map(|label| label.line).collect();
        trace.labels = labels.iter().map(|label| program.describe(*label)).collect();
        let state = (trace.outcome == Outcome::Finished).then(|| LitmusCase::state(program, &trace));
        Ran { trace, labels, state }
    }
}

/// Runs it once.
pub fn execute_on<M: Machine>(
    machine: M,
    program: &mut LitmusProgram,
    limits: Limits,
    strategy: &mut impl Strategy,
    fences: &[Extra],
) -> Ran {
    let mut execution = Execution::new(machine);
    let mut fenced = Fenced::new(program, fences);
    run(&mut execution, &mut fenced, strategy, limits);
    let trace = execution.trace(|label| fenced.describe(label));
    Ran::of(program, trace)
}
