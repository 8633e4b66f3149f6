//! Every execution graph of the program, each exactly once.
//!
//! The exploration runs on the campaign's stack and sees the program as it sees any other: it resumes a thread with a reply, and the
//! thread comes back with its next operation. Atomics and synchronisation are its events; plain accesses go to memory and to the race
//! detector, whose clocks come from the graph.
//!
//! What makes this sound, and where it ends:
//!
//! - An execution is cut and run again all the time, so that each thread must do the same when it reads the same: the heap gives
//!   addresses by thread, and plain memory is put back. A program that does otherwise is reported as not deterministic.
//! - The initial value of an atomic is what memory holds at its first access. If that differs between executions, because the
//!   atomic lies in memory that was used for something else before, the exploration says that it is not complete.
//! - A thread that waits in a loop is recognised by its registers and its stack, and by having written nothing: see [`digest`].
//! - Under sc, tso and pso plain accesses are no events either. That is right while they do not race; if they do, the
//!   exploration says that it is not complete.
//! - Waits with a timeout are not explored: the exploration says that it is not complete.

use crate::ending::{self, Verdict};
use crate::global::{self, Global};
use crate::{campaign, control, debugger, fibers, modules, results, stall};
use fencepost_explore::graph::{Explorer, Flow, Options, Races, Stuck, Visitor, replay_steps, steps_of};
use fencepost_mailbox::{Answers, Record, Request};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{
    Failure, GraphStep, Label, Location, Model, Op, Outcome, Reply, ThreadId, Trace, Value, VectorClock,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// An exploration under way.
struct State {
    request: Request,
    clocks: Vec<VectorClock>,
    /// The initial values that the exploration believes in.
    initial: FxHashMap<Location, Value>,
    /// Why it is not complete, if it is not.
    incomplete: Option<String>,
    runs: u64,
    /// How the execution at hand ended, if the program ended it.
    verdict: Option<Verdict>,
    /// The graph of the execution at hand, if somebody wants it.
    steps: Vec<GraphStep>,
    trace: Option<Trace>,
    /// Plain accesses raced in the execution at hand.
    raced: bool,
}

static STATE: Global<Option<State>> = Global::new(None);

fn state() -> &'static mut State {
    STATE.get().as_mut().expect("internal error: no exploration")
}

/// Is an exploration under way?
#[inline(always)]
pub fn is_on() -> bool {
    STATE.get().is_some()
}

/// What happens before what a thread does now.
pub fn clock(thread: ThreadId) -> &'static VectorClock {
    let clocks = &mut state().clocks;
    if clocks.len() <= thread.index() {
        clocks.resize_with(thread.index() + 1, VectorClock::default);
    }
    &clocks[thread.index()]
}

/// The running thread asks for an operation; answers when the exploration has decided.
pub fn ask(op: Op) -> Reply {
    let me = fibers::me();
    if me.deadline.is_some() {
        unsupported("a wait with a timeout is not explored");
    }
    me.pc = global::caller();
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    me.asked = Some(op);
    fibers::go_back();
    debugger::visited();
    let me = fibers::me();
    global::set_caller(me.pc, me.sp);
    me.reply
}

/// The running thread makes a plain write.
#[inline]
pub fn wrote(address: usize) {
    if is_on() || stall::is_on() {
        let me = fibers::me();
        // What it keeps on its stack is looked at itself.
        if !(me.stack.0..me.stack.1).contains(&address) {
            me.writes += 1;
        }
    }
}

/// The first access to an atomic in this execution finds this in memory.
pub fn first_access(at: Location, found: Value) {
    if state().initial.get(&at).is_some_and(|known| *known != found) {
        unsupported("an atomic starts with another value in another execution");
    }
}

/// Under a hardware model a race is no finding, but plain accesses are no events either: what is explored is then not all there is.
pub fn ignores_race() -> bool {
    let hardware = is_on() && state().request.model != Model::C11;
    if hardware {
        state().raced = true;
    }
    hardware
}

/// Something that keeps the exploration from being complete.
pub fn unsupported(why: &str) {
    state().incomplete.get_or_insert_with(|| why.to_owned());
}

/// Explores the program.
pub fn run(request: &Request) {
    *STATE.get() = Some(State {
        request: request.clone(),
        clocks: Vec::new(),
        initial: FxHashMap::default(),
        incomplete: None,
        runs: 0,
        verdict: None,
        steps: Vec::new(),
        trace: None,
        raced: false,
    });
    if let Answers::Graph { steps } = &request.answers {
        replay(request, steps);
        *STATE.get() = None;
        return;
    }
    let options = Options {
        max_events: request.max_steps as usize,
        spurious_failures: false,
        races: Races::Ignore,
        ..Options::new(request.model)
    };
    let explored =
        Explorer::new(Program { over: false }, options).and_then(|mut explorer| explorer.explore(Report::default));
    match explored {
        Ok(report) => {
            let why = state().incomplete.take();
            why.iter().for_each(|why| results::note(why));
            let complete = !report.cut && why.is_none();
            results::log(&Record::Explored { complete, executions: report.executions, blocked: report.blocked });
        }
        Err(error) => {
            results::note(&error.to_string());
            results::log(&Record::Explored { complete: false, executions: 0, blocked: 0 });
        }
    }
    *STATE.get() = None;
}

