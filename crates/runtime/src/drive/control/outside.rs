//! Code without instrumentation: what it has done to atomics is noticed, and told to the engine.

use super::queries::{initial_value, memory, set_memory};
use super::{Engine, control, each, step, tick};
use crate::drive::{view, volatile};
use crate::platform::{global, modules};
use crate::threads::fibers;
use fencepost_trace::{Access, LoadOrder, Location, Op, Size, StoreOrder, ThreadId, Value, VectorClock};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// With more atomics than this, those that nobody has asked for are not looked at: it would take too long.
const MOST_NOTICED: usize = 256;

/// Code without instrumentation may have written to places that other threads have asked to access: the engine must
/// know before it lets them.
pub(super) fn notice_intrusions() {
    let me = fibers::current();
    let wanted = |i: usize| {
        let mut all = fibers::all();
        let thread = *all.live().get(i)?;
        Some(all.get(thread).wants.filter(|_| thread != me))
    };
    for wants in (0..).map_while(wanted) {
        if let Some(at) = wants
            && !view::is_tentative(at)
        {
            notice(at);
        }
    }
}

/// If memory does not hold what the engine believes the running thread to see there, somebody has written it in code
/// without instrumentation: the running thread, since nobody else has run.
pub fn notice(at: Location) {
    if global::explores() {
        return;
    }
    let me = fibers::current();
    let found = memory(at);
    let control = &mut *control();
    match &mut control.engine {
        Engine::C11(execution) => {
            if let Some((size, known)) = control.atomics.get_mut(&at.address)
                && *size == at.size
                && *known != found
            {
                *known = found;
                execution.intrude(me, at, found);
                if !control.intruded.contains(&at) {
                    control.intruded.push(at);
                }
            }
        }
        engine => each!(engine, e => {
            e.introduce(at, &mut initial_value);
            if e.peek(me, at) != found {
                e.intrude(me, at, found);
            }
        }),
    }
}

/// A thread has stored here behind the engine's back, the last time before anybody else came: what it stored before
/// has been seen by all, and so is this now.
pub fn publish(owner: ThreadId, at: Location) {
    let found = memory(at);
    each!(&mut control().engine, e => {
        e.drain(owner, usize::MAX);
        e.introduce(at, &mut initial_value);
        if e.peek(owner, at) != found {
            e.intrude(owner, at, found);
        }
    });
    let me = fibers::current();
    view::refresh(me, me);
}

/// The oldest stores in the running thread's buffer leave it.
pub fn relieve(stores: usize) {
    let me = fibers::current();
    each!(&mut control().engine, e => e.drain(me, stores));
    view::refresh(me, me);
}

/// The running thread has made this store, and it counts at once: nobody goes first.
pub fn overwrite(at: Location, value: Value) {
    let me = fibers::current();
    let label = modules::label(fibers::me().pc);
    each!(&mut control().engine, e => e.overwrite(me, at, value, label));
}

/// c11: looks for atomics that code without instrumentation has changed, so that what they order is known before the
/// next plain access.
pub fn notice_all() {
    if global::explores() || control().atomics.len() > MOST_NOTICED {
        return;
    }
    let changed: Vec<Location> = {
        let control = control();
        let places = control.atomics.iter().map(|(at, (size, known))| (Location::new(*at, *size), *known));
        // Hardly ever is there one, and this is done at every operation that is not an access.
        places.filter(|(at, known)| memory(*at) != *known).map(|(at, _)| at).collect()
    };
    changed.into_iter().filter(|at| !view::is_dead(*at)).for_each(notice);
    tick();
}

/// c11: the running thread is about to free these bytes. If it has got there through code without instrumentation,
/// the atomics in them say what it knows.
pub fn notice_range(address: usize, length: usize) {
    let places: Vec<Location> = control()
        .atomics
        .range(address as u64..(address + length) as u64)
        .map(|(at, (size, _))| Location::new(*at, *size))
        .collect();
    if !places.is_empty() {
        places.into_iter().for_each(notice);
        tick();
    }
}

