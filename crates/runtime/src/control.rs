//! The engine, and what a hook does with it: hand over an operation, and go on when it is answered.

use crate::atomically::Atomic;
use crate::global::{self, Global, mode};
use crate::{
    atomically, clock, details, ending, exact, explore, fibers, hooks, instrumented, modules, opaque, progress,
    results, rust_std, shadow, shared, stall, view, waiter_pool,
};
use ending::Verdict;
use fencepost_engine::{Execution, Follow, Next, Planned};
use fencepost_explore::enumerate::Tree;
use fencepost_mailbox::{Pruning, Request};
use fencepost_memory::{C11, MachineOptions, Pslo, Pso, Sc, Tso, with_machine};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, CampaignSpec, EventId, EventKind, FenceOrder, Hidden, Limits, LoadOrder, Location, Model, Op, Outcome,
    Reply, Sampling, Size, StoreOrder, StrategySpec, ThreadId, Trace, Value, VectorClock,
};
use std::collections::BTreeMap;

/// An execution under one of the models. Most accesses never come to the engine: the race detectors of the runtime see
/// them all, and the engine has none.
enum Engine {
    C11(Execution<C11, ()>),
    Sc(Execution<Sc, ()>),
    Tso(Execution<Tso, ()>),
    Pso(Execution<Pso, ()>),
    Pslo(Execution<Pslo, ()>),
}

