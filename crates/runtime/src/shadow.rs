//! The race detector for plain accesses (c11).
//!
//! In the manner of FastTrack (Flanagan, Freund, PLDI 2009): an access is a thread and a time, and happened before this one if this thread's clock has
//! reached that time. Clocks are the machine's; the time of a plain access is that of its thread's *next* event, because
//! what that event releases includes it and what the one before released does not.
//!
//! Each eight bytes of the program have four slots at an address computed from theirs: no table is searched. A slot says who accessed which of the
//! bytes, when, how, from where, and in which execution: the slots of earlier executions count as empty, so that nothing is cleared between
//! executions. When all four are taken the new access replaces one, as in ThreadSanitizer: a race may then be missed in this
//! execution; none is invented.

use crate::global::Global;
use crate::{control, fibers, results, sys};
use fencepost_trace::VectorClock;

/// Where the slots are.
pub const BASE: usize = 0x2000_0000_0000;
pub const LENGTH: usize = 1 << 43;

/// Addresses are told apart by their low 40 bits: the program, the heap and the libraries differ there.
const SPACE: usize = (1 << 40) - 1;
const SLOTS: usize = 4;

/// How an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    pub write: bool,
    pub atomic: bool,
}

pub const READ: Kind = Kind { write: false, atomic: false };
pub const WRITE: Kind = Kind { write: true, atomic: false };

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    /// The execution (16 bits), the thread (16), its time (32).
    who: u64,
    /// The bytes (8 bits), how (8), from where (48).
    what: u64,
}

const ATOMIC: u64 = 1 << 8;
const WROTE: u64 = 1 << 9;
/// Some of the eight bytes were accessed atomically in this execution. Handed on from slot to slot.
const TOUCHED: u64 = 1 << 10;
/// The block was freed: whoever comes now is wrong, ordered or not.
const FREED: u64 = 1 << 11;
const BYTES: u64 = 0xff;

impl Slot {
    fn kind(self) -> Kind {
        Kind { write: self.what & WROTE != 0, atomic: self.what & ATOMIC != 0 }
    }
}

struct State {
    ready: bool,
    /// The execution and the running thread, ready to be put into a slot, and its time.
    who: u64,
    execution: u16,
}

static STATE: Global<State> = Global::new(State { ready: false, who: 0, execution: 0 });

/// Reserves the slots.
pub fn initialise() -> bool {
    STATE.get().ready = sys::reserve(BASE, LENGTH).is_some();
    STATE.get().ready
}

/// A new execution: all slots are empty.
pub fn reset() {
    let state = STATE.get();
    if state.execution == u16::MAX {
        sys::discard(BASE, LENGTH);
        state.execution = 0;
    }
    state.execution += 1;
}

/// A thread runs from here on, or has taken a step: the time of its next event.
#[inline]
pub fn tick(clock: Option<&VectorClock>) {
    let state = STATE.get();
    let thread = fibers::current();
    let time = clock.map_or(0, |c| c.get(thread)) + 1;
    state.who = (state.execution as u64) << 48 | (thread.0 as u64 & 0xffff) << 32 | time as u64;
}

#[inline(always)]
fn slots(address: usize) -> &'static mut [Slot; SLOTS] {
    let at = BASE + (address & SPACE & !7) * 8;
    // SAFETY: within the reserved range, whatever the address is; aligned to 64 bytes.
    unsafe { &mut *(at as *mut [Slot; SLOTS]) }
}

