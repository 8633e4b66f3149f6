//! A set of counted fingerprints in shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: usize = 8192;

/// One fingerprint. Writers are the worker and its forked children, never two at once: see
/// [`Exploring::lock`](crate::Exploring::lock).
#[repr(C)]
pub struct Slot {
    /// The fingerprint; 0 if free.
    pub fingerprint: AtomicU64,
    /// In how many executions it was met.
    pub count: AtomicU64,
    /// The first of them.
    pub first: AtomicU64,
    /// The last of them, so that an execution counts once.
    last: AtomicU64,
}

/// A hash table of a fixed size: once it is full, new fingerprints are no longer kept and [`Table::met`] says so.
#[repr(C)]
pub struct Table {
    slots: [Slot; SLOTS],
}

impl Table {
    /// Counts `fingerprint` for `execution`, once. `Some(true)` if it was never met before, `None` if there is no
    /// room for it.
    pub fn met(&self, fingerprint: u64, execution: u64) -> Option<bool> {
        let fingerprint = fingerprint.max(1);
        let start = (fingerprint >> 32) as usize % SLOTS;
        for i in 0..SLOTS {
            let slot = &self.slots[(start + i) % SLOTS];
            let found = slot.fingerprint.load(Ordering::Relaxed);
            if found == fingerprint {
                if slot.last.swap(execution, Ordering::Relaxed) != execution {
                    slot.count.fetch_add(1, Ordering::Relaxed);
                }
                return Some(false);
            }
            if found == 0 {
                slot.first.store(execution, Ordering::Relaxed);
                slot.last.store(execution, Ordering::Relaxed);
                slot.count.store(1, Ordering::Relaxed);
                // Last, so that a reader never sees a name without its counts.
                slot.fingerprint.store(fingerprint, Ordering::Release);
                return Some(true);
            }
        }
        None
    }

    /// All that is in it: fingerprint, count, first and last execution.
    pub fn dump(&self) -> Vec<[u64; 4]> {
        let words =
            |slot: &Slot| [&slot.fingerprint, &slot.count, &slot.first, &slot.last].map(|w| w.load(Ordering::Relaxed));
        self.slots().map(words).collect()
    }

    /// This, and nothing else, is in it.
    pub fn restore(&self, list: &[[u64; 4]]) {
        self.clear();
        for [fingerprint, count, first, last] in list {
            self.met(*fingerprint, *first);
            if let Some(slot) = self.slots().find(|slot| slot.fingerprint.load(Ordering::Relaxed) == *fingerprint) {
                slot.count.store(*count, Ordering::Relaxed);
                slot.last.store(*last, Ordering::Relaxed);
            }
        }
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.fingerprint.store(0, Ordering::Release));
    }

    /// The fingerprints that were met.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.fingerprint.load(Ordering::Acquire) != 0)
    }
}
