//! What code without instrumentation has done to atomics, in an exploration.
//!
//! Rust's standard library counts references to threads both in code that is compiled into the program, and in code
//! that comes compiled. The former are events; the latter change memory, and nothing else is heard of them. So where
//! memory does not hold what the last event left there, the running thread has changed it since its last operation,
//! for nobody else has run: an RMW, which adds the difference, is added to the graph in its name.
//!
//! That is exact for what is only ever changed by RMWs: each of them reads what the one before it wrote, so that the
//! order in which they run is their order in the graph, and what such code found in memory is what its event reads.
//! If it is something else, because there are stores too, the exploration cannot follow, and says so.

use crate::drive::ending::{self, Verdict};
use crate::drive::{control, one_of_several};
use crate::platform::global::Global;
use crate::results;
use crate::threads::fibers;
use fencepost_trace::{Access, Guard, Location, Op, RmwOrder, Size, Update, Value};
use std::collections::BTreeMap;

/// By address: what the last event left there. In order, so that the events come in the same order every time.
static KNOWN: Global<BTreeMap<u64, (Size, Value)>> = Global::new(BTreeMap::new());

/// A new execution.
pub fn reset() {
    KNOWN.enter().clear();
}

/// There has been an event here, and memory holds what it left.
#[inline]
pub fn know(at: Location) {
    // What stacks hold is something else whenever they are used again.
    if control::is_opaque() && !fibers::is_on_a_stack(at.address as usize) {
        let now = control::memory(at);
        KNOWN.enter().insert(at.address, (at.size, now));
    }
}

/// The program has written there itself.
pub fn wrote(at: Location) {
    let range = at.address.saturating_sub(15)..at.end();
    for (address, (size, known)) in KNOWN.enter().range_mut(range) {
        *known = control::memory(Location::new(*address, *size));
    }
}

/// This memory is something else from now on.
pub fn forget(address: usize, length: usize) {
    let range = address as u64..(address + length) as u64;
    if KNOWN.enter().range(range.clone()).next().is_some() {
        KNOWN.enter().retain(|at, _| !range.contains(at));
    }
}

/// Tells the exploration what the running thread has done in code without instrumentation.
#[inline]
pub fn settle() {
    if !KNOWN.enter().is_empty() {
        settle_all();
    }
}

#[inline(never)]
fn settle_all() {
    let changed = |(at, (size, known)): (&u64, &(Size, Value))| {
        let place = Location::new(*at, *size);
        (control::memory(place) != *known).then_some((place, *known))
    };
    let list: Vec<(Location, Value)> = KNOWN.enter().iter().filter_map(changed).collect();
    // All values first: others run before the last of them is told.
    let list: Vec<_> = list.into_iter().map(|(at, old)| (at, old, control::memory(at))).collect();
    for (at, _, new) in &list {
        KNOWN.enter().insert(at.address, (at.size, *new));
    }
    for (i, (at, old, new)) in list.into_iter().enumerate() {
        let update = Update::Add(at.size.truncate(new.0.wrapping_sub(old.0)));
        let access = Access::Rmw { at, order: RmwOrder::AcqRel, update, guard: Guard::Any };
        let found = one_of_several(i + 1000, || control::step(Op::Access(access))).value;
        if found != old {
            results::unsupported("code without instrumentation changes memory in a way that is not followed");
            ending::finish(Verdict::Redundant);
        }
    }
}
