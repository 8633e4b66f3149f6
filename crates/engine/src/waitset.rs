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
    /// What updates have made of them: most are asked for again and again.
    steps: FxHashMap<Step, Value>,
}

/// An update of a set, by what it is and of whom or how many; and which of several ways.
type Step = (u128, u8, u32, u32);

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
        self.look(value).cloned().unwrap_or_default()
    }

    /// The same where nothing of it is changed; `None` if it is empty.
    fn look(&self, value: Value) -> Option<&WaitSet> {
        const MADE: &str = "internal error: a condition variable holds a state that was never made";
        (value != Value::ZERO).then(|| self.table.get(&value.0).expect(MADE))
    }

    fn put(&mut self, set: WaitSet) -> Value {
        if set == WaitSet::default() {
            return Value::ZERO;
        }
        let mut hasher = FxHasher::default();
        set.hash(&mut hasher);
        // 0 is taken; a collision of two states of one condition variable has a chance of 2^-63.
        let number = u128::from(hasher.finish() | 1);
        match self.table.get(&number) {
            Some(known) => {
                assert_eq!(*known, set, "internal error: two condition-variable states share a number");
            }
            None => _ = self.table.insert(number, set),
        }
        Value(number)
    }

    /// Forgets everything if that is much. The numbers mean the same in every execution.
    pub(crate) fn forget_much(&mut self) {
        const MUCH: usize = 1024;
        if self.table.len() > MUCH {
            *self = WaitSets::default();
        }
    }

    /// Learns what the numbers of others stand for.
    pub fn learn(&mut self, others: &WaitSets) {
        self.table.extend(others.table.iter().map(|(number, set)| (*number, set.clone())));
    }

    /// The state after `update`; of several sets of threads that it could wake, `variant` picks one.
    pub fn apply(&mut self, update: Update, old: Value, variant: u32) -> Value {
        let (kind, operand) = match update {
            Update::Enqueue(thread) => (0, thread.0),
            // Nobody is woken, and nobody leaves.
            Update::Wake(_) | Update::Dequeue(_) if old == Value::ZERO => return Value::ZERO,
            Update::Wake(most) => (1, most),
            Update::Dequeue(thread) => (2, thread.0),
            _ => return old,
        };
        let step = (old.0, kind, operand, variant);
        if let Some(known) = self.steps.get(&step) {
            return *known;
        }
        let new = self.find(update, old, variant);
        self.steps.insert(step, new);
        new
    }

    fn find(&mut self, update: Update, old: Value, variant: u32) -> Value {
        let mut set = self.get(old);
        match update {
            Update::Enqueue(thread) => set.waiting.push(thread),
            Update::Wake(most) if most as usize >= set.waiting.len() => set.woken.append(&mut set.waiting),
            Update::Wake(most) => wake(&mut set, most as usize, variant),
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

    /// In how many ways so many threads can be chosen from those that wait. There is one way to wake all, or nobody.
    pub fn ways_to_wake(&self, old: Value, most: u32) -> u32 {
        let waiting = self.waiting(old);
        if most as usize >= waiting { 1 } else { choices(waiting, most as usize) }
    }

    /// How many threads wait.
    pub fn waiting(&self, value: Value) -> usize {
        self.look(value).map_or(0, |set| set.waiting.len())
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
            Guard::Woken(thread) => self.look(value).is_some_and(|set| set.woken.contains(&thread)),
        }
    }
}

/// Wakes so many of those who wait; there are more of them. Of the sets of so many threads, in lexical order, it is the
/// one with this number.
fn wake(set: &mut WaitSet, most: usize, variant: u32) {
    let mut number = variant % choices(set.waiting.len(), most);
    let mut left = most;
    let mut i = 0;
    while left > 0 {
        let rest = set.waiting.len() - i;
        let with_this = if left == rest { u32::MAX } else { choices(rest - 1, left - 1) };
        if number < with_this {
            set.woken.push(set.waiting.remove(i));
            left -= 1;
        } else {
            number -= with_this;
            i += 1;
        }
    }
}

/// How many sets of `few` there are among `all`, as far as a number of 32 bits can tell.
fn choices(all: usize, few: usize) -> u32 {
    let few = few.min(all - few);
    let times = |ways: u128, i: usize| (ways * (all - i) as u128 / (i + 1) as u128).min(u128::from(u64::MAX));
    (0..few).fold(1, times).min(u128::from(u32::MAX)) as u32
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
        assert_eq!(sets.ways_to_wake(both, 1), 2);
        for (variant, woken, other) in [(0, a, b), (1, b, a)] {
            let after = sets.apply(Update::Wake(1), both, variant);
            assert!(sets.passes(Guard::Woken(woken), after));
            assert!(!sets.passes(Guard::Woken(other), after));
        }
    }

    #[test]
    fn every_pair_of_four_can_be_woken_at_once() {
        let mut sets = WaitSets::default();
        let threads = [1, 2, 3, 4].map(ThreadId);
        let all = threads.iter().fold(Value::ZERO, |set, t| sets.apply(Update::Enqueue(*t), set, 0));
        assert_eq!([2, 3, 4, 5].map(|most| sets.ways_to_wake(all, most)), [6, 4, 1, 1]);
        let mut pairs: Vec<Vec<bool>> = Vec::new();
        for variant in 0..6 {
            let after = sets.apply(Update::Wake(2), all, variant);
            pairs.push(threads.iter().map(|t| sets.passes(Guard::Woken(*t), after)).collect());
            assert_eq!(sets.waiting(after), 2);
        }
        assert!(pairs.iter().all(|pair| pair.iter().filter(|woken| **woken).count() == 2));
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 6);
    }

    #[test]
    fn more_ways_than_can_be_counted_are_many() {
        assert_eq!(choices(200, 100), u32::MAX);
        let mut set = WaitSet { waiting: (0..200).map(ThreadId).collect(), woken: Vec::new() };
        wake(&mut set, 100, u32::MAX - 1);
        assert_eq!((set.waiting.len(), set.woken.len()), (100, 100));
    }

    #[test]
    fn a_wake_up_with_nobody_waiting_is_lost() {
        let mut sets = WaitSets::default();
        assert_eq!(sets.apply(Update::Wake(1), Value::ZERO, 0), Value::ZERO);
        assert_eq!(sets.apply(Update::WAKE_ALL, Value::ZERO, 0), Value::ZERO);
    }

    #[test]
    fn when_all_have_left_the_state_is_the_first_one_again() {
        let mut sets = WaitSets::default();
        let waiting = sets.apply(Update::Enqueue(ThreadId(3)), Value::ZERO, 0);
        let woken = sets.apply(Update::WAKE_ALL, waiting, 0);
        assert_eq!(sets.apply(Update::Dequeue(ThreadId(3)), woken, 0), Value::ZERO);
    }
}
