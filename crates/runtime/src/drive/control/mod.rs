//! The engine, and what a hook does with it: hand over an operation, and go on when it is answered.

mod outside;
mod queries;
mod time;

use crate::detect::listener::{self, Listener};
use crate::detect::shadow::{Kind, What};
use crate::detect::{details, exact, shadow};
use crate::drive::atomically::{self, Atomic};
use crate::drive::explored::{self, opaque, shared};
use crate::drive::{asks, ending, findings, patience, private, progress, replied, stall, view, volatile};
use crate::platform::global::{self, Entered, Global, mode};
use crate::platform::modules;
use crate::results;
use crate::threads::{clock, fibers, waiter_pool};
use ending::Verdict;
use fencepost_engine::{Execution, Follow, Monitor, Next, Performed, Planned, Script, Scripted};
use fencepost_explore::enumerate::Tree;
use fencepost_mailbox::{Pruning, Request};
use fencepost_memory::{C11, MachineOptions, Pslo, Pso, Sc, Tso, with_machine};
use fencepost_safety::{Leaving, Window};
use fencepost_trace::{
    Access, CampaignSpec, EventId, EventKind, FenceOrder, Guard, Hidden, Limits, LoadOrder, Location, Model, Op,
    Outcome, Reply, RmwOrder, Sampling, Size, StrategySpec, ThreadId, Value,
};
use outside::{bring_up_to_date, notice_intrusions, remember, take_up, tell_writes};
pub use outside::{
    catch_up, give_back, is_opaque, newest, notice, notice_all, notice_range, overwrite, prepare, publish, reads,
    relieve, watch, wrote,
};
pub use queries::{
    NOBODY, all_choices, change_count, choice_count, choices, drawn, event_count, events, has_buffers, hold,
    initial_value, memory, peek, plan, record, set_memory, steps, trace,
};
use std::collections::BTreeMap;
pub use time::{await_time, interrupt};
use time::{let_time_come, let_time_pass};

/// An execution under one of the models. Most accesses never come to the engine: the race detectors of the runtime see
/// them all, and the engine has none.
enum Engine {
    C11(Execution<C11, ()>),
    Sc(Execution<Sc, Watching>),
    Tso(Execution<Tso, ()>),
    Pso(Execution<Pso, ()>),
    Pslo(Execution<Pslo, ()>),
}

macro_rules! each {
    ($engine:expr, $execution:ident => $act:expr) => {
        match $engine {
            $crate::drive::control::Engine::C11($execution) => $act,
            $crate::drive::control::Engine::Sc($execution) => $act,
            $crate::drive::control::Engine::Tso($execution) => $act,
            $crate::drive::control::Engine::Pso($execution) => $act,
            $crate::drive::control::Engine::Pslo($execution) => $act,
        }
    };
}

use each;

/// Watches executions under sc for models that they could leave it under, if somebody wants that.
struct Watching(Option<Box<Window>>);

impl Monitor for Watching {
    fn begin(&mut self) {
        self.0.iter_mut().for_each(|window| window.begin());
    }

    #[inline]
    fn performed(&mut self, performed: &Performed) {
        if let Some(window) = &mut self.0 {
            window.performed(performed);
        }
    }
}

impl From<Sc> for Engine {
    fn from(machine: Sc) -> Engine {
        Engine::Sc(Execution::with_monitor(machine, Watching(None)))
    }
}

macro_rules! engines {
    ($($machine:ident)*) => {
        $(impl From<$machine> for Engine {
            fn from(machine: $machine) -> Engine {
                Engine::$machine(Execution::with_monitor(machine, ()))
            }
        })*
    };
}

engines! { C11 Tso Pso Pslo }

/// Who answers the choices: whom the plan of the execution names, or a search.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Chooser {
    Planned(Planned<'static>),
    /// Whole operations of the program, one after the other.
    Atomic(Atomic),
    /// A script, which is to show the finding of this fingerprint; and is that about threads that go around forever?
    Script(Scripted, u64, bool),
    /// Every choice, one after the other: the leaf of the tree that is due.
    Tree(Tree),
}

