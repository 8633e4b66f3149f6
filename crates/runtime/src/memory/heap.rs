//! The program's `malloc`.
//!
//! The same plan must give the same addresses every time, so that this heap depends on nothing but the program: each
//! thread allocates from an arena of its own, and a thread that frees a block keeps it, whoever had allocated it. A
//! thread's addresses are then a function of what the thread itself does.
//!
//! A block that is freed rests before it is used again, so that a use after it was freed meets nobody else's data.
//! Fresh blocks are filled with a pattern, so that a program which reads them before it writes them sees the same in
//! every execution.
//!
//! Blocks of a megabyte and more have a region of their own, whose pages go back to the system.

use crate::platform::global::{self, Global, Lock};
use crate::platform::layout::{ARENAS, FURTHER_ARENA, FURTHER_ARENAS, FURTHER_HEAP, HEAP as RANGE};
use crate::platform::sys;
use crate::threads::fibers;
use fencepost_runtime_core::size_class::{CLASSES, class_of};

const ARENA: usize = 1 << 29;
/// What libc allocates for itself when it makes a thread: it stays when the program's memory is put back.
const SYSTEM: usize = ARENAS - 1;
const BIG_BASE: usize = RANGE.start + ARENA * ARENAS;

/// Threads after those have smaller arenas, which lie elsewhere. An arena that is full goes on among the large blocks.
const FURTHER: usize = FURTHER_ARENAS;
pub const BIG: usize = 1 << 20;

const HEADER: usize = 16;
const PATTERN: u8 = 0xa5;
/// How many bytes rest in an arena before the oldest are used again.
const REST: usize = 256 << 10;
const PAGE: usize = 4096;

const LIVE: u8 = 0xa1;
const FREED: u8 = 0xf5;
/// A block whose beginning was moved to align it: it is not used again.
const ONCE: u8 = 0xff;

/// What stands before a block.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    /// The size that was asked for, with the class above and the state on top.
    word: u64,
    /// The next block in the list that this one is on.
    next: usize,
}

impl Header {
    fn of(block: usize) -> &'static mut Header {
        // SAFETY: every block that this heap has handed out has a header before it. That `block` is one of them was
        // checked by `owns`.
        unsafe { &mut *((block - HEADER) as *mut Header) }
    }

    fn set(&mut self, size: usize, class: u8, state: u8) {
        self.word = size as u64 | (class as u64) << 48 | (state as u64) << 56;
    }

    fn size(&self) -> usize {
        (self.word & 0xffff_ffff_ffff) as usize
    }

    fn class(&self) -> u8 {
        (self.word >> 48) as u8
    }

    fn state(&self) -> u8 {
        (self.word >> 56) as u8
    }
}

#[derive(Clone, Copy)]
struct Arena {
    /// The first byte never handed out; 0 before the first allocation.
    next: usize,
    free: [usize; CLASSES],
    /// Blocks at rest, the oldest first.
    oldest: usize,
    newest: usize,
    resting: usize,
    changed: bool,
}

const EMPTY: Arena = Arena { next: 0, free: [0; CLASSES], oldest: 0, newest: 0, resting: 0, changed: false };

/// Where an arena begins and ends.
fn bounds(index: usize) -> (usize, usize) {
    match index.checked_sub(ARENAS) {
        None => (RANGE.start + index * ARENA, RANGE.start + (index + 1) * ARENA),
        Some(further) => {
            (FURTHER_HEAP.start + further * FURTHER_ARENA, FURTHER_HEAP.start + (further + 1) * FURTHER_ARENA)
        }
    }
}

/// The arena of the threads at a place.
fn arena_of(place: usize) -> usize {
    if place < SYSTEM { place } else { place + 1 }
}

/// All 0 in the beginning: it is large, and so takes no room in the library.
struct Heap {
    reserved: bool,
    /// By number: first those of the first threads, then libc's own, then those of further threads.
    arenas: [Arena; ARENAS + FURTHER],
    /// How much of the big region was handed out.
    big: usize,
    /// Big blocks that were given back, as address and length.
    big_free: [(usize, usize); 64],
}

