//! A thread's store buffer: stores that were performed and that no other thread sees yet.
//!
//! `B[p]` of Relaxer's figures 4 to 6. Which entry may leave next is for the models to say; what is here is what
//! they share, the reading of one's own stores:
//!
//! - A load whose bytes all lie in the newest buffered store that overlaps it is forwarded from that store.
//! - A load that buffered stores overlap in any other way (it is wider than the newest, or sticks out) is not
//!   forwarded: it waits until the stores that overlap it are in memory, and then reads memory. So does x86, and
//!   a store is then always seen by others before its bytes are seen by such a load.

use crate::Source;
use crate::bytes::{Bytes, overwrite};
use fencepost_trace::{EventId, Location, ThreadId, Value};

/// A buffered store, with what the model must know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T> {
    pub at: Location,
    pub value: Value,
    pub event: EventId,
    pub tag: T,
}

/// The buffered stores of one thread in program order.
#[derive(Clone, Debug)]
pub(crate) struct Buffer<T> {
    entries: Vec<Entry<T>>,
    /// How many entries at the front have left: taking the oldest moves none of the others.
    gone: usize,
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer { entries: Vec::new(), gone: 0 }
    }
}

/// How a load gets at the bytes of its thread's buffered stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forward {
    /// It does not: no buffered store overlaps it.
    Memory,
    /// The newest buffered store that overlaps it has all its bytes.
    Buffer,
    /// It must wait until the buffered stores that overlap it, the newest at this position, are committed.
    Wait(usize),
}

impl<T: Copy> Buffer<T> {
    /// Forgets everything, keeping allocations.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.gone = 0;
    }

    /// The buffered stores, oldest first.
    #[inline]
    pub fn entries(&self) -> &[Entry<T>] {
        &self.entries[self.gone..]
    }

    /// The same, to be changed.
    #[inline]
    pub fn entries_mut(&mut self) -> &mut [Entry<T>] {
        &mut self.entries[self.gone..]
    }

    /// Appends a store.
    #[inline]
    pub fn push(&mut self, entry: Entry<T>) {
        debug_assert!(
            self.entries().last().is_none_or(|last| last.event < entry.event),
            "stores come in program order"
        );
        if self.gone > 16 && self.gone > self.entries.len() / 2 {
            self.entries.drain(..self.gone);
            self.gone = 0;
        }
        self.entries.push(entry);
    }

    /// Takes out the store at this position.
    #[inline]
    pub fn remove(&mut self, position: usize) -> Entry<T> {
        if position > 0 {
            return self.entries.remove(self.gone + position);
        }
        let oldest = self.entries[self.gone];
        self.gone += 1;
        if self.gone == self.entries.len() {
            self.clear();
        }
        oldest
    }

    /// Where the store is.
    #[inline]
    pub fn position(&self, store: EventId) -> Option<usize> {
        self.entries().binary_search_by_key(&store, |entry| entry.event).ok()
    }
}

/// How a load of `at` gets at the bytes of these buffered stores.
#[inline]
pub(crate) fn forward<T>(pending: &[Entry<T>], at: Location) -> Forward {
    match pending.iter().rposition(|entry| entry.at.overlaps(at)) {
        None => Forward::Memory,
        Some(newest) if pending[newest].at.covers(at) => Forward::Buffer,
        Some(newest) => Forward::Wait(newest),
    }
}

/// What a read of `at` by the thread with these buffered stores gets: the newest value in its own order.
///
/// This is right for a load that is forwarded, for one that reads memory, and for a read that commits the
/// stores that overlap it first, because they are committed in program order and nothing comes between.
#[inline]
pub(crate) fn read<T>(pending: &[Entry<T>], at: Location, memory: &Bytes) -> Source {
    let Some(newest) = pending.iter().rposition(|entry| entry.at.overlaps(at)) else {
        return memory.read(at);
    };
    let event = pending[newest].event;
    let (oldest, before) = match pending[newest].at.covers(at) {
        true => (newest, Value::ZERO),
        false => (0, memory.read(at).value),
    };
    let value =
        pending[oldest..=newest].iter().fold(before, |value, entry| overwrite(at, value, entry.at, entry.value));
    Source { event, value }
}

/// How many of `pending` stores must leave a buffer so that another finds room.
#[inline]
pub(crate) fn excess(pending: usize, bound: Option<u32>) -> usize {
    bound.map_or(0, |bound| (pending + 1).saturating_sub(bound as usize))
}

/// The entry of `thread` in a table that grows with the threads.
#[inline]
pub(crate) fn of<T: Default>(table: &mut Vec<T>, thread: ThreadId) -> &mut T {
    if table.len() <= thread.index() {
        table.resize_with(thread.index() + 1, T::default);
    }
    &mut table[thread.index()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::Size;

    fn entry(event: u32, address: u64, size: Size, value: u128) -> Entry<()> {
        Entry { at: Location::new(address, size), value: Value(value), event: EventId(event), tag: () }
    }

    #[test]
    fn only_the_newest_overlapping_store_forwards() {
        let pending = [entry(1, 0, Size::B8, 0x1111_1111_1111_1111), entry(2, 0, Size::B2, 0x2222)];
        let load = |address, size| forward(&pending, Location::new(address, size));
        assert_eq!(load(0, Size::B2), Forward::Buffer);
        assert_eq!(load(1, Size::B1), Forward::Buffer);
        assert_eq!(load(4, Size::B4), Forward::Buffer);
        // the older store has all four bytes, but two of them are not its any more
        assert_eq!(load(0, Size::B4), Forward::Wait(1));
        // sticks out
        assert_eq!(load(6, Size::B4), Forward::Wait(0));
        assert_eq!(load(8, Size::B4), Forward::Memory);
    }

    #[test]
    fn reads_see_the_thread_s_own_order() {
        let mut memory = Bytes::default();
        let word = Location::new(0, Size::B4);
        memory.introduce(word, &mut |_| Value(0x4444_4444));
        let pending = [entry(1, 0, Size::B2, 0x1111), entry(2, 1, Size::B1, 0x22)];
        let read = |size| read(&pending, Location::new(0, size), &memory);
        assert_eq!(read(Size::B4), Source { event: EventId(2), value: Value(0x4444_2211) });
        assert_eq!(read(Size::B2), Source { event: EventId(2), value: Value(0x2211) });
        assert_eq!(read(Size::B1), Source { event: EventId(1), value: Value(0x11) });
    }

    #[test]
    fn entries_stay_in_program_order() {
        let mut buffer = Buffer::default();
        let mut left = Vec::new();
        for event in 1..=100 {
            buffer.push(entry(event, 0, Size::B1, 0));
            if event % 3 != 0 {
                left.push(buffer.remove(0).event.0);
            }
        }
        assert_eq!(buffer.position(EventId(90)), Some(90 - left.len() - 1));
        assert_eq!(buffer.remove(5).event.0, left.len() as u32 + 6);
        left.extend(buffer.entries().iter().map(|entry| entry.event.0));
        assert!(left.is_sorted());
        assert_eq!(left.len(), 99);
    }
}
