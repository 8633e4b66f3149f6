//! The race detector for plain accesses (c11).
//!
//! In the manner of FastTrack (Flanagan, Freund, PLDI 2009): an access is a thread and a time, and happened before
//! this one if this thread's clock has reached that time. Clocks are the machine's; the time of a plain access is
//! that of its thread's *next* event, because what that event releases includes it and what the one before released
//! does not.
//!
//! Each eight bytes of the program have four slots at an address computed from theirs: no table is searched. A slot
//! is one word: who accessed which of the bytes, when, how, and in which execution, so that the slots of earlier
//! executions count as empty and nothing is cleared between executions. Where the accesses were made lies beside them
//! in the same cache line. When all four slots are taken the new access replaces one, as in ThreadSanitizer: a race
//! may then be missed in this execution; none is invented.
//!
//! A slot has room for 4,096 threads: each has a *seat*. A thread that comes after so many takes the seat of one that
//! has ended, and its times go on where those of the other stopped, so that a seat and a time still name one access
//! of one thread.
//!
//! To allocate a block is to write it: whoever gets to it without an order behind that finds anything there. Small
//! blocks are marked at once, of large ones it is remembered who has allocated them, and a line gets its mark when it
//! is first accessed. Locks and the like are objects too: to use one is to read it, to initialise or destroy it is to
//! write it.

use crate::detect::exact;
use crate::detect::instrumented;
use crate::detect::listener::listener;
use crate::memory::heap;
use crate::platform::global::{self, Global};
use crate::platform::layout::SHADOW;
use crate::platform::{failure, sys};
use crate::threads::fibers;
use fencepost_runtime_core::slot::{
    self, ATOMIC, BYTES, BYTES_SHIFT, EXECUTION_SHIFT, EXECUTIONS, FREED, PLACE_BITS, SEAT_SHIFT, SEATS, Slot, TIME,
    TOUCHED, WROTE, kind_of, seat_of, time_of,
};
pub use fencepost_runtime_core::slot::{ALLOCATION, FREE, Kind, Object, READ, WRITE, What};
use fencepost_trace::{ThreadId, VectorClock};
use std::collections::BTreeMap;

/// Where the slots are.
const BASE: usize = SHADOW.start;
const LENGTH: usize = SHADOW.length;

/// Addresses are told apart by their low 40 bits: the program, the heap and the libraries differ there.
const SPACE: usize = (1 << 40) - 1;
const SLOTS: usize = 4;

/// A large block: where it ends, and its allocation as a slot without bytes, with its place.
#[derive(Clone, Copy)]
struct Large {
    end: usize,
    slot: Slot,
    place: usize,
}

/// Blocks up to this size are marked at once when they are allocated.
const SMALL: usize = 4096;

/// Threads after the first [`SEATS`], and the seats that they share.
#[derive(Default)]
struct Seats {
    /// Of each of those threads: its seat, and the time of the seat before it came.
    later: Vec<(u32, u32)>,
    /// Seats whose threads have ended, and their times.
    left: Vec<(u32, u32)>,
    /// By seat: the threads that came later, with the times before they came.
    history: BTreeMap<u32, Vec<(u32, u32)>>,
}

struct State {
    ready: bool,
    /// The execution, the running thread and the time of its next event, as they stand in a slot.
    who: u64,
    execution: u64,
    /// The running thread's clock. The engine does not change it before [`tick`] is called again.
    clock: *const u32,
    threads: usize,
    /// The time of the running thread's seat before it came.
    base: u32,
    seats: Option<Seats>,
    /// Large blocks by address.
    large: BTreeMap<usize, Large>,
}

static STATE: Global<State> = Global::new(State {
    ready: false,
    who: 0,
    execution: 0,
    clock: std::ptr::null(),
    threads: 0,
    base: 0,
    seats: None,
    large: BTreeMap::new(),
});

/// Reserves the slots.
pub fn initialise() -> bool {
    let ready = sys::reserve(BASE, LENGTH).is_some();
    STATE.enter().ready = ready;
    ready
}

/// A new execution: all slots are empty.
pub fn reset() {
    let mut state = STATE.enter();
    if state.execution == EXECUTIONS {
        sys::discard(BASE, LENGTH);
        state.execution = 0;
    }
    state.execution += 1;
    state.large.clear();
    let seats = state.seats.get_or_insert_default();
    seats.later.clear();
    seats.left.clear();
    seats.history.clear();
}

