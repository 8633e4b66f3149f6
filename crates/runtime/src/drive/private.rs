//! Memory that one thread alone uses, under the hardware models.
//!
//! There every plain access is an operation, because others may see it or change what it finds. Where nobody else has
//! been yet, that is not so. Once an execution is long ([`begin`]), such accesses are none: they cost what a look at
//! one word costs. Each eight bytes of the program have a *cell* at an address computed from theirs, which says who
//! has been there in this execution:
//!
//! - The reads of the thread that alone was there are no operations.
//! - Its first stores there are: what is written once and then published can be late, as before. From the store
//!   behind the [`KNOWN`]th on they are none: the cell is *hidden*, because the engine does not know what it holds. If
//!   an earlier one still waits in the thread's buffer, that is drained.
//! - What nobody stores any more may be read by all without an operation.
//! - When another thread comes to a hidden cell, its owner's buffer is drained and the engine is told what is there.
//!   So nobody sees it before what its owner stored earlier. From then on all accesses there are operations.
//!
//! What is lost: a store to a hidden cell is never late, and a thread is not interrupted at each such access, but
//! after some number of them that differs from time to time. Buffers are bounded, too, in short executions as well.

use crate::drive::control;
use crate::platform::global::Global;
use crate::platform::layout::CELLS;
use crate::platform::sys;
use fencepost_trace::{Location, Size, ThreadId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Addresses are told apart by their low 40 bits, as everywhere.
const SPACE: usize = (1 << 40) - 1;
/// From this length on, cells are given back by pages.
const LARGE: usize = 1 << 16;
const PAGE: usize = 4096;

/// So many stores of its owner to one cell are operations. Lower states count them.
const KNOWN: u64 = 3;
/// The owner has stored there without an operation.
const HIDDEN: u64 = KNOWN + 1;
/// Several threads have read what nobody stores any more; everything else is shared.
const READ_BY_ALL: u64 = HIDDEN + 1;
const SHARED: u64 = READ_BY_ALL + 1;

/// A cell: the execution, its owner, its state.
const EXECUTION_SHIFT: u32 = 32;
const OWNER_SHIFT: u32 = 16;
/// The owner of what belongs to several; threads from here on own nothing.
const ALL: u64 = 0xffff;

/// After at most so many accesses that are no operation others have their turn.
const LONGEST_TURN: u32 = 512;

/// More stores than this do not wait in one buffer, as in hardware; the older half leaves.
const MOST_WAITING: usize = 64;

/// So many accesses may still be made without an operation; 0 before the execution is long.
static LEFT: AtomicU32 = AtomicU32::new(0);
/// The execution and the running thread, as in a cell.
static ME: AtomicU64 = AtomicU64::new(0);
/// How many stores were no operations.
static STORES: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct State {
    /// Have the cells been reserved?
    ready: bool,
    execution: u64,
    /// After so many accesses an execution is long; `None` if it never is.
    after: Option<u64>,
    accesses: u64,
    /// Is every access an operation from here on?
    suspended: bool,
    /// What the next turn's length is made from.
    seed: u64,
}

static STATE: Global<State> =
    Global::new(State { ready: false, execution: 0, after: None, accesses: 0, suspended: false, seed: 0 });

/// Does an access need an operation?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Operation,
    Nothing,
}

/// A new execution, which is long after so many plain accesses.
pub fn begin(after: Option<u64>) {
    let mut state = STATE.enter();
    if after.is_some() && !state.ready {
        state.ready = sys::reserve(CELLS.start, CELLS.length).is_some();
    }
    state.after = after.filter(|_| state.ready);
    state.execution += 1;
    state.accesses = 0;
    state.suspended = false;
    state.seed = 0;
    STORES.store(0, Ordering::Relaxed);
    LEFT.store(0, Ordering::Relaxed);
    ME.store(state.execution << EXECUTION_SHIFT | ALL << OWNER_SHIFT, Ordering::Relaxed);
}

/// This thread runs from here on.
#[inline]
pub fn resume(thread: ThreadId) {
    let execution = ME.load(Ordering::Relaxed) >> EXECUTION_SHIFT;
    ME.store(execution << EXECUTION_SHIFT | u64::from(thread.0).min(ALL) << OWNER_SHIFT, Ordering::Relaxed);
}

