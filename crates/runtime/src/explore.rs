//! Every execution graph of the program, each exactly once.
//!
//! The exploration runs on the campaign's stack and sees the program as it sees any other: it resumes a thread with a
//! reply, and the thread comes back with its next operation. Atomics and synchronisation are its events, and plain
//! accesses to memory that turns out to be shared without synchronisation (see [`shared`]); other plain accesses go
//! to memory and to the race detector, whose clocks come from the graph.
//!
//! What makes this sound, and where it ends:
//!
//! - An execution is cut and run again all the time, so that each thread must do the same when it reads the same: the
//!   heap gives addresses by thread, and plain memory is put back. A program that does otherwise is reported as not
//!   deterministic.
//! - The initial value of a place is what memory holds at its first event. If that differs between executions
//!   although all accesses are events, the exploration says that it is not complete.
//! - A thread that waits in a loop is recognised by its registers and its stack, and by having written nothing: see
//!   [`digest`].
//! - Time is a choice: a wait with a timeout ends either by what it waits for or by its time, wherever both are
//!   possible. So it is an attempt that does not wait, which may come at any time. Each thread has a clock of its
//!   own, which such an end puts forward.
//! - Under a hardware model a block that is freed while nothing orders another thread's access before that: the order
//!   of the two is not explored, and the exploration says that it is not complete.
//!
//! On several cores the process forks: parent and child each keep half of the alternatives that are left. Counts are
//! in memory that they share.

use crate::ending::{self, Verdict};
use crate::global::{self, Global};
use crate::{campaign, control, debugger, fibers, hooks, modules, progress, results, rust_std, shared, sys, unseen};
use fencepost_explore::graph::{
    End, Explorer, Flow, Options, Races, Stuck, Visitor, replay_steps, steps_of, steps_to_end,
};
use fencepost_mailbox::{Exploring, Message, Record, Request};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{
    CampaignSpec, Failure, GraphStep, Hidden, Label, Location, Model, Op, Outcome, Reply, StrategySpec, ThreadId,
    Trace, Value, VectorClock,
};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// An exploration under way.
struct State {
    request: Request,
    clocks: Vec<VectorClock>,
    /// Why it is not complete, if it is not.
    incomplete: Option<Message>,
    /// How often the program was run since this process began, or all started over.
    runs: u64,
    /// How often when somebody last looked whether it still does.
    seen: u64,
    /// How threads have ended the process in the execution at hand: each may be the one that does.
    verdicts: Vec<(ThreadId, Verdict)>,
    /// The graph of the execution at hand, if somebody wants it.
    steps: Vec<GraphStep>,
    trace: Option<Trace>,
    /// How many executions in a row were cut off.
    cut_off: u32,
    /// A block is being freed.
    freeing: bool,
    /// The last execution was abandoned, and what it printed is still there.
    open: bool,
    /// Processes that share the work.
    children: Vec<i32>,
    /// This process is one of those.
    is_child: bool,
    /// At how many runs the process forks at the earliest.
    next_fork: u64,
}

/// One execution, or the work on its graph, takes too long.
static LATE: AtomicBool = AtomicBool::new(false);

static STATE: Global<Option<State>> = Global::new(None);

fn state() -> &'static mut State {
    STATE.get().as_mut().expect("internal error: no exploration")
}

/// Does it explore c11, where plain accesses are no events but may race?
pub fn is_language() -> bool {
    is_on() && state().request.model == Model::C11
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
    progress::settle();
    let me = fibers::me();
    if me.deadline.is_some() {
        unsupported("a wait for a thread's end with a timeout is not explored");
    }
    me.pc = global::caller();
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    let asks = &global::CALLER_ASKS;
    me.asks = asks.load(Relaxed).wrapping_mul(31).wrapping_add(1).wrapping_add(mark(&op));
    unseen::asked(&op);
    if op == Op::Yield {
        yields();
    } else {
        me.yielded = 0;
        shared::look_away();
    }
    me.asked = Some(op);
    fibers::go_back();
    debugger::visited();
    let me = fibers::me();
    global::set_caller(me.pc, me.sp);
    global::set_caller_registers(me.registers);
    asks.store(me.asks, Relaxed);
    me.reply
}