struct Control {
    model: Model,
    engine: Engine,
    chooser: Chooser,
    /// How many operations were asked for since time last passed.
    busy: u64,
    /// How many changes there were when it was last looked whether others only wait for that.
    changes: u64,
    /// How many were asked for since it was last looked whether anything changes, and how many changes there were then.
    quiet: (u64, u64),
    /// The greatest number of stores that wait.
    buffer: Option<u32>,
    /// Under c11: the atomic locations that were accessed, with what memory held afterwards. Where memory holds
    /// something else now, code without instrumentation has written it.
    atomics: BTreeMap<u64, (Size, Value)>,
    /// Do some of them overlap?
    atomics_overlap: bool,
    /// Under c11: atomic locations in memory that was given back. Whoever comes there next finds another object.
    given_back: BTreeMap<u64, Size>,
    /// Plain writes to such locations that the engine has not been told of, as address and length.
    written: Vec<(usize, usize, usize)>,
    /// How the answers of this execution are drawn, if they are.
    drawn: Option<(u64, Sampling)>,
    /// Does the program use atomics in code without instrumentation, too?
    is_opaque: bool,
    /// Under c11: the locations that code without instrumentation has written in this execution. It may read them as
    /// well.
    intruded: Vec<Location>,
    /// Under c11: for each thread where its last atomic operations were that only read.
    recent: Vec<[u64; 4]>,
    /// Fences that the program does not have: the label, whether they come before what is done there, and their order.
    fences: Vec<(u32, bool, FenceOrder)>,
    /// Program points whose operations are made weaker.
    weaker: Vec<(u32, RmwOrder)>,
    /// Program points whose operations are made stronger.
    stronger: Vec<(u32, RmwOrder)>,
}

static CONTROL: Global<Option<Control>> = Global::new(None);

#[inline(always)]
#[track_caller]
fn control() -> Entered<'static, Control> {
    CONTROL.enter().map(|control| control.as_mut().expect("internal error: no engine"))
}

/// Makes an engine for what is asked.
pub fn initialise(request: &Request) {
    let buffer = request.buffer;
    // A trace tells of all stores.
    let prune = !(request.keep_traces || request.prune == Pruning::Off);
    let options = MachineOptions { buffer, prune, window: request.prune.window() };
    let mut engine = with_machine!(request.model, &options, machine => Engine::from(machine));
    if let Engine::Sc(execution) = &mut engine
        && !request.watch.is_empty()
    {
        execution.monitor_mut().0 = Some(Box::new(Window::new(&request.watch)));
    }
    each!(&mut engine, e => e.set_recording(request.keep_traces));
    let is_opaque = modules::has_rust();
    waiter_pool::prepare();
    listener::set(Listener {
        race: findings::race,
        wild_access: findings::wild_access,
        catch_up,
        takes: explored::takes,
        lost: explored::lost,
    });
    *CONTROL.enter() = Some(Control {
        model: request.model,
        engine,
        chooser: Chooser::Planned(Planned::Follow(Follow::new([]))),
        busy: 0,
        changes: 0,
        quiet: (0, 0),
        buffer,
        atomics: BTreeMap::new(),
        atomics_overlap: false,
        given_back: BTreeMap::new(),
        written: Vec::new(),
        drawn: None,
        is_opaque,
        intruded: Vec::new(),
        recent: Vec::new(),
        fences: Vec::new(),
        weaker: Vec::new(),
        stronger: Vec::new(),
    });
}

impl Control {
    fn plan(&mut self, strategy: StrategySpec) {
        if let (Chooser::Planned(Planned::Sampler(sampler)), StrategySpec::Random { seed, sampling }) =
            (&mut self.chooser, &strategy)
        {
            return sampler.begin(*seed, sampling);
        }
        let coverage = results::header().map(|header| &header.coverage);
        match Planned::new(self.model, strategy, coverage) {
            Some(planned) => self.chooser = Chooser::Planned(planned),
            None => ending::internal("an execution graph has no choices"),
        }
    }