/// A thread runs from here on, or has taken a step: its clock, and the time of its next event.
#[inline]
pub fn tick(clock: Option<&VectorClock>) {
    let thread = fibers::current();
    let (seat, base) = if thread.0 < SEATS { (thread.0, 0) } else { find_seat(thread) };
    let time = clock.map_or(0, |c| c.get(thread)) + 1;
    if time >= TIME as u32 - base {
        out_of_time();
    }
    let mut state = STATE.enter();
    state.base = base;
    state.who = state.execution << EXECUTION_SHIFT | u64::from(seat) << SEAT_SHIFT | u64::from(base + time);
    let slots = clock.map_or(&[][..], |c| c.slots());
    (state.clock, state.threads) = (slots.as_ptr(), slots.len());
}

#[cold]
fn out_of_time() {
    failure::give_up("a thread makes more operations in one execution than the race detector can number")
}

/// The running thread has ended, and makes no access any more.
pub fn leave_seat() {
    let mut state = STATE.enter();
    let who = state.who;
    if let Some(seats) = &mut state.seats {
        // The end is an operation, too.
        seats.left.push((seat_of(who), time_of(who) + 1));
    }
}

/// The seat of a thread that came after the first ones, and the seat's time before that.
#[cold]
fn find_seat(thread: ThreadId) -> (u32, u32) {
    const NONE: (u32, u32) = (u32::MAX, 0);
    let index = (thread.0 - SEATS) as usize;
    global::quietly(|| {
        let mut state = STATE.enter();
        let seats = state.seats.get_or_insert_default();
        if seats.later.len() <= index {
            seats.later.resize(index + 1, NONE);
        }
        if seats.later[index] == NONE {
            // The one that has taken the fewest steps, so that none runs out of time before its turn.
            let free = seats.left.iter().enumerate().min_by_key(|(_, (_, time))| *time).map(|(i, _)| i);
            let Some(free) = free else {
                failure::give_up("the program has more threads at the same time than the race detector can tell apart");
            };
            let (seat, base) = seats.left.swap_remove(free);
            seats.later[index] = (seat, base);
            seats.history.entry(seat).or_default().push((base, thread.0));
        }
        seats.later[index]
    })
}

/// The thread that made an access, and the thread's own time.
fn by_whom(slot: Slot) -> (u32, u32) {
    let (seat, time) = (seat_of(slot), time_of(slot));
    match &STATE.enter().seats {
        Some(seats) if !seats.history.is_empty() => {
            let later = seats.history.get(&seat).and_then(|list| list.iter().rev().find(|(base, _)| *base < time));
            later.map_or((seat, time), |(base, thread)| (*thread, time - base))
        }
        _ => (seat, time),
    }
}

/// Did that access happen before what the running thread does now?
fn is_ordered(slot: Slot) -> bool {
    let (thread, time) = by_whom(slot);
    is_before(thread, time)
}

/// The same for an access by another thread at this time.
fn is_before(thread: u32, time: u32) -> bool {
    let state = STATE.enter();
    let thread = thread as usize;
    // SAFETY: within the clock's length; the clock is as it was at the last tick.
    thread < state.threads && time <= unsafe { *state.clock.add(thread) }
}

/// Does the running thread know of this access of another?
pub fn is_past(earlier: Earlier) -> bool {
    is_before(earlier.thread, earlier.time)
}

/// Adds the running thread's clock to a list.
pub fn append_clock(list: &mut Vec<u32>) {
    let state = STATE.enter();
    // An empty one may have no pointer at all.
    if state.threads != 0 {
        // SAFETY: as above.
        list.extend_from_slice(unsafe { std::slice::from_raw_parts(state.clock, state.threads) });
    }
}

/// The time of an access that the running thread makes now.
pub fn time(kind: Kind) -> u32 {
    let state = STATE.enter();
    time_of(state.who) - state.base - u32::from(kind.atomic)
}

/// What is known of eight bytes.
#[repr(C, align(64))]
struct Line {
    slots: [Slot; SLOTS],
    /// Where the accesses in the slots were made, and on top of that what they were.
    places: [usize; SLOTS],
}

const LINE: usize = size_of::<Line>();
const PAGE: usize = 4096;