/// Tells operations apart that one call asks for.
fn mark(op: &Op) -> u32 {
    match op {
        Op::Access(access) => access.location().map_or(0, |at| (at.address ^ at.address >> 32) as u32),
        Op::Join(_) => 1,
        _ => 0,
    }
}

/// The running thread gives way. If it does so in the same state again and again, it waits for something.
fn yields() {
    let Some(now) = digest(fibers::current()) else { return };
    shared::compare(now);
    let me = fibers::me();
    if me.yielded == now && !shared::is_watching() {
        shared::watch(now);
    }
    me.yielded = now;
}

/// The running thread has made many plain accesses since its last event, and is about to make this one.
pub fn impatient(address: usize, size: usize, write: bool, pc: usize) {
    if shared::has_more() {
        // All starts over, and what this execution reads may be nonsense.
        ending::finish(Verdict::Redundant);
    }
    progress::settle();
    let me = fibers::me();
    me.pc = pc;
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    let now = digest(fibers::current());
    if !shared::is_watching() {
        shared::watch(now.unwrap_or(0));
    } else if let Some(now) = now {
        shared::compare(now);
    }
    if !shared::see(address, size, write) {
        hooks::access::calm();
        global::set_caller(pc, global::caller_sp());
        control::perform(Op::Yield);
    }
}

/// Two accesses to these of the eight bytes at `address` race. Under a hardware model that is no finding: they are
/// shared, and to be explored.
pub fn takes(address: usize, bytes: u8) -> bool {
    if !is_on() || state().request.model == Model::C11 {
        return false;
    }
    if state().freeing {
        unsupported("a block is freed with nothing to order that after another thread's access: this is not explored");
    } else {
        shared::add(address & !7, bytes);
    }
    true
}

/// The race detector forgets an access to these of the eight bytes at `address`: races with it may be missed.
pub fn lost(address: usize, bytes: u8) {
    if is_on() && state().request.model != Model::C11 {
        shared::add(address & !7, bytes);
    }
}

/// The running thread begins or ends to free a block.
pub fn freeing(on: bool) {
    if is_on() {
        state().freeing = on;
    }
}

/// The exploration is not complete.
pub fn unsupported(why: impl Into<Message>) {
    state().incomplete.get_or_insert_with(|| why.into());
}

/// If an exploration is under way it is not complete, because of what the running thread does where it is. The host
/// names the place.
pub fn unsupported_here(why: &str) {
    unsupported_at(why, global::caller());
}

/// The same for another place.
pub fn unsupported_at(why: impl Into<Message>, pc: usize) {
    if is_on() && state().incomplete.is_none() {
        unsupported(why.into().at(modules::frame(pc)));
    }
}

fn exploring() -> &'static Exploring {
    &results::header().unwrap_or_else(|| ending::internal("an exploration without a mailbox")).exploring
}

/// How many runs there are before the process forks, so that short explorations are one worker's; and how many
/// between two forks.
const RUNS_ALONE: u64 = 2_000;
const RUNS_BETWEEN: u64 = 100;

/// Why an exploration stops that the clock has caught.
const TOO_LONG: &str = "one execution took longer than it may (--timeout), and the exploration was stopped";
const STEPS: &str = "has more events than the limit of steps allows";

/// A program of which so many executions in a row are cut off has no others, as far as anybody can wait for.
const MOST_CUT_OFF: u32 = 8;

/// Explores the program.
pub fn run(request: &Request) {
    *STATE.get() = Some(State {
        request: request.clone(),
        clocks: Vec::new(),
        incomplete: None,
        runs: 0,
        seen: 0,
        verdicts: Vec::new(),
        steps: Vec::new(),
        trace: None,
        cut_off: 0,
        freeing: false,
        open: false,
        children: Vec::new(),
        is_child: false,
        next_fork: RUNS_ALONE,
    });
    match &request.campaign {
        CampaignSpec::Repeat(StrategySpec::Graph { steps, shared: events }) => {
            shared::begin(events);
            replay(request, steps);
        }
        CampaignSpec::Explore { .. } if rust_std::unseen().is_some() => refuse(rust_std::unseen()),
        CampaignSpec::Explore { jobs, .. } => {
            shared::begin(&[]);
            let mut jobs = *jobs;
            while !pass(request, jobs) {
                // What a child has learnt is lost with it: one worker will learn it again.
                if exploring().again.load(Relaxed) != 0 {
                    jobs = 1;
                }
                shared::take_more();
            }
        }
        _ => ending::internal("a request that is no exploration"),
    }
    *STATE.get() = None;
}

