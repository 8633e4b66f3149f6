//! C/C++20 as a machine: C11Tester's, made exact.
//!
//! A load may read any store that neither coherence nor the order of seq_cst operations hides from it; which writes
//! come first in modification order is a graph of constraints ([`mo`]), decided only as far as the program can see
//! and never taken back.
//!
//! *Happens-before* is figure 7 of the paper: per thread a clock, and two more for fences; per store the clock that
//! an acquire of it takes over, which an RMW passes on (release sequences of C++20: the head and the RMWs that read
//! from it in a chain).
//!
//! *What a load may read* (figures 10 and 11 of the paper) follows these rules instead, which are exact. When an
//! access *a* to *x* executes, and W(A) is A itself for a store and the store read for a load, these writes must be
//! modification-ordered before (or be) the store that a load reads, and before a new store:
//!
//! 1. W(A) for every access A to x that happens before a;
//! 2. if a is seq_cst: every seq_cst store to x executed so far, and every store to x that happens before some
//!    seq_cst fence executed so far;
//! 3. with F the last executed seq_cst fence that happens before a: every seq_cst store to x executed before F,
//!    and W(A) for every access A to x that happens before some seq_cst fence executed before F.
//!
//! A load may read X exactly when none of these is known to come after X. No choice leads into a dead end.
//!
//! The order of execution is the order of seq_cst operations and extends reads-from. So an outcome that needs a
//! seq_cst order against `sb ∪ rf` is out of the machine's reach (`MP+Wsc-Wrlx+Racq-Rsc` of the litmus corpus is
//! one); the axioms have it.
//!
//! *Plain accesses* are relaxed ones that synchronise with nothing. Where they race the program is undefined, which
//! is for a monitor to say.
//!
//! *Accesses of different sizes*: the bytes that overlapping accesses tie together become one cell, which from then
//! on is read and written in the order of execution: a load sees the newest byte of each, and an acquire takes over
//! everything that was released into the cell. This permits nothing that C/C++20 forbids: such programs are outside
//! of what it defines.
//!
//! # Long executions
//!
//! C11Tester, section 6.1. *Conservative pruning* ([`C11::pruned`]) changes nothing that is possible: a store is
//! given back when for every thread that goes on some access that happens before its next event wrote or read a store
//! that is known to be later. Nobody reads it again, no edge can ever lead to it again, and where rules 1 to 3 name
//! it, they name a later one too. The paper asks that every thread *knows* the later store; a thread's own accesses
//! are enough, so that the counter that two threads increase without any synchronisation takes a handful of nodes. A
//! thread that waits for another to end knows at least what that one knows, and one that was just created what its
//! creator knew. The clocks of seq_cst fences go when every thread knows all that they say, or has a later fence
//! behind it.
//!
//! *A window* ([`C11::with_window`]) is the paper's aggressive mode and loses behaviours: every store that is older
//! than so many events counts as known to everybody, so that what is known to be before it cannot be read any more,
//! and among seq_cst fences older than the last so many the newest stands for all. More constraints are a subset of
//! the executions, never a new one.
//!
//! *Memory that is given back* ([`Machine::retire`]) and used for another object is treated alike: nobody reads what
//! was stored in the old one.

mod cell;
mod mo;

use crate::{Commit, Machine, MachineOptions, Read, Source, Step};
use cell::MixedCell;
use fencepost_trace::{
    Coherence, EventId, FenceOrder, LoadOrder, Location, Model, Part, RmwOrder, StoreOrder, ThreadId, Value,
    VectorClock,
};
use mo::{MoGraph, StoreId};
use rustc_hash::FxHashMap;

/// Places are found by the block of memory in which they begin. None is longer.
const BLOCK: u64 = 16;