    fn search(&mut self, campaign: &CampaignSpec) {
        match (&mut self.chooser, campaign) {
            (Chooser::Tree(tree), CampaignSpec::Enumerate { .. }) => tree.restart(),
            (chooser, CampaignSpec::Enumerate { sleep_sets, rounds }) => {
                let tree = Tree::new(self.model).with_waiting(*rounds);
                *chooser = Chooser::Tree(if *sleep_sets { tree } else { tree.without_sleep_sets() });
            }
            // Whoever looks for it has said which script is next.
            (Chooser::Script(..), CampaignSpec::Minimise(_)) => {}
            (chooser, CampaignSpec::Atomic) => *chooser = Chooser::Atomic(Atomic::default()),
            _ => ending::internal("an exploration asks for no answers"),
        }
    }
}

/// How the execution at hand, under sc, could have left it.
pub fn leavings() -> Vec<Leaving> {
    match CONTROL.enter().as_ref().map(|control| &control.engine) {
        Some(Engine::Sc(execution)) => {
            execution.monitor().0.as_ref().map_or_else(Vec::new, |window| window.found().to_vec())
        }
        _ => Vec::new(),
    }
}

/// Adds a fence before or behind every operation at a program point.
pub fn add_fence(label: u32, before: bool, order: FenceOrder) {
    control().fences.push((label, before, order));
}

/// Makes the operations at a program point weaker, in explorations.
pub fn weaken(label: u32, to: RmwOrder) {
    control().weaker.push((label, to));
}

/// Makes the operations at a program point stronger, in random executions.
pub fn strengthen(label: u32, to: RmwOrder) {
    control().stronger.push((label, to));
}

/// A new execution: the main thread, about to run. Where it has a strategy of its own, that answers; otherwise the
/// campaign is a search, which goes on.
pub fn begin(request: &Request, strategy: Option<StrategySpec>) {
    let (campaign, max_steps) = (&request.campaign, request.max_steps);
    let mut control = control();
    let has_cells = matches!(control.engine, Engine::Sc(_) | Engine::Tso(_) | Engine::Pso(_));
    // A fence that was asked for belongs to an operation.
    let is_asked = control.fences.is_empty() && control.stronger.is_empty();
    let skip_private = request.skip_private.filter(|_| has_cells && is_asked);
    control.drawn = match &strategy {
        Some(StrategySpec::Random { seed, sampling }) => Some((*seed, *sampling)),
        _ => None,
    };
    match strategy {
        Some(strategy) => control.plan(strategy),
        None => control.search(campaign),
    }
    control.atomics.clear();
    control.atomics_overlap = false;
    control.given_back.clear();
    control.written.clear();
    control.intruded.clear();
    control.recent.clear();
    control.busy = 0;
    control.changes = 0;
    control.quiet = (0, 0);
    each!(&mut control.engine, e => e.begin(1, Limits { max_steps }));
    drop(control);
    stall::reset();
    patience::renew();
    progress::reset();
    view::reset();
    private::begin(skip_private);
    tick();
}

/// The next execution follows a script, which is to show the finding of this fingerprint.
pub fn follow_script(scripted: Scripted, sought: u64, is_endless: bool) {
    control().chooser = Chooser::Script(scripted, sought, is_endless);
}

/// What an execution has done that followed a script, up to what it should show, and in how many operations.
pub fn script() -> Option<(Script, u64)> {
    match &control().chooser {
        Chooser::Script(scripted, ..) => Some((scripted.done(), scripted.operations())),
        _ => None,
    }
}

/// A finding of this fingerprint shows now.
pub fn seen(fingerprint: u64) {
    if let Chooser::Script(scripted, sought, _) = &mut control().chooser
        && *sought == fingerprint
    {
        scripted.mark();
    }
}

/// Is it of interest whether threads go around loops forever?
fn minds_loops() -> bool {
    !atomically::is_on() && !matches!(control().chooser, Chooser::Tree(_) | Chooser::Script(_, _, false))
}

/// Is every choice tried?
pub fn is_enumerating() -> bool {
    matches!(control().chooser, Chooser::Tree(_))
}

/// On to the next leaf of the tree of choices; `false` if there is none.
pub fn next_leaf() -> bool {
    match &mut control().chooser {
        Chooser::Tree(tree) => tree.advance(),
        _ => ending::internal("there is no tree of choices"),
    }
}