/// Nothing that an exploration would say could be relied upon.
fn refuse(why: Option<&str>) {
    why.iter().for_each(|why| results::note(*why));
    results::log(&Record::Explored { complete: false, executions: 0, blocked: 0 });
}

/// Explores all, unless something shows up with which it has to start over: then it says so.
fn pass(request: &Request, jobs: u32) -> bool {
    let max_events = request.max_steps as usize;
    let options = Options { max_events, races: Races::Ignore, ..Options::new(request.model) };
    let explored = Explorer::new(Program { abandoned: false }, options)
        .and_then(|mut explorer| explorer.explore_with(start_over, |explorer| between(explorer, jobs)));
    if !shared::has_more()
        && let Err(error) = &explored
    {
        unsupported(&error.to_string());
    }
    if state().is_child {
        if shared::has_more() {
            exploring().again.store(1, Relaxed);
        }
        leave();
    }
    if shared::has_more() {
        exploring().stop.store(1, Relaxed);
    }
    join_children();
    if shared::has_more() || exploring().again.load(Relaxed) != 0 {
        return false;
    }
    let why = state().incomplete.take();
    why.iter().for_each(|why| results::note(why));
    let exploring = exploring();
    let complete = exploring.cut.load(Relaxed) == 0 && why.is_none();
    let (executions, blocked) = (exploring.executions.load(Relaxed), exploring.blocked.load(Relaxed));
    results::log(&Record::Explored { complete, executions, blocked });
    true
}

/// The exploration begins, perhaps not for the first time.
fn start_over() -> Report {
    let exploring = exploring();
    if state().is_child {
        exploring.again.store(1, Relaxed);
        leave();
    }
    exploring.stop.store(1, Relaxed);
    join_children();
    for flag in [&exploring.lock, &exploring.stop, &exploring.cut, &exploring.again] {
        flag.store(0, Relaxed);
    }
    for count in [&exploring.executions, &exploring.blocked, &exploring.numbers] {
        count.store(0, Relaxed);
    }
    exploring.workers.store(1, Relaxed);
    results::forget();
    let state = state();
    state.incomplete = None;
    state.next_fork = state.runs + RUNS_ALONE;
    Report
}

/// After every run: is it time to stop, or to share the work?
fn between(explorer: &mut Explorer<Program>, jobs: u32) -> Flow {
    let (exploring, state) = (exploring(), state());
    if exploring.stop.load(Relaxed) != 0 {
        return Flow::Break(());
    }
    if LATE.swap(false, Relaxed) {
        return stop(TOO_LONG);
    }
    if shared::has_more() {
        exploring.stop.store(1, Relaxed);
        return Flow::Break(());
    }
    if let CampaignSpec::Explore { deadline: Some(deadline), .. } = state.request.campaign
        && (state.runs.is_multiple_of(16) || state.cut_off > 0)
        && sys::monotonic() >= deadline
    {
        return stop("the limit of time was reached");
    }
    if jobs > 1
        && state.runs >= state.next_fork
        && exploring.workers.load(Relaxed) < jobs
        && explorer.alternatives() > 1
    {
        fork(explorer, jobs);
    }
    Flow::Continue(())
}

/// Stops all, and says why.
fn stop(why: &str) -> Flow {
    unsupported(why);
    exploring().stop.store(1, Relaxed);
    Flow::Break(())
}