/// What a point in the program knows: the events that happen before it, and the last seq_cst fence among them.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
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
    /// What its creator knew: its own first event takes it over.
    inherited: VectorClock,
    /// The thread for whose end it waits, or has waited.
    joins: Option<ThreadId>,
    ended: bool,
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
struct LocationState {
    location: Location,
    /// Another place that begins in the same block of memory.
    next: Option<u32>,
    mo: MoGraph,
    /// By thread, in program order; of accesses in a row that saw the same store, the first.
    seen: Vec<Vec<Seen>>,
    /// The seq_cst stores in the order of execution, each with the number of seq_cst fences before it.
    sc_stores: Vec<(u32, StoreId)>,
    /// Set when the bytes belong to a cell of mixed accesses.
    mixed: Option<usize>,
    /// With more stores than this it is time to prune.
    crowded: usize,
    /// Up to this event the memory was used for something else: what is older counts as known to everybody.
    retired: EventId,
    /// What the stores that were pruned have released.
    released: Knowledge,
}

/// The machine. See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct C11 {
    threads: Vec<Thread>,
    used_threads: usize,
    places: Vec<LocationState>,
    used_places: usize,
    /// For each block of 16 bytes, the first of the places that begin there.
    blocks: FxHashMap<u64, u32>,
    /// The place that was looked up last.
    recent: Option<(Location, usize)>,
    cells: Vec<MixedCell>,
    /// For each seq_cst fence executed: everything that happens before it or an earlier one. The first of them were
    /// pruned.
    fences: Vec<VectorClock>,
    used_fences: usize,
    pruned_fences: usize,
    /// With more fences than this it is time to prune.
    crowded_fences: usize,
    /// The stores that the access at hand must come after, none of them known to be before another.
    prior: Vec<StoreId>,
    /// For which access that is right, until the next is performed.
    prior_of: Option<(ThreadId, usize, bool)>,
    candidates: Vec<StoreId>,
    parts: Vec<Part>,
    /// The event performed last.
    latest: EventId,
    /// With more stores than this at one place, those that nobody can read any more are given back; never if absent.
    pruning: Option<usize>,
    /// Stores that are older than so many events count as known to everybody.
    window: Option<u32>,
    /// Is nobody going to ask for the order of all stores?
    is_forgetful: bool,
}

/// The last access of a thread up to a time, out of those that `is` says.
#[inline]
fn last_up_to(seen: &[Seen], time: u32, is: impl Fn(&Seen) -> bool) -> Option<StoreId> {
    let end = match seen.last() {
        Some(last) if last.time <= time => seen.len(),
        _ => seen.partition_point(|s| s.time <= time),
    };
    seen[..end].iter().rev().find(|s| is(s)).map(|s| s.write)
}

/// Adds a store to those that an access must come after. What is known to be before another says nothing new.
#[inline]
fn add_prior(mo: &MoGraph, prior: &mut Vec<StoreId>, store: StoreId) {
    if prior.iter().any(|other| *other == store || mo.before(store, *other)) {
        return;
    }
    prior.retain(|other| !mo.before(*other, store));
    prior.push(store);
}

impl C11 {
    /// So many stores at one place are not worth a look at which of them are still needed.
    pub const FEW: usize = 32;

    /// A machine that gives back what no thread can read any more, once there are more than so many stores at one
    /// place ([`C11::FEW`] is a good number). Who uses it must say which threads there are. The order of all stores
    /// ([`Machine::coherence`]) then misses those that were given back.
    pub fn pruned(few: usize) -> C11 {
        C11 { pruning: Some(few), ..C11::default() }
    }

    /// The same machine, with stores that are older than so many events known to everybody.
    pub fn with_window(self, window: Option<u32>) -> C11 {
        C11 { window, ..self }
    }

    /// How many stores and seq_cst fences are kept.
    pub fn kept(&self) -> usize {
        self.places[..self.used_places].iter().map(|p| p.mo.len()).sum::<usize>() + self.used_fences
    }

    fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        while self.used_threads <= thread.index() {
            if self.used_threads == self.threads.len() {
                self.threads.push(Thread::default());
            }
            let new = &mut self.threads[self.used_threads];
            new.now.clear();
            new.release_fence.clear();
            new.acquirable.clear();
            new.inherited.clear();
            new.joins = None;
            new.ended = false;
            self.used_threads += 1;
        }
        &mut self.threads[thread.index()]
    }

    /// The clock of the seq_cst fence of this rank, counted from 1; `None` if it says nothing that is not known anyway.
    fn fence_clock(&self, rank: usize) -> Option<&VectorClock> {
        let all = self.pruned_fences + self.used_fences;
        let rank = match self.window {
            Some(window) => rank.max(all.saturating_sub(window as usize)),
            None => rank,
        };
        rank.checked_sub(self.pruned_fences + 1).map(|i| &self.fences[i])
    }

    /// The rules 1 to 3 of the module's documentation.
    fn find_prior(&mut self, thread: ThreadId, place: usize, seq_cst: bool) {
        if self.prior_of == Some((thread, place, seq_cst)) {
            return;
        }
        self.prior_of = Some((thread, place, seq_cst));
        self.thread_mut(thread);
        let mut prior = std::mem::take(&mut self.prior);
        prior.clear();
        let now = &self.threads[thread.index()].now;
        let place = &self.places[place];
        let mo = &place.mo;
        let all_fences = if seq_cst { self.fences[..self.used_fences].last() } else { None };
        let fences_before = if now.fence > 1 { self.fence_clock(now.fence as usize - 1) } else { None };
        // Its own last access first: nearly always it says all.
        let own = place.seen.get(thread.index()).and_then(|seen| seen.last());
        prior.extend(own.map(|seen| seen.write));
        for (t, seen) in place.seen.iter().enumerate().filter(|(_, seen)| !seen.is_empty()) {
            let u = ThreadId(t as u32);
            let known = last_up_to(seen, now.clock.get(u), |_| true);
            let by_sc = all_fences.and_then(|all| last_up_to(seen, all.get(u), |s| s.is_store));
            let by_fence = fences_before.and_then(|before| last_up_to(seen, before.get(u), |_| true));
            for store in known.into_iter().chain(by_sc).chain(by_fence) {
                add_prior(mo, &mut prior, store);
            }
        }
        if seq_cst && let Some((_, store)) = place.sc_stores.last() {
            add_prior(mo, &mut prior, *store);
        }
        if now.fence > 0 {
            let before = place.sc_stores.partition_point(|(fences, _)| *fences < now.fence);
            if let Some(i) = before.checked_sub(1) {
                add_prior(mo, &mut prior, place.sc_stores[i].1);
            }
        }
        self.add_old(place, &mut prior);
        self.prior = prior;
    }

    /// Adds the stores that count as known to everybody because of their age.
    fn add_old(&self, place: &LocationState, prior: &mut Vec<StoreId>) {
        let old = self.window.and_then(|window| self.latest.0.checked_sub(window)).map_or(EventId::INIT, EventId);
        let old = old.max(place.retired);
        if old.is_init() {
            return;
        }
        for t in 0..place.mo.threads() {
            if let Some(store) = place.mo.last_up_to(t, old) {
                add_prior(&place.mo, prior, store);
            }
        }
    }

    /// What every event of `thread` from now on knows.
    fn add_certain(&self, thread: ThreadId, clock: &mut VectorClock) {
        let mut next = Some(thread);
        // Threads may wait for each other in a cycle.
        for _ in 0..self.used_threads {
            let Some(thread) = next.take().map(|t| &self.threads[t.index()]) else { break };
            clock.join(&thread.now.clock);
            clock.join(&thread.inherited);
            next = thread.joins;
        }
    }

    /// The threads that have not ended.
    fn going_on(&self) -> impl Iterator<Item = ThreadId> {
        (0..self.used_threads).filter(|t| !self.threads[*t].ended).map(|t| ThreadId(t as u32))
    }

    /// Gives back the stores that nobody can read any more.
    fn prune(&mut self, number: usize) {
        let place = &self.places[number];
        let mut prior = Vec::new();
        let (mut clock, mut dead) = (VectorClock::default(), None::<VectorClock>);
        for thread in self.going_on() {
            clock.clear();
            self.add_certain(thread, &mut clock);
            prior.clear();
            for (t, seen) in place.seen.iter().enumerate() {
                if let Some(store) = last_up_to(seen, clock.get(ThreadId(t as u32)), |_| true) {
                    add_prior(&place.mo, &mut prior, store);
                }
            }
            self.add_old(place, &mut prior);
            let mut floors = VectorClock::default();
            prior.iter().for_each(|store| place.mo.raise_floors(*store, &mut floors));
            match &mut dead {
                None => dead = Some(floors),
                Some(dead) => dead.meet(&floors),
            }
        }
        let place = &mut self.places[number];
        if let Some(dead) = dead.filter(|dead| dead.slots().iter().any(|time| *time > 0)) {
            let LocationState { mo, seen, sc_stores, released, .. } = place;
            let is_dead = |store: StoreId| match mo.node(store).thread {
                None => true,
                Some(thread) => mo.node(store).time <= dead.get(thread),
            };
            // A thread sees stores in their order, and seq_cst ones are in order: those that go are the first.
            for seen in seen.iter_mut() {
                let gone = seen.partition_point(|s| is_dead(s.write));
                seen.drain(..gone);
            }
            let gone = sc_stores.partition_point(|(_, store)| is_dead(*store));
            sc_stores.drain(..gone);
            mo.prune(&dead, released);
        }
        place.crowded = self.pruning.unwrap_or(usize::MAX).max(2 * place.mo.len());
    }

    /// Gives back the seq_cst fences that tell nobody anything.
    fn prune_fences(&mut self) {
        let all = self.pruned_fences + self.used_fences;
        let (mut least, mut lowest) = (None::<VectorClock>, usize::MAX);
        for thread in self.going_on() {
            let mut clock = VectorClock::default();
            self.add_certain(thread, &mut clock);
            lowest = lowest.min(self.threads[thread.index()].now.fence as usize);
            match &mut least {
                None => least = Some(clock),
                Some(least) => least.meet(&clock),
            }
        }
        let least = least.unwrap_or_default();
        let known = self.fences[..self.used_fences].partition_point(|clock| clock.le(&least));
        // Rule 3 asks for the fence before the one that a thread has behind it.
        let passed = lowest.min(all).saturating_sub(2).saturating_sub(self.pruned_fences);
        let old = self.window.map_or(0, |window| self.used_fences.saturating_sub(window as usize + 1));
        // Rule 2 asks for the last one.
        let gone = known.max(passed).max(old).min(self.used_fences.saturating_sub(1));
        self.fences[..self.used_fences].rotate_left(gone);
        self.used_fences -= gone;
        self.pruned_fences += gone;
        self.crowded_fences = self.pruning.unwrap_or(usize::MAX).max(2 * self.used_fences);
    }

    fn remember(&mut self, thread: ThreadId, place: usize, write: StoreId, is_store: bool) {
        let time = self.threads[thread.index()].now.clock.get(thread);
        let seen = &mut self.places[place].seen;
        if seen.len() <= thread.index() {
            seen.resize(thread.index() + 1, Vec::new());
        }
        let seen = &mut seen[thread.index()];
        if seen.last().is_none_or(|last| last.write != write) {
            seen.push(Seen { time, write, is_store });
        }
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
        let store = match exclusive {
            // What its reading half had to come after is before what it read, and so is all that it learned there.
            Some(source) => {
                let time = self.threads[thread.index()].now.clock.get(thread);
                self.places[place].mo.add_rmw(source, event, thread, time, value)
            }
            None => {
                self.find_prior(thread, place, order == StoreOrder::SeqCst);
                let time = self.tick(thread);
                let mo = &mut self.places[place].mo;
                let store = mo.add(event, thread, time, value);
                for prior in &self.prior {
                    mo.add_edge(*prior, store);
                }
                store
            }
        };
        let mo = &mut self.places[place].mo;
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
            let fences = (self.pruned_fences + self.used_fences) as u32;
            self.places[place].sc_stores.push((fences, store));
        }
        self.remember(thread, place, store, true);
        if self.places[place].mo.len() > self.places[place].crowded {
            self.prune(place);
        }
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
            state.now.fence = (self.pruned_fences + self.used_fences) as u32;
        }
        if order.releases() {
            let Thread { now, release_fence, .. } = state;
            release_fence.copy_from(now);
        }
        if self.used_fences > self.crowded_fences {
            self.prune_fences();
        }
    }

    /// The place of these bytes, if they were accessed as such.
    fn find_place(&self, at: Location) -> Option<usize> {
        let mut next = self.blocks.get(&(at.address / BLOCK)).copied();
        while let Some(place) = next {
            let candidate = &self.places[place as usize];
            if candidate.location == at {
                return Some(place as usize);
            }
            next = candidate.next;
        }
        None
    }

    #[inline]
    fn place_of(&self, at: Location) -> usize {
        match self.recent {
            Some((recent, place)) if recent == at => place,
            _ => self.find_place(at).expect("internal error: an access to a location that was never introduced"),
        }
    }

    /// Appends the places that share bytes with `at`.
    fn overlapping(&self, at: Location, out: &mut Vec<usize>) {
        // None is longer than a block.
        for block in at.address.saturating_sub(BLOCK - 1) / BLOCK..=(at.end() - 1) / BLOCK {
            let mut next = self.blocks.get(&block).copied();
            while let Some(place) = next {
                let candidate = &self.places[place as usize];
                if candidate.location.overlaps(at) {
                    out.push(place as usize);
                }
                next = candidate.next;
            }
        }
        out.sort_unstable();
    }

    fn new_place(&mut self, at: Location, initial: Value) -> usize {
        if self.used_places == self.places.len() {
            self.places.push(LocationState {
                location: at,
                next: None,
                mo: MoGraph::default(),
                seen: Vec::new(),
                sc_stores: Vec::new(),
                mixed: None,
                crowded: usize::MAX,
                retired: EventId::INIT,
                released: Knowledge::default(),
            });
        }
        let number = self.used_places;
        let place = &mut self.places[number];
        place.location = at;
        place.mo.reset(initial);
        place.seen.iter_mut().for_each(Vec::clear);
        place.sc_stores.clear();
        place.mixed = None;
        place.crowded = self.pruning.unwrap_or(usize::MAX);
        place.retired = EventId::INIT;
        place.released.clear();
        place.next = self.blocks.insert(at.address / BLOCK, number as u32);
        self.used_places += 1;
        self.recent = Some((at, number));
        number
    }

    /// `at` overlaps bytes that were accessed with another extent: all of them become one cell.
    fn mix(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        let mut cell = MixedCell::new(at, initial);
        cell.set_forgetful(self.is_forgetful);
        let mut overlapping = Vec::new();
        self.overlapping(at, &mut overlapping);
        let mut absorbed: Vec<usize> = Vec::new();
        for place in overlapping.iter().copied() {
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
                    let stores = order.iter().map(|s| place.mo.node(*s)).filter(|node| !node.event.is_init());
                    let stores = stores.map(|node| (node.event, node.value, &node.released));
                    cell.absorb_place(place.location, place.mo.node(StoreId::INIT).value, stores);
                    cell.released.join(&place.released);
                }
            }
        }
        // Every place in the cell's bytes is now part of it, and so is the new one.
        let number = self.cells.len();
        let place = self.new_place(at, Value::ZERO);
        cell.places.extend(overlapping);
        cell.places.push(place);
        for place in &cell.places {
            self.places[*place].mixed = Some(number);
        }
        self.cells.push(cell);
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

    fn carry_out(&mut self, event: EventId, thread: ThreadId, step: &Step, source: Option<Source>) {
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
            let event = source.expect("a read has a source").event;
            machine.places[place].mo.find(event).expect("internal error: a read of an unknown store")
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
}

