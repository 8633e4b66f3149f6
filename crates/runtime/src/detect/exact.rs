//! A race detector that misses nothing, for explorations.
//!
//! [`shadow`] keeps the newest accesses to each place, so that of several that race it names the last. Here all
//! accesses of the execution are kept, each program point once for each time of its thread, and every pair is looked
//! at. An exploration with it names exactly the pairs of program points that race in some execution.
//!
//! An exploration answers an atomic operation when its thread is next resumed, which may be after others have seen
//! its effect. So what comes here later may have happened before what came earlier, and each access keeps the clock
//! of its thread.

use crate::detect::details;
use crate::detect::listener::listener;
use crate::detect::shadow::{self, ALLOCATION, Earlier, FREE, Kind, READ};
use crate::platform::global::{self, Global};
use crate::threads::fibers;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

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
    fn knows(&self, other: Earlier, clocks: &Clocks) -> bool {
        clocks.get(self.clock).get(other.thread as usize).is_some_and(|time| other.time <= *time)
    }
}

/// Clocks of threads, one behind the other: an execution has hundreds of them, and none is to be allocated alone.
#[derive(Default)]
struct Clocks {
    times: Vec<u32>,
    /// Where each of them ends.
    ends: Vec<u32>,
}

impl Clocks {
    fn clear(&mut self) {
        self.times.clear();
        self.ends.clear();
    }

    /// Adds the running thread's.
    fn push(&mut self) -> u32 {
        shadow::append_clock(&mut self.times);
        self.ends.push(self.times.len() as u32);
        self.ends.len() as u32 - 1
    }

    /// Adds this one.
    fn push_from(&mut self, clock: &[u32]) -> u32 {
        self.times.extend_from_slice(clock);
        self.ends.push(self.times.len() as u32);
        self.ends.len() as u32 - 1
    }

    fn get(&self, number: u32) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.times[start as usize..self.ends[number as usize] as usize]
    }
}

/// Accesses by address, eight bytes each. The lists stay when an execution ends.
#[derive(Default)]
struct Lines {
    places: FxHashMap<usize, u32>,
    lists: Vec<Vec<Entry>>,
    used: usize,
}

impl Lines {
    fn clear(&mut self) {
        self.places.clear();
        self.lists[..self.used].iter_mut().for_each(Vec::clear);
        self.used = 0;
    }

    fn at(&mut self, address: usize) -> &mut Vec<Entry> {
        let number = *self.places.entry(address).or_insert_with(|| {
            if self.lists.len() == self.used {
                self.lists.push(Vec::new());
            }
            self.used += 1;
            self.used as u32 - 1
        });
        &mut self.lists[number as usize]
    }

    fn remove(&mut self, address: usize) {
        self.places.remove(&address);
    }
}

/// More accesses than this to the same eight bytes are not kept: what is then missed, [`shadow`] may still find.
const MOST: usize = 512;

#[derive(Default)]
struct State {
    on: bool,
    /// Accesses by address, eight bytes each.
    lines: Lines,
    /// The clocks of threads at their accesses, and the last of each thread with its time.
    clocks: Clocks,
    last: Vec<(u32, u32)>,
    /// Blocks of memory by address: where each ends, and its allocation.
    blocks: BTreeMap<usize, (usize, Entry)>,
    /// The same of blocks that were freed.
    freed: BTreeMap<usize, (usize, Entry)>,
    /// Under the hardware models: the same as `lines` for locks and the like, by address.
    objects: FxHashMap<usize, Vec<Entry>>,
}

impl State {
    /// The running thread's clock. It changes only with its time.
    fn clock(&mut self, thread: usize, time: u32) -> u32 {
        if self.last.len() <= thread {
            self.last.resize(thread + 1, (0, 0));
        }
        if self.last[thread].0 != time {
            self.last[thread] = (time, self.clocks.push());
        }
        self.last[thread].1
    }
}

static STATE: Global<Option<State>> = Global::new(None);

/// A new execution, with this detector or without.
pub fn reset(on: bool) {
    let mut guard = STATE.enter();
    let state = guard.get_or_insert_with(State::default);
    state.on = on;
    state.lines.clear();
    state.clocks.clear();
    state.last.clear();
    state.blocks.clear();
    state.freed.clear();
    state.objects.clear();
}