/// Programs that are not under control have threads of their own, which allocate.
static HEAP: Lock<Heap> =
    Lock::new(Heap { reserved: false, arenas: [EMPTY; ARENAS + FURTHER], big: 0, big_free: [(0, 0); 64] });
/// What [`keep`] has kept.
static KEPT: Global<Vec<(usize, Arena)>> = Global::new(Vec::new());
static KEPT_BIG: Global<usize> = Global::new(0);

/// Runs `act` on the heap, alone.
fn with<T>(act: impl FnOnce(&mut Heap) -> T) -> T {
    let mut heap = HEAP.lock();
    if !heap.reserved {
        heap.reserved = [RANGE, FURTHER_HEAP].iter().all(|range| sys::reserve(range.start, range.length).is_some());
    }
    act(&mut heap)
}

/// Is this an address in this heap?
#[inline]
pub fn has(address: usize) -> bool {
    RANGE.contains(address) || FURTHER_HEAP.contains(address)
}

fn is_big(block: usize) -> bool {
    (BIG_BASE..RANGE.end()).contains(&block)
}

/// Is this the address of a block of this heap?
pub fn owns(block: usize) -> bool {
    has(block.wrapping_sub(HEADER)) && block.is_multiple_of(16)
}

/// A block, 0 if there is none, and whether somebody has had it before.
#[derive(Clone, Copy, Default)]
pub struct Taken {
    pub block: usize,
    pub again: bool,
}

impl Taken {
    fn fresh(block: usize) -> Taken {
        Taken { block, again: false }
    }
}

impl Heap {
    fn arena(&self) -> usize {
        match (global::is_for_libc(), global::running()) {
            (true, _) => SYSTEM,
            (_, false) => 0,
            (_, true) => arena_of(fibers::place()),
        }
    }

    fn take(&mut self, size: usize, align: usize) -> Taken {
        if !self.reserved {
            return Taken::default();
        }
        if size >= BIG || align > PAGE {
            return self.take_big(size, align);
        }
        match self.take_small(size, align) {
            Taken { block: 0, .. } => self.take_big(size, align),
            taken => taken,
        }
    }

    fn take_small(&mut self, size: usize, align: usize) -> Taken {
        let index = self.arena();
        let arena = &mut self.arenas[index];
        arena.changed = true;
        if align > 16 {
            let (_, length) = class_of(size);
            return Taken::fresh(arena.bump(index, length, size, align, ONCE));
        }
        let (class, length) = class_of(size);
        let block = arena.free[class];
        if block != 0 {
            arena.free[class] = Header::of(block).next;
            Header::of(block).set(size, class as u8, LIVE);
            return Taken { block, again: true };
        }
        Taken::fresh(arena.bump(index, length, size, 16, class as u8))
    }

    fn take_big(&mut self, size: usize, align: usize) -> Taken {
        let length = (size + HEADER).next_multiple_of(PAGE);
        let slot = self.big_free.iter_mut().find(|(at, l)| *at != 0 && *l == length && align <= 16);
        let again = slot.is_some();
        let at = match slot {
            Some(slot) => std::mem::take(&mut slot.0),
            None => {
                let at = (BIG_BASE + self.big + HEADER).next_multiple_of(align.max(16)) - HEADER;
                let end = (at + length).next_multiple_of(PAGE);
                if end > RANGE.end() || size > RANGE.length {
                    return Taken::default();
                }
                self.big = end - BIG_BASE;
                at
            }
        };
        let block = at + HEADER;
        Header::of(block).set(size, ONCE, LIVE);
        Taken { block, again }
    }

    fn give(&mut self, block: usize) {
        let header = Header::of(block);
        let (size, class) = (header.size(), header.class());
        header.set(size, class, FREED);
        if is_big(block) {
            let length = (size + HEADER).next_multiple_of(PAGE);
            // The page of the header stays: it says that the block is free.
            let start = block.next_multiple_of(PAGE);
            sys::discard(start, (block - HEADER + length).saturating_sub(start));
            if let Some(slot) = self.big_free.iter_mut().find(|slot| slot.0 == 0) {
                *slot = (block - HEADER, length);
            }
            return;
        }
        if class == ONCE {
            return;
        }
        let index = self.arena();
        self.arenas[index].rest(block, size);
    }
}