impl Machine for C11 {
    const MODEL: Model = Model::C11;

    fn with_options(options: &MachineOptions) -> C11 {
        let machine = if options.prune { C11::pruned(C11::FEW) } else { C11::default() };
        machine.with_window(options.window)
    }

    fn reset(&mut self) {
        self.used_threads = 0;
        self.used_places = 0;
        self.used_fences = 0;
        self.pruned_fences = 0;
        self.crowded_fences = self.pruning.unwrap_or(usize::MAX);
        self.blocks.clear();
        self.recent = None;
        self.cells.clear();
        self.parts.clear();
        self.prior_of = None;
        self.latest = EventId::INIT;
    }

    fn forget_order(&mut self, forget: bool) {
        self.is_forgetful = forget;
    }

    fn retire(&mut self, at: Location) {
        let Some(place) = self.find_place(at).filter(|place| self.places[*place].mixed.is_none()) else { return };
        self.places[place].retired = self.latest;
        self.prior_of = None;
        if self.pruning.is_some() && self.places[place].mo.len() > 1 {
            self.prune(place);
        }
    }

    fn begin_thread(&mut self, thread: ThreadId, creator: Option<ThreadId>) {
        self.thread_mut(thread);
        if let Some(creator) = creator {
            let mut known = std::mem::take(&mut self.threads[thread.index()].inherited);
            known.copy_from(&self.threads[creator.index()].now.clock);
            known.join(&self.threads[creator.index()].inherited);
            self.threads[thread.index()].inherited = known;
        }
    }