/// c11: this memory is given back.
pub fn give_back(address: usize, length: usize) {
    let control = &mut *control();
    let Engine::C11(execution) = &mut control.engine else { return };
    let range = address as u64..(address + length) as u64;
    while let Some((at, (size, _))) = control.atomics.range(range.clone()).next().map(|(at, known)| (*at, *known)) {
        control.atomics.remove(&at);
        control.given_back.insert(at, size);
        execution.retire(Location::new(at, size));
    }
}

/// c11: an atomic operation is about to be made there. If the memory was given back before, what it holds now is the
/// beginning of a new object, to everybody.
pub(super) fn take_up(at: Location) {
    let control = &mut *control();
    if control.given_back.is_empty() {
        return;
    }
    let Engine::C11(execution) = &mut control.engine else { return };
    let range = at.address.saturating_sub(15)..at.end();
    let found = |given_back: &BTreeMap<u64, Size>| {
        let mut old = given_back.range(range.clone()).map(|(address, size)| Location::new(*address, *size));
        old.find(|old| old.overlaps(at))
    };
    while let Some(old) = found(&control.given_back) {
        control.given_back.remove(&old.address);
        let value = memory(old);
        execution.overwrite(fibers::current(), old, value, modules::label(global::caller()));
        execution.retire(old);
        control.atomics.insert(old.address, (old.size, value));
    }
}

/// Does the program use atomics in code without instrumentation, too?
pub fn is_opaque() -> bool {
    control().is_opaque
}

/// The running thread is about to load what code without instrumentation writes, too. Such code synchronises the two
/// in ways that are not seen, as the standard library does when the last thread of a scope wakes the one that waits:
/// what it had written before now is not hidden from the load.
pub(super) fn bring_up_to_date(at: Location, order: LoadOrder) {
    let control = &mut *control();
    let Engine::C11(execution) = &mut control.engine else { return };
    if control.intruded.contains(&at) {
        execution.look(fibers::current(), at, order, modules::label(global::caller()));
    }
}

/// What memory holds for everybody, as the running thread has now seen: its next load of the place does not go back
/// behind it. Nor does this go back behind what it has seen: of two stores, the one that was made first may be the
/// later one.
pub fn newest(at: Location) -> Value {
    let control = &mut *control();
    if let Engine::C11(execution) = &mut control.engine
        && control.atomics.get(&at.address).is_some_and(|(size, known)| *size == at.size && *known == memory(at))
    {
        let seen = execution.look(fibers::current(), at, LoadOrder::Relaxed, modules::label(global::caller()));
        return seen.unwrap_or_else(|| memory(at));
    }
    memory(at)
}

/// The word of a futex: code without instrumentation may change it from now on, and what that orders is to be known.
pub fn watch(at: Location) {
    let control = &mut *control();
    if global::explores() || !control.is_opaque || control.atomics.contains_key(&at.address) {
        return;
    }
    if let Engine::C11(execution) = &mut control.engine {
        execution.introduce(at, &mut initial_value);
        control.atomics.insert(at.address, (at.size, memory(at)));
    }
}

/// The running thread has only read here: if it is not content with what it found, code without instrumentation may
/// go on from there, and wait for something else. After a read-modify-write there is nothing to wait for.
pub(super) fn remember(address: u64) {
    let mut control = control();
    let recent = &mut control.recent;
    let me = fibers::current().index();
    if recent.len() <= me {
        recent.resize(me + 1, [0; 4]);
    }
    if recent[me][0] != address {
        recent[me].rotate_right(1);
        recent[me][0] = address;
    }
}

/// c11: a race is about to be reported. If code without instrumentation writes to an atomic that the running thread
/// has just been using, it may also have read it on the thread's behalf, and what is known to it then is known to the
/// thread. Has that changed anything?
#[cold]
pub fn catch_up() -> bool {
    let mut guard = control();
    let control = &mut *guard;
    if global::explores() || !control.is_opaque {
        return false;
    }
    let me = fibers::current();
    let Engine::C11(execution) = &mut control.engine else { return false };
    let Some(recent) = control.recent.get(me.index()) else { return false };
    let known = |clock: Option<&VectorClock>| {
        let others = |(thread, time): (usize, &u32)| if thread == me.index() { 0 } else { u64::from(*time) };
        clock.map_or(0, |clock| clock.slots().iter().enumerate().map(others).sum())
    };
    let before: u64 = known(execution.clock(me));
    let label = modules::label(global::caller());
    for at in control.intruded.iter().filter(|at| recent.contains(&at.address)) {
        execution.look(me, *at, LoadOrder::Acquire, label);
    }
    let after = known(execution.clock(me));
    drop(guard);
    tick();
    after > before
}

