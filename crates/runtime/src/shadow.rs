//! The race detector for plain accesses (c11).
//!
//! In the manner of FastTrack (Flanagan, Freund, PLDI 2009): an access is a thread and a time, and happened before this one if this
//! thread's clock has reached that time. Clocks are the machine's; the time of a plain access is that of its thread's *next* event,
//! because what that event releases includes it and what the one before released does not.
//!
//! Each eight bytes of the program have four slots at an address computed from theirs: no table is searched. A slot is one word: who
//! accessed which of the bytes, when, how, and in which execution, so that the slots of earlier executions count as empty and nothing is
//! cleared between executions. Where the accesses were made lies beside them in the same cache line. When all four slots are taken the new access replaces one, as in ThreadSanitizer: a race may then be missed in this
//! execution; none is invented.

use crate::global::{self, Global};
use crate::{control, exact, explore, fibers, results, sys};
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
    /// A block is freed: to the detector that is a plain write to all of it.
    pub free: bool,
}

pub const READ: Kind = Kind { write: false, atomic: false, free: false };
pub const WRITE: Kind = Kind { write: true, atomic: false, free: false };
pub const FREE: Kind = Kind { write: true, atomic: false, free: true };

/// An access: from the lowest bit, the thread's time (32 bits), the bytes (8), how (4), the thread (10), the execution (10).
type Slot = u64;

const BYTES_SHIFT: u32 = 32;
const BYTES: u64 = 0xff << BYTES_SHIFT;
const WROTE: u64 = 1 << 40;
const ATOMIC: u64 = 1 << 41;
/// Some of the eight bytes were accessed atomically in this execution. Handed on from slot to slot.
const TOUCHED: u64 = 1 << 42;
/// Not memory of the program's: a block that was freed, or what lies around a block. Whoever comes here is wrong, ordered or not.
const FREED: u64 = 1 << 43;
const THREAD_SHIFT: u32 = 44;
const THREADS: u64 = 0x3ff;
const EXECUTION_SHIFT: u32 = 54;
const EXECUTIONS: u64 = 0x3ff;

fn kind_of(slot: Slot) -> Kind {
    Kind { write: slot & WROTE != 0, atomic: slot & ATOMIC != 0, free: false }
}

fn thread_of(slot: Slot) -> u32 {
    (slot >> THREAD_SHIFT & THREADS) as u32
}

struct State {
    ready: bool,
    /// The execution, the running thread and the time of its next event, as they stand in a slot.
    who: u64,
    execution: u64,
    /// The running thread's clock. The engine does not change it before [`tick`] is called again.
    clock: *const u32,
    threads: usize,
}

static STATE: Global<State> =
    Global::new(State { ready: false, who: 0, execution: 0, clock: std::ptr::null(), threads: 0 });

/// Reserves the slots.
pub fn initialise() -> bool {
    STATE.get().ready = sys::reserve(BASE, LENGTH).is_some();
    STATE.get().ready
}

/// A new execution: all slots are empty.
pub fn reset() {
    let state = STATE.get();
    if state.execution == EXECUTIONS {
        sys::discard(BASE, LENGTH);
        state.execution = 0;
    }
    state.execution += 1;
}

/// A thread runs from here on, or has taken a step: its clock, and the time of its next event.
#[inline]
pub fn tick(clock: Option<&VectorClock>) {
    let state = STATE.get();
    let thread = fibers::current();
    let time = clock.map_or(0, |c| c.get(thread)) + 1;
    state.who = state.execution << EXECUTION_SHIFT | (thread.0 as u64 & THREADS) << THREAD_SHIFT | time as u64;
    let slots = clock.map_or(&[][..], |c| c.slots());
    (state.clock, state.threads) = (slots.as_ptr(), slots.len());
}

/// Did that access happen before what the running thread does now?
fn is_ordered(slot: Slot) -> bool {
    is_before(thread_of(slot), slot as u32)
}

/// The same for an access by another thread at this time.
pub fn is_before(thread: u32, time: u32) -> bool {
    let state = STATE.get();
    let thread = thread as usize;
    // SAFETY: within the clock's length; the clock is as it was at the last tick.
    thread < state.threads && time <= unsafe { *state.clock.add(thread) }
}

/// The running thread's clock.
pub fn clock() -> &'static [u32] {
    let state = STATE.get();
    // SAFETY: as above; an empty one may have no pointer at all.
    if state.threads == 0 { &[] } else { unsafe { std::slice::from_raw_parts(state.clock, state.threads) } }
}

/// The time of an access that the running thread makes now.
pub fn time(kind: Kind) -> u32 {
    (STATE.get().who - kind.atomic as u64) as u32
}

/// What is known of eight bytes.
#[repr(C, align(64))]
struct Line {
    slots: [Slot; SLOTS],
    /// Where the accesses in the slots were made.
    places: [usize; SLOTS],
}

#[inline(always)]
fn line(address: usize) -> &'static mut Line {
    let at = BASE + (address & SPACE & !7) * (size_of::<Line>() / 8);
    // SAFETY: within the reserved range, whatever the address is; aligned as it must be.
    unsafe { &mut *(at as *mut Line) }
}

#[inline(always)]
fn slot(address: usize, size: usize, kind: Kind) -> Slot {
    let bytes = (((1u64 << size) - 1) << (address & 7) & 0xff) << BYTES_SHIFT;
    // An atomic access is the event that was just performed, a plain one comes before the next.
    let who = STATE.get().who - kind.atomic as u64;
    who | bytes | if kind.atomic { ATOMIC } else { 0 } | if kind.write { WROTE } else { 0 }
}

