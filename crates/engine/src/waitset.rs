//! The state of condition variables, as values that a memory model can hold.
//!
//! A condition variable's state is the set of threads that wait and of those that have been woken but have
//! not left yet. To a memory model it is a number: a digest of its contents, so that the same state has the same
//! number in every execution. This table remembers what each number stands for.

use fencepost_trace::{Guard, ThreadId, Update, Value};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// Who waits, in the order of arrival, and who has been woken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
struct WaitSet {
    waiting: Vec<ThreadId>,
    woken: Vec<ThreadId>,
}

/// What the numbers stand for. 0 is the empty set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Vec<WaitSet>", from = "Vec<WaitSet>")]
pub struct WaitSets {
    table: FxHashMap<u128, WaitSet>,
}

impl From<WaitSets> for Vec<WaitSet> {
    fn from(sets: WaitSets) -> Vec<WaitSet> {
        let mut list: Vec<WaitSet> = sets.table.into_values().collect();
        list.sort_unstable();
        list
    }
}

impl From<Vec<WaitSet>> for WaitSets {
    fn from(list: Vec<WaitSet>) -> WaitSets {
        let mut sets = WaitSets::default();
        for set in list {
            sets.put(set);
        }
        sets
    }
}

impl WaitSets {
    fn get(&self, value: Value) -> WaitSet {
        if value == Value::ZERO {
            return WaitSet::default();
        }
        self.table
            .get(&value.0)
            .cloned()
            .expect("internal error: a condition variable holds a state that was never made")
    }

    fn put(&mut self, set: WaitSet) -> Value {
        if set == WaitSet::default() {
            return Value::ZERO;
        }
        let mut hasher = FxHasher::default();
        set.hash(&mut hasher);
        // 0 is taken; a collision of two states of one condition variable has a chance of 2^-63.
        let number = u128::from(hasher.finish() | 1);
        let known = self.table.entry(number).or_insert_with(|| set.clone());
        assert_eq!(*known, set, "internal error: two condition-variable states share a number");
        Value(number)
    }

    /// Learns what the numbers of others stand for.
    pub fn learn(&mut self, others: &WaitSets) {
        self.table.extend(others.table.iter().map(|(number, set)| (*number, set.clone())));
    }

    /// The state after `update`; of several threads that it could wake, `variant` picks one.
    pub fn apply(&mut self, update: Update, old: Value, variant: u32) -> Value {
        let mut set = self.get(old);
        match update {
            Update::Enqueue(thread) => set.waiting.push(thread),
            Update::WakeOne if !set.waiting.is_empty() => {
                let woken = set.waiting.remove(variant as usize % set.waiting.len());
                set.woken.push(woken);
            }
            Update::WakeAll => set.woken.append(&mut set.waiting),
            // A thread whose wait ended for another reason (its time was over) leaves without having been woken.
            Update::Dequeue(thread) => {
                set.woken.retain(|t| *t != thread);
                set.waiting.retain(|t| *t != thread);
            }
            _ => {}
        }
        set.woken.sort_unstable();
        self.put(set)
    }

    /// How many threads a wake-up can choose from; at least 1, for there is one way to wake nobody.
    pub fn candidates(&self, old: Value) -> u32 {
        self.get(old).waiting.len().max(1) as u32
    }

    /// How many threads wait.
    pub fn waiting(&self, value: Value) -> usize {
        self.get(value).waiting.len()
    }

    /// Does `guard` let this value through?
    #[inline]
    pub fn passes(&self, guard: Guard, value: Value) -> bool {
        match guard {
            Guard::Any => true,
            Guard::Equals(v) => value == v,
            Guard::Differs(v) => value != v,
            Guard::AtLeast(v) => value >= v,
            Guard::Arrived(v) => value >= v && value.0 >> 32 == v.0 >> 32,
            Guard::Woken(thread) => self.get(value).woken.contains(&thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waiter_is_woken_and_which_is_a_choice() {
        let mut sets = WaitSets::default();
        let (a, b) = (ThreadId(1), ThreadId(2));
        let one = sets.apply(Update::Enqueue(a), Value::ZERO, 0);
        let both = sets.apply(Update::Enqueue(b), one, 0);
        assert_eq!(sets.candidates(both), 2);
        for (variant, woken, other) in [(0, a, b), (1, b, a)] {
            let after = sets.apply(Update::WakeOne, both, variant);
            assert!(sets.passes(Guard::Woken(woken), after));
            assert!(!sets.passes(Guard::Woken(other), after));
        }
    }

    #[test]
    fn a_wake_up_with_nobody_waiting_is_lost() {
        let mut sets = WaitSets::default();
        assert_eq!(sets.apply(Update::WakeOne, Value::ZERO, 0), Value::ZERO);
        assert_eq!(sets.apply(Update::WakeAll, Value::ZERO, 0), Value::ZERO);
    }

    #[test]
    fn when_all_have_left_the_state_is_the_first_one_again() {
        let mut sets = WaitSets::default();
        let waiting = sets.apply(Update::Enqueue(ThreadId(3)), Value::ZERO, 0);
        let woken = sets.apply(Update::WakeAll, waiting, 0);
        assert_eq!(sets.apply(Update::Dequeue(ThreadId(3)), woken, 0), Value::ZERO);
    }
}
