//! Where in memory: an address and a size.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The width of an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
#[repr(u8)]
pub enum Size {
    /// 8 bits
    B1 = 1,
    /// 16 bits
    B2 = 2,
    /// 32 bits
    B4 = 4,
    /// 64 bits
    B8 = 8,
    /// 128 bits
    B16 = 16,
}

impl Size {
    /// The number of bytes.
    #[inline]
    pub fn bytes(self) -> u64 {
        self as u8 as u64
    }

    /// `value` cut to this width, as a store to memory does.
    #[inline]
    pub fn truncate(self, value: u128) -> Value {
        match self {
            Size::B16 => Value(value),
            _ => Value(value & ((1u128 << (8 * self.bytes())) - 1)),
        }
    }
}

impl From<Size> for u8 {
    fn from(size: Size) -> u8 {
        size as u8
    }
}

impl TryFrom<u8> for Size {
    type Error = String;
    fn try_from(bytes: u8) -> Result<Size, String> {
        Ok(match bytes {
            1 => Size::B1,
            2 => Size::B2,
            4 => Size::B4,
            8 => Size::B8,
            16 => Size::B16,
            _ => return Err(format!("an access is 1, 2, 4, 8 or 16 bytes wide, not {bytes}")),
        })
    }
}

/// The bytes that an access touches.
///
/// Addresses with the top bit set are not the program's: they hold the state of synchronisation objects
/// and threads (see [`Hidden`]), so that locks and joins are memory accesses like any other to a model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub size: Size,
}

/// What a location outside the program's memory stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Hidden {
    /// A mutex: 0 is free, otherwise the owner's thread number plus one.
    Mutex = 1,
    /// A reader-writer lock: the number of readers, or all ones for a writer.
    RwLock = 2,
    /// A condition variable: an interned set of waiting and woken threads.
    Condvar = 3,
    /// A semaphore: its count.
    Semaphore = 4,
    /// A barrier: how many threads ever arrived.
    Barrier = 5,
    /// A once cell: 0 new, 1 running, 2 done.
    Once = 6,
    /// A thread's park token.
    Park = 7,
    /// A thread's start: 1 when its creator has let it go.
    ThreadStart = 8,
    /// A thread's end: 1 when it has ended.
    ThreadEnd = 9,
    /// A file through which threads hand something to each other: its value means nothing.
    File = 10,
    /// One generation of a barrier: how many threads had arrived when the last of them let the others go.
    BarrierOpen = 11,
    /// 1 when somebody has asked a thread to end (`pthread_cancel`).
    Cancellation = 12,
    /// 1 when a thread is about to end, for those who look without waiting (`pthread_tryjoin_np`).
    Ending = 13,
}

const HIDDEN: u64 = 1 << 63;
const KIND_SHIFT: u32 = 56;
const KIND_MASK: u64 = 0x7f << KIND_SHIFT;
const SPREAD: u32 = 4;

impl Location {
    /// Tells two kinds of objects at the same address apart whose hidden states are alike: futexes from condition
    /// variables, and the guards of C++ statics from `pthread_once_t`. Part of the key.
    pub const OTHER_KEY: u64 = 1 << 50;

    /// Among hidden files, where pipes have small numbers: all sockets, queues and their like.
    pub const SOCKETS: u64 = 0;
    /// Signals that threads send to each other.
    pub const SIGNALS: u64 = (u32::MAX - 1) as u64;
    /// Whatever the kernel keeps that threads of an exploration wait for.
    pub const ANY_FILE: u64 = u32::MAX as u64;

    /// `size` bytes at `address`.
    #[inline]
    pub fn new(address: u64, size: Size) -> Self {
        Location { address, size }
    }

    /// The hidden state of the object of this kind at `key` (an address, or a thread's number).
    #[inline]
    pub fn hidden(kind: Hidden, key: u64) -> Self {
        // Objects may be a byte apart, and their states are 8 bytes wide.
        debug_assert!(key >> (KIND_SHIFT - SPREAD) == 0, "user addresses end below bit 52");
        Location { address: HIDDEN | (kind as u64) << KIND_SHIFT | key << SPREAD, size: Size::B8 }
    }

    /// Is it the hidden state of an object of this kind?
    #[inline]
    pub fn is_hidden(self, kind: Hidden) -> bool {
        self.address & (HIDDEN | KIND_MASK) == HIDDEN | (kind as u64) << KIND_SHIFT
    }

    /// The kind and key of a hidden location; `None` for the program's own memory.
    #[inline]
    pub fn as_hidden(self) -> Option<(Hidden, u64)> {
        const KINDS: [Hidden; 13] = [
            Hidden::Mutex,
            Hidden::RwLock,
            Hidden::Condvar,
            Hidden::Semaphore,
            Hidden::Barrier,
            Hidden::Once,
            Hidden::Park,
            Hidden::ThreadStart,
            Hidden::ThreadEnd,
            Hidden::File,
            Hidden::BarrierOpen,
            Hidden::Cancellation,
            Hidden::Ending,
        ];
        if self.address & HIDDEN == 0 {
            return None;
        }
        let number = (self.address & KIND_MASK) >> KIND_SHIFT;
        let kind = KINDS[number as usize - 1];
        Some((kind, (self.address & !(HIDDEN | KIND_MASK)) >> SPREAD))
    }

    /// The address behind the last byte.
    #[inline]
    pub fn end(self) -> u64 {
        self.address + self.size.bytes()
    }

    /// Do the two share a byte?
    #[inline]
    pub fn overlaps(self, other: Location) -> bool {
        self.address < other.end() && other.address < self.end()
    }

    /// Does this one contain every byte of `other`?
    #[inline]
    pub fn covers(self, other: Location) -> bool {
        self.address <= other.address && other.end() <= self.end()
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_hidden() {
            Some((kind, key)) => write!(f, "{kind:?}({key:#x})"),
            None => write!(f, "[{:#x};{}]", self.address, self.size.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_locations_name_their_object() {
        let all = [Hidden::Mutex, Hidden::Condvar, Hidden::ThreadEnd];
        for kind in all {
            let l = Location::hidden(kind, 0x7fff_1234_5678);
            assert_eq!(l.as_hidden(), Some((kind, 0x7fff_1234_5678)));
            assert_eq!(all.map(|other| l.is_hidden(other)), all.map(|other| kind == other));
        }
        assert_eq!(Location::new(0x7fff_1234_5678, Size::B4).as_hidden(), None);
        assert!(!Location::hidden(Hidden::Park, 1).overlaps(Location::hidden(Hidden::Park, 2)));
    }

    #[test]
    fn overlap_is_by_byte() {
        let at = |a, s| Location::new(a, s);
        assert!(at(8, Size::B8).overlaps(at(12, Size::B4)));
        assert!(at(8, Size::B8).covers(at(12, Size::B4)));
        assert!(!at(8, Size::B4).overlaps(at(12, Size::B4)));
        assert!(at(10, Size::B4).overlaps(at(12, Size::B4)));
        assert!(!at(10, Size::B4).covers(at(12, Size::B4)));
    }

    #[test]
    fn values_are_cut_to_the_width() {
        assert_eq!(Size::B1.truncate(0x1ff), Value(0xff));
        assert_eq!(Size::B16.truncate(u128::MAX), Value(u128::MAX));
    }
}
