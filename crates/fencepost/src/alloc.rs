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
}

/// Threads of a check run from now on, or no longer.
#[inline]
pub(crate) fn set_running(running: bool) {
    RUNNING.set(running);
}

/// The execution is over.
pub(crate) fn release() {
    let freed = FREED.take();
    for (block, layout) in &freed {
        // SAFETY: the program has freed it, with this layout, and it was kept since.
        unsafe { System.dealloc(*block, *layout) };
    }
    let mut freed = freed;
    freed.clear();
    FREED.replace(freed);
}

// SAFETY: memory comes from the system's allocator, and goes back to it once, then or later.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if RUNNING.try_with(Cell::get).unwrap_or(false) {
            // What the list itself frees is not kept.
            RUNNING.set(false);
            let kept = FREED.try_with(|freed| freed.borrow_mut().push((block, layout))).is_ok();
            RUNNING.set(true);
            if kept {
                return;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }
}

#[cfg(not(feature = "own-allocator"))]
#[global_allocator]
static ALLOCATOR: Quarantine = Quarantine;
