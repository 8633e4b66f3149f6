//! A race detector that misses nothing, for explorations and for executions that are run again.
//!
//! [`shadow`] keeps the newest accesses to each place, so that of several that race it names the last. Here
//! all accesses of the execution are kept, each program point once for each time of its thread, and every pair is looked at. An exploration with
//! it names exactly the pairs of program points that race in some execution.

use crate::global::{self, Global};
use crate::shadow::{self, Earlier, Kind};
use crate::{details, fibers, results};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// Which of the eight bytes.
    bytes: u8,
    by: Earlier,
}

/// More accesses than this to the same eight bytes are not kept: what is then missed, [`shadow`] may still find.
const MOST: usize = 512;

struct State {
    on: bool,
    /// Accesses by address, eight bytes each.
    lines: FxHashMap<usize, Vec<Entry>>,
}

static STATE: Global<Option<State>> = Global::new(None);

/// A new execution, with this detector or without.
pub fn reset(on: bool) {
    let state = STATE.get().get_or_insert_with(|| State { on, lines: FxHashMap::default() });
    state.on = on;
    state.lines.clear();
}

/// Is it at work?
#[inline]
pub fn is_on() -> bool {
    STATE.get().as_ref().is_some_and(|state| state.on)
}

/// An access of the running thread.
pub fn access(address: usize, size: usize, kind: Kind, pc: usize) {
    if is_on() {
        global::quietly(|| look(address, size, kind, pc));
    }
}

fn look(address: usize, size: usize, kind: Kind, pc: usize) {
    let by = Earlier { thread: fibers::current().0, time: shadow::time(kind), kind, pc };
    details::reached(address, size, by);
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        let bytes = (((1u16 << (next - at)) - 1) << (at & 7)) as u8;
        piece(at, Entry { bytes, by });
        at = next;
    }
}

fn piece(address: usize, new: Entry) {
    let Some(state) = STATE.get() else { return };
    let line = state.lines.entry(address & !7).or_default();
    if line.contains(&new) {
        return;
    }
    for old in line.iter().filter(|old| old.bytes & new.bytes != 0 && old.by.thread != new.by.thread) {
        let (one, other) = (old.by.kind, new.by.kind);
        let conflict = (one.write || other.write) && !(one.atomic && other.atomic);
        if conflict && !shadow::is_before(old.by.thread, old.by.time) {
            results::race(address, old.by, new.by.kind, new.by.pc);
        }
    }
    if line.len() < MOST {
        line.push(new);
    }
}

/// The memory is somebody else's now.
pub fn forget(address: usize, size: usize) {
    if let Some(state) = STATE.get().as_mut().filter(|state| state.on && !state.lines.is_empty()) {
        (address & !7..address + size).step_by(8).for_each(|at| drop(state.lines.remove(&at)));
    }
}