/// Where the line of an address is.
#[inline(always)]
fn place_of(address: usize) -> usize {
    BASE + (address & SPACE & !7) * (LINE / 8)
}

#[inline(always)]
fn line(address: usize) -> &'static mut Line {
    // SAFETY: within the reserved range, whatever the address is; aligned as it must be.
    unsafe { &mut *(place_of(address) as *mut Line) }
}

#[inline(always)]
fn slot(address: usize, size: usize, kind: Kind) -> Slot {
    slot::slot(STATE.enter().who, address, size, kind)
}

/// Has the running thread made this access, or a stronger one, since its last event? Then there is nothing to do. The
/// bytes lie within eight aligned ones.
#[inline(always)]
pub fn is_known(address: usize, size: usize, kind: Kind) -> bool {
    let new = slot(address, size, kind);
    line(address).slots.iter().any(|old| slot::covers(*old, new, kind))
}

/// Looks for races of an access that is new, and remembers it. Is the place one that was accessed atomically before?
pub fn check(address: usize, size: usize, kind: Kind, pc: usize) -> bool {
    let new = slot(address, size, kind);
    let line = line(address);
    if !STATE.enter().large.is_empty() {
        mark_allocated(line, address);
    }
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
        let other = kind_of(old, line.places[i]);
        if old & FREED != 0 {
            if exact::comes_before_free(address, kind) {
                continue;
            }
            global::quietly(|| (listener().wild_access)(address, earlier(line, i), kind, pc));
            continue;
        }
        let own = seat_of(old) == seat_of(new) && time_of(old) > STATE.enter().base;
        let ordered = own || is_ordered(old);
        let conflict = (kind.write || other.write) && !(kind.atomic && other.atomic);
        // Locks are no data, under any model.
        let taken = || {
            kind.what.begins_or_ends().or(other.what.begins_or_ends()).is_none()
                && (listener().takes)(address, ((old | new) >> BYTES_SHIFT) as u8)
        };
        if !ordered && conflict && !exact::is_on() && !taken() {
            if global::quietly(listener().catch_up) {
                return check(address, size, kind, pc);
            }
            global::quietly(|| (listener().race)(address, earlier(line, i), kind, pc));
        }
        // What comes after it and covers it can stand for it, and for all others of that kind.
        let covers = old & BYTES & !new == 0 && (kind.write || !other.write) && (!kind.atomic || other.atomic);
        if ordered && covers {
            line.slots[i] = 0;
            place = place.or(Some(i));
        } else if own && kind.write && !kind.atomic && other.what == What::Allocation {
            // The same for a part of what was allocated, so that it does not take room from accesses.
            line.slots[i] &= !(new & BYTES);
        }
    }
    let place = place.unwrap_or_else(|| {
        // Whoever races with an allocation races with what was done to the block, too.
        let allocation = (0..SLOTS).find(|i| line.places[*i] >> PLACE_BITS == What::Allocation.number());
        let any = (time_of(new) as usize).wrapping_add(seat_of(new) as usize) % SLOTS;
        let victim = allocation.unwrap_or(any);
        (listener().lost)(address, (line.slots[victim] >> BYTES_SHIFT) as u8);
        victim
    });
    line.slots[place] = new | touched;
    line.places[place] = pc | kind.what.number() << PLACE_BITS;
    touched != 0
}

/// If nothing is known of these bytes in this execution, and they are in a large block: that was allocated.
fn mark_allocated(line: &mut Line, address: usize) {
    let state = STATE.enter();
    if !heap::has(address) || line.slots.iter().any(|slot| slot >> EXECUTION_SHIFT == state.execution) {
        return;
    }
    let at = address & !7;
    if let Some((_, block)) = state.large.range(..=at).next_back().filter(|(_, block)| at < block.end) {
        line.slots[0] = block.slot | bytes_before(block.end - at);
        line.places[0] = block.place;
    }
}

/// So many of eight bytes, from the first on.
fn bytes_before(count: usize) -> u64 {
    (0xff >> (8 - count.min(8))) << BYTES_SHIFT
}

