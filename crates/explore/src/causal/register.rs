//! Where states are noted that were met.

use rustc_hash::FxHashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A set of names. Where several explorers share one, a name is new to one of them only.
pub trait Register: Send {
    /// Takes note of a name. Was it new?
    fn insert(&mut self, name: u128) -> bool;
    /// Is it noted?
    fn contains(&self, name: u128) -> bool;
    /// How many there are.
    fn len(&self) -> usize;
    /// Are there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Forgets all.
    fn clear(&mut self);
    /// All of them, in any order.
    fn names(&self) -> Vec<u128>;
}

impl Register for FxHashSet<u128> {
    fn insert(&mut self, name: u128) -> bool {
        FxHashSet::insert(self, name)
    }

    fn contains(&self, name: u128) -> bool {
        FxHashSet::contains(self, &name)
    }

    fn len(&self) -> usize {
        FxHashSet::len(self)
    }

    fn clear(&mut self) {
        FxHashSet::clear(self);
    }

    fn names(&self) -> Vec<u128> {
        self.iter().copied().collect()
    }
}

/// One for several threads.
impl Register for Arc<Mutex<FxHashSet<u128>>> {
    fn insert(&mut self, name: u128) -> bool {
        // A set is a set, whatever became of whoever held it.
        self.lock().unwrap_or_else(PoisonError::into_inner).insert(name)
    }

    fn contains(&self, name: u128) -> bool {
        self.lock().unwrap_or_else(PoisonError::into_inner).contains(&name)
    }

    fn len(&self) -> usize {
        self.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn clear(&mut self) {
        self.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn names(&self) -> Vec<u128> {
        self.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}