/// Every access is an operation from here on.
pub fn suspend() {
    LEFT.store(0, Ordering::Relaxed);
    STATE.enter().suspended = true;
}

/// Is anything of this asked for?
fn is_wanted() -> bool {
    STATE.enter().after.is_some()
}

/// Is the execution long?
pub fn is_on() -> bool {
    let state = STATE.enter();
    !state.suspended && state.after.is_some_and(|after| state.accesses >= after)
}

/// Do so many stores wait in a thread's buffer that some have to leave? To look through many takes long.
pub fn are_many(waiting: usize) -> bool {
    waiting > MOST_WAITING && is_wanted()
}

/// How many stores were no operations.
pub fn stores() -> u64 {
    STORES.load(Ordering::Relaxed)
}

#[inline(always)]
fn cell(address: usize) -> &'static AtomicU64 {
    // SAFETY: within the reserved range, whatever the address is; aligned as it must be. Only used where the cells
    // have been reserved.
    unsafe { &*((CELLS.start + (address & SPACE & !7)) as *const AtomicU64) }
}

#[inline(always)]
fn look(address: usize) -> u64 {
    cell(address).load(Ordering::Relaxed)
}

fn note(address: usize, now: u64) {
    cell(address).store(now, Ordering::Relaxed);
}

/// The beginnings of all cells of this memory.
fn cells(address: usize, length: usize) -> impl Iterator<Item = usize> + Clone {
    (address & !7..address + length.max(1)).step_by(8)
}