impl Arena {
    fn bump(&mut self, index: usize, length: usize, size: usize, align: usize, class: u8) -> usize {
        let (start, end) = bounds(index);
        if self.next == 0 {
            self.next = start;
        }
        let block = (self.next + HEADER).next_multiple_of(align);
        if block + length > end {
            return 0;
        }
        self.next = block + length;
        Header::of(block).set(size, class, LIVE);
        block
    }

    fn rest(&mut self, block: usize, size: usize) {
        self.changed = true;
        Header::of(block).next = 0;
        if self.oldest == 0 {
            self.oldest = block;
        } else {
            Header::of(self.newest).next = block;
        }
        self.newest = block;
        self.resting += size + HEADER;
        while self.resting > REST && self.oldest != self.newest {
            let rested = self.oldest;
            let header = Header::of(rested);
            self.oldest = header.next;
            self.resting -= header.size() + HEADER;
            let class = header.class() as usize;
            header.next = self.free[class];
            self.free[class] = rested;
        }
    }
}

/// A block of `size` bytes at a multiple of `align`. Filled with a pattern, or with zeros.
pub fn allocate(size: usize, align: usize, zeroed: bool) -> Taken {
    let taken = with(|heap| heap.take(size, align));
    let block = taken.block;
    if block != 0 {
        let byte = if zeroed { 0 } else { PATTERN };
        // The pages of a large block are fresh, but for the one that its header is on.
        let length = if !is_big(block) { size } else { size.min(block.next_multiple_of(PAGE) - block) };
        // SAFETY: the block was just taken and is this long.
        unsafe { std::ptr::write_bytes(block as *mut u8, byte, length) };
    }
    taken
}

/// What [`free`] found.
#[derive(PartialEq, Eq, Debug)]
pub enum Freed {
    Done,
    /// It was free already.
    Twice,
    /// It is not the address of a block.
    Unknown,
}

/// Gives a block back.
pub fn free(block: usize) -> Freed {
    if !owns(block) {
        return Freed::Unknown;
    }
    match Header::of(block).state() {
        LIVE => {
            with(|heap| heap.give(block));
            Freed::Done
        }
        FREED => Freed::Twice,
        _ => Freed::Unknown,
    }
}

/// The size that was asked for.
pub fn size(block: usize) -> usize {
    if owns(block) { Header::of(block).size() } else { 0 }
}

/// Remembers the state of the heap.
pub fn keep() {
    let mut kept = KEPT.enter();
    kept.clear();
    let mut heap = HEAP.lock();
    // Before the program begins there are few threads.
    for (i, arena) in heap.arenas[..ARENAS].iter_mut().enumerate() {
        arena.changed = false;
        if arena.next != 0 && i != SYSTEM {
            kept.push((i, *arena));
        }
    }
    *KEPT_BIG.enter() = heap.big;
}

/// The memory that had been handed out when it was remembered.
pub fn kept() -> Vec<(usize, usize)> {
    let mut ranges: Vec<_> = KEPT.enter().iter().map(|(i, arena)| (bounds(*i).0, arena.next)).collect();
    ranges.push((BIG_BASE, BIG_BASE + *KEPT_BIG.enter()));
    ranges.retain(|(start, end)| start < end);
    ranges
}

/// Back to the remembered state; the contents are for the snapshot.
pub fn restore() {
    let used = arena_of(fibers::all().place_count().max(1));
    let mut heap = HEAP.lock();
    let kept = KEPT.enter();
    let arenas = heap.arenas[..used].iter_mut().enumerate();
    for (i, arena) in arenas.filter(|(i, arena)| *i != SYSTEM && arena.changed) {
        *arena = kept.iter().find(|(kept, _)| *kept == i).map_or(EMPTY, |(_, arena)| *arena);
    }
    let big = *KEPT_BIG.enter();
    if heap.big > big {
        sys::discard(BIG_BASE + big, heap.big - big);
        heap.big = big;
        heap.big_free = [(0, 0); 64];
    }
}
