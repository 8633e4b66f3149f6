//! Partial store order: Relaxer's figure 5, made exact.
//!
//! As [`Tso`](crate::Tso), but a thread's stores to different locations may reach memory in any order. The figure has
//! a FIFO buffer `Ba[p][a]` for every thread and address. Here they lie in one sequence per thread, in program order,
//! and a store may be committed when no older one that must come first is left: see [`Entry::waits_for`].
//! Locations are bytes: the stores of `Ba[p][a]` are those that overlap.
//!
//! # What the orders mean
//!
//! - A release (or acq_rel) fence is `membar^ss`: stores after it reach memory after those before it.
//! - A seq_cst fence is `membar^sl`: it waits until the buffer is empty.
//! - A release store reaches memory after everything older; later stores need not wait for it.
//! - A seq_cst store is a release store followed by `membar^sl`.
//! - An RMW (`CAS` in the figure) is performed in memory at once, after the buffered stores to its own location
//!   and those before the last release fence. A release (or stronger) one waits until the buffer is empty.
//! - A compare-exchange that fails is a load, but a seq_cst one empties the buffer as if it had succeeded.
//! - Acquire means nothing: loads are performed in program order.
//!
//! # Deviations from the figure
//!
//! 1. *`membar^ss` does not empty the buffer.* The figure's does, and the paper says that it is too strict: a
//!    later load may still pass the stores before the fence. It starts a new *epoch* instead, and stores are
//!    committed epoch by epoch. `x = 1; release fence; y = 1; r = z` shows it: `r` may be read before `x` is visible.
//! 2. *A seq_cst store does not go through the buffer*, for the reason given under `Tso`.
//! 3. *The buffer may be bounded* ([`Pso::with_buffer`]): a store into a full buffer waits until the oldest has left.
//!    Any other that may leave can be committed before that by a move of its own, so that this loses nothing.
//! 4. *Accesses of different size overlap.* See [`buffer`]: a load that cannot be forwarded whole
//!    waits until the stores that overlap it are in memory, and whatever must come before those.

use crate::buffer::{self, Buffer, Entry, Forward};
use crate::bytes::Bytes;
use crate::{Commit, Machine, MachineOptions, Read, Source, Step};
use fencepost_trace::{
    Coherence, EventId, FenceOrder, LoadOrder, Location, Model, Part, StoreOrder, ThreadId, Value, VectorClock,
};

/// The machine of partial store order: stores to different locations leave the buffer in any order.
///
/// ```
/// use fencepost_memory::{Machine, Pso, Step};
/// use fencepost_trace::{EventId, FenceOrder, Location, Size, StoreOrder, ThreadId, Value};
/// let store = |machine: &mut Pso, event, address| {
///     let at = Location::new(address, Size::B4);
///     machine.introduce(at, &mut |_| Value::ZERO);
///     let step = Step::Store { at, order: StoreOrder::Relaxed, value: Value(1) };
///     machine.perform(EventId(event), ThreadId(0), &step, None);
/// };
/// let mut machine = Pso::default();
/// store(&mut machine, 1, 0x1000);
/// store(&mut machine, 2, 0x1004);
/// machine.perform(EventId(3), ThreadId(0), &Step::Fence { order: FenceOrder::Release }, None);
/// store(&mut machine, 4, 0x1008);
/// let mut commits = Vec::new();
/// machine.commits(&mut commits);
/// let stores: Vec<EventId> = commits.iter().map(|commit| commit.store).collect();
/// assert_eq!(stores, [EventId(1), EventId(2)]); // not yet the one behind the fence
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pso {
    /// `m`
    pub(crate) memory: Bytes,
    /// What each thread has in flight.
    threads: Vec<Lane>,
    /// The greatest number of entries in a buffer.
    bound: Option<u32>,
}

/// `Ba[p]`: the buffered stores of one thread.
#[derive(Clone, Debug, Default)]
struct Lane {
    buffer: Buffer<Rank>,
    /// How many release fences the thread has performed.
    epoch: u32,
}

/// When a buffered store may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    /// The thread's epoch when it performed the store.
    epoch: u32,
    /// Is it a release store?
    release: bool,
    /// How many older stores in the buffer must leave first. Kept up to date, so that the stores that may leave
    /// are found without comparing all with all.
    waits: u32,
}

impl Entry<Rank> {
    /// Must this store be committed after `older`, an older one of the same thread?
    #[inline]
    fn waits_for(&self, older: &Entry<Rank>) -> bool {
        older.tag.epoch < self.tag.epoch || self.tag.release || self.at.overlaps(older.at)
    }
}

impl Pso {
    /// A machine whose buffers hold at most so many stores. `Some(0)` leaves sequential consistency.
    pub fn with_buffer(bound: Option<u32>) -> Pso {
        Pso { bound, ..Pso::default() }
    }

