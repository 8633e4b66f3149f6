//! Shared memory of the store-buffer machines: what every byte holds, and which store wrote it.
//!
//! The array `m` of Relaxer's figures 3 to 6, by byte, so that accesses of every size may overlap:
//!
//! - A store is written to all its bytes at once, and a read takes all its bytes at once. There is no tearing, not
//!   even of unaligned accesses.
//! - A read whose bytes come from several stores gets all of them; it is said to read the one that was written
//!   last, and [`Bytes::parts`] tells the whole story.
//! - Stores are logged in the order in which they are written. That order, cut into groups of bytes that
//!   overlapping stores tie together, is the coherence order. Loads tie nothing: they order no stores.
//!
//! # Layout
//!
//! Blocks of 16 aligned bytes, found through one hash table. An aligned access lies in one block, which is
//! looked up once: [`Bytes::introduce`], the first step of every access, remembers it for the steps that follow, and
//! for the next accesses to it.

use crate::Source;
use fencepost_trace::{Coherence, EventId, Location, Part, Size, Value};
use rustc_hash::FxHashMap;

/// Bytes in a block.
const BLOCK: u64 = 16;

/// So many blocks are found without the hash table.
const RECENT: usize = 16;

/// Where among them the block of this key is.
#[inline]
fn recent_place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize
}

/// Memory, and the log of what was written to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    /// Where in `blocks` the block of an address is; the key is the address divided by [`BLOCK`].
    index: FxHashMap<u64, u32>,
    /// Some entries of `index`, each in the place that its key gives it.
    recent: [Option<(u64, u32)>; RECENT],
    /// The blocks in the order of their introduction.
    blocks: Vec<Block>,
    /// How many stores have been written.
    time: Time,
    /// Every store in the order in which it was written, unless nobody will ask for it.
    log: Vec<Written>,
    is_forgetful: bool,
    /// See [`Bytes::parts`].
    parts: Vec<Part>,
}

/// How many stores have been written: when a byte was. 0 is the initial write.
pub(crate) type Time = u32;

/// 16 aligned bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// What they hold, the first byte in the low bits.
    bytes: u128,
    /// Which of them are known.
    known: u16,
    /// The first of those that were written last, and the one behind the last of them.
    last: (u8, u8),
    /// When each was last written.
    times: [Time; BLOCK as usize],
    /// And by which store.
    writers: [EventId; BLOCK as usize],
}

/// A store that has been written.
#[derive(Clone, Copy, Debug)]
struct Written {
    at: Location,
    event: EventId,
}

