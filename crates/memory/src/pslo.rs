//! Partial store load order: Relaxer's figure 6.
//!
//! As [`Pso`], but loads may be early too. Rather than performing a load ahead of its turn, the machine
//! lets it read the past: every thread and location has a *store history* `S[p][a]` of the stores that a load
//! may still read, oldest first, the newest being what memory holds.
//!
//! - `load` reads the thread's own buffered store if there is one; otherwise any store of `S[p][a]`, and the older
//!   ones are removed.
//! - `store^c` adds the store to the histories of all threads; in that of its own thread nothing else is left.
//! - `CAS` reads memory, and then does the same.
//! - `membar^ll` leaves the newest store only in all of the thread's histories.
//!
//! # What the orders mean
//!
//! Stores: as under [`Pso`]. Reads:
//!
//! - An acquire (or stronger) fence is `membar^ll`.
//! - An acquire (or stronger) load or RMW is followed by `membar^ll`. This is conservative, as in the paper: after an
//!   acquire load of an old store, later loads may not read what was overwritten since that store, and the
//!   machine does not let them read what was overwritten by now. All that it does is allowed.
//! - A seq_cst store is followed by `membar^sl`, so that it is followed by `membar^ll` too.
//! - A compare-exchange that fails is a load, but a seq_cst one is a full barrier: it reads memory. The machine
//!   cannot tell it from a load when it lists sources, and so it must be listed as `exclusive`, like one that
//!   succeeds.
//!
//! # Deviations from the figure
//!
//! 1. *Histories are not stored per thread.* Each location has one list of all its stores, and a thread's history is
//!    what lies above two floors: one per thread and location, and one time per thread that `membar^ll` moves. A
//!    thread that never touched a location has the whole past before it, initial value included. A thread that is
//!    created on the way cannot read what was overwritten before its creation, because it starts with an
//!    acquire load.
//! 2. *The buffer is that of [`Pso`]*, with that machine's deviations.
//! 3. *Where nobody asks for the order of all stores* ([`Machine::forget_order`]), the oldest of a history that no
//!    thread can read any more are given back once there are many. Nothing that is possible changes.
//! 4. *A load of bytes that were ever accessed with another extent reads the newest value.* A history is one of whole
//!    stores; this keeps it so, and it is conservative.

use crate::buffer::{self, Forward};
use crate::bytes::{Piece, Time};
use crate::{Commit, Machine, MachineOptions, Pso, Read, Source, Step};
use fencepost_trace::{Coherence, EventId, LoadOrder, Location, Model, Part, ThreadId, Value, VectorClock};

/// The machine of partial store load order: a load may also read a store that has been overwritten, as if it
/// had been performed then.
///
/// ```
/// use fencepost_memory::{Commit, Machine, Pslo, Read, Step};
/// use fencepost_trace::{EventId, LoadOrder, Location, Size, StoreOrder, ThreadId, Value};
/// let mut machine = Pslo::default();
/// let x = Location::new(0x1000, Size::B4);
/// machine.introduce(x, &mut |_| Value::ZERO);
/// let store = Step::Store { at: x, order: StoreOrder::Relaxed, value: Value(1) };
/// machine.perform(EventId(1), ThreadId(0), &store, None);
/// machine.commit(Commit { thread: ThreadId(0), store: EventId(1) });
/// let mut sources = Vec::new();
/// machine.sources(ThreadId(1), Read { at: x, order: LoadOrder::Relaxed, exclusive: false }, &mut sources);
/// let values: Vec<Value> = sources.iter().map(|source| source.value).collect();
/// assert_eq!(values, [Value(0), Value(1)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pslo {
    /// `m` and `Ba`
    pso: Pso,
    /// `S`; the first `used` are of this execution.
    histories: Vec<History>,
    used: usize,
    /// For each block of memory, whose history each byte belongs to.
    owners: Vec<[Owner; 16]>,
    /// For each thread, the time of its last `membar^ll`.
    resets: Vec<Time>,
    /// For each thread, what its next event will find of that at least.
    certain: Vec<Certain>,
    is_forgetful: bool,
}

