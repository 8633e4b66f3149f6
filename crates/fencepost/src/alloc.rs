//! Things that must be gone in the end: one that is not is a leak, and reported. And the allocator that tests run with.

use crate::rt;
pub use std::alloc::Layout;
use std::alloc::{GlobalAlloc, System};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location as Caller;
use std::sync::{Mutex, PoisonError};

/// A value that must be dropped before the execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: Option<T>,
    number: u64,
}

impl<T> Track<T> {
    /// Watches over `value`.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        let number = rt::current().map_or(0, |context| context.track("tracked value", Caller::caller()));
        Track { value: Some(value), number }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        self.value.as_ref().expect("it is there until it is taken")
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is there until it is taken")
    }

    /// The value, no longer watched over.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect("it is there until it is taken")
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        if let Some(context) = rt::current() {
            context.untrack(self.number);
        }
    }
}

/// What is allocated with [`alloc`], by address.
static BLOCKS: Mutex<Option<HashMap<usize, u64>>> = Mutex::new(None);

/// As [`std::alloc::alloc`]; the block must be given back before the execution ends.
///
/// # Safety
///
/// As there.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let block = unsafe { std::alloc::alloc(layout) };
    note(block, Caller::caller());
    block
}

/// As [`std::alloc::alloc_zeroed`]; the block must be given back before the execution ends.
///
/// # Safety
///
/// As there.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    note(block, Caller::caller());
    block
}

/// As [`std::alloc::dealloc`].
///
/// # Safety
///
/// As there; the block must come from this module.
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    if let Some(context) = rt::current() {
        let number =
            BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|m| m.remove(&block.addr()));
        context.untrack(number.unwrap_or(0));
    }
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(block, layout) };
}

fn note(block: *mut u8, caller: &'static Caller<'static>) {
    if let Some(context) = rt::current() {
        let number = context.track("block of memory", caller);
        BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(block.addr(), number);
    }
}

