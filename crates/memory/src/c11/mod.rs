//! C/C++20 as a machine: C11Tester's, made exact.
//!
//! A load may read any store that neither coherence nor the order of seq_cst operations hides from it; which writes come first in modification order
//! is a graph of constraints ([`mo`]), decided only as far as the program can see and never taken back.
//!
//! *Happens-before* is figure 7 of the paper: per thread a clock, and two more for fences; per store the clock that an acquire
//! of it takes over, which an RMW passes on (release sequences of C++20: the head and the RMWs that read from it in a chain).
//!
//! *What a load may read* (figures 10 and 11 of the paper) follows these rules instead, which are exact. When an access *a* to *x* executes, and
//! W(A) is A itself for a store and the store read for a load, these writes must be modification-ordered before (or
//! be) the store that a load reads, and before a new store:
//!
//! 1. W(A) for every access A to x that happens before a;
//! 2. if a is seq_cst: every seq_cst store to x executed so far, and every store to x that happens before some seq_cst fence executed
//!    so far;
//! 3. with F the last executed seq_cst fence that happens before a: every seq_cst store to x executed before F,
//!    and W(A) for every access A to x that happens before some seq_cst fence executed before F.
//!
//! A load may read X exactly when none of these is known to come after X. No choice leads into a dead end.
//!
//! The order of execution is the order of seq_cst operations and extends reads-from. So an outcome that needs a seq_cst order against
//! `sb ∪ rf` is out of the machine's reach (`MP+Wsc-Wrlx+Racq-Rsc` of the litmus corpus is one); the axioms have it.
//!
//! *Plain accesses* are relaxed ones that synchronise with nothing. Where they race the program is undefined, which is for a
//! monitor to say.
//!
//! *Accesses of different sizes*: the bytes that overlapping accesses tie together become one cell, which from then on is read and
//! written in the order of execution: a load sees the newest byte of each, and an acquire takes over everything that was released into the cell.
//! This permits nothing that C/C++20 forbids: such programs are outside of what it defines.

mod cell;
mod mo;

use crate::{Commit, Machine, Read, Source, Step};
use cell::MixedCell;
use fencepost_trace::{
    Coherence, EventId, FenceOrder, LoadOrder, Location, Model, Part, RmwOrder, StoreOrder, ThreadId, Value,
    VectorClock,
};
use mo::{MoGraph, StoreId};
use rustc_hash::FxHashMap;

/// What a point in the program knows: the events that happen before it, and the last seq_cst fence among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    clock: VectorClock,
    /// How many seq_cst fences had been executed up to that one; 0 for none.
    fence: u32,
}

impl Knowledge {
    fn join(&mut self, other: &Knowledge) {
        self.clock.join(&other.clock);
        self.fence = self.fence.max(other.fence);
    }

    fn copy_from(&mut self, other: &Knowledge) {
        self.clock.copy_from(&other.clock);
        self.fence = other.fence;
    }

    fn clear(&mut self) {
        self.clock.clear();
        self.fence = 0;
    }
}

/// One thread: figure 7's C, F^rel and F^acq.
#[derive(Clone, Debug, Default)]
struct Thread {
    now: Knowledge,
    /// At its last release fence.
    release_fence: Knowledge,
    /// What its relaxed loads have read, for an acquire fence to take over.
    acquirable: Knowledge,
}

/// An access of one thread to one location.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The thread's time.
    time: u32,
    /// The store that it wrote or read.
    write: StoreId,
    is_store: bool,
}

/// One location.
#[derive(Clone, Debug)]
struct Place {
    location: Location,
    mo: MoGraph,
    /// By thread, in program order.
    seen: Vec<Vec<Seen>>,
    /// The seq_cst stores in the order of execution, each with the number of seq_cst fences before it.
    sc_stores: Vec<(u32, StoreId)>,
    /// Set when the bytes belong to a cell of mixed accesses.
    mixed: Option<usize>,
}

/// The machine. See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct C11 {
    threads: Vec<Thread>,
    used_threads: usize,
    places: Vec<Place>,
    used_places: usize,
    names: FxHashMap<Location, usize>,
    cells: Vec<MixedCell>,
    /// For each seq_cst fence executed: everything that happens before it or an earlier one.
    fences: Vec<VectorClock>,
    used_fences: usize,
    /// The stores that the access at hand must come after.
    prior: Vec<StoreId>,
    parts: Vec<Part>,
}