macro_rules! each {
    ($engine:expr, $execution:ident => $act:expr) => {
        match $engine {
            Engine::C11($execution) => $act,
            Engine::Sc($execution) => $act,
            Engine::Tso($execution) => $act,
            Engine::Pso($execution) => $act,
            Engine::Pslo($execution) => $act,
        }
    };
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

engines! { C11 Sc Tso Pso Pslo }

/// Who answers the choices: whom the plan of the execution names, or a search.
enum Chooser {
    Planned(Planned<'static>),
    /// Whole operations of the program, one after the other.
    Atomic(Atomic),
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
}

/// With more atomics than this, those that nobody has asked for are not looked at: it would take too long.
const MOST_NOTICED: usize = 256;

/// After so many operations time passes for a thread that sleeps, even if others are busy; and after so many for each
/// second that it sleeps.
const MOST_BUSY: u64 = 5_000;
/// Of a wait only so many seconds count for that.
const MOST_SECONDS: u64 = 10;

static CONTROL: Global<Option<Control>> = Global::new(None);

fn control() -> &'static mut Control {
    CONTROL.get().as_mut().expect("internal error: no engine")
}

/// Makes an engine for what is asked.
pub fn initialise(request: &Request) {
    let buffer = request.buffer;
    // A trace tells of all stores.
    let prune = !(request.keep_traces || request.prune == Pruning::Off);
    let options = MachineOptions { buffer, prune, window: request.prune.window() };
    let mut engine = with_machine!(request.model, &options, machine => Engine::from(machine));
    each!(&mut engine, e => e.set_recording(request.keep_traces));
    let is_opaque = modules::has_rust();
    if is_opaque {
        instrumented::prepare();
        rust_std::prepare();
    }
    waiter_pool::prepare();
    *CONTROL.get() = Some(Control {
        model: request.model,
        engine,
        chooser: Chooser::Planned(Planned::Follow(Follow::new([]))),
        busy: 0,
        changes: 0,
        quiet: (0, 0),
        buffer,
        atomics: BTreeMap::new(),
        given_back: BTreeMap::new(),
        written: Vec::new(),
        drawn: None,
        is_opaque,
        intruded: Vec::new(),
        recent: Vec::new(),
        fences: Vec::new(),
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
            (chooser, CampaignSpec::Atomic) => *chooser = Chooser::Atomic(Atomic::default()),
            _ => ending::internal("an exploration asks for no answers"),
        }
    }
}

/// Adds a fence before or behind every operation at a program point.
pub fn add_fence(label: u32, before: bool, order: FenceOrder) {
    control().fences.push((label, before, order));
}

/// A new execution: the main thread, about to run. Where it has a strategy of its own, that answers; otherwise the
/// campaign is a search, which goes on.
pub fn begin(campaign: &CampaignSpec, strategy: Option<StrategySpec>, max_steps: u64) {
    let control = control();
    control.drawn = match &strategy {
        Some(StrategySpec::Random { seed, sampling }) => Some((*seed, *sampling)),
        _ => None,
    };
    match strategy {
        Some(strategy) => control.plan(strategy),
        None => control.search(campaign),
    }
    control.atomics.clear();
    control.given_back.clear();
    control.written.clear();
    control.intruded.clear();
    control.recent.clear();
    control.busy = 0;
    control.changes = 0;
    control.quiet = (0, 0);
    stall::reset();
    hooks::access::calm();
    progress::reset();
    view::reset();
    each!(&mut control.engine, e => e.begin(1, Limits { max_steps }));
    tick();
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
    let control = control();
    control.atomics.clear();
    control.written.clear();
    control.intruded.clear();
    control.recent.clear();
    hooks::access::calm();
    progress::reset();
    view::reset();
    shared::reset();
}

/// Tells the race detector the time of the running thread.
#[inline]
fn tick() {
    if explore::is_on() {
        return shadow::tick(Some(explore::clock(fibers::current())));
    }
    match &control().engine {
        Engine::C11(execution) => shadow::tick(execution.clock(fibers::current())),
        _ => shadow::tick(None),
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
    } else if explore::is_on() {
        // At the end of a thread no hook has been entered that would have done it.
        hooks::volatile::settle();
        shared::settle();
    } else {
        tell_writes();
        // What it has done in code without instrumentation comes before what it does now.
        notice_all();
    }
}

/// The same, without a look at what was written before.
pub fn step(op: Op) -> Reply {
    hooks::access::calm();
    details::asked(&op);
    if explore::is_on() {
        let reply = explore::ask(op);
        tick();
        return reply;
    }
    notice_intrusions();
    let fiber = fibers::me();
    fiber.wants = match op {
        Op::Access(access) => access.location().filter(|at| at.as_hidden().is_none()),
        _ => None,
    };
    fiber.pc = global::caller();
    fiber.sp = global::caller_sp();
    if stall::is_on() {
        fiber.registers = global::caller_registers();
        stall::stands();
    }
    let label = modules::label(fiber.pc);
    if control().fences.is_empty() {
        return submit(op, label);
    }
    fence_at(label, true);
    let reply = submit(op, label);
    fence_at(label, false);
    reply
}

/// Hands an operation of the running thread to the engine.
fn submit(op: Op, label: u32) -> Reply {
    match fibers::me().deadline {
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
    let control = control();
    control.quiet.0 += 1;
    if control.quiet.0 > stall::QUIET {
        let changes = each!(&control.engine, e => e.change_count());
        if changes == control.quiet.1 && !atomically::is_on() && !is_enumerating() {
            stall::begin();
        }
        control.quiet = (0, changes);
    }
}

/// The fences that were asked for at a program point.
#[cold]
fn fence_at(label: u32, before: bool) {
    for i in 0..control().fences.len() {
        let (at, first, order) = control().fences[i];
        if at == label && first == before {
            submit(Op::Access(Access::Fence { order }), label);
        }
    }
}

/// A thread that sleeps goes on when all others wait. Where they do not, because they spin until it has done
/// something, its time comes too.
fn let_time_pass() {
    let control = control();
    control.busy += 1;
    if control.busy < MOST_BUSY || !control.busy.is_multiple_of(MOST_BUSY) {
        return;
    }
    match clock::wait(awaits_time) {
        Some(wait) if control.busy < MOST_BUSY * (wait / clock::SECOND).clamp(1, MOST_SECONDS) => {}
        Some(_) => {
            let changes = change_count();
            let idle = std::mem::replace(&mut control.changes, changes) == changes;
            let_time_come(if idle { clock::Reason::Idle } else { clock::Reason::Busy });
        }
        None => control.busy = 0,
    }
}

/// Does the thread wait for something that is not there, and only until a time?
fn awaits_time(thread: ThreadId) -> bool {
    each!(&control().engine, e => e.awaits_time(thread))
}

/// The running thread does nothing until that time, unless it is the only one that can do something.
pub fn await_time(deadline: u64) {
    let me = fibers::me();
    me.deadline = Some(deadline);
    me.looking = true;
    perform(Op::Sync(Sync::Park));
    let me = fibers::me();
    (me.deadline, me.timed_out, me.looking) = (None, false, false);
}

/// Time passes until the first of those that wait for it goes on.
fn let_time_come(reason: clock::Reason) {
    control().busy = 0;
    clock::pass(reason, awaits_time, give_up);
}

/// What the thread has asked for is given up: it goes on without.
fn give_up(thread: ThreadId) {
    let label = modules::label(fibers::all().get(thread).pc);
    each!(&mut control().engine, e => e.submit(thread, Op::Yield, label));
}

/// A thread that waits does so no longer, as if its time had come. If it is about to begin to wait, its wait will be
/// short.
pub fn interrupt(thread: ThreadId) {
    fibers::all().get(thread).deadline = Some(clock::now());
    each!(&mut control().engine, e => e.give_up_early(thread));
    if awaits_time(thread) {
        let fiber = fibers::all().get(thread);
        fiber.deadline = None;
        fiber.timed_out = true;
        give_up(thread);
    }
}

/// Code without instrumentation may have written to places that other threads have asked to access: the engine must
/// know before it lets them.
fn notice_intrusions() {
    let me = fibers::current();
    let all = fibers::all();
    for i in 0..all.live().len() {
        let t = all.live()[i];
        if t == me {
            continue;
        }
        if let Some(at) = all.get(t).wants
            && !view::is_tentative(at)
        {
            notice(at);
        }
    }
}

/// If memory does not hold what the engine believes the running thread to see there, somebody has written it in code
/// without instrumentation: the running thread, since nobody else has run.
pub fn notice(at: Location) {
    if explore::is_on() {
        return;
    }
    let control = control();
    let me = fibers::current();
    let found = memory(at);
    match &mut control.engine {
        Engine::C11(execution) => {
            if let Some((size, known)) = control.atomics.get_mut(&at.address)
                && *size == at.size
                && *known != found
            {
                *known = found;
                execution.intrude(me, at, found);
                if !control.intruded.contains(&at) {
                    control.intruded.push(at);
                }
            }
        }
        engine => each!(engine, e => {
            e.introduce(at, &mut initial_value);
            if e.peek(me, at) != found {
                e.intrude(me, at, found);
            }
        }),
    }
}

/// The running thread has made this store, and it counts at once: nobody goes first.
pub fn overwrite(at: Location, value: Value) {
    let me = fibers::current();
    let label = modules::label(fibers::me().pc);
    each!(&mut control().engine, e => e.overwrite(me, at, value, label));
}

/// c11: looks for atomics that code without instrumentation has changed, so that what they order is known before the
/// next plain access.
pub fn notice_all() {
    if explore::is_on() || control().atomics.len() > MOST_NOTICED {
        return;
    }
    let places = control().atomics.iter().map(|(at, (size, known))| (Location::new(*at, *size), *known));
    // Hardly ever is there one, and this is done at every operation that is not an access.
    let changed: Vec<Location> = places.filter(|(at, known)| memory(*at) != *known).map(|(at, _)| at).collect();
    changed.into_iter().filter(|at| !view::is_dead(*at)).for_each(notice);
    tick();
}

/// c11: the running thread is about to free these bytes. If it has got there through code without instrumentation,
/// the atomics in them say what it knows.
pub fn notice_range(address: usize, length: usize) {
    let places: Vec<Location> = control()
        .atomics
        .range(address as u64..(address + length) as u64)
        .map(|(at, (size, _))| Location::new(*at, *size))
        .collect();
    if !places.is_empty() {
        places.into_iter().for_each(notice);
        tick();
    }
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
            fibers::all().get(thread).reply = reply;
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
    tick();
    reply
}

fn next() -> Next {
    let control = control();
    loop {
        let initial = &mut initial_value;
        let next = each!(&mut control.engine, e => match &mut control.chooser {
            _ if stall::is_on() => e.advance(stall::strategy(), initial),
            // What most executions have is compiled as one with the engine.
            Chooser::Planned(Planned::Sampler(sampler)) => e.advance(sampler, initial),
            Chooser::Planned(other) => e.advance(other, initial),
            Chooser::Atomic(atomic) => e.advance(atomic, initial),
            Chooser::Tree(tree) => e.advance(tree, initial),
        });
        match next {
            Next::TimePasses => let_time_come(clock::Reason::Alone),
            Next::End(Outcome::StepLimit) if !atomically::is_on() && !is_enumerating() && stall::begin() => {
                each!(&mut control.engine, e => e.extend(stall::STEPS));
                continue;
            }
            Next::End(Outcome::Redundant) if stall::is_on() => {
                return Next::End(Outcome::Livelock { spinning: stall::spinning() });
            }
            Next::End(Outcome::Redundant) if let Some(spinning) = spinning() => {
                // Where somebody still waits for a time, nobody knows.
                let timed = fibers::all().list().iter().any(|fiber| fiber.deadline.is_some());
                let livelock = Outcome::Livelock { spinning };
                return Next::End(if timed { Outcome::StepLimit } else { livelock });
            }
            next => return next,
        }
    }
}

/// Where every choice is tried: the threads that go around loops for ever, if no others are left.
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

/// The running thread has ended. Somebody else goes on; it never returns.
pub fn exit_thread() {
    let me = fibers::me();
    // Nothing of its stack is needed any more but what its end itself uses.
    global::set_caller(me.pc, crate::context::stack_pointer());
    hooks::threads::ends();
    tell();
    shadow::leave_seat();
    fibers::all().retire();
    step(Op::Exit);
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

/// What a location holds before the engine knows of it.
pub fn initial_value(at: Location) -> Value {
    match at.as_hidden() {
        None => memory(at),
        // These keep their state in the program's memory, where it may have been set before the execution began.
        Some((Hidden::Semaphore, key)) => memory(Location::new(key, Size::B4)),
        Some((Hidden::Once, key)) => hooks::once::initial(key),
        Some(_) => Value::ZERO,
    }
}

/// What the program's memory holds.
#[inline]
pub fn memory(at: Location) -> Value {
    let address = at.address as *const u8;
    // SAFETY: the program is about to access these bytes itself. If they are not there, it crashes, here instead of
    // there.
    Value(unsafe {
        match at.size {
            Size::B1 => address.read().into(),
            Size::B2 => address.cast::<u16>().read_unaligned().into(),
            Size::B4 => address.cast::<u32>().read_unaligned().into(),
            Size::B8 => address.cast::<u64>().read_unaligned().into(),
            Size::B16 => address.cast::<u128>().read_unaligned(),
        }
    })
}

/// Writes to the program's memory.
#[inline]
pub fn set_memory(at: Location, value: Value) {
    let bytes = value.0.to_le_bytes();
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.address as *mut u8, at.size.bytes() as usize) };
}

/// c11: an atomic operation of the running thread. `value` says what it leaves in memory, given the reply.
pub fn atomic(access: Access, at: Location, value: impl FnOnce(Reply) -> Option<Value>) -> Reply {
    if explore::is_on() {
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
    control().atomics.insert(at.address, (at.size, memory(at)));
    reply
}

/// c11: this memory is given back.
pub fn give_back(address: usize, length: usize) {
    let control = control();
    let Engine::C11(execution) = &mut control.engine else { return };
    let range = address as u64..(address + length) as u64;
    while let Some((at, (size, _))) = control.atomics.range(range.clone()).next().map(|(at, known)| (*at, *known)) {
        control.atomics.remove(&at);
        control.given_back.insert(at, size);
        execution.retire(Location::new(at, size));
    }
}

/// c11: an atomic operation is about to be made there. If the memory was given back before, what it holds now is the
/// beginning of a new object, to everybody.
fn take_up(at: Location) {
    let control = control();
    if control.given_back.is_empty() {
        return;
    }
    let Engine::C11(execution) = &mut control.engine else { return };
    let range = at.address.saturating_sub(15)..at.end();
    let found = |given_back: &BTreeMap<u64, Size>| {
        let mut old = given_back.range(range.clone()).map(|(address, size)| Location::new(*address, *size));
        old.find(|old| old.overlaps(at))
    };
    while let Some(old) = found(&control.given_back) {
        control.given_back.remove(&old.address);
        let value = memory(old);
        execution.overwrite(fibers::current(), old, value, modules::label(global::caller()));
        execution.retire(old);
        control.atomics.insert(old.address, (old.size, value));
    }
}

/// Does the program use atomics in code without instrumentation, too?
pub fn is_opaque() -> bool {
    control().is_opaque
}

/// The running thread is about to load what code without instrumentation writes, too. Such code synchronises the two
/// in ways that are not seen, as the standard library does when the last thread of a scope wakes the one that waits:
/// what it had written before now is not hidden from the load.
fn bring_up_to_date(at: Location, order: LoadOrder) {
    let control = control();
    let Engine::C11(execution) = &mut control.engine else { return };
    if control.intruded.contains(&at) {
        execution.look(fibers::current(), at, order, modules::label(global::caller()));
    }
}

/// What memory holds for everybody, as the running thread has now seen: its next load of the place does not go back
/// behind it.
pub fn newest(at: Location) -> Value {
    let control = control();
    if let Engine::C11(execution) = &mut control.engine
        && control.atomics.get(&at.address).is_some_and(|(size, known)| *size == at.size && *known == memory(at))
    {
        execution.look(fibers::current(), at, LoadOrder::Relaxed, modules::label(global::caller()));
    }
    memory(at)
}

/// The word of a futex: code without instrumentation may change it from now on, and what that orders is to be known.
pub fn watch(at: Location) {
    let control = control();
    if explore::is_on() || !control.is_opaque || control.atomics.contains_key(&at.address) {
        return;
    }
    if let Engine::C11(execution) = &mut control.engine {
        execution.introduce(at, &mut initial_value);
        control.atomics.insert(at.address, (at.size, memory(at)));
    }
}

/// The running thread has only read here: if it is not content with what it found, code without instrumentation may
/// go on from there, and wait for something else. After a read-modify-write there is nothing to wait for.
fn remember(address: u64) {
    let recent = &mut control().recent;
    let me = fibers::current().index();
    if recent.len() <= me {
        recent.resize(me + 1, [0; 4]);
    }
    if recent[me][0] != address {
        recent[me].rotate_right(1);
        recent[me][0] = address;
    }
}

/// c11: a race is about to be reported. If code without instrumentation writes to an atomic that the running thread
/// has just been using, it may also have read it on the thread's behalf, and what is known to it then is known to the
/// thread. Has that changed anything?
#[cold]
pub fn catch_up() -> bool {
    let control = control();
    if explore::is_on() || !control.is_opaque {
        return false;
    }
    let me = fibers::current();
    let Engine::C11(execution) = &mut control.engine else { return false };
    let Some(recent) = control.recent.get(me.index()) else { return false };
    let known = |clock: Option<&VectorClock>| {
        let others = |(thread, time): (usize, &u32)| if thread == me.index() { 0 } else { u64::from(*time) };
        clock.map_or(0, |clock| clock.slots().iter().enumerate().map(others).sum())
    };
    let before: u64 = known(execution.clock(me));
    let label = modules::label(global::caller());
    for at in control.intruded.iter().filter(|at| recent.contains(&at.address)) {
        execution.look(me, *at, LoadOrder::Acquire, label);
    }
    let after = known(execution.clock(me));
    tick();
    after > before
}

/// c11: the running thread is about to store there as if atomically: the engine hears of all that it has done before.
pub fn prepare(at: Location) {
    tell_writes();
    notice(at);
}

/// c11: a plain write to memory that may hold atomics. Its value is there by the time of the next operation.
pub fn wrote(address: usize, length: usize, pc: usize) {
    control().written.push((address, length, pc));
}

/// Tells the engine of plain writes to atomic locations. They are in memory already, so that nobody may go first:
/// this is no choice.
fn tell_writes() {
    hooks::volatile::settle();
    if control().written.is_empty() {
        return;
    }
    let written = std::mem::take(&mut control().written);
    for (address, length, pc) in written {
        let (start, end) = (address as u64, (address + length) as u64);
        let touched: Vec<Location> = control()
            .atomics
            .range(start.saturating_sub(15)..end)
            .map(|(address, (size, _))| Location::new(*address, *size))
            .filter(|at| at.end() > start)
            .collect();
        for at in touched {
            let value = memory(at);
            match &mut control().engine {
                Engine::C11(execution) if !explore::is_on() => {
                    execution.overwrite(fibers::current(), at, value, modules::label(pc));
                }
                _ => drop(step(Op::Access(Access::Store { at, order: StoreOrder::Plain, value }))),
            }
            control().atomics.insert(at.address, (at.size, value));
        }
    }
}

/// Do stores wait before others see them?
pub fn has_buffers() -> bool {
    let control = control();
    !matches!(control.engine, Engine::C11(_) | Engine::Sc(_)) && control.buffer != Some(0)
}

/// A thread that does not exist: it sees what all see.
pub const NOBODY: ThreadId = ThreadId(u32::MAX);

/// What a thread would read now.
pub fn peek(thread: ThreadId, at: Location) -> Value {
    each!(&mut control().engine, e => e.peek(thread, at))
}

/// What looks at events: their number, whose they are, what they did, and where another event of a given number was.
pub type See<'a> = dyn FnMut(EventId, ThreadId, &EventKind, &dyn Fn(EventId) -> Option<Location>) + 'a;

/// Hands every event from number `from` on to `see`; gives the number of the next.
pub fn events(from: u32, see: &mut See<'_>) -> u32 {
    each!(&mut control().engine, e => {
        let end = e.event_count() as u32 + 1;
        for id in from..end {
            let (thread, kind) = e.event(EventId(id));
            see(EventId(id), thread, kind, &|id| e.event(id).1.location());
        }
        e.forget_before(EventId(end));
        end
    })
}

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
    } else if !explore::is_on() {
        give_back(address, length);
    }
}

