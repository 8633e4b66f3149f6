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

pub mod opaque;
mod passes;
mod program;
mod safety;
pub mod shared;
pub mod unseen;
mod visitor;
mod workers;

use crate::drive::ending::{self, Verdict};
use crate::drive::{control, debugger, digest, progress};
use crate::hooks;
use crate::platform::global::{self, Entered, Global};
pub use crate::results::{is_by_values, leaves_open, unsupported, unsupported_at, unsupported_here};
use crate::threads::fibers;
use fencepost_mailbox::Request;
use fencepost_trace::{GraphStep, Op, Reply, ThreadId, Trace, VectorClock};
pub use passes::run;
pub use program::has_other_ends;
use std::sync::atomic::Ordering::Relaxed;

/// An exploration under way.
struct State {
    request: &'static Request,
    /// How threads have ended the process in the execution at hand: each may be the one that does.
    verdicts: Vec<(ThreadId, Verdict)>,
    /// If each execution is judged: by whom.
    safety: Option<safety::Safety>,
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

static STATE: Global<Option<State>> = Global::new(None);
/// By thread: what happens before what it does now.
static CLOCKS: Global<Vec<VectorClock>> = Global::new(Vec::new());

#[track_caller]
fn state() -> Entered<'static, State> {
    STATE.enter().map(|state| state.as_mut().expect("internal error: no exploration"))
}

/// What the host has asked for.
fn request() -> &'static Request {
    state().request
}

/// Does it explore c11, where plain accesses are no events but may race?
pub fn is_language() -> bool {
    global::explores_language()
}

/// Is an exploration under way?
#[inline(always)]
pub fn is_on() -> bool {
    global::explores()
}

/// What happens before what a thread does now.
pub fn clock(thread: ThreadId) -> Entered<'static, VectorClock> {
    CLOCKS.enter().map(|clocks| {
        if clocks.len() <= thread.index() {
            clocks.resize_with(thread.index() + 1, VectorClock::default);
        }
        &mut clocks[thread.index()]
    })
}

/// The running thread asks for an operation; answers when the exploration has decided.
pub fn ask(op: Op) -> Reply {
    progress::settle();
    let mut me = fibers::me();
    if me.deadline.is_some() {
        unsupported("a wait for a thread's end with a timeout is not explored");
    }
    me.pc = global::caller();
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    let asks = &global::CALLER_ASKS;
    me.asks = asks.load(Relaxed).wrapping_mul(31).wrapping_add(1).wrapping_add(mark(&op));
    drop(me);
    unseen::asked(&op);
    if op == Op::Yield {
        yields();
    } else {
        fibers::me().yielded = 0;
        shared::look_away();
    }
    fibers::me().asked = Some(op);
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
    let before = std::mem::replace(&mut fibers::me().yielded, now);
    if before == now && !shared::is_watching() {
        shared::watch(now);
    }
}

/// The running thread has made many plain accesses since its last event, and is about to make this one.
pub fn impatient(address: usize, size: usize, write: bool, pc: usize) {
    if shared::has_more() {
        // All starts over, and what this execution reads may be nonsense.
        ending::finish(Verdict::Redundant);
    }
    progress::settle();
    let mut me = fibers::me();
    me.pc = pc;
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    drop(me);
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
    if !is_on() || is_language() {
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
    if is_on() && !is_language() {
        shared::add(address & !7, bytes);
    }
}

/// The running thread begins or ends to free a block.
pub fn freeing(on: bool) {
    if is_on() {
        state().freeing = on;
    }
}

/// The memory whose plain accesses are among the steps of the graph at hand.
pub fn shared_memory() -> Vec<(u64, u8)> {
    if is_on() { shared::list() } else { Vec::new() }
}

/// The steps of the graph at hand, if somebody wanted them.
pub fn steps() -> Vec<GraphStep> {
    STATE.enter().as_ref().map_or_else(Vec::new, |state| state.steps.clone())
}

/// The trace of a graph that was run again.
pub fn take_trace() -> Option<Trace> {
    STATE.enter().as_mut()?.trace.take()
}
