//! Time passes for threads that wait for it.

use super::queries::change_count;
use super::{control, each, perform};
use crate::platform::modules;
use crate::threads::{clock, fibers};
use fencepost_trace::op::Sync;
use fencepost_trace::{Op, ThreadId};

/// After so many operations time passes for a thread that sleeps, even if others are busy; and after so many for each
/// second that it sleeps.
const MOST_BUSY: u64 = 5_000;

/// Of a wait only so many seconds count for that.
const MOST_SECONDS: u64 = 10;

/// A thread that sleeps goes on when all others wait. Where they do not, because they spin until it has done
/// something, its time comes too.
pub(super) fn let_time_pass() {
    let busy = {
        let mut control = control();
        control.busy += 1;
        control.busy
    };
    if busy < MOST_BUSY || !busy.is_multiple_of(MOST_BUSY) {
        return;
    }
    match clock::wait(awaits_time) {
        Some(wait) if busy < MOST_BUSY * (wait / clock::SECOND).clamp(1, MOST_SECONDS) => {}
        Some(_) => {
            let changes = change_count();
            let idle = std::mem::replace(&mut control().changes, changes) == changes;
            let_time_come(if idle { clock::Reason::Idle } else { clock::Reason::Busy });
        }
        None => control().busy = 0,
    }
}

/// Does the thread wait for something that is not there, and only until a time?
fn awaits_time(thread: ThreadId) -> bool {
    each!(&control().engine, e => e.awaits_time(thread))
}

/// The running thread does nothing until that time, unless it is the only one that can do something.
pub fn await_time(deadline: u64) {
    let mut me = fibers::me();
    me.deadline = Some(deadline);
    me.looking = true;
    drop(me);
    perform(Op::Sync(Sync::Park));
    let mut me = fibers::me();
    (me.deadline, me.timed_out, me.looking) = (None, false, false);
}

/// Time passes until the first of those that wait for it goes on.
pub(super) fn let_time_come(reason: clock::Reason) {
    control().busy = 0;
    clock::pass(reason, awaits_time, give_up);
}

/// What the thread has asked for is given up: it goes on without.
fn give_up(thread: ThreadId) {
    let pc = fibers::get(thread).pc;
    let label = modules::label(pc);
    each!(&mut control().engine, e => e.submit(thread, Op::Yield, label));
}

/// A thread that waits does so no longer, as if its time had come. If it is about to begin to wait, its wait will be
/// short.
pub fn interrupt(thread: ThreadId) {
    let now = clock::now();
    fibers::get(thread).deadline = Some(now);
    each!(&mut control().engine, e => e.give_up_early(thread));
    if awaits_time(thread) {
        let mut fiber = fibers::get(thread);
        fiber.deadline = None;
        fiber.timed_out = true;
        drop(fiber);
        give_up(thread);
    }
}