/// The last access of a thread up to a time, out of those that `is` says.
fn last_up_to(seen: &[Seen], time: u32, is: impl Fn(&Seen) -> bool) -> Option<StoreId> {
    let end = seen.partition_point(|s| s.time <= time);
    seen[..end].iter().rev().find(|s| is(s)).map(|s| s.write)
}

impl C11 {
    fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        while self.used_threads <= thread.index() {
            if self.used_threads == self.threads.len() {
                self.threads.push(Thread::default());
            }
            let new = &mut self.threads[self.used_threads];
            new.now.clear();
            new.release_fence.clear();
            new.acquirable.clear();
            self.used_threads += 1;
        }
        &mut self.threads[thread.index()]
    }

    /// The rules 1 to 3 of the module's documentation.
    fn find_prior(&mut self, thread: ThreadId, place: usize, seq_cst: bool) {
        self.thread_mut(thread);
        let now = &self.threads[thread.index()].now;
        let fences = &self.fences[..self.used_fences];
        let place = &self.places[place];
        let prior = &mut self.prior;
        prior.clear();
        for (t, seen) in place.seen.iter().enumerate().filter(|(_, seen)| !seen.is_empty()) {
            let u = ThreadId(t as u32);
            let own = last_up_to(seen, now.clock.get(u), |_| true);
            let by_sc =
                if seq_cst { fences.last().and_then(|all| last_up_to(seen, all.get(u), |s| s.is_store)) } else { None };
            let by_fence = match now.fence {
                0 | 1 => None,
                rank => last_up_to(seen, fences[rank as usize - 2].get(u), |_| true),
            };
            prior.extend(own.into_iter().chain(by_sc).chain(by_fence));
        }
        if seq_cst {
            prior.extend(place.sc_stores.last().map(|(_, s)| *s));
        }
        if now.fence > 0 {
            let before = place.sc_stores.partition_point(|(fences, _)| *fences < now.fence);
            prior.extend(before.checked_sub(1).map(|i| place.sc_stores[i].1));
        }
        prior.sort_unstable();
        prior.dedup();
    }

    fn remember(&mut self, thread: ThreadId, place: usize, write: StoreId, is_store: bool) {
        let time = self.threads[thread.index()].now.clock.get(thread);
        let seen = &mut self.places[place].seen;
        if seen.len() <= thread.index() {
            seen.resize(thread.index() + 1, Vec::new());
        }
        seen[thread.index()].push(Seen { time, write, is_store });
    }

    /// The next event of `thread` begins.
    fn tick(&mut self, thread: ThreadId) -> u32 {
        let clock = &mut self.thread_mut(thread).now.clock;
        let time = clock.get(thread) + 1;
        clock.set(thread, time);
        time
    }

    fn take_over(&mut self, thread: ThreadId, place: usize, source: StoreId, order: LoadOrder) {
        if order == LoadOrder::Plain {
            return;
        }
        let released = &self.places[place].mo.node(source).released;
        let thread = &mut self.threads[thread.index()];
        thread.acquirable.join(released);
        if order.acquires() {
            thread.now.join(released);
        }
    }

    /// A load, or the reading half of an RMW: rf is decided, its constraints are noted.
    fn read(&mut self, thread: ThreadId, place: usize, order: LoadOrder, source: StoreId) {
        self.find_prior(thread, place, order == LoadOrder::SeqCst);
        let mo = &mut self.places[place].mo;
        for prior in &self.prior {
            mo.add_edge(*prior, source);
        }
        self.tick(thread);
        self.take_over(thread, place, source, order);
        self.remember(thread, place, source, false);
    }

    /// A store, or the writing half of an RMW that reads `exclusive`.
    fn write(
        &mut self,
        event: EventId,
        thread: ThreadId,
        place: usize,
        order: StoreOrder,
        value: Value,
        exclusive: Option<StoreId>,
    ) {
        self.find_prior(thread, place, order == StoreOrder::SeqCst);
        let time =
            if exclusive.is_none() { self.tick(thread) } else { self.threads[thread.index()].now.clock.get(thread) };
        let mo = &mut self.places[place].mo;
        let store = mo.add(event, thread, time, value);
        if let Some(source) = exclusive {
            mo.add_rmw(source, store);
        }
        for prior in &self.prior {
            mo.add_edge(*prior, store);
        }
        let from = &self.threads[thread.index()];
        let mut released = std::mem::take(&mut mo.node_mut(store).released);
        match order {
            StoreOrder::Release | StoreOrder::SeqCst => released.copy_from(&from.now),
            StoreOrder::Relaxed => released.copy_from(&from.release_fence),
            StoreOrder::Plain => {}
        }
        if let Some(source) = exclusive {
            released.join(&mo.node(source).released);
        }
        mo.node_mut(store).released = released;
        if order == StoreOrder::SeqCst {
            let fences = self.used_fences as u32;
            self.places[place].sc_stores.push((fences, store));
        }
        self.remember(thread, place, store, true);
    }

    fn fence(&mut self, thread: ThreadId, order: FenceOrder) {
        self.tick(thread);
        let state = &mut self.threads[thread.index()];
        if order.acquires() {
            let Thread { now, acquirable, .. } = state;
            now.join(acquirable);
        }
        if order == FenceOrder::SeqCst {
            let rank = self.used_fences;
            if rank == self.fences.len() {
                self.fences.push(VectorClock::default());
            }
            let (earlier, rest) = self.fences.split_at_mut(rank);
            rest[0].copy_from(&state.now.clock);
            if let Some(last) = earlier.last() {
                rest[0].join(last);
            }
            self.used_fences += 1;
            state.now.fence = self.used_fences as u32;
        }
        if order.releases() {
            let Thread { now, release_fence, .. } = state;
            release_fence.copy_from(now);
        }
    }

    fn place_of(&self, at: Location) -> usize {
        *self.names.get(&at).expect("internal error: an access to a location that was never introduced")
    }

    fn new_place(&mut self, at: Location, initial: Value) -> usize {
        if self.used_places == self.places.len() {
            self.places.push(Place {
                location: at,
                mo: MoGraph::default(),
                seen: Vec::new(),
                sc_stores: Vec::new(),
                mixed: None,
            });
        }
        let place = &mut self.places[self.used_places];
        place.location = at;
        place.mo.reset(initial);
        place.seen.iter_mut().for_each(Vec::clear);
        place.sc_stores.clear();
        place.mixed = None;
        self.used_places += 1;
        self.names.insert(at, self.used_places - 1);
        self.used_places - 1
    }

    /// `at` overlaps bytes that were accessed with another extent: all of them become one cell.
    fn mix(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        let mut cell = MixedCell::new(at, initial);
        let overlapping: Vec<usize> = (0..self.used_places).filter(|p| self.places[*p].location.overlaps(at)).collect();
        let mut absorbed: Vec<usize> = Vec::new();
        for place in overlapping {
            match self.places[place].mixed {
                Some(other) if !absorbed.contains(&other) => {
                    absorbed.push(other);
                    let other = std::mem::take(&mut self.cells[other]);
                    cell.absorb_cell(&other);
                }
                Some(_) => {}
                None => {
                    let place = &self.places[place];
                    let order = place.mo.linearise();
                    let stores = order.iter().skip(1).map(|s| {
                        let node = place.mo.node(*s);
                        (node.event.expect("only the initial store has no event"), node.value, &node.released)
                    });
                    cell.absorb_place(place.location, place.mo.node(StoreId::INIT).value, stores);
                }
            }
        }
        // Every place in the cell's bytes is now part of it, and so is the new one.
        let number = self.cells.len();
        for place in 0..self.used_places {
            let inside = self.places[place].location.overlaps(at)
                || self.places[place].mixed.is_some_and(|c| absorbed.contains(&c));
            if inside {
                self.places[place].mixed = Some(number);
            }
        }
        self.cells.push(cell);
        let place = self.new_place(at, Value::ZERO);
        self.places[place].mixed = Some(number);
    }

    fn perform_mixed(&mut self, event: EventId, thread: ThreadId, cell: usize, step: &Step) {
        self.tick(thread);
        let state = &mut self.threads[thread.index()];
        let cell = &mut self.cells[cell];
        let mut read = |at: Location, order: LoadOrder, state: &mut Thread| {
            self.parts.clear();
            cell.parts(at, &mut self.parts);
            if order != LoadOrder::Plain {
                state.acquirable.join(&cell.released);
                if order.acquires() {
                    state.now.join(&cell.released);
                }
            }
        };
        let (at, order, value) = match *step {
            Step::Load { at, order, .. } => return read(at, order, state),
            Step::Store { at, order, value } => (at, order, value),
            Step::Rmw { at, order, written } => {
                read(at, order.load(), state);
                (at, order.store(), written)
            }
            Step::Fence { .. } => unreachable!("a fence accesses no cell"),
        };
        match order {
            StoreOrder::Release | StoreOrder::SeqCst => cell.released.join(&state.now),
            StoreOrder::Relaxed => cell.released.join(&state.release_fence),
            StoreOrder::Plain => {}
        }
        cell.store(at, event, value);
    }
}