/// c11: the running thread is about to store there as if atomically: the engine hears of all that it has done before.
pub fn prepare(at: Location) {
    tell_writes();
    notice(at);
}

/// c11: the running thread is about to read these bytes plainly, at `pc`, and atomics lie in them. Memory holds what
/// was stored last; what comes last in modification order may be something else, and that is what it reads.
pub fn reads(address: usize, length: usize, pc: usize) {
    if global::explores() {
        return;
    }
    tell_writes();
    let me = fibers::current();
    for at in atomics_in(address, length) {
        notice(at);
        let mut guard = control();
        let control = &mut *guard;
        let Engine::C11(execution) = &mut control.engine else { return };
        let value = execution.look(me, at, LoadOrder::Plain, modules::label(pc));
        drop(guard);
        if let Some(value) = value.filter(|value| *value != memory(at)) {
            set_memory(at, value);
            know(at);
        }
    }
    tick();
}

/// There has been an operation here, and memory holds what it left, in all atomics that have bytes of it.
pub(super) fn know(at: Location) {
    let mut guard = control();
    let control = &mut *guard;
    let near = at.address.saturating_sub(15)..at.end();
    let mut before = None;
    match control.atomics.entry(at.address) {
        Entry::Occupied(mut entry) => {
            let (size, known) = entry.get_mut();
            before = Some(*size);
            // Of those that begin here, the largest stands for all.
            *size = (*size).max(at.size);
            *known = memory(Location::new(at.address, *size));
        }
        Entry::Vacant(entry) => {
            entry.insert((at.size, memory(at)));
        }
    }
    if before != Some(at.size) {
        let others = control.atomics.range(near.clone()).filter(|(address, _)| **address != at.address);
        let mut others = others.map(|(address, (size, _))| Location::new(*address, *size));
        control.atomics_overlap |= before.is_some() || others.any(|other| other.overlaps(at));
    }
    if control.atomics_overlap {
        for (address, (size, known)) in control.atomics.range_mut(near) {
            *known = memory(Location::new(*address, *size));
        }
    }
}

/// The atomics that are known and have bytes in this range.
fn atomics_in(address: usize, length: usize) -> Vec<Location> {
    let (start, end) = (address as u64, (address + length) as u64);
    control()
        .atomics
        .range(start.saturating_sub(15)..end)
        .map(|(address, (size, _))| Location::new(*address, *size))
        .filter(|at| at.end() > start)
        .collect()
}

/// c11: a plain write to memory that may hold atomics. Its value is there by the time of the next operation.
pub fn wrote(address: usize, length: usize, pc: usize) {
    control().written.push((address, length, pc));
}

/// c11, if that is the model and nothing is explored: the running thread has made this store, and it counts at once.
fn overwrite_c11(at: Location, value: Value, pc: usize) -> bool {
    match &mut control().engine {
        Engine::C11(execution) if !global::explores() => {
            execution.overwrite(fibers::current(), at, value, modules::label(pc));
            true
        }
        _ => false,
    }
}

/// Tells the engine of plain writes to atomic locations. They are in memory already, so that nobody may go first:
/// this is no choice.
pub(super) fn tell_writes() {
    volatile::settle();
    if control().written.is_empty() {
        return;
    }
    let written = std::mem::take(&mut control().written);
    for (address, length, pc) in written {
        for at in atomics_in(address, length) {
            let value = memory(at);
            if !overwrite_c11(at, value, pc) {
                step(Op::Access(Access::Store { at, order: StoreOrder::Plain, value }));
            }
            control().atomics.insert(at.address, (at.size, value));
        }
    }
}
