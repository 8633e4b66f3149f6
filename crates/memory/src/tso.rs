//! Total store order: Relaxer's figure 4, the machine of x86 and SPARC TSO.
//!
//! To the memory `m` of [`Sc`](crate::Sc), each thread adds a FIFO store buffer `B[p]`. `store` appends to it,
//! `store^c` takes the oldest entry to memory at any time, `load` looks into its own buffer first.
//!
//! # What the orders mean
//!
//! - A seq_cst fence is `membar^sl`: it waits until the buffer is empty.
//! - So does every RMW, whatever its order, and a compare-exchange that fails (`CAS` in the figure): on x86 both are
//!   locked instructions.
//! - A seq_cst store is a store followed by `membar^sl`.
//! - Acquire, release and weaker fences mean nothing: TSO gives them for free.
//!
//! # Deviations from the figure
//!
//! 1. *A seq_cst store does not go through the buffer.* It empties the buffer first and is then written to memory at
//!    once. The outcomes are the same: its thread does nothing between the store and the barrier, entering the buffer
//!    is seen by nobody else, and so the store may as well enter it when all older stores have left, directly
//!    before its own commit.
//! 2. *The buffer may be bounded* ([`Tso::with_buffer`]): a store into a full buffer waits until the oldest has left.
//! 3. *Accesses of different size overlap.* See [`buffer`]: a load that cannot be forwarded whole
//!    waits until the newest store that overlaps it, and so all older ones, are in memory.

use crate::buffer::{self, Buffer, Entry, Forward};
use crate::bytes::Bytes;
use crate::{Commit, Machine, MachineOptions, Read, Source, Step};
use fencepost_trace::{
    Coherence, EventId, FenceOrder, Location, Model, Part, StoreOrder, ThreadId, Value, VectorClock,
};

/// The machine of total store order: stores wait in a FIFO buffer, and a thread reads its own from there.
///
/// ```
/// use fencepost_memory::{Machine, Read, Step, Tso};
/// use fencepost_trace::{EventId, LoadOrder, Location, Size, StoreOrder, ThreadId, Value};
/// let mut machine = Tso::default();
/// let x = Location::new(0x1000, Size::B4);
/// machine.introduce(x, &mut |_| Value::ZERO);
/// let store = Step::Store { at: x, order: StoreOrder::Relaxed, value: Value(1) };
/// machine.perform(EventId(1), ThreadId(0), &store, None);
/// let mut seen = |thread| {
///     let mut sources = Vec::new();
///     machine.sources(thread, Read { at: x, order: LoadOrder::Relaxed, exclusive: false }, &mut sources);
///     sources[0].value
/// };
/// assert_eq!((seen(ThreadId(0)), seen(ThreadId(1))), (Value(1), Value(0)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tso {
    /// `m`
    memory: Bytes,
    /// `B`, by thread. The first in is the first out: entries need no further mark.
    buffers: Vec<Buffer<()>>,
    /// The greatest number of entries in a buffer.
    bound: Option<u32>,
}

impl Tso {
    /// A machine whose buffers hold at most so many stores. `Some(0)` leaves sequential consistency.
    pub fn with_buffer(bound: Option<u32>) -> Tso {
        Tso { bound, ..Tso::default() }
    }

    /// The buffered stores of `thread`, oldest first.
    #[inline]
    fn pending(&self, thread: ThreadId) -> &[Entry<()>] {
        self.buffers.get(thread.index()).map_or(&[], Buffer::entries)
    }

    /// Does a store of this order go to memory at once (deviation 1)?
    #[inline]
    fn is_direct(&self, order: StoreOrder) -> bool {
        order == StoreOrder::SeqCst || self.bound == Some(0)
    }
}

impl Machine for Tso {
    const MODEL: Model = Model::Tso;

    fn with_options(options: &MachineOptions) -> Tso {
        Tso::with_buffer(options.buffer)
    }

    fn reset(&mut self) {
        self.memory.clear();
        self.buffers.iter_mut().for_each(Buffer::clear);
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
            Step::Fence { order: FenceOrder::SeqCst } | Step::Rmw { .. } | Step::Load { failed_rmw: true, .. } => {
                pending.len()
            }
            Step::Fence { .. } => 0,
            Step::Store { order, .. } if self.is_direct(order) => pending.len(),
            Step::Store { .. } => buffer::excess(pending.len(), self.bound),
            Step::Load { at, failed_rmw: false, .. } => match buffer::forward(pending, at) {
                Forward::Memory | Forward::Buffer => 0,
                Forward::Wait(newest) => newest + 1,
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
            Step::Store { at, value, .. } => {
                buffer::of(&mut self.buffers, thread).push(Entry { at, value, event, tag: () });
            }
            Step::Rmw { at, written, .. } => {
                debug_assert!(self.pending(thread).is_empty(), "an RMW before the commits that it requires");
                self.memory.observe(at);
                self.memory.write(at, written, event);
            }
            Step::Fence { .. } => {}
        }
    }

    #[inline]
    fn commits(&self, out: &mut Vec<Commit>) {
        for (thread, buffer) in (0..).map(ThreadId).zip(&self.buffers) {
            out.extend(buffer.entries().first().map(|oldest| Commit { thread, store: oldest.event }));
        }
    }