/// A new execution that is explored.
pub fn begin_exploring() {
    let mut control = control();
    control.atomics.clear();
    control.atomics_overlap = false;
    control.written.clear();
    control.intruded.clear();
    control.recent.clear();
    drop(control);
    patience::renew();
    progress::reset();
    view::reset();
    shared::reset();
}

/// Tells the race detector the time of the running thread.
#[inline]
fn tick() {
    if global::explores() {
        return shadow::tick(Some(&*explored::clock(fibers::current())));
    }
    match &control().engine {
        Engine::C11(execution) => shadow::tick(execution.clock(fibers::current())),
        _ => {
            private::resume(fibers::current());
            shadow::tick(None);
        }
    }
}

/// Asks for an operation of the running thread, lets others run, and goes on when it is answered.
pub fn perform(op: Op) -> Reply {
    tell();
    step(op)
}

/// Tells the engine what the running thread has done since its last operation.
pub fn tell() {
    if global::kind() == mode::HARDWARE {
        view::settle();
    } else if global::explores() {
        // At the end of a thread no hook has been entered that would have done it.
        volatile::settle();
        shared::settle();
    } else {
        tell_writes();
        // What it has done in code without instrumentation comes before what it does now.
        notice_all();
    }
}

/// The same, without a look at what was written before.
pub fn step(op: Op) -> Reply {
    patience::renew();
    details::asked(&op);
    if global::explores() {
        let reply = ask(op);
        tick();
        return reply;
    }
    notice_intrusions();
    let mut fiber = fibers::me();
    fiber.wants = match op {
        Op::Access(access) => access.location().filter(|at| at.as_hidden().is_none()),
        _ => None,
    };
    fiber.pc = global::caller();
    fiber.sp = global::caller_sp();
    let within = fiber.within;
    if stall::is_on() {
        fiber.registers = global::caller_registers();
        drop(fiber);
        asks(&op);
        stall::stands();
    } else {
        drop(fiber);
    }
    let label = modules::label(global::caller());
    let is_unchanged = {
        let control = control();
        control.fences.is_empty() && control.stronger.is_empty()
    };
    if is_unchanged {
        return submit(op, label);
    }
    let op = strengthened(op, label);
    if within {
        return submit(op, label);
    }
    fence_at(label, true);
    let reply = submit(op, label);
    fence_at(label, false);
    reply
}

/// An operation at which others may go first, and that is nothing else: a look at a location that nobody else has.
pub fn turn() -> Op {
    let at = Location::hidden(Hidden::Park, Location::OTHER_KEY | u64::from(fibers::current().0));
    Op::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any })
}

/// Several accesses of the running thread that are one step of the program: the fences that were asked for there come
/// before the first and behind the last, as where they are written into the source.
pub fn begin_step() {
    // A store before them is a step of its own.
    tell();
    fibers::me().within = true;
    fences_at(modules::label(global::caller()), true).into_iter().for_each(fence);
}

/// Ends what [`begin_step`] began.
pub fn end_step() {
    fences_at(modules::label(global::caller()), false).into_iter().for_each(fence);
    fibers::me().within = false;
}

fn fence(order: FenceOrder) {
    perform(Op::Access(Access::Fence { order }));
}

/// Hands an operation of the running thread to the exploration, with the fences that were asked for around it, and as
/// weak as was asked for.
fn ask(op: Op) -> Reply {
    let is_unchanged = {
        let control = control();
        control.fences.is_empty() && control.weaker.is_empty()
    };
    if is_unchanged {
        return explored::ask(op);
    }
    let label = modules::label(global::caller());
    let Some(op) = weakened(op, label) else { return Reply::NONE };
    let access = matches!(op, Op::Access(_));
    if access {
        fences_at(label, true).into_iter().for_each(|order| _ = explored::ask(Op::Access(Access::Fence { order })));
    }
    let reply = explored::ask(op);
    if access {
        fences_at(label, false).into_iter().for_each(|order| _ = explored::ask(Op::Access(Access::Fence { order })));
    }
    reply
}