/// The allocator of test programs: std's, but what the threads of a check free is kept to the end of the execution. So
/// no
/// two objects of an execution have the same address, and a pointer means the same whenever threads run: a
/// compare-exchange cannot take a new object for an old one in one run and not in the next.
///
/// It is the global allocator unless the feature `own-allocator` is on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarantine;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    static FREED: RefCell<Vec<(*mut u8, Layout)>> = const { RefCell::new(Vec::new()) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    /// The blocks that threads of the check have allocated in this execution, if they are watched: where, how long.
    static ALLOCATED: RefCell<Vec<(*mut u8, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Until this is dropped, what is allocated is Fencepost's own.
pub(crate) struct Internal(bool);

impl Internal {
    pub(crate) fn enter() -> Internal {
        Internal(RUNNING.replace(false))
    }
}

impl Drop for Internal {
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// An execution begins; is what its threads allocate to be watched?
pub(crate) fn watch(watched: bool) {
    WATCHED.set(watched);
    ALLOCATED.with_borrow_mut(Vec::clear);
}

/// What the blocks hold that are watched, summed up. Freed ones are among them: they are kept to the end.
pub(crate) fn contents() -> u64 {
    let mix = |at: usize, word: usize| {
        let both = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word as u64;
        (both ^ (both >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let of_block = |block: &(*mut u8, usize)| {
        let (start, length) = *block;
        let word = size_of::<usize>();
        let whole = if start.addr().is_multiple_of(word) { length / word } else { 0 };
        let mut sum = 0_u64;
        for i in 0..whole {
            let at = start.cast::<usize>().wrapping_add(i);
            // SAFETY: the block is not given back before the execution ends, its threads do not run, and the address is
            // aligned. What was never written is taken as it is: a volatile read does.
            sum = sum.wrapping_add(mix(at.addr(), unsafe { at.read_volatile() }));
        }
        for i in whole * word..length {
            let at = start.wrapping_add(i);
            // SAFETY: as above.
            sum = sum.wrapping_add(mix(at.addr(), usize::from(unsafe { at.read_volatile() })));
        }
        sum
    };
    ALLOCATED.with_borrow(|blocks| blocks.iter().map(of_block).fold(0, u64::wrapping_add))
}

/// Watches a new block, if it is one of the program's.
fn note_block(block: *mut u8, length: usize) -> *mut u8 {
    if WATCHED.get() && RUNNING.get() {
        let _own = Internal::enter();
        let _ = ALLOCATED.try_with(|blocks| blocks.borrow_mut().push((block, length)));
    }
    block
}

/// Threads of a check run from now on, or no longer.
#[inline]
pub(crate) fn set_running(running: bool) {
    RUNNING.set(running);
}

/// The execution is over.
pub(crate) fn release() {
    // When the kernel thread ends the list may be gone already.
    let _ = FREED.try_with(|list| {
        let mut freed = list.take();
        for (block, layout) in freed.drain(..) {
            // SAFETY: the program has freed it, with this layout, and it was kept since.
            unsafe { spare::keep(block, layout) };
        }
        list.replace(freed);
    });
}

/// The kernel thread ends, or runs no executions any more.
pub(crate) fn give_back() {
    release();
    spare::give_back();
}

/// Small blocks that an execution has freed, for the next one: it asks for as many of the same sizes, and the system's
/// allocator takes a good part of its time.
mod spare {
    use super::{Layout, System};
    use std::alloc::GlobalAlloc;
    use std::cell::Cell;

    /// Sizes and alignments of small blocks are rounded up to this.
    const STEP: usize = 16;
    const SIZES: usize = 16;
    /// So many of each size are kept.
    const MOST: u32 = 1024;

    thread_local! {
        /// The blocks of each size, each of which holds the address of the next, and how many there are.
        static BLOCKS: [Cell<(*mut u8, u32)>; SIZES] =
            const { [const { Cell::new((std::ptr::null_mut(), 0)) }; SIZES] };
    }

    /// What is asked of the system for a block: whoever gets it and gives it back rounds alike.
    #[inline]
    pub(super) fn rounded(layout: Layout) -> Layout {
        // A size of 0 wraps, and is not small.
        if layout.size().wrapping_sub(1) >= SIZES * STEP || layout.align() > STEP {
            return layout;
        }
        Layout::from_size_align(layout.size().next_multiple_of(STEP), STEP).unwrap_or(layout)
    }

    /// Which list the blocks of this layout are in.
    #[inline]
    fn list(layout: Layout) -> Option<usize> {
        let (size, wrapped) = (layout.size(), layout.size().wrapping_sub(1));
        let is_small = layout.align() == STEP && wrapped < SIZES * STEP && size.is_multiple_of(STEP);
        is_small.then_some(wrapped / STEP)
    }

    /// A block of this layout, which is [`rounded`], or null. What it holds is what was there.
    #[inline]
    pub(super) fn take(layout: Layout) -> *mut u8 {
        let Some(list) = list(layout) else { return std::ptr::null_mut() };
        BLOCKS.with(|blocks| {
            let (block, known) = blocks[list].get();
            if !block.is_null() {
                // SAFETY: it is in the list, so that `keep` has put the next one's address there.
                blocks[list].set((unsafe { block.cast::<*mut u8>().read() }, known - 1));
            }
            block
        })
    }

    /// Keeps a block, or gives it back to the system.
    ///
    /// # Safety
    ///
    /// It comes from the system with this layout, which is [`rounded`], and nobody uses it any more.
    #[inline]
    pub(super) unsafe fn keep(block: *mut u8, layout: Layout) {
        let kept = list(layout).is_some_and(|list| {
            BLOCKS.with(|blocks| {
                let (next, known) = blocks[list].get();
                if known == MOST {
                    return false;
                }
                // SAFETY: a block in a list has 16 bytes or more, and their alignment.
                unsafe { block.cast::<*mut u8>().write(next) };
                blocks[list].set((block, known + 1));
                true
            })
        });
        if !kept {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(block, layout) };
        }
    }

    /// Gives all of them back.
    pub(super) fn give_back() {
        for size in (1..=SIZES).map(|list| list * STEP) {
            let Ok(layout) = Layout::from_size_align(size, STEP) else { continue };
            loop {
                let block = take(layout);
                if block.is_null() {
                    break;
                }
                // SAFETY: it was kept with this layout, and is in no list any more.
                unsafe { System.dealloc(block, layout) };
            }
        }
    }
}

// SAFETY: memory comes from the system's allocator, and goes back to it once, then or later, with the same layout. In
// between nobody else has it.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let rounded = spare::rounded(layout);
        if RUNNING.get() {
            let block = spare::take(rounded);
            if !block.is_null() {
                return note_block(block, layout.size());
            }
        }
        // SAFETY: the caller's promise; rounding up changes nothing about it.
        note_block(unsafe { System.alloc(rounded) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        note_block(unsafe { System.alloc_zeroed(spare::rounded(layout)) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let layout = spare::rounded(layout);
        if RUNNING.get() {
            // What the list itself frees is not kept.
            RUNNING.set(false);
            let kept = FREED.try_with(|freed| freed.borrow_mut().push((block, layout))).is_ok();
            RUNNING.set(true);
            if kept {
                return;
            }
        }
        // SAFETY: the caller's promise, and all blocks are asked for with rounded layouts.
        unsafe { System.dealloc(block, layout) };
    }
}

#[cfg(not(feature = "own-allocator"))]
#[global_allocator]
static ALLOCATOR: Quarantine = Quarantine;