    #[inline]
    fn commit(&mut self, commit: Commit) {
        let oldest = self.buffers[commit.thread.index()].remove(0);
        debug_assert_eq!(oldest.event, commit.store, "only the oldest store of a buffer can be committed");
        self.memory.write(oldest.at, oldest.value, oldest.event);
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
        let pending = self.buffers.iter().flat_map(Buffer::entries);
        self.memory.coherence(pending.map(|entry| (entry.at, entry.event)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Drive, X, XY, Y, Z};
    use fencepost_trace::{LoadOrder, RmwOrder};
    use {LoadOrder::Relaxed as Ld, StoreOrder::Relaxed as St};

    #[test]
    fn store_buffering() {
        let mut d = Drive::<Tso>::default();
        let x = d.store(0, X, St, 1);
        let y = d.store(1, Y, St, 1);
        assert_eq!((d.load(0, Y, Ld), d.load(1, X, Ld)), (0, 0));
        assert_eq!(d.commits(), [x, y]);
        d.drain();
        assert_eq!((d.load(0, Y, Ld), d.load(1, X, Ld)), (1, 1));
    }

    #[test]
    fn a_full_barrier_forbids_store_buffering() {
        type Act = fn(&mut Drive<Tso>);
        let barriers: [(&str, Act); 4] = [
            ("fence", |d| d.fence(0, FenceOrder::SeqCst)),
            ("rmw", |d| {
                d.exchange(0, Z, RmwOrder::Relaxed, 1);
            }),
            ("failed rmw", |d| {
                d.fail(0, Z, Ld);
            }),
            ("seq_cst store", |d| {
                d.store(0, Z, StoreOrder::SeqCst, 1);
            }),
        ];
        for (name, barrier) in barriers {
            let mut d = Drive::<Tso>::default();
            d.store(0, X, St, 1);
            barrier(&mut d);
            assert_eq!(d.commits(), [], "{name}");
            assert_eq!(d.load(1, X, Ld), 1, "{name}");
        }
        let mut d = Drive::<Tso>::default();
        d.store(0, X, StoreOrder::Release, 1);
        d.fence(0, FenceOrder::AcqRel);
        assert_eq!(d.load(1, X, Ld), 0, "weaker orders mean nothing");
    }

    #[test]
    fn message_passing_is_in_order() {
        let mut d = Drive::<Tso>::default();
        let x = d.store(0, X, St, 1);
        let y = d.store(0, Y, St, 1);
        assert_eq!(d.commits(), [x]);
        d.commit(0, x);
        assert_eq!(d.commits(), [y]);
    }

    /// n6 of the x86-TSO paper: a thread reads its own store before anybody else does, and its newest one.
    #[test]
    fn own_stores_are_forwarded() {
        let mut d = Drive::<Tso>::default();
        let first = d.store(0, X, St, 1);
        assert_eq!(d.load(0, X, Ld), 1);
        assert_eq!(d.load(0, Y, Ld), 0);
        let other = d.store(1, Y, St, 2);
        let last = d.store(1, X, St, 2);
        d.commit(1, other);
        d.commit(1, last);
        assert_eq!((d.load(0, X, Ld), d.load(1, X, Ld)), (1, 2));
        d.commit(0, first);
        assert_eq!(d.load(1, X, Ld), 1);
        assert_eq!(d.machine.coherence()[0].stores, [last, first]);
    }

    #[test]
    fn an_rmw_reads_what_it_commits() {
        let mut d = Drive::<Tso>::default();
        d.store(0, X, St, 1);
        d.store(0, X, St, 2);
        assert_eq!(d.exchange(0, X, RmwOrder::Relaxed, 3), 2);
        assert_eq!(d.load(1, X, Ld), 3);
    }

    #[test]
    fn a_full_buffer_makes_room() {
        let mut d = Drive::new(Tso::with_buffer(Some(2)));
        let stores = [d.store(0, X, St, 1), d.store(0, Y, St, 1)];
        let third = Step::Store { at: Z, order: St, value: Value(1) };
        assert_eq!(d.required(0, third), stores[..1]);
        d.store(0, Z, St, 1);
        assert_eq!((d.load(1, X, Ld), d.load(1, Y, Ld)), (1, 0));
        let mut d = Drive::new(Tso::with_buffer(Some(0)));
        d.store(0, X, St, 1);
        assert_eq!(d.load(1, X, Ld), 1, "no buffer, no delay");
    }

    #[test]
    fn a_load_that_is_covered_in_part_waits() {
        let mut d = Drive::<Tso>::default();
        let wide = |at| Step::Load { at, order: Ld, failed_rmw: false };
        let z = d.store(0, Z, St, 3);
        let x = d.store(0, X, St, 1);
        let y = d.store(0, Y, St, 2);
        let z2 = d.store(0, Z, St, 4);
        assert_eq!(d.required(0, wide(XY)), [z, x, y], "up to the newest that overlaps");
        assert_eq!(d.required(0, wide(X)), []);
        assert_eq!(d.load(0, XY, Ld), 2 << 32 | 1);
        assert_eq!(d.machine.parts(), [Part { offset: 0, bytes: 4, from: x }, Part { offset: 4, bytes: 4, from: y }]);
        assert_eq!(d.commits(), [z2]);
        // A narrow load in a wide store is forwarded.
        d.store(0, XY, St, 6 << 32 | 5);
        assert_eq!((d.load(0, Y, Ld), d.load(1, Y, Ld)), (6, 2));
        assert_eq!(d.machine.parts(), []);
    }

    #[test]
    fn uncommitted_stores_come_last() {
        let mut d = Drive::<Tso>::default();
        let (first, second) = (d.store(0, X, St, 1), d.store(1, X, St, 2));
        d.commit(1, second);
        assert_eq!(d.machine.coherence()[0].stores, [second, first]);
    }
}
