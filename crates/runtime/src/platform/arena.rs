//! The runtime's own memory.
//!
//! It never comes from the program's heap: what Fencepost records must not move the program's addresses, and must
//! survive when the program's memory is put back. A range of addresses is reserved once; blocks are powers of two,
//! taken from the front of what is left or from those that were given back. Before the program is under control,
//! several kernel threads may use it.

use crate::platform::global::Lock;
use crate::platform::layout::ARENA;
use crate::platform::sys;
use std::alloc::{GlobalAlloc, Layout};

const SMALLEST: u32 = 4;
const CLASSES: usize = 38;

struct State {
    /// The first byte never handed out; 0 before the first allocation.
    next: usize,
    /// By class, the first of the free blocks; each holds the address of the next.
    free: [usize; CLASSES],
}

static STATE: Lock<State> = Lock::new(State { next: 0, free: [0; CLASSES] });

/// The allocator of this library's Rust code.
pub struct Arena;

fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    (size.next_power_of_two().trailing_zeros()) as usize
}

// SAFETY: blocks are disjoint, aligned to their size (the range is aligned to more than the largest), and stay where
// they are until given back.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        if class >= CLASSES {
            return std::ptr::null_mut();
        }
        let mut state = STATE.lock();
        let first = state.free[class];
        if first != 0 {
            // SAFETY: a block on the free list holds the address of the next.
            state.free[class] = unsafe { *(first as *const usize) };
            return first as *mut u8;
        }
        if state.next == 0 {
            match sys::reserve(ARENA.start, ARENA.length) {
                Some(base) => {
                    state.next = base;
                    // A new page costs more than what is done in it.
                    sys::prefer_large_pages(base, ARENA.length);
                }
                None => return std::ptr::null_mut(),
            }
        }
        let size = 1usize << class;
        // Large blocks need no more than page alignment, and aligning them to their size would waste address space.
        let align = size.min(1 << 12).max(layout.align());
        let at = state.next.next_multiple_of(align);
        if at + size > ARENA.end() {
            return std::ptr::null_mut();
        }
        state.next = at + size;
        at as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class_of(layout);
        let mut state = STATE.lock();
        // SAFETY: the block is at least 16 bytes and nobody uses it any more.
        unsafe { *block.cast::<usize>() = state.free[class] };
        state.free[class] = block as usize;
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `realloc`.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if class_of(new) == class_of(layout) {
            return block;
        }
        // SAFETY: both blocks are good for the smaller of the two sizes, and are not the same.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