/// The operation as strong as was asked for.
fn strengthened(op: Op, label: u32) -> Op {
    let Op::Access(access) = op else { return op };
    let control = control();
    match control.stronger.iter().find(|(at, _)| *at == label && label != 0) {
        Some((_, to)) => Op::Access(access.strengthened(*to)),
        None => op,
    }
}

/// What is left of an operation; `None` of a fence that is left out.
fn weakened(op: Op, label: u32) -> Option<Op> {
    let Op::Access(access) = op else { return Some(op) };
    let control = control();
    match control.weaker.iter().find(|(at, _)| *at == label && label != 0) {
        Some((_, to)) => access.weakened(*to).map(Op::Access),
        None => Some(op),
    }
}

/// Hands an operation of the running thread to the engine.
fn submit(op: Op, label: u32) -> Reply {
    let deadline = fibers::me().deadline;
    match deadline {
        None => each!(&mut control().engine, e => e.submit(fibers::current(), op, label)),
        Some(deadline) => {
            let patience = clock::patience(deadline);
            each!(&mut control().engine, e => e.submit_timed(fibers::current(), op, label, patience));
        }
    }
    let_time_pass();
    watch_for_changes();
    proceed()
}

/// An execution in which nothing changes any more need not run to the limit of its steps.
fn watch_for_changes() {
    let mut control = control();
    control.quiet.0 += 1;
    if control.quiet.0 > stall::QUIET {
        let changes = each!(&control.engine, e => e.change_count()) + private::stores();
        let (_, before) = std::mem::replace(&mut control.quiet, (0, changes));
        drop(control);
        if changes == before && minds_loops() {
            stall::begin();
        }
    }
}

/// The fences that were asked for at a program point.
#[cold]
fn fence_at(label: u32, before: bool) {
    for order in fences_at(label, before) {
        submit(Op::Access(Access::Fence { order }), label);
    }
}

/// Their orders.
fn fences_at(label: u32, before: bool) -> Vec<FenceOrder> {
    let control = control();
    let here = control.fences.iter().filter(|(at, first, _)| *at == label && *first == before && label != 0);
    here.map(|(_, _, order)| *order).collect()
}

/// Goes on with whatever comes next, until the running thread's operation is answered.
fn proceed() -> Reply {
    let me = fibers::current();
    let reply = match next() {
        Next::Resume(thread, reply) if thread == me => {
            if global::kind() == mode::HARDWARE {
                view::refresh(me, me);
            }
            reply
        }
        Next::Resume(thread, reply) => {
            fibers::get(thread).reply = reply;
            if global::kind() == mode::HARDWARE {
                view::refresh(me, thread);
            }
            fibers::switch_to(thread);
            // Other hooks have been entered since.
            let me = fibers::me();
            global::set_caller(me.pc, me.sp);
            if stall::is_on() {
                global::set_caller_registers(me.registers);
            }
            me.reply
        }
        Next::TimePasses => ending::internal("time has passed already"),
        Next::End(outcome) => ending::finish(verdict(outcome)),
    };
    if stall::is_on() {
        replied(reply.success);
    }
    tick();
    reply
}

fn next() -> Next {
    loop {
        match advance() {
            Next::TimePasses => let_time_come(clock::Reason::Alone),
            Next::End(Outcome::StepLimit) if minds_loops() && stall::begin() => {
                each!(&mut control().engine, e => e.extend(stall::STEPS));
                continue;
            }
            Next::End(Outcome::Redundant) if stall::is_on() => {
                return Next::End(endless(stall::spinning()));
            }
            Next::End(Outcome::Redundant) if let Some(spinning) = spinning() => {
                // Where somebody still waits for a time, nobody knows.
                let timed = fibers::all().list().iter().any(|fiber| fiber.deadline.is_some());
                return Next::End(if timed { Outcome::StepLimit } else { endless(spinning) });
            }
            next => return next,
        }
    }
}

/// These threads go around loops forever, and nobody else goes on. Who waits for a file or a signal does so in a loop
/// of the runtime's, not of the program's.
fn endless(spinning: Vec<ThreadId>) -> Outcome {
    let waits = |thread: &ThreadId| fibers::get(*thread).awaits_event;
    match spinning.iter().all(waits) {
        true => Outcome::Deadlock { blocked: fibers::all().live().to_vec() },
        false => Outcome::Livelock { spinning },
    }
}