/// Can the running thread make this access without an operation? All but few end here.
#[inline(always)]
pub fn is_free<const SIZE: usize>(address: usize, write: bool) -> bool {
    let left = LEFT.load(Ordering::Relaxed);
    if left == 0 {
        return false;
    }
    let me = ME.load(Ordering::Relaxed);
    let is_free = |address: usize| {
        let found = look(address);
        let differs = found ^ me;
        differs == HIDDEN || !write && (differs < READ_BY_ALL || is_read_by_all(found, me))
    };
    let reaches_past = |bytes: usize| (address & 7) + SIZE > bytes;
    if !is_free(address) || SIZE > 8 && !is_free(address + 8) || reaches_past(8) && !is_free(address + SIZE - 1) {
        return false;
    }
    LEFT.store(left - 1, Ordering::Relaxed);
    if write {
        STORES.store(STORES.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
    true
}

#[inline(always)]
fn is_read_by_all(cell: u64, me: u64) -> bool {
    cell == me >> EXECUTION_SHIFT << EXECUTION_SHIFT | ALL << OWNER_SHIFT | READ_BY_ALL
}

/// The running thread is about to make an access that is not free. Is it time for others?
pub fn ends_turn() -> bool {
    if LEFT.load(Ordering::Relaxed) > 0 || !is_wanted() {
        return false;
    }
    let mut state = STATE.enter();
    state.accesses += 1;
    if state.suspended || state.accesses < state.after.unwrap_or(u64::MAX) {
        return false;
    }
    // The first turn ends nobody's.
    let is_first = state.seed == 0;
    if is_first {
        // What has been decided so far differs from execution to execution, and a replay decides the same.
        state.seed = control::choice_count() << 1 | 1;
    }
    state.seed = state.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    let turn = (state.seed >> 40) as u32 % LONGEST_TURN + 1;
    LEFT.store(turn, Ordering::Relaxed);
    !is_first
}

/// Does this access of the running thread, which others may be concerned with, need an operation? `waits` says whether
/// a store of its own to these bytes waits in its buffer.
pub fn needs_operation(at: Location, write: bool, waits: impl Fn(Location) -> bool) -> bool {
    if !is_wanted() {
        return true;
    }
    let on = is_on();
    let all = cells(at.address as usize, at.size.bytes() as usize);
    let mut need = Need::Nothing;
    for address in all.clone() {
        if touch(address, write, on, &waits) == Need::Operation {
            need = Need::Operation;
        }
    }
    if need == Need::Nothing && on {
        return false;
    }
    // One access is one operation: the engine has to know of all its bytes.
    all.for_each(publish);
    true
}

/// Has the running thread stored here without an operation?
pub fn is_hidden(at: Location) -> bool {
    let me = ME.load(Ordering::Relaxed);
    cells(at.address as usize, at.size.bytes() as usize).any(|address| look(address) ^ me == HIDDEN)
}

/// Somebody accesses memory in a way that the engine does not hear of, and that all see at once.
pub fn touch_range(address: usize, length: usize, write: bool) {
    if is_wanted() {
        for address in cells(address, length) {
            touch(address, write, false, &|_| false);
        }
    }
}

/// Memory that others see is about to be accessed: every access is an operation from now on.
pub fn share(at: Location) {
    if is_wanted() {
        for address in cells(at.address as usize, at.size.bytes() as usize) {
            publish(address);
            note(address, in_this_execution(ALL, SHARED));
        }
    }
}

/// The running thread accesses memory that is nobody else's: on its own stack, or when it is alone.
pub fn claim(at: Location) {
    if is_on() {
        let me = ME.load(Ordering::Relaxed);
        for address in cells(at.address as usize, at.size.bytes() as usize) {
            let found = look(address);
            if found >> EXECUTION_SHIFT != me >> EXECUTION_SHIFT || found ^ me < HIDDEN {
                note(address, me | HIDDEN);
            }
        }
    }
}

/// This memory goes away: whoever is there next is the first.
pub fn forget(address: usize, length: usize) {
    if !is_wanted() || length == 0 {
        return;
    }
    let (start, end) = (CELLS.start + (address & SPACE & !7), CELLS.start + ((address + length - 1) & SPACE & !7) + 8);
    if end <= start {
        return;
    }
    let (first, last) = (start.next_multiple_of(PAGE), end & !(PAGE - 1));
    if length >= LARGE {
        sys::discard(first, last - first);
        clear(start, first);
        clear(last, end);
    } else {
        clear(start, end);
    }
}

fn clear(start: usize, end: usize) {
    // SAFETY: within the reserved range, and nobody holds on to a cell.
    unsafe { std::ptr::write_bytes(start as *mut u8, 0, end - start) };
}

fn in_this_execution(owner: u64, state: u64) -> u64 {
    let execution = ME.load(Ordering::Relaxed) >> EXECUTION_SHIFT;
    execution << EXECUTION_SHIFT | owner << OWNER_SHIFT | state
}

/// The running thread comes to a cell, which notes it.
fn touch(address: usize, write: bool, on: bool, waits: &dyn Fn(Location) -> bool) -> Need {
    let (found, me) = (look(address), ME.load(Ordering::Relaxed));
    let (owner, state) = (found >> OWNER_SHIFT & ALL, found & ALL);
    let own = me >> OWNER_SHIFT & ALL;
    if found >> EXECUTION_SHIFT != me >> EXECUTION_SHIFT && own != ALL {
        note(address, me | u64::from(write));
        return if write { Need::Operation } else { Need::Nothing };
    }
    if owner == own && own != ALL {
        return match state {
            HIDDEN => Need::Nothing,
            _ if !write => Need::Nothing,
            KNOWN if on => {
                note(address, me | HIDDEN);
                // What the engine knows of must not be seen later than what it does not.
                if waits(Location::new(address as u64, Size::B8)) {
                    control::relieve(usize::MAX);
                }
                Need::Nothing
            }
            _ => {
                note(address, me | (state + 1).min(KNOWN));
                Need::Operation
            }
        };
    }
    match state {
        READ_BY_ALL if !write => return Need::Nothing,
        // Nobody has stored there.
        0 if !write && owner != ALL => {
            note(address, in_this_execution(ALL, READ_BY_ALL));
            return Need::Nothing;
        }
        HIDDEN if !write => {
            publish(address);
            note(address, in_this_execution(ALL, READ_BY_ALL));
        }
        _ => {
            publish(address);
            note(address, in_this_execution(ALL, SHARED));
        }
    }
    Need::Operation
}

/// If a cell is hidden, the engine is told what is there, and that it can be seen.
fn publish(address: usize) {
    let found = look(address);
    if found >> EXECUTION_SHIFT == ME.load(Ordering::Relaxed) >> EXECUTION_SHIFT && found & ALL == HIDDEN {
        let owner = found >> OWNER_SHIFT & ALL;
        note(address, in_this_execution(ALL, SHARED));
        control::publish(ThreadId(owner as u32), Location::new(address as u64, Size::B8));
    }
}