/// Is it at work?
#[inline]
pub fn is_on() -> bool {
    STATE.enter().as_ref().is_some_and(|state| state.on)
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
    let mut guard = STATE.enter();
    let Some(state) = guard.as_mut().filter(|state| state.on) else { return };
    let clock = state.clock(by.thread as usize, shadow::time(READ));
    let end = address.saturating_add(size);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        let bytes = (((1u16 << (next - at)) - 1) << (at & 7)) as u8;
        let line = state.lines.at(at & !7);
        if line.is_empty()
            && let Some((_, (end, entry))) = state.blocks.range(..=at).next_back()
            && at < *end
        {
            // To allocate a block is to write it; lines are made as they are needed.
            line.push(Entry { bytes: u8::MAX, ..*entry });
        }
        piece(line, &state.clocks, at, Entry { bytes, by, clock });
        at = next;
    }
}

/// A lock or the like is used, or its life begins or ends. Under the hardware models, too: to them, races on data are
/// none. `performed` is what was performed before, by thread: a lock may be handed on through memory, and whoever
/// finds it there comes behind what was done before.
pub fn object(address: usize, kind: Kind, pc: usize, performed: &[u32]) {
    access(address, 1, kind, pc);
    let mut guard = STATE.enter();
    let Some(state) = guard.as_mut().filter(|state| !state.on) else { return };
    let by = Earlier { thread: fibers::current().0, time: shadow::time(kind), kind, pc };
    let clock = state.clocks.push_from(performed);
    piece(state.objects.entry(address).or_default(), &state.clocks, address, Entry { bytes: 1, by, clock });
}

fn piece(line: &mut Vec<Entry>, clocks: &Clocks, address: usize, new: Entry) {
    // The newest are most likely the same.
    if line.iter().rev().any(|old| *old == new) {
        return;
    }
    for old in line.iter().filter(|old| old.bytes & new.bytes != 0 && old.by.thread != new.by.thread) {
        let (one, other) = (old.by.kind, new.by.kind);
        let conflict = (one.write || other.write) && !(one.atomic && other.atomic);
        if conflict && !new.knows(old.by, clocks) && !old.knows(new.by, clocks) {
            (listener().race)(address, old.by, new.by.kind, new.by.pc);
        }
    }
    if line.len() < MOST {
        line.push(new);
    }
}

/// The running thread frees a block. In an exploration under any model: see [`comes_before_free`].
pub fn freed(block: usize, size: usize, pc: usize) {
    let mut guard = STATE.enter();
    let Some(state) = guard.as_mut() else { return };
    let by = Earlier { thread: fibers::current().0, time: shadow::time(FREE), kind: FREE, pc };
    let clock = state.clock(by.thread as usize, by.time);
    state.freed.insert(block, (block + size, Entry { bytes: 0, by, clock }));
}

/// Did the running thread make this access before the memory was freed? Only an atomic one may come so late.
pub fn comes_before_free(address: usize, kind: Kind) -> bool {
    let guard = STATE.enter();
    let Some(state) = guard.as_ref().filter(|_| kind.atomic) else { return false };
    let new = Earlier { thread: fibers::current().0, time: shadow::time(kind), kind, pc: 0 };
    let block = state.freed.range(..=address).next_back();
    block.is_some_and(|(_, (end, free))| address < *end && free.knows(new, &state.clocks))
}

/// The memory is somebody else's now.
pub fn forget(address: usize, size: usize) {
    let mut guard = STATE.enter();
    let Some(state) = guard.as_mut() else { return };
    let range = address & !7..address + size;
    if !state.objects.is_empty() {
        state.objects.retain(|at, _| !range.contains(at));
    }
    let within = |blocks: &mut BTreeMap<usize, (usize, Entry)>| {
        while let Some(at) = blocks.range(range.clone()).next().map(|(at, _)| *at) {
            blocks.remove(&at);
        }
    };
    within(&mut state.freed);
    if !state.on {
        return;
    }
    within(&mut state.blocks);
    if size / 8 > state.lines.places.len() {
        state.lines.places.retain(|at, _| !range.contains(at));
    } else {
        range.clone().step_by(8).for_each(|at| state.lines.remove(at));
    }
}

/// The running thread has allocated a block.
pub fn allocated(block: usize, size: usize, pc: usize) {
    let mut guard = STATE.enter();
    let Some(state) = guard.as_mut().filter(|state| state.on) else { return };
    let by = Earlier { thread: fibers::current().0, time: shadow::time(ALLOCATION), kind: ALLOCATION, pc };
    let clock = state.clock(by.thread as usize, by.time);
    state.blocks.insert(block, (block + size, Entry { bytes: 0, by, clock }));
}