/// From when on a thread sees stores, once it goes on: it begins and ends its waiting for others with a `membar^ll`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Certain {
    /// Nothing is known of the thread.
    #[default]
    Nothing,
    /// At least from this time on.
    Since(Time),
    /// It waits: from then on when it goes on.
    Later,
}

/// Which extent a byte has been accessed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Owner {
    /// None so far.
    #[default]
    Nobody,
    /// That of this history only.
    One(u32),
    /// Several, or one that overlaps others: the byte has no history.
    Several,
}

/// `S[·][a]`: all stores to a location.
#[derive(Clone, Debug)]
struct History {
    /// The location.
    at: Location,
    /// Has any of its bytes been accessed with another extent (deviation 4)?
    mixed: bool,
    /// In the order of commits, the initial write first.
    stores: Vec<Past>,
    /// For each thread, the position in `stores` of the oldest that it may read; 0 past the end.
    floors: Vec<u32>,
    /// With more stores than this it is time to prune.
    crowded: usize,
}

/// So many stores are not worth a look at which of them can still be read.
const FEW: usize = 32;

/// A store in a history.
#[derive(Clone, Copy, Debug)]
struct Past {
    /// When it was committed.
    time: Time,
    source: Source,
}

impl History {
    fn new(at: Location) -> History {
        History { at, mixed: false, stores: Vec::new(), floors: Vec::new(), crowded: FEW }
    }

    /// Starts over as the history of `at`, keeping allocations.
    fn start(&mut self, at: Location, initial: Source) {
        self.at = at;
        self.mixed = false;
        self.stores.clear();
        self.stores.push(Past { time: 0, source: initial });
        self.floors.clear();
        self.crowded = FEW;
    }

    /// `S[p][a]` of a thread whose last `membar^ll` was at `reset`.
    #[inline]
    fn readable(&self, thread: ThreadId, reset: Time) -> &[Past] {
        let newest = self.stores.len() - 1;
        if self.stores[newest].time <= reset {
            return &self.stores[newest..];
        }
        let floor = self.floors.get(thread.index()).map_or(0, |floor| *floor as usize);
        // The floor itself may be above the reset; what is at or below the reset ends at the store it left over.
        let left = self.stores[floor..].partition_point(|store| store.time <= reset);
        &self.stores[floor + left.saturating_sub(1)..]
    }

    /// Gives back what no thread can read any more.
    fn prune(&mut self, threads: &[Certain], resets: &[Time]) {
        let first = (0..threads.len()).map(|t| {
            let reset = resets.get(t).copied().unwrap_or(0);
            let reset = match threads[t] {
                Certain::Later => return self.stores.len() - 1,
                Certain::Since(time) => reset.max(time),
                Certain::Nothing => reset,
            };
            self.stores.len() - self.readable(ThreadId(t as u32), reset).len()
        });
        let gone = first.min().unwrap_or(0);
        self.stores.drain(..gone);
        self.floors.iter_mut().for_each(|floor| *floor = floor.saturating_sub(gone as u32));
        self.crowded = FEW.max(2 * self.stores.len());
    }

    /// Removes everything older than `store` from `S[p][a]`.
    #[inline]
    fn raise_floor(&mut self, thread: ThreadId, store: EventId) {
        // A load reads new stores more often than old ones.
        if let Some(position) = self.stores.iter().rposition(|past| past.source.event == store) {
            *buffer::of(&mut self.floors, thread) = position as u32;
        }
    }
}

impl Pslo {
    /// The history of `at`; `None` if only the newest value may be read.
    #[inline]
    fn history(&self, at: Location) -> Option<usize> {
        let (Piece { block, first, .. }, _) = self.pso.memory.pieces(at);
        match self.owners[block][first] {
            Owner::One(owner) => Some(owner as usize).filter(|owner| {
                let history = &self.histories[*owner];
                history.at == at && !history.mixed
            }),
            Owner::Nobody | Owner::Several => None,
        }
    }

