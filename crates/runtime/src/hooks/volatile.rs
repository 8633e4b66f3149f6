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

use super::{access, hook};
use crate::detect::shadow::{Kind, READ, WRITE};
use crate::drive::control;
use crate::explore;
use crate::platform::global::{self, Global, mode};
use fencepost_mailbox::Volatile;
use fencepost_trace::{Access, Guard, LoadOrder, Location, Size, StoreOrder, Value};

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

/// The same where no hook has been entered: in an exploration, in which nobody is suspicious, and where a thread or
/// the program ends without one.
pub fn finish_first() {
    if UNFINISHED.enter().is_some() {
        super::at_work(settle);
    }
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
            super::atomics::watched(Access::Store { at, order, value }, at, |_| Some(value));
            global::set_caller(caller, sp);
        }
    }
}

fn volatile(address: usize, size: usize, kind: Kind, pc: usize) {
    let size = Size::try_from(size as u8).unwrap_or(Size::B1);
    let at = Location::new(address as u64, size);
    super::at_work(|| {
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
        let (reply, _) = super::atomics::watched(Access::Load { at, order, guard: Guard::Any }, at, |_| None);
        let newest = control::memory(at);
        if newest != reply.value {
            control::set_memory(at, reply.value);
            *UNFINISHED.enter() = Some(Unfinished::Load(at, newest));
        }
    });
    if UNFINISHED.enter().is_some() {
        global::suspect();
    }
}

fn announced<const SIZE: usize>(address: usize, kind: Kind) {
    let pc = global::caller();
    let atomic = global::active()
        && (global::kind() == mode::LANGUAGE || explore::is_language())
        && *WHAT.enter() != Volatile::Plain
        && address.is_multiple_of(SIZE);
    if atomic { volatile(address, SIZE, kind, pc) } else { access::announced::<SIZE>(address, kind, pc) }
}

macro_rules! volatiles {
    ($($name:ident: $size:literal $kind:ident;)*) => { $(
        hook! { fn $name(address: usize) {
            announced::<$size>(address, $kind)
        } }
    )* };
}

volatiles! {
    __tsan_volatile_read1: 1 READ;
    __tsan_volatile_read2: 2 READ;
    __tsan_volatile_read4: 4 READ;
    __tsan_volatile_read8: 8 READ;
    __tsan_volatile_read16: 16 READ;
    __tsan_volatile_write1: 1 WRITE;
    __tsan_volatile_write2: 2 WRITE;
    __tsan_volatile_write4: 4 WRITE;
    __tsan_volatile_write8: 8 WRITE;
    __tsan_volatile_write16: 16 WRITE;
    __tsan_unaligned_volatile_read2: 2 READ;
    __tsan_unaligned_volatile_read4: 4 READ;
    __tsan_unaligned_volatile_read8: 8 READ;
    __tsan_unaligned_volatile_read16: 16 READ;
    __tsan_unaligned_volatile_write2: 2 WRITE;
    __tsan_unaligned_volatile_write4: 4 WRITE;
    __tsan_unaligned_volatile_write8: 8 WRITE;
    __tsan_unaligned_volatile_write16: 16 WRITE;
}
