//! Volatile accesses.
//!
//! Under the hardware models they are accesses like any other. Under c11 they are what the user says ([`Volatile`]):
//! relaxed atomics, as C11Tester has it, acquiring and releasing ones, or plain. The instrumentation announces them
//! before they happen, so that the program still makes them itself:
//!
//! - for a load the value that the engine has chosen is put into memory, and what belongs there is put back at the
//!   thread's next hook;
//! - a store is undone at the thread's next hook, which knows its value by then, and made as an atomic store.
//!
//! Nobody else runs in between, since threads are switched only in hooks.

use crate::detect::shadow::Kind;
use crate::drive::control;
use crate::platform::global::{self, Global};
use fencepost_mailbox::Volatile;
use fencepost_trace::{Access, Guard, LoadOrder, Location, StoreOrder, Value};

static WHAT: Global<Volatile> = Global::new(Volatile::Relaxed);

/// What the user says.
pub fn initialise(what: Volatile) {
    *WHAT.enter() = what;
}

/// An access that the running thread has been told to make and that is not finished.
#[derive(Clone, Copy)]
enum Unfinished {
    /// A load: this value belongs there.
    Load(Location, Value),
    /// A store, called from `pc`: this value was there before.
    Store { at: Location, before: Value, pc: usize },
}

/// The running thread's.
static UNFINISHED: Global<Option<Unfinished>> = Global::new(None);

/// A new execution.
pub fn reset() {
    *UNFINISHED.enter() = None;
}

/// Finishes what the running thread has begun. Called before anything else that a hook does.
#[inline]
pub fn settle() {
    let unfinished = UNFINISHED.enter().take();
    if let Some(unfinished) = unfinished {
        finish(unfinished);
    }
}

/// Has the running thread begun one?
pub fn is_unfinished() -> bool {
    UNFINISHED.enter().is_some()
}

/// Are they plain accesses?
pub fn are_plain() -> bool {
    *WHAT.enter() == Volatile::Plain
}

#[cold]
fn finish(unfinished: Unfinished) {
    match unfinished {
        Unfinished::Load(at, value) => control::set_memory(at, value),
        Unfinished::Store { at, before, pc } => {
            let value = control::memory(at);
            control::set_memory(at, before);
            let what = *WHAT.enter();
            let order = match what {
                Volatile::AcqRel => StoreOrder::Release,
                _ => StoreOrder::Relaxed,
            };
            // The hook that the program has called meanwhile goes on afterwards.
            let (caller, sp) = (global::caller(), global::caller_sp());
            global::set_caller(pc, sp);
            control::watched(Access::Store { at, order, value }, at, |_| Some(value));
            global::set_caller(caller, sp);
        }
    }
}

/// The running thread is about to make one, at `pc`.
pub fn begin(at: Location, kind: Kind, pc: usize) {
    if kind.write {
        // Everything before it comes first, and the engine knows what was there.
        control::prepare(at);
        *UNFINISHED.enter() = Some(Unfinished::Store { at, before: control::memory(at), pc });
        return;
    }
    let what = *WHAT.enter();
    let order = match what {
        Volatile::AcqRel => LoadOrder::Acquire,
        _ => LoadOrder::Relaxed,
    };
    let (reply, _) = control::watched(Access::Load { at, order, guard: Guard::Any }, at, |_| None);
    let newest = control::memory(at);
    if newest != reply.value {
        control::set_memory(at, reply.value);
        *UNFINISHED.enter() = Some(Unfinished::Load(at, newest));
    }
}
