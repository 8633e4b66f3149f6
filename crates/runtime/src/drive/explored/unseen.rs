//! Memory that code without instrumentation writes, while a program is explored.
//!
//! Nobody announces such writes, so that no exploration knows of them: what depends on their order is not explored.
//! What can be noticed is that the program's variables have changed since the running thread was resumed, where
//! nobody has announced a store. If two threads do that to the same eight bytes with nothing to order them, the
//! exploration says that it is not complete. Who asks whether a program is safe (`strict`) gets no answer if a thread
//! writes like this while there are others at all: where the write would stand among the accesses is not known.
//!
//! Looked at are the variables of the program's own file, in the first executions and every few after that; those
//! that were found to be written like this, always. What a thread changes and changes back before its next operation
//! is not noticed, nor what lies in the heap, on stacks or in libraries. Of Rust's standard library, which has no
//! instrumentation and synchronises by itself, nothing is said here. Functions of the program without instrumentation
//! are noticed when they run ([`unannounced`](crate::hooks::unannounced)); this is for what libraries write.

use crate::drive::{control, explored};
use crate::platform::global::{self, Entered, Global};
use crate::platform::modules;
use crate::threads::fibers;
use fencepost_mailbox::Message;
use fencepost_trace::op::Sync;
use fencepost_trace::{Op, ThreadId};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variables of a file: where they begin, and what they hold as far as is known.
struct Region {
    start: usize,
    known: Vec<u64>,
}

#[derive(Default)]
struct State {
    regions: Vec<Region>,
    /// The words that were written like this before, with what they hold as far as is known.
    found: Vec<(usize, u64)>,
    /// Where stores were announced in this execution.
    announced: FxHashSet<usize>,
    /// Who has written where in this execution, and at what time of its own.
    writes: Vec<(usize, ThreadId, u32)>,
}

static STATE: Global<Option<State>> = Global::new(None);
/// Are all variables looked at in this execution?
static ON: AtomicBool = AtomicBool::new(false);
/// Is one such write enough?
static STRICT: AtomicBool = AtomicBool::new(false);

/// So many executions are looked at from the beginning, and one of so many later.
const FIRST: u64 = 32;
/// Programs with more variables are not looked at: it would take too long.
const MOST: usize = 1 << 20;
/// The variables of programs with fewer words are looked at in every execution, if one write is enough.
const FEW: usize = 1 << 13;
/// Words that are compared at once: few of them have changed.
const CHUNK: usize = 64;
/// How much of the program's memory a lock or its like takes at most.
const OBJECT: usize = 64;

#[track_caller]
fn state() -> Entered<'static, State> {
    STATE.enter().map(|state| state.get_or_insert_default())
}

/// Is one such write enough for the exploration not to be complete?
pub fn be_strict(strict: bool) {
    STRICT.store(strict, Ordering::Relaxed);
}

/// An execution begins, the one of this number.
pub fn begin(run: u64) {
    if run == 0 {
        let regions = regions();
        state().regions = regions;
    }
    let few = || state().regions.iter().map(|region| region.known.len()).sum::<usize>() < FEW;
    let every = STRICT.load(Ordering::Relaxed) && few();
    let on = (every || run < FIRST || run.is_multiple_of(FIRST)) && !control::is_opaque();
    ON.store(on, Ordering::Relaxed);
    let mut state = state();
    state.announced.clear();
    state.writes.clear();
    state.found.iter_mut().for_each(|(at, known)| *known = word(*at));
    if on {
        for Region { start, known } in &mut state.regions {
            known.iter_mut().enumerate().for_each(|(i, known)| *known = word(*start + 8 * i));
        }
    }
}

/// The variables of the program's own file.
fn regions() -> Vec<Region> {
    let mappings = modules::mappings();
    let Some((start, _)) = modules::executable() else { return Vec::new() };
    let Some(name) = mappings.iter().find(|m| m.start == start).map(|m| m.name.clone()) else { return Vec::new() };
    let mut end = 0;
    let mut regions = Vec::new();
    for mapping in &mappings {
        // Zeroed data has no name, but follows what has.
        if mapping.name == name || mapping.name.is_empty() && mapping.start == end {
            end = mapping.end;
            if mapping.permissions == *b"rw-p" {
                let known = vec![0; (mapping.end - mapping.start) / 8];
                regions.push(Region { start: mapping.start, known });
            }
        }
    }
    let length: usize = regions.iter().map(|region| 8 * region.known.len()).sum();
    if length > MOST { Vec::new() } else { regions }
}

fn word(at: usize) -> u64 {
    // SAFETY: within the program's variables, which stay mapped.
    unsafe { (at as *const u64).read_volatile() }
}