/// The answers of this execution; if there are too many, the first of them.
pub fn choices() -> Vec<u32> {
    each!(&control().engine, e => e.choices().to_vec())
}

/// How many events there have been; an exploration has them elsewhere.
pub fn event_count() -> Option<u32> {
    (!explore::is_on()).then(|| each!(&control().engine, e => e.event_count() as u32))
}

/// How many events have changed what can be read.
pub fn change_count() -> u64 {
    each!(&control().engine, e => e.change_count())
}

/// Are the events of the next execution kept for its trace?
pub fn record(on: bool) {
    each!(&mut control().engine, e => e.set_recording(on));
}

/// How the answers of this execution are drawn, if they are.
pub fn plan() -> Option<(u64, Sampling)> {
    control().drawn
}

/// Of an execution with more answers than are kept: how they were drawn.
pub fn drawn() -> Option<(u64, Sampling)> {
    let cut = each!(&control().engine, e => e.choice_count() > e.choices().len() as u64);
    control().drawn.filter(|_| cut)
}

/// How many steps this execution has taken.
pub fn steps() -> u64 {
    each!(&control().engine, e => e.steps())
}

/// The trace of this execution; its labels are numbers in the line field, for [`modules::place`].
pub fn trace() -> Trace {
    let describe = |label: u32| fencepost_trace::Label { line: label, ..fencepost_trace::Label::default() };
    each!(&control().engine, e => e.trace(describe))
}
