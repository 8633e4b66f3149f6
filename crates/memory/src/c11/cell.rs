//! Bytes that accesses of different sizes tie together.

use super::Knowledge;
use crate::Source;
use fencepost_trace::{Coherence, EventId, Location, Part, Value};

/// A run of bytes that is read and written in the order of execution.
#[derive(Clone, Debug, Default)]
pub(super) struct MixedCell {
    address: u64,
    bytes: Vec<u8>,
    /// For each byte, its last store, with how many stores there were by then.
    writers: Vec<(u64, EventId)>,
    /// How many stores there were.
    count: u64,
    /// All of them in order, if somebody is going to ask.
    stores: Vec<EventId>,
    is_forgetful: bool,
    /// Everything that was released into it.
    pub(super) released: Knowledge,
    /// The places that are part of it; some are there twice.
    pub(super) places: Vec<usize>,
}

impl MixedCell {
    /// The bytes of `at`, as they are in the beginning.
    pub(super) fn new(at: Location, initial: &mut dyn FnMut(Location) -> Value) -> MixedCell {
        let mut cell = MixedCell::default();
        cell.cover(at.address, at.end());
        cell.write(at, EventId::INIT, initial(at));
        cell
    }

    /// Will nobody ask for the order of all stores?
    pub(super) fn set_forgetful(&mut self, forgetful: bool) {
        self.is_forgetful = forgetful;
    }

    fn count(&mut self, event: EventId) {
        self.count += 1;
        if !self.is_forgetful {
            self.stores.push(event);
        }
    }

    /// Grows to hold the bytes from `start` to `end`.
    fn cover(&mut self, start: u64, end: u64) {
        if self.bytes.is_empty() {
            self.address = start;
        }
        let before = self.address.saturating_sub(start) as usize;
        self.bytes.splice(0..0, std::iter::repeat_n(0, before));
        self.writers.splice(0..0, std::iter::repeat_n((0, EventId::INIT), before));
        self.address -= before as u64;
        let length = self.bytes.len().max((end - self.address) as usize);
        self.bytes.resize(length, 0);
        self.writers.resize(length, (0, EventId::INIT));
    }

    fn range(&self, at: Location) -> std::ops::Range<usize> {
        let start = (at.address - self.address) as usize;
        start..start + at.size.bytes() as usize
    }

    fn write(&mut self, at: Location, event: EventId, value: Value) {
        let range = self.range(at);
        let bytes = value.0.to_le_bytes();
        self.bytes[range.clone()].copy_from_slice(&bytes[..range.len()]);
        self.writers[range].fill((self.count, event));
    }

    /// Takes in a location with its stores in coherence order.
    pub(super) fn absorb_place<'a>(
        &mut self,
        at: Location,
        initial: Value,
        stores: impl Iterator<Item = (EventId, Value, &'a Knowledge)>,
    ) {
        self.cover(at.address, at.end());
        self.write(at, EventId::INIT, initial);
        for (event, value, released) in stores {
            self.store(at, event, value);
            self.released.join(released);
        }
    }

    /// Takes in another cell.
    pub(super) fn absorb_cell(&mut self, other: &MixedCell) {
        self.places.extend(&other.places);
        self.cover(other.address, other.address + other.bytes.len() as u64);
        let start = (other.address - self.address) as usize;
        self.bytes[start..start + other.bytes.len()].copy_from_slice(&other.bytes);
        for (mine, (time, event)) in self.writers[start..].iter_mut().zip(&other.writers) {
            // Its stores come after those that are here.
            *mine = (if event.is_init() { 0 } else { self.count + time }, *event);
        }
        self.count += other.count;
        self.stores.extend_from_slice(&other.stores);
        self.released.join(&other.released);
    }

    /// A store.
    pub(super) fn store(&mut self, at: Location, event: EventId, value: Value) {
        self.count(event);
        self.write(at, event, value);
    }

    /// What a load reads: the newest byte of each.
    pub(super) fn newest(&self, at: Location) -> Source {
        let range = self.range(at);
        let mut bytes = [0; 16];
        bytes[..range.len()].copy_from_slice(&self.bytes[range.clone()]);
        let (_, event) = *self.writers[range].iter().max().expect("an access has bytes");
        Source { event, value: Value(u128::from_le_bytes(bytes)) }
    }

    /// Where those bytes come from, if from more than one store.
    pub(super) fn parts(&self, at: Location, out: &mut Vec<Part>) {
        for (offset, (_, writer)) in self.writers[self.range(at)].iter().enumerate() {
            match out.last_mut() {
                Some(part) if part.from == *writer => part.bytes += 1,
                _ => out.push(Part { offset: offset as u8, bytes: 1, from: *writer }),
            }
        }
        if out.len() == 1 {
            out.clear();
        }
    }

    /// The coherence order of the bytes; `None` if nothing was stored.
    pub(super) fn coherence(&self) -> Option<Coherence> {
        let bytes = self.bytes.len() as u64;
        (!self.stores.is_empty()).then(|| Coherence { address: self.address, bytes, stores: self.stores.clone() })
    }
}
