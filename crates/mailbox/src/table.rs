//! A set of counted fingerprints in shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: usize = 8192;

/// The first slots are tried first, so many of them: most tables hold a few fingerprints, and whoever looks through one
/// has to map each page that it touches.
const NEAR: usize = 256;
const REACH: usize = 16;

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
    /// 1 if slots behind the first ones are in use.
    far: AtomicU64,
    slots: [Slot; SLOTS],
}

impl Table {
    /// Counts `fingerprint` for `execution`, once. `Some(true)` if it was never met before, `None` if there is no
    /// room for it.
    pub fn met(&self, fingerprint: u64, execution: u64) -> Option<bool> {
        let fingerprint = fingerprint.max(1);
        let start = (fingerprint >> 32) as usize;
        let near = (0..REACH).map(|i| (start + i) % NEAR);
        let far = (0..SLOTS - NEAR).map(|i| NEAR + (start + i) % (SLOTS - NEAR));
        for place in near.chain(far) {
            let slot = &self.slots[place];
            let found = slot.fingerprint.load(Ordering::Relaxed);
            if found == fingerprint {
                if slot.last.swap(execution, Ordering::Relaxed) != execution {
                    slot.count.fetch_add(1, Ordering::Relaxed);
                }
                return Some(false);
            }
            if found == 0 {
                if place >= NEAR {
                    self.far.store(1, Ordering::Relaxed);
                }
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
        self.used().iter().for_each(|slot| slot.fingerprint.store(0, Ordering::Release));
        self.far.store(0, Ordering::Release);
    }

    /// The fingerprints that were met.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.used().iter().filter(|slot| slot.fingerprint.load(Ordering::Acquire) != 0)
    }

    /// The part of it that may hold anything.
    fn used(&self) -> &[Slot] {
        let far = self.far.load(Ordering::Acquire) != 0;
        &self.slots[..if far { SLOTS } else { NEAR }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Table> {
        let slot = || Slot {
            fingerprint: AtomicU64::new(0),
            count: AtomicU64::new(0),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
        };
        Box::new(Table { far: AtomicU64::new(0), slots: std::array::from_fn(|_| slot()) })
    }

    /// Fingerprints that all begin at the same slot, and as many as there are slots for them.
    #[test]
    fn all_that_fits_is_kept_and_counted_once_an_execution() {
        let table = empty();
        const ROOM: usize = SLOTS - NEAR + REACH;
        let names = (1..=ROOM as u64).collect::<Vec<_>>();
        assert!(names.iter().all(|name| table.met(*name, 7) == Some(true)));
        assert_eq!(table.met(ROOM as u64 + 1, 7), None);
        assert!(names.iter().all(|name| table.met(*name, 7) == Some(false)));
        assert!(names.iter().all(|name| table.met(*name, 8) == Some(false)));
        assert_eq!(table.slots().count(), ROOM);
        assert!(table.slots().all(|slot| slot.count.load(Ordering::Relaxed) == 2));
    }

    #[test]
    fn what_is_forgotten_is_new_again() {
        let table = empty();
        // More than the first slots hold, so that others are in use, too.
        let names = 1..=2 * NEAR as u64;
        names.clone().for_each(|name| assert_eq!(table.met(name << 32, 0), Some(true)));
        let before = table.dump();
        table.clear();
        assert_eq!(table.slots().count(), 0);
        assert!(names.clone().all(|name| table.met(name << 32, 0) == Some(true)));
        table.clear();
        table.restore(&before);
        assert_eq!(table.dump().len(), 2 * NEAR);
    }
}