/// Has the running thread made this access, or a stronger one, since its last event? Then there is nothing to do. The bytes lie within eight
/// aligned ones.
#[inline(always)]
pub fn is_known(address: usize, size: usize, kind: Kind) -> bool {
    let new = slot(address, size, kind);
    // A write covers a read: what the read races with, the write does.
    let ignored = TOUCHED | if kind.write { 0 } else { WROTE };
    line(address).slots.iter().any(|old| (old ^ new) & !ignored == 0)
}

/// Looks for races of an access that is new, and remembers it. Is the place one that was accessed atomically before?
pub fn check(address: usize, size: usize, kind: Kind, pc: usize) -> bool {
    let new = slot(address, size, kind);
    let thread = thread_of(new);
    let line = line(address);
    let mut place = None;
    let mut touched = 0;
    for i in 0..SLOTS {
        let old = line.slots[i];
        if old >> EXECUTION_SHIFT != new >> EXECUTION_SHIFT {
            place = place.or(Some(i));
            continue;
        }
        touched |= if old & (ATOMIC | TOUCHED) != 0 { TOUCHED } else { 0 };
        if old & new & BYTES == 0 {
            continue;
        }
        let other = kind_of(old);
        if old & FREED != 0 {
            if exact::comes_before_free(address, kind, thread_of(old)) {
                continue;
            }
            global::quietly(|| results::wild_access(address, earlier(line, i), kind, pc));
            continue;
        }
        let ordered = thread_of(old) == thread || is_ordered(old);
        let conflict = (kind.write || other.write) && !(kind.atomic && other.atomic);
        if !ordered && conflict && !exact::is_on() && !explore::takes(address, ((old | new) >> BYTES_SHIFT) as u8) {
            if global::quietly(control::catch_up) {
                return check(address, size, kind, pc);
            }
            global::quietly(|| results::race(address, earlier(line, i), kind, pc));
        }
        // What comes after it and covers it can stand for it, and for all others of that kind.
        let covers = old & BYTES & !new == 0 && (kind.write || !other.write) && (!kind.atomic || other.atomic);
        if ordered && covers {
            line.slots[i] = 0;
            place = place.or(Some(i));
        }
    }
    let place = place.unwrap_or_else(|| {
        let victim = (new as u32 as usize).wrapping_add(thread as usize) % SLOTS;
        explore::lost(address, (line.slots[victim] >> BYTES_SHIFT) as u8);
        victim
    });
    line.slots[place] = new | touched;
    line.places[place] = pc;
    touched != 0
}

/// The earlier of two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier {
    pub thread: u32,
    pub time: u32,
    pub kind: Kind,
    pub pc: usize,
}

fn earlier(line: &Line, i: usize) -> Earlier {
    let slot = line.slots[i];
    Earlier { thread: thread_of(slot), time: slot as u32, kind: kind_of(slot), pc: line.places[i] }
}

/// An access of any size. Was any of it accessed atomically before, and is this the first such access since the thread's last event?
pub fn range(address: usize, size: usize, kind: Kind, pc: usize) -> bool {
    let mut at = address;
    let end = address.saturating_add(size);
    let mut touched = false;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        if !is_known(at, next - at, kind) {
            touched |= check(at, next - at, kind, pc);
        }
        at = next;
    }
    touched
}

/// The memory is somebody else's now: what was done to it before no longer matters.
pub fn forget(address: usize, size: usize) {
    if STATE.get().ready {
        (address & !7..address + size).step_by(8).for_each(|at| line(at).slots = [0; SLOTS]);
    }
}

/// The block is freed: that is a write to all of it, and the last access that is right.
pub fn free(address: usize, size: usize, pc: usize) {
    range(address, size, FREE, pc);
    mark_freed(address, size, pc);
}

/// The same without a look for races.
pub fn mark_freed(address: usize, size: usize, pc: usize) {
    let freed = STATE.get().who | BYTES | WROTE | FREED;
    for at in (address & !7..address + size).step_by(8) {
        line(at).slots = [freed, 0, 0, 0];
        line(at).places[0] = pc;
    }
}

/// What lies before and behind a block is nobody's: the header, and what is left of its last sixteen bytes. The header of the next block follows.
pub fn fence(block: usize, size: usize) {
    let end = block + size;
    let fenced = STATE.get().who | WROTE | FREED;
    let mark = |at: usize, bytes: u64| {
        line(at).slots = [fenced | bytes, 0, 0, 0];
        line(at).places[0] = 0;
    };
    mark(block - 16, BYTES);
    mark(block - 8, BYTES);
    if !end.is_multiple_of(8) {
        mark(end, (0xff << (end & 7) & 0xff) << BYTES_SHIFT);
    }
    (end.next_multiple_of(8)..end.next_multiple_of(16)).step_by(8).for_each(|at| mark(at, BYTES));
}

// Under the hardware models there is no race detector; the slots then say which places of the heap are nobody's, and which places of a stack others have touched.

/// Who has freed some of these bytes? Without a program point: they lie around a block.
pub fn freed(address: usize, size: usize) -> Option<Earlier> {
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        let bytes = (((1u64 << (next - at)) - 1) << (at & 7)) << BYTES_SHIFT;
        // Such a mark always comes first, and alone.
        let mark = line(at).slots[0];
        if mark & FREED != 0 && mark & bytes != 0 && mark >> EXECUTION_SHIFT == STATE.get().execution {
            return Some(earlier(line(at), 0));
        }
        at = next;
    }
    None
}

/// Others have touched this place.
pub fn share(address: usize) {
    line(address).slots[0] = STATE.get().execution;
}

/// Has anybody else touched this place?
pub fn is_shared(address: usize) -> bool {
    line(address).slots[0] == STATE.get().execution
}