/// Runs one execution graph again.
fn replay(request: &Request, steps: &[GraphStep]) {
    match replay_steps(Program { over: false }, request.model, steps) {
        Ok((trace, _)) => {
            let verdict = match (state().verdict.take(), &trace.outcome) {
                (Some(verdict), _) => verdict,
                (None, Outcome::Deadlock { blocked }) => Verdict::Deadlock(blocked.clone()),
                (None, Outcome::Livelock { spinning }) => Verdict::Livelock(spinning.clone()),
                (None, _) => Verdict::Exit(0),
            };
            state().steps = steps.to_vec();
            state().trace = Some(trace);
            if let Verdict::Deadlock(threads) | Verdict::Livelock(threads) = &verdict
                && let Some(last) = threads.last()
                && debugger::is_there()
                && let Some(fingerprint) = results::fingerprint(&verdict, request)
            {
                debugger::announce_in(*last, fingerprint);
            }
            results::end(&verdict, request);
        }
        Err(error) => results::note(&error.to_string()),
    }
}

/// The steps of the graph at hand, if somebody wanted them.
pub fn steps() -> Vec<GraphStep> {
    STATE.get().as_ref().map_or_else(Vec::new, |state| state.steps.clone())
}

/// The trace of a graph that was run again.
pub fn take_trace() -> Option<Trace> {
    STATE.get().as_mut()?.trace.take()
}

/// The program, as an exploration sees it.
struct Program {
    /// The process has ended: its threads have, too.
    over: bool,
}

impl fencepost_engine::Threads for Program {
    fn start(&mut self) -> u32 {
        self.over = false;
        let state = state();
        state.verdict = None;
        state.raced = false;
        state.clocks.iter_mut().for_each(VectorClock::clear);
        results::begin(state.runs);
        campaign::restart_exploring(state.runs == 0);
        state.runs += 1;
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        if self.over {
            return Op::Exit;
        }
        fibers::all().get(thread).reply = reply;
        fibers::visit(thread);
        global::set_inside(true);
        let Some(verdict) = ending::try_take() else {
            let asked = fibers::all().get(thread).asked.take();
            return asked.unwrap_or_else(|| ending::internal("a thread came back without an operation"));
        };
        self.over = true;
        let op = match verdict {
            Verdict::Exit(status) if status == 0 || !state().request.status_is_finding => Op::Exit,
            Verdict::Assertion(_) => Op::Fail(Failure::Assertion),
            Verdict::Crash { .. } => Op::Fail(Failure::Crash),
            _ => Op::Fail(Failure::Abort),
        };
        state().verdict = Some(verdict);
        op
    }

    fn initial(&self, at: Location) -> Value {
        let value = control::initial_value(at);
        state().initial.insert(at, value);
        value
    }

    fn label(&self, thread: ThreadId) -> u32 {
        modules::label(fibers::all().get(thread).pc)
    }

    fn describe(&self, label: u32) -> Label {
        Label { line: label, ..Label::default() }
    }

    fn wants_clocks(&self) -> bool {
        true
    }

    fn set_clock(&mut self, thread: ThreadId, slots: &[u32]) {
        clock(thread);
        let clock = &mut state().clocks[thread.index()];
        for (t, time) in slots.iter().enumerate() {
            clock.set(ThreadId(t as u32), *time);
        }
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        digest(thread)
    }
}

/// The longest stack that is looked at.
const MOST_STACK: usize = 64 << 10;

/// All that decides what a thread does next, but for what it reads: where it is, the registers that calls preserve, its stack,
/// and how often it has written to other memory.
pub fn digest(thread: ThreadId) -> Option<u64> {
    let fiber = fibers::all().get(thread);
    let (start, end) = (fiber.sp, fiber.stack.1);
    if fiber.sp == 0 || end <= start || end - start > MOST_STACK {
        return None;
    }
    let mut hasher = FxHasher::default();
    hasher.write_usize(fiber.pc);
    fiber.registers.iter().for_each(|register| hasher.write_usize(*register));
    hasher.write_u64(fiber.writes);
    // SAFETY: the thread's own stack above its stack pointer, and it does not run.
    hasher.write(unsafe { std::slice::from_raw_parts(start as *const u8, end - start) });
    Some(hasher.finish())
}

/// What the exploration has met.
#[derive(Default)]
struct Report {
    executions: u64,
    blocked: u64,
    /// A limit was hit, or the first finding ended it.
    cut: bool,
}

impl Report {
    /// An execution ended like this; says whether to go on.
    fn ended(&mut self, graph: &Graph, verdict: &Verdict) -> Flow {
        let request = &state().request;
        let notable = results::any_found() || *verdict != Verdict::Exit(0);
        state().steps = if notable { steps_of(graph) } else { Vec::new() };
        let found = results::end(verdict, request);
        if state().raced {
            unsupported("plain accesses to shared memory race: under this model they are not explored");
        }
        let enough = self.executions + self.blocked >= request.count;
        if enough || found && request.stop_at_first {
            self.cut = true;
            return Flow::Break(());
        }
        Flow::Continue(())
    }
}

impl Visitor<Program> for Report {
    fn execution(&mut self, _: &Program, graph: &Graph) -> Flow {
        self.executions += 1;
        let verdict = state().verdict.take().unwrap_or(Verdict::Exit(0));
        self.ended(graph, &verdict)
    }

    fn stuck(&mut self, _: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        self.blocked += 1;
        match stuck {
            Stuck::Deadlock(threads) => self.ended(graph, &Verdict::Deadlock(threads)),
            Stuck::Livelock(threads) => self.ended(graph, &Verdict::Livelock(threads)),
            Stuck::Redundant => Flow::Continue(()),
            Stuck::Limit => {
                self.cut = true;
                Flow::Continue(())
            }
        }
    }

    fn failed(&mut self, _: &Program, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        let verdict = state().verdict.take().unwrap_or(Verdict::Abort(String::new()));
        self.ended(graph, &verdict)
    }

    fn race(&mut self, _: &Program, graph: &Graph, _: Node, _: Node) -> Flow {
        // A plain write to an atomic: the race detector has seen it, too.
        self.ended(graph, &Verdict::Exit(0))
    }
}
