//! Where the runtime's own memory lies, and the program's heap and threads: far from anything that the kernel or the
//! program choose. Their low 40 bits must not be those of anything else of the program: the race detector tells
//! addresses apart by those.

/// From where to where, as a beginning and a length. Address space, not memory: pages take room when they are touched.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub start: usize,
    pub length: usize,
}

impl Range {
    pub const fn end(self) -> usize {
        self.start + self.length
    }

    #[inline(always)]
    pub fn contains(self, address: usize) -> bool {
        (self.start..self.end()).contains(&address)
    }
}

/// The runtime's own memory.
pub const ARENA: Range = Range { start: 0x1000_0000_0000, length: 1 << 38 };
/// What the processes of an exploration share.
pub const COMMON: Range = Range { start: 0x1400_0000_0000, length: 1 << 37 };
/// The slots of the race detector.
pub const SHADOW: Range = Range { start: 0x2000_0000_0000, length: 1 << 43 };
/// Who uses which memory under the hardware models.
pub const CELLS: Range = Range { start: 0x2800_0000_0000, length: 1 << 40 };
/// The heap of the first threads, and large blocks.
pub const HEAP: Range = Range { start: 0x6010_0000_0000, length: 1 << 38 };
/// The heap of further threads.
pub const FURTHER_HEAP: Range = Range { start: 0x6058_0000_0000, length: FURTHER_ARENA * FURTHER_ARENAS };
/// Stacks, and what belongs to them.
pub const THREADS: usize = 0x6070_0000_0000;

/// So many threads can there be at the same time: addresses end there.
pub const MOST_THREADS: usize = 4000;
/// So many arenas does the first part of the heap have: one is libc's own.
pub const ARENAS: usize = 256;
pub const FURTHER_ARENAS: usize = MOST_THREADS + 2 - ARENAS;
pub const FURTHER_ARENA: usize = 1 << 24;

/// All of it but the threads', which know their own.
pub const OWN: [Range; 6] = [ARENA, COMMON, SHADOW, CELLS, HEAP, FURTHER_HEAP];