    /// Gives `at` a history if none of its bytes was accessed before, and takes theirs from those that it overlaps.
    #[inline]
    fn claim(&mut self, at: Location) {
        let (first, second) = self.pso.memory.pieces(at);
        let last = second.unwrap_or(first).block.max(first.block);
        if self.owners.len() <= last {
            self.owners.resize(last + 1, [Owner::Nobody; 16]);
        }
        match self.owners[first.block][first.first] {
            Owner::One(owner) if self.histories[owner as usize].at == at => {}
            _ => self.claim_new(at, [Some(first), second]),
        }
    }

    #[cold]
    fn claim_new(&mut self, at: Location, pieces: [Option<Piece>; 2]) {
        let mut fresh = true;
        for piece in pieces.into_iter().flatten() {
            for owner in &self.owners[piece.block][piece.range()] {
                fresh &= *owner == Owner::Nobody;
                if let Owner::One(other) = *owner {
                    self.histories[other as usize].mixed = true;
                }
            }
        }
        let owner = if fresh { Owner::One(self.used as u32) } else { Owner::Several };
        for piece in pieces.into_iter().flatten() {
            self.owners[piece.block][piece.range()].fill(owner);
        }
        if fresh {
            if self.used == self.histories.len() {
                self.histories.push(History::new(at));
            }
            self.histories[self.used].start(at, self.pso.memory.read(at));
            self.used += 1;
        }
    }

    /// A store of `thread` has just been written to memory: `S[p][a].clear()`, and `S[p'][a].add(m[a])` for all `p'`.
    #[inline]
    fn record(&mut self, thread: ThreadId, at: Location, source: Source) {
        if let Some(history) = self.history(at) {
            let source = Source { value: at.size.truncate(source.value.0), ..source };
            let history = &mut self.histories[history];
            history.stores.push(Past { time: self.pso.memory.time(), source });
            *buffer::of(&mut history.floors, thread) = history.stores.len() as u32 - 1;
            if self.is_forgetful && history.stores.len() > history.crowded {
                history.prune(&self.certain, &self.resets);
            }
        }
    }

    /// A load of `thread` has been performed: if it has waited for another to end, it no longer does.
    #[inline]
    fn goes_on(&mut self, thread: ThreadId) {
        if let Some(certain) = self.certain.get_mut(thread.index()).filter(|c| **c == Certain::Later) {
            *certain = Certain::Since(self.pso.memory.time());
        }
    }

    /// `membar^ll`
    #[inline]
    fn reset_histories(&mut self, thread: ThreadId) {
        *buffer::of(&mut self.resets, thread) = self.pso.memory.time();
    }
}

impl Pslo {
    /// How many stores are kept that have been overwritten, or can be.
    pub fn kept(&self) -> usize {
        self.histories[..self.used].iter().map(|history| history.stores.len()).sum()
    }
}

impl Machine for Pslo {
    const MODEL: Model = Model::Pslo;

    fn with_options(_: &MachineOptions) -> Pslo {
        Pslo::default()
    }

    fn reset(&mut self) {
        self.pso.reset();
        self.used = 0;
        self.owners.clear();
        self.resets.clear();
        self.certain.clear();
    }

    fn forget_order(&mut self, forget: bool) {
        self.pso.forget_order(forget);
        self.is_forgetful = forget;
    }

    fn begin_thread(&mut self, thread: ThreadId, creator: Option<ThreadId>) {
        let since = if creator.is_some() { self.pso.memory.time() } else { 0 };
        *buffer::of(&mut self.certain, thread) = Certain::Since(since);
    }

    fn await_end(&mut self, thread: ThreadId, _: ThreadId) {
        *buffer::of(&mut self.certain, thread) = Certain::Later;
    }

    fn end_thread(&mut self, thread: ThreadId) {
        *buffer::of(&mut self.certain, thread) = Certain::Later;
    }