/// Gives half of what is left to a new process.
fn fork(explorer: &mut Explorer<Program>, jobs: u32) {
    let workers = &exploring().workers;
    let CampaignSpec::Explore { timeout, .. } = state().request.campaign else { return };
    if workers.fetch_add(1, Relaxed) >= jobs {
        workers.fetch_sub(1, Relaxed);
        return;
    }
    state().next_fork = state().runs + RUNS_BETWEEN;
    match sys::fork() {
        0 => {
            sys::die_with_parent();
            results::separate_output();
            let state = state();
            state.children.clear();
            state.is_child = true;
            explorer.halve(false);
            sys::signal_every(ending::LATE, timeout);
        }
        child if child > 0 => {
            if state().children.is_empty() && !state().is_child {
                // The host sees that somebody goes on, no longer who does.
                sys::signal_every(ending::LATE, timeout);
            }
            state().children.push(child as i32);
            exploring().forked.store(1, Relaxed);
            explorer.halve(true);
        }
        _ => {
            // The system gives no more processes: then this one does it.
            workers.fetch_sub(1, Relaxed);
            state().next_fork = u64::MAX;
        }
    }
}

/// What the program does would disturb other processes that do the same: this one does all.
pub fn stay_alone() {
    state().next_fork = u64::MAX;
}

/// The clock says that so much time has passed as one execution may take. Was it one?
pub fn is_late() -> bool {
    let Some(state) = STATE.get() else { return true };
    let shares = state.is_child || !state.children.is_empty();
    let late = !shares || state.runs == state.seen;
    state.seen = state.runs;
    late
}

/// The same, while the exploration itself is at work: it stops at the next opportunity.
pub fn hurry() {
    if is_late() {
        LATE.store(true, Relaxed);
    }
}

/// Waits for the processes that share the work.
fn join_children() {
    let workers = &exploring().workers;
    workers.fetch_sub(1, Relaxed);
    for child in std::mem::take(&mut state().children) {
        if sys::wait_for(child) != 0 {
            unsupported("a process of the exploration has died, and what it had to explore is lost");
            workers.fetch_sub(1, Relaxed);
        }
    }
    workers.fetch_add(1, Relaxed);
}

/// A process that shares the work has done its part.
fn leave() -> ! {
    join_children();
    exploring().workers.fetch_sub(1, Relaxed);
    if let Some(why) = state().incomplete.take() {
        exploring().cut.store(1, Relaxed);
        locked(|| results::note(&why));
    }
    sys::exit(0)
}

/// Does something that only one process may do at a time.
fn locked<T>(act: impl FnOnce() -> T) -> T {
    let lock = &exploring().lock;
    while lock.swap(1, std::sync::atomic::Ordering::Acquire) != 0 {
        sys::give_way();
    }
    let result = act();
    lock.store(0, std::sync::atomic::Ordering::Release);
    result
}

/// How a thread, or any, has ended the process. What is said of that is said of this thread.
fn take_verdict(by: Option<ThreadId>) -> Option<Verdict> {
    let verdicts = &mut state().verdicts;
    let place = verdicts.iter().position(|(thread, _)| by.is_none_or(|by| by == *thread))?;
    let (thread, verdict) = verdicts.swap_remove(place);
    fibers::stand_for(thread);
    Some(verdict)
}

/// Are there threads that have ended the process in the execution at hand, and of which nothing was told yet?
pub fn has_other_ends() -> bool {
    STATE.get().as_ref().is_some_and(|state| !state.verdicts.is_empty())
}

