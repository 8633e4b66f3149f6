//! A race detector that misses nothing, for explorations.
//!
//! [`shadow`] keeps the newest accesses to each place, so that of several that race it names the last. Here
//! all accesses of the execution are kept, each program point once for each time of its thread, and every pair is looked at. An exploration with
//! it names exactly the pairs of program points that race in some execution.
//!
//! An exploration answers an atomic operation when its thread is next resumed, which may be after others have seen its effect. So what comes
//! here later may have happened before what came earlier, and each access keeps the clock of its thread.

use crate::global::{self, Global};
use crate::shadow::{self, Earlier, Kind, READ};
use crate::{details, fibers, results};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// Which of the eight bytes.
    bytes: u8,
    by: Earlier,
    /// Its thread's clock at the time, in the list of all.
    clock: u32,
}

impl Entry {
    /// Did `other`, of another thread, happen before this one?
    fn knows(&self, other: Earlier, clocks: &[Vec<u32>]) -> bool {
        clocks[self.clock as usize].get(other.thread as usize).is_some_and(|time| other.time <= *time)
    }
}

/// More accesses than this to the same eight bytes are not kept: what is then missed, [`shadow`] may still find.
const MOST: usize = 512;

#[derive(Default)]
struct State {
    on: bool,
    /// Accesses by address, eight bytes each.
    lines: FxHashMap<usize, Vec<Entry>>,
    /// The clocks of threads at their accesses, and the last of each thread with its time.
    clocks: Vec<Vec<u32>>,
    last: Vec<(u32, u32)>,
}

impl State {
    /// The running thread's clock. It changes only with its time.
    fn clock(&mut self, thread: usize, time: u32) -> u32 {
        if self.last.len() <= thread {
            self.last.resize(thread + 1, (0, 0));
        }
        if self.last[thread].0 != time {
            self.clocks.push(shadow::clock().to_vec());
            self.last[thread] = (time, self.clocks.len() as u32 - 1);
        }
        self.last[thread].1
    }
}

static STATE: Global<Option<State>> = Global::new(None);

/// A new execution, with this detector or without.
pub fn reset(on: bool) {
    let state = STATE.get().get_or_insert_with(State::default);
    state.on = on;
    state.lines.clear();
    state.clocks.clear();
    state.last.clear();
}

/// Is it at work?
#[inline]
pub fn is_on() -> bool {
    STATE.get().as_ref().is_some_and(|state| state.on)
}

/// An access of the running thread.
pub fn access(address: usize, size: usize, kind: Kind, pc: usize) {
    if is_on() || details::are_wanted() {
        global::quietly(|| look(address, size, kind, pc));
    }
}

fn look(address: usize, size: usize, kind: Kind, pc: usize) {
    let by = Earlier { thread: fibers::current().0, time: shadow::time(kind), kind, pc };
    details::reached(address, size, by);
    let Some(state) = STATE.get().as_mut().filter(|state| state.on) else { return };
    let clock = state.clock(by.thread as usize, shadow::time(READ));
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        let bytes = (((1u16 << (next - at)) - 1) << (at & 7)) as u8;
        piece(state, at, Entry { bytes, by, clock });
        at = next;
    }
}

fn piece(state: &mut State, address: usize, new: Entry) {
    let line = state.lines.entry(address & !7).or_default();
    if line.contains(&new) {
        return;
    }
    for old in line.iter().filter(|old| old.bytes & new.bytes != 0 && old.by.thread != new.by.thread) {
        let (one, other) = (old.by.kind, new.by.kind);
        let conflict = (one.write || other.write) && !(one.atomic && other.atomic);
        if conflict && !new.knows(old.by, &state.clocks) && !old.knows(new.by, &state.clocks) {
            results::race(address, old.by, new.by.kind, new.by.pc);
        }
    }
    if line.len() < MOST {
        line.push(new);
    }
}

/// Did the running thread make this access before `thread` freed the memory? Only an atomic one may come so late.
pub fn comes_before_free(address: usize, kind: Kind, thread: u32) -> bool {
    let Some(state) = STATE.get().as_ref().filter(|state| state.on && kind.atomic) else { return false };
    let new = Earlier { thread: fibers::current().0, time: shadow::time(kind), kind, pc: 0 };
    let frees = |old: &&Entry| old.by.kind.free && old.by.thread == thread;
    let line = state.lines.get(&(address & !7));
    line.and_then(|line| line.iter().rev().find(frees)).is_some_and(|free| free.knows(new, &state.clocks))
}

/// The memory is somebody else's now.
pub fn forget(address: usize, size: usize) {
    if let Some(state) = STATE.get().as_mut().filter(|state| state.on && !state.lines.is_empty()) {
        (address & !7..address + size).step_by(8).for_each(|at| drop(state.lines.remove(&at)));
    }
}