impl Machine for C11 {
    const MODEL: Model = Model::C11;

    fn reset(&mut self) {
        self.used_threads = 0;
        self.used_places = 0;
        self.used_fences = 0;
        self.names.clear();
        self.cells.clear();
        self.parts.clear();
    }

    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        if self.names.contains_key(&at) {
            return;
        }
        if self.places[..self.used_places].iter().any(|p| p.location.overlaps(at)) {
            self.mix(at, initial);
        } else {
            self.new_place(at, initial(at));
        }
    }

    fn sources(&mut self, thread: ThreadId, read: Read, out: &mut Vec<Source>) {
        let place = self.place_of(read.at);
        if let Some(cell) = self.places[place].mixed {
            out.push(self.cells[cell].newest(read.at));
            return;
        }
        self.find_prior(thread, place, read.order == LoadOrder::SeqCst);
        let mo = &self.places[place].mo;
        for (store, node) in mo.stores() {
            if read.exclusive && mo.is_taken(store) {
                continue;
            }
            if self.prior.iter().all(|prior| mo.may_precede(*prior, store)) {
                let event = node.event.unwrap_or(EventId::INIT);
                out.push(Source { event, value: node.value });
            }
        }
    }

    fn required(&self, _: ThreadId, _: &Step, _: &mut Vec<Commit>) {}

    fn perform(&mut self, event: EventId, thread: ThreadId, step: &Step, source: Option<Source>) {
        self.parts.clear();
        let at = match *step {
            Step::Fence { order } => return self.fence(thread, order),
            Step::Load { at, .. } | Step::Store { at, .. } | Step::Rmw { at, .. } => at,
        };
        let place = self.place_of(at);
        if let Some(cell) = self.places[place].mixed {
            return self.perform_mixed(event, thread, cell, step);
        }
        let read = |machine: &C11| {
            let event = Some(source.expect("a read has a source").event).filter(|e| !e.is_init());
            let mut stores = machine.places[place].mo.stores().rev();
            stores.find(|(_, node)| node.event == event).expect("internal error: a read of an unknown store").0
        };
        match *step {
            Step::Load { order, .. } => {
                let from = read(self);
                self.read(thread, place, order, from);
            }
            Step::Store { order, value, .. } => self.write(event, thread, place, order, value, None),
            Step::Rmw { order, written, .. } => {
                let from = read(self);
                self.read(thread, place, RmwOrder::load(order), from);
                self.write(event, thread, place, RmwOrder::store(order), written, Some(from));
            }
            Step::Fence { .. } => unreachable!("handled above"),
        }
    }

    fn commits(&self, _: &mut Vec<Commit>) {}

    fn commit(&mut self, _: Commit) {
        unreachable!("the C/C++20 machine has no store buffers");
    }

    fn is_local(&self, step: &Step) -> bool {
        // Other fences change only what their own thread knows.
        matches!(step, Step::Fence { order } if *order != FenceOrder::SeqCst)
    }

    fn clock(&self, thread: ThreadId) -> Option<&VectorClock> {
        self.threads[..self.used_threads].get(thread.index()).map(|t| &t.now.clock)
    }

    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn final_sources(&mut self, at: Location, out: &mut Vec<Source>) {
        let place = &self.places[self.place_of(at)];
        if place.mixed.is_none() {
            let last = place.mo.stores().filter(|(s, _)| place.mo.may_be_last(*s));
            out.extend(last.map(|(_, node)| Source { event: node.event.unwrap_or(EventId::INIT), value: node.value }));
        }
    }

    fn settle(&mut self, at: Location, source: Source) {
        let place = self.place_of(at);
        let mo = &mut self.places[place].mo;
        let Some((last, _)) = mo.stores().find(|(_, node)| node.event == Some(source.event)) else { return };
        let others: Vec<StoreId> = mo.stores().map(|(s, _)| s).filter(|s| *s != last).collect();
        for other in others {
            mo.add_edge(other, last);
        }
    }

    fn coherence(&self) -> Vec<Coherence> {
        let mut lists: Vec<Coherence> = self.cells.iter().filter_map(MixedCell::coherence).collect();
        for place in self.places[..self.used_places].iter().filter(|p| p.mixed.is_none()) {
            let order = place.mo.linearise();
            let stores: Vec<EventId> = order.iter().filter_map(|s| place.mo.node(*s).event).collect();
            if !stores.is_empty() {
                let Location { address, size } = place.location;
                lists.push(Coherence { address, bytes: size.bytes(), stores });
            }
        }
        lists.sort_by_key(|list| list.address);
        lists
    }
}