/// The bytes of an access that lie in one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Which block, counted in the order of introduction.
    pub block: usize,
    /// The first byte in the block.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Piece {
    /// The bytes in the block.
    pub fn range(self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// Were these bytes written at one time? Most accesses have 8 bytes, and 8 are compared at once.
#[inline]
fn is_uniform(times: &[Time]) -> bool {
    match <&[Time; 8]>::try_from(times) {
        Ok(times) => times.iter().fold(0, |differs, time| differs | (time ^ times[0])) == 0,
        Err(_) => times.iter().all(|time| *time == times[0]),
    }
}

/// Puts the same into each; 8 at once.
#[inline]
fn fill<T: Copy>(slots: &mut [T], with: T) {
    match <&mut [T; 8]>::try_from(&mut *slots) {
        Ok(slots) => *slots = [with; 8],
        Err(_) => slots.fill(with),
    }
}

/// All ones in the low `count` bytes.
#[inline]
fn ones(count: u64) -> u128 {
    if count >= 16 { u128::MAX } else { (1 << (8 * count)) - 1 }
}

/// The value of `at` when `value`, what it held, is overwritten by a store of `by` to `over`.
#[inline]
pub(crate) fn overwrite(at: Location, value: Value, over: Location, by: Value) -> Value {
    if !at.overlaps(over) {
        return value;
    }
    let mask = ones(over.size.bytes());
    let (mask, bits) = if over.address >= at.address {
        let shift = 8 * (over.address - at.address);
        (mask << shift, (by.0 & mask) << shift)
    } else {
        let shift = 8 * (at.address - over.address);
        (mask >> shift, (by.0 & mask) >> shift)
    };
    at.size.truncate(value.0 & !mask | bits)
}

impl Block {
    /// Were these bytes written at one time?
    #[inline]
    fn is_of_one_time(&self, piece: Piece) -> bool {
        let (first, end) = self.last;
        let by_last = usize::from(first) <= piece.first && piece.first + piece.count <= usize::from(end);
        by_last || is_uniform(&self.times[piece.range()])
    }
}

impl Bytes {
    /// Forgets everything, keeping allocations.
    pub fn clear(&mut self) {
        self.index.clear();
        self.recent = [None; RECENT];
        self.blocks.clear();
        self.time = 0;
        self.log.clear();
        self.parts.clear();
    }

    /// Will nobody ask for the order of all stores?
    pub fn set_forgetful(&mut self, forgetful: bool) {
        self.is_forgetful = forgetful;
    }

    /// Makes the bytes of `at` known; those that are known already stay as they are.
    #[inline]
    pub fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        let (key, offset) = (at.address / BLOCK, at.address % BLOCK);
        if let Some((recent, position)) = self.recent[recent_place(key)]
            && recent == key
            && let wanted = ((1u32 << at.size.bytes()) - 1) << offset
            && u32::from(self.blocks[position as usize].known) & wanted == wanted
        {
            return;
        }
        self.introduce_bytes(at, initial);
    }

    fn introduce_bytes(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        let (key, offset) = (at.address / BLOCK, at.address % BLOCK);
        let inside = at.size.bytes().min(BLOCK - offset);
        self.introduce_block(key, offset, inside, at, initial);
        if inside < at.size.bytes() {
            self.introduce_block(key + 1, 0, at.size.bytes() - inside, at, initial);
        }
    }

    #[inline]
    fn introduce_block(
        &mut self,
        key: u64,
        first: u64,
        count: u64,
        at: Location,
        initial: &mut dyn FnMut(Location) -> Value,
    ) {
        let position = match self.recent[recent_place(key)] {
            Some((recent, position)) if recent == key => position,
            _ => {
                let next = self.blocks.len() as u32;
                let position = *self.index.entry(key).or_insert(next);
                if position == next {
                    self.blocks.push(Block::default());
                }
                self.recent[recent_place(key)] = Some((key, position));
                position
            }
        };
        let block = &mut self.blocks[position as usize];
        let wanted = (((1u32 << count) - 1) << first) as u16;
        if block.known & wanted == wanted {
            return;
        }
        let whole = Location::new(key.wrapping_mul(BLOCK), Size::B16);
        let filled = overwrite(whole, Value(block.bytes), at, initial(at));
        if block.known & wanted == 0 {
            let mask = ones(count) << (8 * first);
            block.bytes = block.bytes & !mask | filled.0 & mask;
        }
        for byte in (first..first + count).filter(|byte| block.known & wanted != 0 && block.known & (1 << byte) == 0) {
            let mask = 0xff << (8 * byte);
            block.bytes = block.bytes & !mask | filled.0 & mask;
        }
        block.known |= wanted;
    }

    /// The pieces of an access: two if it crosses from one block into the next.
    #[inline]
    pub fn pieces(&self, at: Location) -> (Piece, Option<Piece>) {
        let (key, offset) = (at.address / BLOCK, at.address % BLOCK);
        if offset + at.size.bytes() <= BLOCK {
            let piece = Piece { block: self.position(key), first: offset as usize, count: at.size.bytes() as usize };
            return (piece, None);
        }
        let inside = BLOCK - offset;
        let rest = at.size.bytes() - inside;
        let first = Piece { block: self.position(key), first: offset as usize, count: inside as usize };
        let second = Piece { block: self.position(key + 1), first: 0, count: rest as usize };
        (first, Some(second))
    }

    #[inline]
    fn position(&self, key: u64) -> usize {
        match self.recent[recent_place(key)] {
            Some((recent, position)) if recent == key => position as usize,
            _ => self.index[&key] as usize,
        }
    }

    /// What `at` holds, and the last store that wrote to it.
    #[inline]
    pub fn read(&self, at: Location) -> Source {
        let (key, offset) = (at.address / BLOCK, at.address % BLOCK);
        if let Some((recent, position)) = self.recent[recent_place(key)]
            && recent == key
            && offset + at.size.bytes() <= BLOCK
        {
            let count = at.size.bytes() as usize;
            let (bits, (_, event)) = self.read_piece(Piece { block: position as usize, first: offset as usize, count });
            return Source { event, value: at.size.truncate(bits) };
        }
        self.read_pieces(at)
    }

    fn read_pieces(&self, at: Location) -> Source {
        let (first, second) = self.pieces(at);
        let (mut bits, mut newest) = self.read_piece(first);
        if let Some(second) = second {
            let (high, time) = self.read_piece(second);
            bits = bits & ones(first.count as u64) | high << (8 * first.count);
            newest = newest.max(time);
        }
        Source { event: newest.1, value: at.size.truncate(bits) }
    }

    #[inline]
    fn read_piece(&self, piece: Piece) -> (u128, (Time, EventId)) {
        let block = &self.blocks[piece.block];
        let mut newest = piece.first;
        if !block.is_of_one_time(piece) {
            for byte in piece.range() {
                if block.times[byte] > block.times[newest] {
                    newest = byte;
                }
            }
        }
        (block.bytes >> (8 * piece.first), (block.times[newest], block.writers[newest]))
    }

    /// Writes `value` to all bytes of `at`.
    #[inline]
    pub fn write(&mut self, at: Location, value: Value, event: EventId) {
        self.time += 1;
        if !self.is_forgetful {
            self.log.push(Written { at, event });
        }
        let (first, second) = self.pieces(at);
        self.write_piece(first, value.0, event);
        if let Some(second) = second {
            self.write_piece(second, value.0 >> (8 * first.count), event);
        }
    }

    #[inline]
    fn write_piece(&mut self, piece: Piece, bits: u128, event: EventId) {
        let time = self.time();
        let block = &mut self.blocks[piece.block];
        let mask = ones(piece.count as u64);
        let shift = 8 * piece.first;
        block.bytes = block.bytes & !(mask << shift) | (bits & mask) << shift;
        block.last = (piece.first as u8, (piece.first + piece.count) as u8);
        fill(&mut block.times[piece.range()], time);
        fill(&mut block.writers[piece.range()], event);
    }

    /// How many stores have been written.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// A read of `at` takes place: from now on [`parts`](Bytes::parts) speaks of it.
    #[inline]
    pub fn observe(&mut self, at: Location) {
        // Who does not keep the log keeps no events that could say where their bytes came from.
        if self.is_forgetful {
            return;
        }
        self.observe_one();
        let (first, second) = self.pieces(at);
        if second.is_some() || !self.blocks[first.block].is_of_one_time(first) {
            self.split(first, second);
        }
    }

    /// A read takes place whose bytes all come from one store.
    #[inline]
    pub fn observe_one(&mut self) {
        self.parts.clear();
    }

    /// Fills `parts`, unless all bytes have one writer.
    #[cold]
    fn split(&mut self, first: Piece, second: Option<Piece>) {
        let mut offset = 0;
        for piece in [Some(first), second].into_iter().flatten() {
            for byte in piece.range() {
                let from = self.blocks[piece.block].writers[byte];
                match self.parts.last_mut() {
                    Some(last) if last.from == from => last.bytes += 1,
                    _ => self.parts.push(Part { offset, bytes: 1, from }),
                }
                offset += 1;
            }
        }
        if self.parts.len() == 1 {
            self.parts.clear();
        }
    }

    /// Where the bytes of the read that took place last came from; empty if from one store.
    #[inline]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The coherence order: what was written, then what is `pending` in the buffers.
    pub fn coherence(&self, pending: impl Iterator<Item = (Location, EventId)>) -> Vec<Coherence> {
        let stores: Vec<_> = self.log.iter().map(|w| (w.at, w.event)).chain(pending).collect();
        let mut extents: Vec<_> = stores.iter().map(|(at, _)| (at.address, at.end())).collect();
        extents.sort_unstable();
        let mut groups: Vec<Coherence> = Vec::new();
        for (start, end) in extents {
            match groups.last_mut() {
                Some(last) if start < last.address + last.bytes => last.bytes = last.bytes.max(end - last.address),
                _ => groups.push(Coherence { address: start, bytes: end - start, stores: Vec::new() }),
            }
        }
        for (at, event) in stores {
            let group = groups.partition_point(|group| group.address <= at.address) - 1;
            groups[group].stores.push(event);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn at(address: u64, size: Size) -> Location {
        Location::new(address, size)
    }

    fn known(locations: &[Location]) -> Bytes {
        let mut bytes = Bytes::default();
        for location in locations {
            bytes.introduce(*location, &mut |_| Value::ZERO);
        }
        bytes
    }

    #[test]
    fn bytes_are_introduced_once() {
        let mut bytes = Bytes::default();
        bytes.introduce(at(4, Size::B2), &mut |_| Value(0x1122));
        bytes.introduce(at(4, Size::B2), &mut |_| panic!("the bytes are known"));
        // only the two bytes on either side are new
        bytes.introduce(at(3, Size::B4), &mut |_| Value(0xaabb_ccdd));
        assert_eq!(bytes.read(at(3, Size::B4)), Source { event: EventId::INIT, value: Value(0xaa11_22dd) });
    }

    #[test]
    fn a_wide_read_takes_bytes_from_several_stores() {
        let (word, low, high) = (at(8, Size::B4), at(8, Size::B2), at(10, Size::B2));
        let mut bytes = known(&[word]);
        bytes.write(high, Value(0xbbbb), EventId(7));
        bytes.write(low, Value(0xaaaa), EventId(3));
        // event 3 was committed last: it is the newest although its number is lower
        assert_eq!(bytes.read(word), Source { event: EventId(3), value: Value(0xbbbb_aaaa) });
        bytes.observe(word);
        let part = |offset, from| Part { offset, bytes: 2, from: EventId(from) };
        assert_eq!(bytes.parts(), &[part(0, 3), part(2, 7)]);
        bytes.observe(low);
        assert_eq!(bytes.parts(), &[]);
    }

    #[test]
    fn coherence_is_one_list_per_group_of_overlapping_stores() {
        let locations = [at(8, Size::B4), at(0, Size::B4), at(4, Size::B4), at(2, Size::B4), at(8, Size::B4)];
        let mut bytes = known(&locations);
        for (event, location) in (1..).zip(locations) {
            bytes.write(location, Value(0), EventId(event));
        }
        let pending = [(at(100, Size::B1), EventId(9)), (at(8, Size::B4), EventId(6))];
        // [0,4) and [4,8) only touch each other, but [2,6) ties them; [8,12) only touches that group
        let group = |address, bytes, stores: &[u32]| Coherence {
            address,
            bytes,
            stores: stores.iter().map(|e| EventId(*e)).collect(),
        };
        assert_eq!(
            bytes.coherence(pending.into_iter()),
            [group(0, 8, &[2, 3, 4]), group(8, 4, &[1, 5, 6]), group(100, 1, &[9])]
        );
    }

    #[test]
    fn overwriting_is_by_byte() {
        let word = at(8, Size::B4);
        let over = |other, by| overwrite(word, Value(0x4433_2211), other, Value(by));
        assert_eq!(over(at(9, Size::B2), 0xbbaa), Value(0x44bb_aa11));
        assert_eq!(over(at(6, Size::B4), 0xddcc_bbaa), Value(0x4433_ddcc));
        assert_eq!(over(at(11, Size::B8), 0xffee), Value(0xee33_2211));
        assert_eq!(over(at(0, Size::B16), 0x88776655 << 64), Value(0x8877_6655));
        assert_eq!(over(at(12, Size::B4), 0xffff), Value(0x4433_2211));
    }

    /// Against a table of single bytes: every size at every offset, across blocks, in a fixed pseudo-random order.
    #[test]
    fn agrees_with_a_table_of_bytes() {
        const SIZES: [Size; 5] = [Size::B1, Size::B2, Size::B4, Size::B8, Size::B16];
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut bytes = Bytes::default();
        let mut table: BTreeMap<u64, (u8, EventId)> = BTreeMap::new();
        for event in 1..20_000 {
            let location = at(random(64), SIZES[random(5) as usize]);
            let fresh = random(u64::MAX) as u128 * 0x1_0001_0001_0001_0001;
            let fresh = location.size.truncate(fresh);
            bytes.introduce(location, &mut |_| fresh);
            let each = || (location.address..location.end()).zip(fresh.0.to_le_bytes());
            for (address, byte) in each() {
                table.entry(address).or_insert((byte, EventId::INIT));
            }
            if random(2) == 0 {
                bytes.write(location, fresh, EventId(event));
                table.extend(each().map(|(address, byte)| (address, (byte, EventId(event)))));
            }
            let expected: Vec<_> = (location.address..location.end()).map(|address| table[&address]).collect();
            let mut wide = [0; 16];
            expected.iter().zip(&mut wide).for_each(|((byte, _), to)| *to = *byte);
            // events are written in the order of their numbers here
            let newest = expected.iter().map(|(_, event)| *event).max().unwrap();
            assert_eq!(bytes.read(location), Source { event: newest, value: Value(u128::from_le_bytes(wide)) });
            bytes.observe(location);
            let writers: Vec<_> = match bytes.parts() {
                [] => vec![newest; expected.len()],
                parts => parts.iter().flat_map(|p| vec![p.from; p.bytes as usize]).collect(),
            };
            assert_eq!(writers, expected.iter().map(|(_, event)| *event).collect::<Vec<_>>());
        }
    }
}