/// Runs one execution graph again.
fn replay(request: &Request, steps: &[GraphStep]) {
    match replay_steps(Program { abandoned: false }, request.model, steps) {
        Ok((trace, _)) => {
            let by = steps.last().filter(|step| step.end.is_some()).map(|step| ThreadId(step.thread));
            let verdict = match (take_verdict(by), &trace.outcome) {
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

/// The memory whose plain accesses are among the steps of the graph at hand.
pub fn shared_memory() -> Vec<(u64, u8)> {
    if is_on() { shared::list() } else { Vec::new() }
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
    /// The execution was abandoned: none of its threads runs any more.
    abandoned: bool,
}

impl fencepost_engine::Threads for Program {
    fn start(&mut self) -> u32 {
        self.abandoned = false;
        let state = state();
        state.verdicts.clear();
        if state.open {
            results::drop_output();
        }
        state.open = true;
        state.clocks.iter_mut().for_each(VectorClock::clear);
        results::begin(state.runs);
        campaign::restart_exploring(state.runs == 0);
        unseen::begin(state.runs);
        state.runs += 1;
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        if self.abandoned {
            return Op::Quit;
        }
        fibers::all().get(thread).reply = reply;
        fibers::visit(thread);
        global::set_inside(true);
        unseen::look(thread);
        let Some(verdict) = ending::try_take() else {
            let asked = fibers::all().get(thread).asked.take();
            return asked.unwrap_or_else(|| ending::internal("a thread came back without an operation"));
        };
        let op = match verdict {
            Verdict::Exit(status) if status == 0 || !state().request.status_is_finding => Op::Quit,
            Verdict::Redundant => return self.abandon(),
            Verdict::Timeout => {
                exploring().blocked.fetch_add(1, Relaxed);
                // Whether to stop is looked at after the run.
                let _ = Report.report(&verdict, Vec::new);
                return self.abandon();
            }
            Verdict::Assertion(_) => Op::Fail(Failure::Assertion),
            Verdict::Panic(_) => Op::Fail(Failure::Panic),
            Verdict::Crash { .. } => Op::Fail(Failure::Crash),
            _ => Op::Fail(Failure::Abort),
        };
        state().verdicts.push((thread, verdict));
        op
    }

    fn initial(&self, at: Location) -> Value {
        match at.as_hidden() {
            None => shared::initial(at),
            Some((Hidden::Once | Hidden::Semaphore, _)) => control::initial_value(at),
            Some(_) => Value::ZERO,
        }
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

    fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        digest(thread)
    }
}

impl Program {
    /// Nobody goes on in this execution.
    fn abandon(&mut self) -> Op {
        self.abandoned = true;
        Op::Quit
    }
}

/// A weak compare-exchange fails for no reason at most so often in a row at one place of a thread.
const MOST_FAILURES: u32 = 6;

/// May the weak compare-exchange that the running thread is about to make fail for no reason? It may, unless it has
/// just done so in the same state: failing again leads nowhere else. A thread that counts its attempts is never in
/// the same state, so that there is a limit.
pub fn may_fail() -> bool {
    if !is_on() {
        return true;
    }
    let me = fibers::me();
    match me.failed {
        Some((pc, state, _)) if pc == global::caller() && state == state_here() => false,
        Some((pc, _, MOST_FAILURES..)) if pc == global::caller() => {
            unsupported_here("a weak compare-exchange may fail for no reason more often in a row than is explored");
            false
        }
        _ => true,
    }
}

/// The running thread has made a weak compare-exchange. Did it fail for no reason?
pub fn has_tried(failed: bool) {
    if !is_on() {
        return;
    }
    let me = fibers::me();
    let pc = global::caller();
    let times = me.failed.filter(|(place, ..)| *place == pc).map_or(0, |(.., times)| times);
    me.failed = failed.then(|| (pc, state_here(), times + 1));
}

/// The local state of the running thread in a hook, whatever it has written.
fn state_here() -> u64 {
    let mut hasher = FxHasher::default();
    global::caller_registers().iter().for_each(|register| hasher.write_usize(*register));
    let (start, end) = (global::caller_sp(), fibers::me().first_frame);
    if start < end && end - start <= MOST_STACK {
        // SAFETY: the running thread's own stack above the frame of its hook.
        hasher.write(unsafe { std::slice::from_raw_parts(start as *const u8, end - start) });
    }
    hasher.finish()
}

/// The longest stack that is looked at.
const MOST_STACK: usize = 64 << 10;

/// All that decides what a thread does next, but for what it reads: where it is, the registers that calls preserve,
/// its stack, and how often it has changed other memory (see [`progress`]).
pub fn digest(thread: ThreadId) -> Option<u64> {
    let fiber = fibers::all().get(thread);
    let (start, end) = (fiber.sp, fiber.first_frame);
    if fiber.sp == 0 || end <= start || end - start > MOST_STACK {
        return None;
    }
    let mut hasher = FxHasher::default();
    hasher.write_usize(fiber.pc);
    fiber.registers.iter().for_each(|register| hasher.write_usize(*register));
    hasher.write_u64(fiber.writes);
    // A call may ask more than once, and then it does not go around in a loop.
    hasher.write_u32(fiber.asks);
    // SAFETY: the thread's own stack above its stack pointer, and it does not run.
    hasher.write(unsafe { std::slice::from_raw_parts(start as *const u8, end - start) });
    Some(hasher.finish())
}

/// Takes note of what the exploration meets.
struct Report;

impl Report {
    /// An execution ended like this; says whether to go on. `steps` tells how to get there.
    fn report(&mut self, verdict: &Verdict, steps: impl FnOnce() -> Vec<GraphStep>) -> Flow {
        if shared::has_more() {
            return Flow::Break(());
        }
        let state = state();
        if let Verdict::StepLimit | Verdict::Timeout = verdict {
            let limit = if *verdict == Verdict::Timeout { "takes longer than one execution may" } else { STEPS };
            unsupported(&format!("an execution was cut off: it {limit}, or has no end"));
            state.cut_off += 1;
        } else {
            state.cut_off = 0;
        }
        let notable = results::any_found() || *verdict != Verdict::Exit(0);
        state.steps = if notable { steps() } else { Vec::new() };
        state.open = false;
        let number = exploring().numbers.fetch_add(1, Relaxed);
        results::number(number);
        let end = || results::end(verdict, &state.request);
        let found = if notable || state.request.keep_outputs { locked(end) } else { end() };
        if found && (state.request.stop_at_first || self.has_enough()) {
            exploring().cut.store(1, Relaxed);
            exploring().stop.store(1, Relaxed);
            return Flow::Break(());
        }
        if state.cut_off >= MOST_CUT_OFF {
            return stop("one execution after the other was cut off");
        }
        if number + 1 >= state.request.count {
            return stop("the limit of executions was reached");
        }
        Flow::Continue(())
    }

    /// Has everything been found that is looked for?
    fn has_enough(&self) -> bool {
        let CampaignSpec::Explore { findings, .. } = state().request.campaign else { return false };
        results::header().is_some_and(|header| header.table.slots().count() as u64 >= findings)
    }
}

/// Does the thread wait although it was cancelled?
fn is_cancelled(thread: ThreadId) -> bool {
    let fiber = fibers::all().get(thread);
    fiber.cancelled && fiber.interruptible && !fiber.uncancellable
}

impl Visitor<Program> for Report {
    fn execution(&mut self, _: &Program, graph: &Graph) -> Flow {
        exploring().executions.fetch_add(1, Relaxed);
        self.report(&Verdict::Exit(0), || steps_of(graph))
    }

    fn stuck(&mut self, _: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        exploring().blocked.fetch_add(1, Relaxed);
        match stuck {
            // It waits no longer: that was not explored, and has been said.
            Stuck::Deadlock(threads) if threads.iter().any(|thread| is_cancelled(*thread)) => Flow::Continue(()),
            Stuck::Deadlock(threads) => self.report(&Verdict::Deadlock(threads), || steps_of(graph)),
            Stuck::Livelock(threads) => self.report(&Verdict::Livelock(threads), || steps_of(graph)),
            Stuck::Redundant => Flow::Continue(()),
            Stuck::Limit => self.report(&Verdict::StepLimit, || steps_of(graph)),
        }
    }

    fn ended(&mut self, _: &Program, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        exploring().executions.fetch_add(1, Relaxed);
        let verdict = take_verdict(Some(end.thread));
        let verdict = verdict.unwrap_or_else(|| ending::internal("a process that ended without a reason"));
        self.report(&verdict, || steps_to_end(graph, end.thread, others))
    }

    fn failed(&mut self, _: &Program, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        ending::internal("a failure is an end of the process")
    }

    fn race(&mut self, _: &Program, graph: &Graph, _: Node, _: Node) -> Flow {
        // A plain access to an atomic: the race detector has seen it, too.
        exploring().executions.fetch_add(1, Relaxed);
        self.report(&Verdict::Exit(0), || steps_of(graph))
    }
}