/// The running thread has allocated a block, and it has been fenced.
pub fn allocated(block: usize, size: usize, pc: usize) {
    let mut state = STATE.enter();
    let slot = state.who | WROTE;
    let place = pc | What::Allocation.number() << PLACE_BITS;
    if size > SMALL {
        global::quietly(|| state.large.insert(block, Large { end: block + size, slot, place }));
        return;
    }
    let end = block + size;
    let whole = end & !7;
    for at in (block..whole).step_by(8) {
        let line = line(at);
        line.slots = [slot | BYTES, 0, 0, 0];
        line.places[0] = place;
    }
    if whole != end {
        // The first slot says that the rest is nobody's.
        let line = line(whole);
        line.slots[1] = slot | bytes_before(end - whole);
        line.places[1] = place;
    }
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
    let (slot, place) = (line.slots[i], line.places[i]);
    let (thread, time) = by_whom(slot);
    Earlier { thread, time, kind: kind_of(slot, place), pc: place & ((1 << PLACE_BITS) - 1) }
}

/// An access of any size. Was any of it accessed atomically before, and is this the first such access since the
/// thread's last event?
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
    if !STATE.enter().ready {
        return;
    }
    // Of a long range the pages go back to the system.
    const LONG: usize = 64 << 10;
    if size >= LONG {
        let (first, last) = (address.next_multiple_of(8), (address + size) & !7);
        let (start, end) = (place_of(first).next_multiple_of(PAGE), place_of(last) & !(PAGE - 1));
        let skipped = (start - place_of(first)) / LINE * 8..(end - place_of(first)) / LINE * 8;
        sys::discard(start, end - start);
        forget_lines(address, first + skipped.start);
        forget_lines(first + skipped.end, address + size);
    } else {
        forget_lines(address, address + size);
    }
}

fn forget_lines(from: usize, to: usize) {
    (from & !7..to).step_by(8).for_each(|at| line(at).slots = [0; SLOTS]);
}

/// How a block is freed by this code. Code without instrumentation counts who refers to a block in ways that are not
/// seen (`Arc` in Rust's standard library), so that what others did to it atomically is taken to come before.
pub fn free_by(pc: usize) -> Kind {
    Kind { atomic: !instrumented::is_instrumented(pc), ..FREE }
}

/// The block is freed: that is a write to all of it, and the last access that is right.
pub fn free(address: usize, size: usize, pc: usize) {
    range(address, size, free_by(pc), pc);
    mark_freed(address, size, pc);
}

/// The same without a look for races.
pub fn mark_freed(address: usize, size: usize, pc: usize) {
    let mut state = STATE.enter();
    let freed = state.who | BYTES | WROTE | FREED;
    if !state.large.is_empty() {
        state.large.remove(&address);
    }
    drop(state);
    for at in (address & !7..address + size).step_by(8) {
        line(at).slots = [freed, 0, 0, 0];
        line(at).places[0] = pc;
    }
}

/// What lies before and behind a block is nobody's: the header, what is left of its last sixteen bytes, and sixteen
/// more: the header of the next block, whether there is one already or not.
pub fn fence(block: usize, size: usize) {
    let end = block + size;
    let fenced = STATE.enter().who | WROTE | FREED;
    let mark = |at: usize, bytes: u64| {
        line(at).slots = [fenced | bytes, 0, 0, 0];
        line(at).places[0] = 0;
    };
    mark(block - 16, BYTES);
    mark(block - 8, BYTES);
    if !end.is_multiple_of(8) {
        mark(end, (0xff << (end & 7) & 0xff) << BYTES_SHIFT);
    }
    (end.next_multiple_of(8)..end.next_multiple_of(16) + 16).step_by(8).for_each(|at| mark(at, BYTES));
}

// Under the hardware models there is no race detector; the slots then say which places of the heap are nobody's, and
// which places of a stack others have touched.

/// Who has freed some of these bytes? Without a program point: they lie around a block.
pub fn freed(address: usize, size: usize) -> Option<Earlier> {
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        let bytes = (((1u64 << (next - at)) - 1) << (at & 7)) << BYTES_SHIFT;
        // Such a mark always comes first, and alone.
        let mark = line(at).slots[0];
        if mark & FREED != 0 && mark & bytes != 0 && mark >> EXECUTION_SHIFT == STATE.enter().execution {
            return Some(earlier(line(at), 0));
        }
        at = next;
    }
    None
}

/// Others have touched this place.
pub fn share(address: usize) {
    line(address).slots[0] = STATE.enter().execution;
}

/// Has anybody else touched this place?
pub fn is_shared(address: usize) -> bool {
    line(address).slots[0] == STATE.enter().execution
}
