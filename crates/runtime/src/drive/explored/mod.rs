//! A thread of the program in an execution that is explored: what it asks for, and which of its accesses are events.
//!
//! The exploration itself is above ([`campaign::explore`](crate::campaign::explore)), and the two meet in threads: one
//! that asks for an operation leaves it behind and goes back to the exploration's stack, which resumes it with a reply.

pub mod opaque;
pub mod shared;
pub mod unseen;

use crate::drive::ending::{self, Verdict};
use crate::drive::{asks, control, debugger, digest, patience, progress, replied};
use crate::platform::channels;
use crate::platform::global::{self, Entered, Global};
pub use crate::results::{is_by_values, leaves_open, unsupported, unsupported_at, unsupported_here};
use crate::threads::{calls, fibers};
use fencepost_trace::{Op, Reply, ThreadId, VectorClock};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// By thread: what happens before what it does now.
static CLOCKS: Global<Vec<VectorClock>> = Global::new(Vec::new());
/// By thread: what was performed before that, under the hardware models.
static PERFORMED: Global<Vec<Vec<u32>>> = Global::new(Vec::new());
/// A block is being freed.
static FREEING: AtomicBool = AtomicBool::new(false);

/// An exploration begins.
pub fn begin() {
    CLOCKS.enter().clear();
    PERFORMED.enter().clear();
    FREEING.store(false, Relaxed);
}

/// An execution begins.
pub fn restart() {
    CLOCKS.enter().iter_mut().for_each(VectorClock::clear);
    PERFORMED.enter().iter_mut().for_each(Vec::clear);
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

/// What was performed before what a thread does now, under the hardware models: by thread, how many of its events.
pub fn performed(thread: ThreadId) -> Entered<'static, Vec<u32>> {
    PERFORMED.enter().map(|clocks| {
        if clocks.len() <= thread.index() {
            clocks.resize_with(thread.index() + 1, Vec::new);
        }
        &mut clocks[thread.index()]
    })
}

/// The running thread asks for an operation; answers when the exploration has decided.
pub fn ask(op: Op) -> Reply {
    progress::settle();
    asks(&op);
    let mut me = fibers::me();
    if me.deadline.is_some() {
        unsupported("a wait for a thread's end with a timeout is not explored");
    }
    me.pc = global::caller();
    me.sp = global::caller_sp();
    me.registers = global::caller_registers();
    me.about = match op {
        Op::Access(access) => access.location().filter(|at| at.as_hidden().is_none()),
        _ => None,
    };
    // A library's function that counts its rounds: has this call of it come by before?
    let library = channels::contain(me.pc).then(calls::mark_innermost);
    me.round = match library {
        Some(true) => me.rounds.since(me.pc),
        _ => None,
    };
    drop(me);
    if library == Some(false) {
        let state = digest(fibers::current());
        fibers::me().rounds.begin(state);
    }
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
    let mut me = fibers::me();
    if library.is_some() {
        let (pc, reply) = (me.pc, me.reply);
        me.rounds.read(pc, reply);
    }
    global::set_caller(me.pc, me.sp);
    global::set_caller_registers(me.registers);
    let reply = me.reply;
    drop(me);
    replied(reply.success);
    reply
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
    me.about = None;
    drop(me);
    let now = digest(fibers::current());
    if !shared::is_watching() {
        shared::watch(now.unwrap_or(0));
    } else if let Some(now) = now {
        shared::compare(now);
    }
    if !shared::see(address, size, write) {
        patience::renew();
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
    if FREEING.load(Relaxed) {
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
        FREEING.store(on, Relaxed);
    }
}

/// The memory whose plain accesses are among the steps of the graph at hand.
pub fn shared_memory() -> Vec<(u64, u8)> {
    if is_on() { shared::list() } else { Vec::new() }
}