    /// The buffered stores of `thread`, oldest first.
    #[inline]
    pub(crate) fn pending(&self, thread: ThreadId) -> &[Entry<Rank>] {
        self.threads.get(thread.index()).map_or(&[], |lane| lane.buffer.entries())
    }

    /// Does a store of this order go to memory at once (deviation 2)?
    #[inline]
    pub(crate) fn is_direct(&self, order: StoreOrder) -> bool {
        order == StoreOrder::SeqCst || self.bound == Some(0)
    }

    /// Appends the commits of the buffered stores that are `wanted` and of all that must come before them.
    fn closure(&self, thread: ThreadId, wanted: impl Fn(&Entry<Rank>) -> bool, out: &mut Vec<Commit>) {
        let pending = self.pending(thread);
        let start = out.len();
        let mut newer_release = false;
        // From the newest to the oldest, so that what calls for a store is there before it.
        for older in pending.iter().rev() {
            let calls = |commit: &Commit| {
                let newer = pending.binary_search_by_key(&commit.store, |entry| entry.event);
                newer.is_ok_and(|newer| pending[newer].waits_for(older))
            };
            if newer_release || wanted(older) || out[start..].iter().any(calls) {
                out.push(Commit { thread, store: older.event });
                newer_release |= older.tag.release;
            }
        }
        out[start..].reverse();
    }

    /// Takes a store out of its buffer and writes it to memory.
    #[inline]
    pub(crate) fn take(&mut self, commit: Commit) -> Entry<Rank> {
        let buffer = &mut self.threads[commit.thread.index()].buffer;
        let Some(position) = buffer.position(commit.store) else {
            unreachable!("fencepost: {commit:?} of a store that is not in the buffer");
        };
        let store = buffer.remove(position);
        debug_assert_eq!(store.tag.waits, 0, "an older store must be committed before {commit:?}");
        for newer in &mut buffer.entries_mut()[position..] {
            newer.tag.waits -= newer.waits_for(&store) as u32;
        }
        self.memory.write(store.at, store.value, store.event);
        store
    }
}

impl Machine for Pso {
    const MODEL: Model = Model::Pso;

    fn with_options(options: &MachineOptions) -> Pso {
        Pso::with_buffer(options.buffer)
    }

    fn reset(&mut self) {
        self.memory.clear();
        for lane in &mut self.threads {
            lane.buffer.clear();
            lane.epoch = 0;
        }
    }

    fn forget_order(&mut self, forget: bool) {
        self.memory.set_forgetful(forget);
    }