/// An access of `size` bytes, which lie within eight aligned ones. Is the place one that was accessed atomically before, and is
/// this the first such access since the thread's last event?
#[inline(always)]
pub fn access(address: usize, size: usize, kind: Kind, pc: usize) -> bool {
    let bytes = (((1u32 << size) - 1) << (address & 7)) as u64 & BYTES;
    let what = bytes | if kind.atomic { ATOMIC } else { 0 } | if kind.write { WROTE } else { 0 };
    // An atomic access is the event that was just performed, a plain one comes before the next.
    let who = STATE.get().who - kind.atomic as u64;
    let slots = slots(address);
    // A write covers a read, a plain access an atomic one: what it races with, they race with.
    for slot in slots.iter() {
        if slot.who == who
            && slot.what & bytes == bytes
            && slot.what & what & WROTE == what & WROTE
            && (slot.what & (ATOMIC | FREED) == 0 || kind.atomic && slot.what & FREED == 0)
        {
            return false;
        }
    }
    check(slots, address, what | (pc as u64) << 16, who)
}

#[inline(never)]
fn check(slots: &mut [Slot; SLOTS], address: usize, what: u64, who: u64) -> bool {
    let mut place = None;
    let mut touched = 0;
    let thread = who << 16 >> 48;
    let kind = Slot { who, what }.kind();
    for (i, slot) in slots.iter().enumerate() {
        if slot.who >> 48 != who >> 48 {
            place = place.or(Some(i));
            continue;
        }
        touched |= if slot.what & (ATOMIC | TOUCHED) != 0 { TOUCHED } else { 0 };
        let common = slot.what & what & BYTES;
        if common == 0 {
            continue;
        }
        let other = slot.who << 16 >> 48;
        if slot.what & FREED != 0 {
            results::use_after_free(address, earlier(slot), kind, (what >> 16) as usize);
            continue;
        }
        let ordered = other == thread || {
            let time = slot.who as u32;
            control::knows(other as u32, time)
        };
        let conflict = (kind.write || slot.kind().write) && !(kind.atomic && slot.kind().atomic);
        if !ordered && conflict {
            results::race(address & !7, earlier(slot), kind, (what >> 16) as usize);
        }
        // What comes after it and covers it can stand for it.
        let covers = slot.what & BYTES & !what == 0
            && (kind.write || !slot.kind().write)
            && (!kind.atomic || slot.kind().atomic);
        if ordered && covers {
            place = Some(i);
        }
    }
    let place = place.unwrap_or((who as usize + thread as usize) % SLOTS);
    slots[place] = Slot { who, what: what | touched };
    touched != 0
}

/// The earlier of two accesses that race.
#[derive(Clone, Copy, Debug)]
pub struct Earlier {
    pub thread: u32,
    pub kind: Kind,
    pub pc: usize,
}

fn earlier(slot: &Slot) -> Earlier {
    Earlier { thread: (slot.who << 16 >> 48) as u32, kind: slot.kind(), pc: (slot.what >> 16) as usize }
}

/// An access of any size. Was any of it accessed atomically before?
pub fn range(address: usize, size: usize, kind: Kind, pc: usize) -> bool {
    let mut at = address;
    let end = address.saturating_add(size);
    let mut was_atomic = false;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        was_atomic |= access(at, next - at, kind, pc);
        at = next;
    }
    was_atomic
}

/// The memory is somebody else's now: what was done to it before no longer matters.
pub fn forget(address: usize, size: usize) {
    if !STATE.get().ready {
        return;
    }
    for at in (address & !7..address + size).step_by(8) {
        *slots(at) = [Slot { who: 0, what: 0 }; SLOTS];
    }
}

/// The block is freed: that is a write to all of it, and the last access that is right.
pub fn free(address: usize, size: usize, pc: usize) {
    range(address, size, WRITE, pc);
    let state = STATE.get();
    let what = BYTES | WROTE | FREED | (pc as u64) << 16;
    for at in (address & !7..address + size).step_by(8) {
        let empty = Slot { who: 0, what: 0 };
        *slots(at) = [Slot { who: state.who, what }, empty, empty, empty];
    }
}

// Under the hardware models there is no race detector; the slots then say which places of a stack others have touched.

/// Others have touched this place.
pub fn share(address: usize) {
    slots(address)[0].who = STATE.get().execution as u64;
}

/// Has anybody else touched this place?
pub fn is_shared(address: usize) -> bool {
    slots(address)[0].who == STATE.get().execution as u64
}