/// Somebody is about to write here, and says so.
#[inline]
pub fn announced(address: usize, size: usize) {
    if ON.load(Ordering::Relaxed) {
        note(address, size);
    }
}

fn note(address: usize, size: usize) {
    // The set grows by functions of libc, which announce what they do, too.
    global::quietly(|| {
        state().announced.extend((address & !7..address.saturating_add(size)).step_by(8).take(MOST));
    });
}

/// An operation is asked for: what it is about lies in the program's memory, too, and is written by the runtime.
#[inline]
pub fn asked(op: &Op) {
    if ON.load(Ordering::Relaxed) {
        note_object(op);
    }
}

fn note_object(op: &Op) {
    let key = match *op {
        Op::Access(access) => access.location().and_then(|at| at.as_hidden()).map(|(_, key)| key),
        Op::Sync(sync) => key_of(sync),
        _ => None,
    };
    if let Some(key) = key {
        note((key & !fencepost_trace::Location::OTHER_KEY) as usize, OBJECT);
    }
    if let Op::Sync(Sync::Wait { mutex, .. }) = *op {
        note(mutex as usize, OBJECT);
    }
}

fn key_of(sync: Sync) -> Option<u64> {
    Some(match sync {
        Sync::Lock { mutex } | Sync::TryLock { mutex } | Sync::Unlock { mutex } => mutex,
        Sync::ReadLock { lock } | Sync::TryReadLock { lock } | Sync::ReadUnlock { lock } => lock,
        Sync::WriteLock { lock } | Sync::TryWriteLock { lock } | Sync::WriteUnlock { lock } => lock,
        Sync::Wait { condvar, .. } | Sync::NotifyOne { condvar } | Sync::NotifyAll { condvar } => condvar,
        Sync::Acquire { semaphore } | Sync::TryAcquire { semaphore } | Sync::Release { semaphore } => semaphore,
        Sync::BarrierWait { barrier, .. } => barrier,
        Sync::OnceBegin { once } | Sync::OnceEnd { once } | Sync::OnceAbandon { once } => once,
        Sync::Park | Sync::Unpark { .. } => return None,
    })
}

/// The thread has run and stands: has it written what nobody has announced?
#[inline]
pub fn look(thread: ThreadId) {
    if ON.load(Ordering::Relaxed) {
        look_at_all(thread);
    } else if !state().found.is_empty() {
        look_at_found(thread);
    }
}

fn look_at_all(thread: ThreadId) {
    let mut guard = state();
    let state = &mut *guard;
    let mut changed = Vec::new();
    for Region { start, known } in &mut state.regions {
        for (i, known) in known.chunks_mut(CHUNK).enumerate() {
            let start = *start + 8 * CHUNK * i;
            // SAFETY: within the program's variables, which stay mapped; the only thread that runs is this one.
            let now = unsafe { std::slice::from_raw_parts(start as *const u64, known.len()) };
            if *now == *known {
                continue;
            }
            for (i, (known, now)) in known.iter_mut().zip(now).enumerate() {
                let at = start + 8 * i;
                if *now != std::mem::replace(known, *now) && !state.announced.contains(&at) {
                    changed.push(at);
                }
            }
        }
    }
    for at in &changed {
        if state.found.iter().all(|(known, _)| known != at) {
            state.found.push((*at, 0));
        }
    }
    drop(guard);
    changed.into_iter().for_each(|at| wrote(thread, at));
}

fn look_at_found(thread: ThreadId) {
    let mut changed = Vec::new();
    for (at, known) in &mut state().found {
        let now = word(*at);
        if std::mem::replace(known, now) != now {
            changed.push(*at);
        }
    }
    changed.into_iter().for_each(|at| wrote(thread, at));
}

fn wrote(thread: ThreadId, at: usize) {
    // A thread that ends is no longer among those that live; the main thread was there before it.
    if STRICT.load(Ordering::Relaxed) && (thread != ThreadId(0) || !fibers::all().is_alone()) {
        let pc = fibers::get(thread).pc;
        let why = "code without instrumentation writes a variable while there are other threads";
        explored::unsupported_at(Message::about(why, at), pc);
    }
    let clock = explored::clock(thread);
    let mut state = state();
    let writes = &mut state.writes;
    let unordered =
        |(place, by, time): &(usize, ThreadId, u32)| *place == at && *by != thread && clock.get(*by) <= *time;
    if writes.iter().any(unordered) {
        let pc = fibers::get(thread).pc;
        let why = "code without instrumentation writes a variable, in an order that is not explored";
        explored::unsupported_at(Message::about(why, at), pc);
    }
    writes.retain(|(place, by, _)| (*place, *by) != (at, thread));
    writes.push((at, thread, clock.get(thread)));
}