    #[inline]
    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        self.pso.introduce(at, initial);
        self.claim(at);
    }

    #[inline]
    fn sources(&mut self, thread: ThreadId, read: Read, out: &mut Vec<Source>) {
        let stale = !read.exclusive && buffer::forward(self.pso.pending(thread), read.at) == Forward::Memory;
        match self.history(read.at).filter(|_| stale) {
            Some(history) => {
                let reset = self.resets.get(thread.index()).copied().unwrap_or(0);
                out.extend(self.histories[history].readable(thread, reset).iter().map(|past| past.source));
            }
            None => self.pso.sources(thread, read, out),
        }
    }

    #[inline]
    fn required(&self, thread: ThreadId, step: &Step, out: &mut Vec<Commit>) {
        self.pso.required(thread, step, out);
    }

    #[inline]
    fn perform(&mut self, event: EventId, thread: ThreadId, step: &Step, source: Option<Source>) {
        self.pso.perform(event, thread, step, source);
        match *step {
            Step::Load { at, order, failed_rmw } => {
                debug_assert!(
                    !(failed_rmw && order == LoadOrder::SeqCst)
                        || source.is_none_or(|source| source.event == self.pso.memory.read(at).event),
                    "a seq_cst compare-exchange reads the newest value, and is to be listed as exclusive"
                );
                // A forwarded load reads a store that is in no history yet.
                let forwarded = buffer::forward(self.pso.pending(thread), at) == Forward::Buffer;
                if let (false, Some(history), Some(source)) = (forwarded, self.history(at), source) {
                    self.histories[history].raise_floor(thread, source.event);
                }
                if order.acquires() {
                    self.reset_histories(thread);
                    self.goes_on(thread);
                }
            }
            Step::Store { at, order, value } => {
                if self.pso.is_direct(order) {
                    self.record(thread, at, Source { event, value });
                    self.reset_histories(thread);
                }
            }
            Step::Rmw { at, order, written } => {
                self.record(thread, at, Source { event, value: written });
                if order.load().acquires() {
                    self.reset_histories(thread);
                }
            }
            Step::Fence { order } => {
                if order.acquires() {
                    self.reset_histories(thread);
                }
            }
        }
    }

    #[inline]
    fn commits(&self, out: &mut Vec<Commit>) {
        self.pso.commits(out);
    }

    #[inline]
    fn commit(&mut self, commit: Commit) {
        let store = self.pso.take(commit);
        self.record(commit.thread, store.at, Source { event: store.event, value: store.value });
    }

    #[inline]
    fn is_local(&self, step: &Step) -> bool {
        // An acquire fence resets histories to now, and what is now depends on the others.
        match *step {
            Step::Fence { order } => order == fencepost_trace::FenceOrder::Release,
            _ => self.pso.is_local(step),
        }
    }

    #[inline]
    fn clock(&self, _: ThreadId) -> Option<&VectorClock> {
        None
    }

    fn parts(&self) -> &[Part] {
        self.pso.parts()
    }

    fn coherence(&self) -> Vec<Coherence> {
        self.pso.coherence()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Drive, X, XY, Y, Z};
    use fencepost_trace::{FenceOrder, RmwOrder, StoreOrder};
    use {LoadOrder::Relaxed as Ld, StoreOrder::Relaxed as St};

    fn committed(values: &[u128]) -> Drive<Pslo> {
        let mut d = Drive::<Pslo>::default();
        for value in values {
            d.store(0, X, St, *value);
            d.drain();
        }
        d
    }

    #[test]
    fn a_load_may_read_the_past_but_not_go_back() {
        let mut d = committed(&[1, 2, 3]);
        assert_eq!(d.readable(1, X), [0, 1, 2, 3], "also what was committed before its first access");
        assert_eq!(d.readable(0, X), [3], "a thread's own store ends its past");
        d.load_value(1, X, Ld, 2);
        assert_eq!(d.readable(1, X), [2, 3]);
        assert_eq!(d.readable(2, X), [0, 1, 2, 3]);
    }

    #[test]
    fn a_pending_store_hides_the_past() {
        let mut d = committed(&[1, 2]);
        let own = d.store(1, X, St, 9);
        assert_eq!(d.readable(1, X), [9]);
        d.load(1, X, Ld);
        d.store(0, X, St, 3);
        d.drain();
        assert_eq!(d.commits(), []);
        // thread 0's store was committed first: by thread, then in program order
        assert_eq!(d.machine.coherence()[0].stores.last(), Some(&own));
        assert_eq!(d.readable(1, X), [9]);
        assert_eq!(d.readable(0, X), [3, 9]);
    }

    #[test]
    fn acquiring_ends_the_past_of_all_locations() {
        type Act = fn(&mut Drive<Pslo>);
        let acquire: [(&str, Act); 6] = [
            ("load", |d| {
                d.load(1, Z, LoadOrder::Acquire);
            }),
            ("fence", |d| d.fence(1, FenceOrder::Acquire)),
            ("seq_cst fence", |d| d.fence(1, FenceOrder::SeqCst)),
            ("rmw", |d| {
                d.exchange(1, Z, RmwOrder::Acquire, 1);
            }),
            ("failed rmw", |d| {
                d.fail(1, Z, LoadOrder::SeqCst);
            }),
            ("seq_cst store", |d| {
                d.store(1, Z, StoreOrder::SeqCst, 1);
            }),
        ];
        for (name, acquire) in acquire {
            let mut d = committed(&[1, 2]);
            d.store(0, Y, St, 5);
            acquire(&mut d);
            assert_eq!(d.readable(1, X), [2], "{name}");
            d.drain();
            assert_eq!(d.readable(1, Y), [0, 5], "{name}: what comes later is history again");
            assert_eq!(d.readable(2, X), [0, 1, 2], "{name}: of other threads nothing is forgotten");
        }
        let mut d = committed(&[1, 2]);
        d.fence(1, FenceOrder::Release);
        d.store(1, Z, StoreOrder::Release, 1);
        d.exchange(1, Y, RmwOrder::Release, 1);
        assert_eq!(d.readable(1, X), [0, 1, 2], "release does not acquire");
    }

    #[test]
    fn a_stale_acquire_load_is_conservative() {
        let mut d = committed(&[1, 2]);
        d.load_value(1, X, LoadOrder::Acquire, 1);
        assert_eq!(d.readable(1, X), [2]);
    }

    #[test]
    fn an_rmw_reads_memory() {
        let mut d = committed(&[1, 2]);
        assert_eq!(d.exchange(1, X, RmwOrder::Relaxed, 7), 2);
        assert_eq!(d.readable(1, X), [7]);
        assert_eq!(d.readable(0, X), [2, 7]);
        assert_eq!(d.readable(2, X), [0, 1, 2, 7]);
    }

    #[test]
    fn floors_and_resets_together() {
        let mut d = committed(&[1, 2]);
        d.fence(1, FenceOrder::Acquire);
        d.store(0, X, St, 3);
        d.drain();
        d.store(0, X, St, 4);
        d.drain();
        assert_eq!(d.readable(1, X), [2, 3, 4]);
        d.load_value(1, X, Ld, 3);
        assert_eq!(d.readable(1, X), [3, 4], "a floor above the reset counts");
        d.fence(1, FenceOrder::Acquire);
        assert_eq!(d.readable(1, X), [4], "and so does a reset above the floor");
    }

    #[test]
    fn bytes_of_several_extents_have_no_past() {
        let mut d = committed(&[1, 2]);
        d.store(0, Y, St, 5);
        d.drain();
        assert_eq!(d.readable(1, Y), [0, 5]);
        d.load(2, XY, Ld);
        assert_eq!(d.machine.parts().len(), 2);
        assert_eq!(d.readable(1, X), [2]);
        assert_eq!(d.readable(1, Y), [5]);
        assert_eq!(d.readable(1, XY), [5 << 32 | 2]);
        // bytes that only the later extent touched have none either
        let past = Location::new(X.address + 6, X.size);
        d.store(0, past, St, 0);
        d.drain();
        assert_eq!(d.readable(1, Location::new(X.address + 8, X.size)), [0]);
    }

    #[test]
    fn reset_forgets_the_past() {
        let mut d = committed(&[1, 2]);
        d.fence(1, FenceOrder::Acquire);
        d.machine.reset();
        d.store(0, Y, St, 1);
        d.drain();
        assert_eq!(d.readable(1, Y), [0, 1]);
        assert_eq!(d.readable(1, X), [0]);
    }
}