/// The engine goes on until somebody has to do something.
fn advance() -> Next {
    let Control { engine, chooser, .. } = &mut *control();
    let initial = &mut initial_value;
    each!(engine, e => match chooser {
        _ if stall::is_on() => e.advance(&mut *stall::strategy(), initial),
        // What most executions have is compiled as one with the engine.
        Chooser::Planned(Planned::Sampler(sampler)) => e.advance(sampler, initial),
        Chooser::Planned(other) => e.advance(other, initial),
        Chooser::Atomic(atomic) => e.advance(atomic, initial),
        Chooser::Script(scripted, ..) => e.advance(scripted, initial),
        Chooser::Tree(tree) => e.advance(tree, initial),
    })
}

/// Where every choice is tried: the threads that go around loops forever, if no others are left.
fn spinning() -> Option<Vec<ThreadId>> {
    match &control().chooser {
        Chooser::Tree(tree) => tree.livelock().map(<[ThreadId]>::to_vec),
        _ => None,
    }
}

/// A thread that was just started goes on from here, too.
pub fn started() {
    tick();
}

fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Finished => Verdict::Exit(0),
        Outcome::Deadlock { blocked } => Verdict::Deadlock(blocked),
        Outcome::StepLimit => Verdict::StepLimit,
        Outcome::Redundant => Verdict::Redundant,
        Outcome::Livelock { spinning } => Verdict::Livelock(spinning),
        Outcome::Failed { .. } => ending::internal("the runtime submits no failures"),
    }
}

/// c11: an atomic operation of the running thread. `value` says what it leaves in memory, given the reply.
pub fn atomic(access: Access, at: Location, value: impl FnOnce(Reply) -> Option<Value>) -> Reply {
    if global::explores() {
        return shared::atomic(access, at, value);
    }
    tell_writes();
    let is_opaque = control().is_opaque;
    if is_opaque {
        notice_all();
    }
    take_up(at);
    notice(at);
    if is_opaque && let Access::Load { order, .. } = access {
        bring_up_to_date(at, order);
    }
    let reply = step(Op::Access(access));
    let only_reads = match access {
        Access::Load { .. } => true,
        Access::CompareExchange { .. } => !reply.success,
        _ => false,
    };
    if is_opaque && only_reads {
        remember(at.address);
    }
    if let Some(value) = value(reply) {
        set_memory(at, value);
    }
    outside::know(at);
    reply
}

/// c11: the same, under the eyes of the race detectors. Says whether it wrote.
pub fn watched(access: Access, at: Location, write: impl FnOnce(Reply) -> Option<Value>) -> (Reply, bool) {
    let mut wrote = false;
    let reply = atomic(access, at, |reply| {
        let value = write(reply);
        wrote = value.is_some();
        value
    });
    let (address, size) = (at.address as usize, at.size.bytes() as usize);
    let kind = Kind { write: wrote, atomic: true, what: What::Access };
    exact::access(address, size, kind, global::caller());
    shadow::range(address, size, kind, global::caller());
    (reply, wrote)
}

/// What looks at events: their number, whose they are, what they did, and where another event of a given number was.
pub type See<'a> = dyn FnMut(EventId, ThreadId, &EventKind, &dyn Fn(EventId) -> Option<Location>) + 'a;

/// This memory goes away: what happened there must not be looked at again.
pub fn forget(address: usize, length: usize) {
    progress::settle();
    let range = address as u64..(address + length) as u64;
    if global::kind() == mode::HARDWARE {
        view::forget(range.clone());
    }
    control().atomics.retain(|at, _| !range.contains(at));
    opaque::forget(address, length);
}

/// A new thread gets memory that another has left, stack and all.
pub fn reuse(address: usize, length: usize) {
    shadow::forget(address, length);
    exact::forget(address, length);
    if global::kind() == mode::HARDWARE {
        view::forget(address as u64..(address + length) as u64);
    } else if !global::explores() {
        give_back(address, length);
    }
}
