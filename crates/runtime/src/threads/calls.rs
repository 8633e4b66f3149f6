//! Where a thread is: the calls that it has entered and not left.
//!
//! Instrumented functions announce themselves. Two stores and an addition for each: this is the most frequent hook of
//! all.

use std::sync::atomic::{AtomicPtr, Ordering};

/// How many calls deep a thread is followed. Deeper ones are counted, but not remembered.
const DEPTH: usize = 1 << 17;
const MARGIN: usize = 1 << 12;

/// The calls of one thread: return addresses, the outermost first.
#[derive(Debug, Default)]
pub struct Calls {
    base: usize,
    /// Behind the last one. Kept in [`TOP`] while the thread runs.
    top: usize,
}

/// The running thread's.
pub static TOP: AtomicPtr<usize> = AtomicPtr::new(std::ptr::null_mut());
pub static LIMIT: AtomicPtr<usize> = AtomicPtr::new(std::ptr::null_mut());

impl Calls {
    /// How much memory it takes.
    pub const LENGTH: usize = MARGIN + DEPTH * 8;

    /// Nothing entered yet. The list lies at `place`.
    pub fn clear(&mut self, place: usize) {
        // Room below, for exits without an entry.
        self.base = place + MARGIN;
        self.top = self.base;
    }

    /// The thread stops running.
    pub fn leave(&mut self) {
        self.top = TOP.load(Ordering::Relaxed) as usize;
    }

    /// The thread runs from here on.
    pub fn enter(&mut self) {
        TOP.store(self.top as *mut usize, Ordering::Relaxed);
        LIMIT.store((self.base + DEPTH * 8) as *mut usize, Ordering::Relaxed);
    }

    /// Has a call of this thread not been left yet? Of the running thread only after [`leave`](Self::leave).
    pub fn is_open(&self, (at, back): Call) -> bool {
        // SAFETY: a place in the list that has been written, because the top is above it.
        (self.base..self.top.min(self.base + DEPTH * 8)).contains(&at) && unsafe { noted(at) } == back
    }

    /// The addresses, the innermost first. Of the running thread only after [`leave`](Self::leave).
    pub fn list(&self) -> Vec<usize> {
        let end = self.top.min(self.base + DEPTH * 8);
        let count = end.saturating_sub(self.base) / 8;
        // SAFETY: the words up to the top were written by `push`; the mapping is as long as the limit.
        (0..count).rev().map(|i| unsafe { noted(self.base + 8 * i) }).take(64).collect()
    }
}

/// A call: where it is noted, and its return address. So long as both agree it has not been left.
pub type Call = (usize, usize);

/// The running thread's innermost call.
pub fn innermost() -> Call {
    let at = (TOP.load(Ordering::Relaxed) as usize).wrapping_sub(8);
    // SAFETY: there is room below the first call, and calls too deep to be noted are not looked at.
    (at, if at < LIMIT.load(Ordering::Relaxed) as usize { unsafe { noted(at) } } else { 0 })
}

/// A bit that no return address has: this call is marked.
const MARK: usize = 1 << 63;

/// The return address that is noted at a place of the list.
///
/// # Safety
///
/// It has been written, or lies in the room below the first call.
unsafe fn noted(at: usize) -> usize {
    // SAFETY: as above.
    unsafe { *(at as *const usize) & !MARK }
}

/// Marks the running thread's innermost call, until that is left: the next one from the same place is not marked. Was
/// it marked already? Calls too deep to be noted are never marked.
pub fn mark_innermost() -> bool {
    let at = (TOP.load(Ordering::Relaxed) as usize).wrapping_sub(8);
    if at >= LIMIT.load(Ordering::Relaxed) as usize {
        return false;
    }
    // SAFETY: a place in the list, or in the room below it, and below the limit.
    let call = unsafe { &mut *(at as *mut usize) };
    let was_marked = *call & MARK != 0;
    *call |= MARK;
    was_marked
}

/// A function called from `pc` is entered.
#[inline(always)]
pub fn push(pc: usize) {
    let top = TOP.load(Ordering::Relaxed);
    if top < LIMIT.load(Ordering::Relaxed) {
        // SAFETY: below the limit of the mapping; above its base because exits pair with entries.
        unsafe { *top = pc };
    }
    TOP.store(top.wrapping_add(1), Ordering::Relaxed);
}

/// It is left.
#[inline(always)]
pub fn pop() {
    let top = TOP.load(Ordering::Relaxed);
    TOP.store(top.wrapping_sub(1), Ordering::Relaxed);
}