    fn await_end(&mut self, thread: ThreadId, of: ThreadId) {
        if of.index() < self.used_threads {
            self.thread_mut(thread).joins = Some(of);
        }
    }

    fn end_thread(&mut self, thread: ThreadId) {
        self.thread_mut(thread).ended = true;
    }

    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        if self.recent.is_some_and(|(recent, _)| recent == at) {
            return;
        }
        if let Some(place) = self.find_place(at) {
            self.recent = Some((at, place));
            return;
        }
        let mut overlapping = Vec::new();
        self.overlapping(at, &mut overlapping);
        if overlapping.is_empty() {
            self.new_place(at, initial(at));
        } else {
            self.mix(at, initial);
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
        self.candidates.clear();
        mo.readable(&self.prior, read.exclusive, &mut self.candidates);
        let nodes = self.candidates.iter().map(|store| mo.node(*store));
        out.extend(nodes.map(|node| Source { event: node.event, value: node.value }));
    }

    fn required(&self, _: ThreadId, _: &Step, _: &mut Vec<Commit>) {}

    fn perform(&mut self, event: EventId, thread: ThreadId, step: &Step, source: Option<Source>) {
        self.carry_out(event, thread, step, source);
        self.prior_of = None;
        // Not before: what counts as old must be the same as when its sources were listed.
        self.latest = event;
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
            let mut last = Vec::new();
            place.mo.possible_last(&mut last);
            let nodes = last.iter().map(|store| place.mo.node(*store));
            out.extend(nodes.map(|node| Source { event: node.event, value: node.value }));
        }
    }

    fn settle(&mut self, at: Location, source: Source) {
        self.prior_of = None;
        let place = self.place_of(at);
        let mo = &mut self.places[place].mo;
        if let Some(last) = mo.find(source.event).filter(|last| *last != StoreId::INIT) {
            mo.put_last(last);
        }
    }

    fn coherence(&self) -> Vec<Coherence> {
        let mut lists: Vec<Coherence> = self.cells.iter().filter_map(MixedCell::coherence).collect();
        for place in self.places[..self.used_places].iter().filter(|p| p.mixed.is_none()) {
            let order = place.mo.linearise();
            let events = order.iter().map(|s| place.mo.node(*s).event);
            let stores: Vec<EventId> = events.filter(|event| !event.is_init()).collect();
            if !stores.is_empty() {
                let Location { address, size } = place.location;
                lists.push(Coherence { address, bytes: size.bytes(), stores });
            }
        }
        lists.sort_by_key(|list| list.address);
        lists
    }
}