    #[inline]
    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        self.memory.introduce(at, initial);
    }

    #[inline]
    fn sources(&mut self, thread: ThreadId, read: Read, out: &mut Vec<Source>) {
        out.push(buffer::read(self.pending(thread), read.at, &self.memory));
    }

    #[inline]
    fn required(&self, thread: ThreadId, step: &Step, out: &mut Vec<Commit>) {
        let pending = self.pending(thread);
        if pending.is_empty() {
            return;
        }
        let count = match *step {
            Step::Fence { order: FenceOrder::SeqCst } => pending.len(),
            Step::Fence { .. } => 0,
            Step::Store { order, .. } if self.is_direct(order) => pending.len(),
            Step::Store { .. } => buffer::excess(pending.len(), self.bound),
            Step::Rmw { order, .. } if order.store().releases() => pending.len(),
            Step::Rmw { at, .. } => {
                let epoch = self.threads[thread.index()].epoch;
                return self.closure(thread, |entry| entry.tag.epoch < epoch || entry.at.overlaps(at), out);
            }
            Step::Load { failed_rmw: true, order: LoadOrder::SeqCst, .. } => pending.len(),
            Step::Load { at, .. } => match buffer::forward(pending, at) {
                Forward::Memory | Forward::Buffer => 0,
                Forward::Wait(_) => return self.closure(thread, |entry| entry.at.overlaps(at), out),
            },
        };
        out.extend(pending[..count].iter().map(|entry| Commit { thread, store: entry.event }));
    }

    #[inline]
    fn perform(&mut self, event: EventId, thread: ThreadId, step: &Step, _: Option<Source>) {
        match *step {
            Step::Load { at, .. } => match buffer::forward(self.pending(thread), at) {
                Forward::Memory => self.memory.observe(at),
                Forward::Buffer => self.memory.observe_one(),
                Forward::Wait(_) => unreachable!("fencepost: a load before the commits that it requires"),
            },
            Step::Store { at, order, value } if self.is_direct(order) => self.memory.write(at, value, event),
            Step::Store { at, order, value } => {
                let lane = buffer::of(&mut self.threads, thread);
                let tag = Rank { epoch: lane.epoch, release: order.releases(), waits: 0 };
                let mut store = Entry { at, value, event, tag };
                store.tag.waits = lane.buffer.entries().iter().filter(|older| store.waits_for(older)).count() as u32;
                lane.buffer.push(store);
            }
            Step::Rmw { at, written, .. } => {
                debug_assert_eq!(
                    buffer::forward(self.pending(thread), at),
                    Forward::Memory,
                    "an RMW before its commits"
                );
                self.memory.observe(at);
                self.memory.write(at, written, event);
            }
            Step::Fence { order } => buffer::of(&mut self.threads, thread).epoch += order.releases() as u32,
        }
    }

    #[inline]
    fn commits(&self, out: &mut Vec<Commit>) {
        for (thread, lane) in (0..).map(ThreadId).zip(&self.threads) {
            let free = lane.buffer.entries().iter().filter(|entry| entry.tag.waits == 0);
            out.extend(free.map(|entry| Commit { thread, store: entry.event }));
        }
    }

    #[inline]
    fn commit(&mut self, commit: Commit) {
        self.take(commit);
    }

    #[inline]
    fn is_local(&self, step: &Step) -> bool {
        match *step {
            Step::Store { order, .. } => self.bound.is_none() && !self.is_direct(order),
            Step::Fence { order } => order != FenceOrder::SeqCst,
            _ => false,
        }
    }

    #[inline]
    fn clock(&self, _: ThreadId) -> Option<&VectorClock> {
        None
    }

    fn parts(&self) -> &[Part] {
        self.memory.parts()
    }

    fn coherence(&self) -> Vec<Coherence> {
        let pending = self.threads.iter().flat_map(|lane| lane.buffer.entries());
        self.memory.coherence(pending.map(|entry| (entry.at, entry.event)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Drive, X, XY, Y, Z};
    use fencepost_trace::{RmwOrder, Size};
    use {LoadOrder::Relaxed as Ld, StoreOrder::Relaxed as St, StoreOrder::Release as Rel};

    #[test]
    fn message_passing_may_be_out_of_order() {
        let mut d = Drive::<Pso>::default();
        let x = d.store(0, X, St, 1);
        let y = d.store(0, Y, St, 1);
        let x2 = d.store(0, X, St, 2);
        assert_eq!(d.commits(), [x, y], "a store does not pass an older one to its location");
        d.commit(0, y);
        assert_eq!((d.load(1, Y, Ld), d.load(1, X, Ld)), (1, 0));
        d.commit(0, x);
        assert_eq!(d.commits(), [x2]);
    }

    #[test]
    fn a_release_fence_orders_stores_but_not_loads() {
        for order in [FenceOrder::Release, FenceOrder::AcqRel] {
            let mut d = Drive::<Pso>::default();
            let x = d.store(0, X, St, 1);
            d.fence(0, order);
            let y = d.store(0, Y, St, 1);
            assert_eq!(d.commits(), [x], "the second store waits");
            assert_eq!(d.load(0, Z, Ld), 0);
            assert_eq!(d.load(1, X, Ld), 0, "the load has passed the store before the fence");
            d.commit(0, x);
            assert_eq!(d.commits(), [y]);
        }
        let mut d = Drive::<Pso>::default();
        let x = d.store(0, X, St, 1);
        d.fence(0, FenceOrder::Acquire);
        let y = d.store(0, Y, St, 1);
        assert_eq!(d.commits(), [x, y]);
    }

    #[test]
    fn a_release_store_waits_and_nobody_waits_for_it() {
        let mut d = Drive::<Pso>::default();
        let x = d.store(0, X, St, 1);
        let y = d.store(0, Y, Rel, 1);
        let z = d.store(0, Z, St, 1);
        assert_eq!(d.commits(), [x, z]);
        d.commit(0, z);
        assert_eq!(d.commits(), [x]);
        d.commit(0, x);
        assert_eq!(d.commits(), [y]);
    }

    #[test]
    fn a_relaxed_rmw_commits_its_own_location_and_earlier_epochs() {
        let rmw = |order| Step::Rmw { at: X, order, written: Value(9) };
        let mut d = Drive::<Pso>::default();
        let y = d.store(0, Y, St, 1);
        let x = d.store(0, X, St, 1);
        assert_eq!(d.required(0, rmw(RmwOrder::Relaxed)), [x]);
        assert_eq!(d.required(0, rmw(RmwOrder::Acquire)), [x]);
        assert_eq!(d.required(0, rmw(RmwOrder::Release)), [y, x]);
        d.fence(0, FenceOrder::Release);
        assert_eq!(d.required(0, rmw(RmwOrder::Relaxed)), [y, x]);
        let z = d.store(0, Z, St, 1);
        assert_eq!(d.required(0, rmw(RmwOrder::Relaxed)), [y, x], "the new epoch need not be over");
        assert_eq!(d.exchange(0, X, RmwOrder::Relaxed, 2), 1);
        assert_eq!(d.commits(), [z]);
    }

    #[test]
    fn a_release_store_takes_all_older_ones_along() {
        let mut d = Drive::<Pso>::default();
        let (z, y) = (d.store(0, Z, St, 1), d.store(0, Y, St, 1));
        let x = d.store(0, X, Rel, 1);
        let z2 = d.store(0, Z, St, 2);
        let rmw = Step::Rmw { at: X, order: RmwOrder::Relaxed, written: Value(2) };
        assert_eq!(d.required(0, rmw), [z, y, x]);
        d.exchange(0, X, RmwOrder::Relaxed, 2);
        assert_eq!(d.commits(), [z2]);
    }

    #[test]
    fn a_failed_compare_exchange_is_a_load_unless_seq_cst() {
        let mut d = Drive::<Pso>::default();
        let x = d.store(0, X, St, 1);
        assert_eq!(d.fail(0, X, LoadOrder::Acquire), 1);
        assert_eq!(d.commits(), [x]);
        assert_eq!(d.fail(0, Y, LoadOrder::SeqCst), 0);
        assert_eq!(d.commits(), []);
    }

    #[test]
    fn seq_cst_stores_and_fences_are_full_barriers() {
        let mut d = Drive::<Pso>::default();
        d.store(0, X, St, 1);
        d.store(0, Y, StoreOrder::SeqCst, 1);
        assert_eq!((d.load(1, X, Ld), d.load(1, Y, Ld)), (1, 1));
        d.store(0, X, St, 2);
        d.fence(0, FenceOrder::SeqCst);
        assert_eq!(d.load(1, X, Ld), 2);
    }

    #[test]
    fn a_full_buffer_makes_room() {
        let mut d = Drive::new(Pso::with_buffer(Some(1)));
        let x = d.store(0, X, St, 1);
        assert_eq!(d.required(0, Step::Store { at: Y, order: St, value: Value(1) }), [x]);
        let y = d.store(0, Y, St, 1);
        assert_eq!(d.commits(), [y]);
    }

    #[test]
    fn overlapping_stores_stay_in_order() {
        let mut d = Drive::<Pso>::default();
        let low = d.store(0, X, St, 1);
        let wide = d.store(0, XY, St, 0);
        let high = d.store(0, Y, St, 2);
        assert_eq!(d.commits(), [low]);
        d.commit(0, low);
        assert_eq!(d.commits(), [wide]);
        d.commit(0, wide);
        assert_eq!(d.commits(), [high]);
    }

    #[test]
    fn a_load_that_is_covered_in_part_waits_for_what_overlaps() {
        let mut d = Drive::<Pso>::default();
        d.store(0, XY, St, u64::MAX as u128);
        d.drain();
        let z = d.store(0, Z, St, 1);
        let byte = Location::new(X.address + 3, Size::B1);
        let x = d.store(0, byte, St, 7);
        let straddling = Location::new(X.address + 2, Size::B4);
        assert_eq!(d.required(0, Step::Load { at: straddling, order: Ld, failed_rmw: false }), [x]);
        assert_eq!(d.load(0, straddling, Ld), 0xffff_07ff);
        assert_eq!(d.machine.parts().len(), 3);
        assert_eq!(d.commits(), [z]);
    }

    /// The count that each entry keeps, against the rule that it stands for.
    #[test]
    fn waits_are_counted_right() {
        let locations = [X, Y, XY, Z];
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as usize
        };
        let mut d = Drive::<Pso>::default();
        for _ in 0..20_000 {
            match random(8) {
                0 => d.fence(0, FenceOrder::Release),
                1 => {
                    d.store(0, locations[random(4)], Rel, 1);
                }
                2 => {
                    d.exchange(0, locations[random(4)], RmwOrder::Relaxed, 1);
                }
                3 => {
                    d.load(0, locations[random(4)], Ld);
                }
                4 => {
                    d.store(0, locations[random(4)], St, 1);
                }
                _ => match d.commits()[..] {
                    [] => {}
                    ref all => d.commit(0, all[random(all.len() as u64)]),
                },
            }
            let pending = d.machine.pending(ThreadId(0));
            let free = |i: &usize| !pending[..*i].iter().any(|older| pending[*i].waits_for(older));
            let expected: Vec<_> = (0..pending.len()).filter(free).map(|i| pending[i].event).collect();
            assert_eq!(d.commits(), expected);
        }
    }
}
