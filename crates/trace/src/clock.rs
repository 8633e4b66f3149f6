//! Vector clocks.

use crate::ThreadId;

/// How far into each thread's events something has seen. Threads past the end stand at 0.
///
/// ```
/// use fencepost_trace::{ThreadId, VectorClock};
/// let mut a = VectorClock::default();
/// a.set(ThreadId(1), 3);
/// let mut b = VectorClock::default();
/// b.set(ThreadId(0), 5);
/// b.join(&a);
/// assert!(a.le(&b));
/// assert_eq!(b.get(ThreadId(1)), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct VectorClock {
    slots: Vec<u32>,
}

impl VectorClock {
    /// The time of one thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u32 {
        self.slots.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the time of one thread.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, time: u32) {
        if self.slots.len() <= thread.index() {
            self.slots.resize(thread.index() + 1, 0);
        }
        self.slots[thread.index()] = time;
    }

    /// The least clock at or above both. Says whether anything moved.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) -> bool {
        if self.slots.len() < other.slots.len() {
            self.slots.resize(other.slots.len(), 0);
        }
        let mut moved = false;
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            moved |= *mine < *theirs;
            *mine = (*mine).max(*theirs);
        }
        moved
    }

    /// The greatest clock at or below both.
    pub fn meet(&mut self, other: &VectorClock) {
        self.slots.truncate(other.slots.len());
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine = (*mine).min(*theirs);
        }
    }

    /// Is every slot at or below the other's?
    #[inline]
    pub fn le(&self, other: &VectorClock) -> bool {
        self.slots.iter().enumerate().all(|(i, &t)| t <= other.slots.get(i).copied().unwrap_or(0))
    }

    /// Becomes a copy of `other`, keeping its allocation.
    #[inline]
    pub fn copy_from(&mut self, other: &VectorClock) {
        self.slots.clone_from(&other.slots);
    }

    /// Becomes a copy of these slots, keeping its allocation.
    #[inline]
    pub fn copy_from_slots(&mut self, slots: &[u32]) {
        self.slots.clear();
        self.slots.extend_from_slice(slots);
    }

    /// Back to the beginning of time, keeping its allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    /// The slots up to the last thread it has seen.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(slots: &[u32]) -> VectorClock {
        VectorClock { slots: slots.to_vec() }
    }

    #[test]
    fn order_is_slotwise_and_missing_slots_are_zero() {
        let table = [
            (&[][..], &[][..], true, true),
            (&[1], &[1, 0], true, true),
            (&[1], &[1, 1], true, false),
            (&[1, 0], &[0, 1], false, false),
            (&[2, 3], &[2, 4], true, false),
        ];
        for (a, b, ab, ba) in table {
            assert_eq!(clock(a).le(&clock(b)), ab, "{a:?} <= {b:?}");
            assert_eq!(clock(b).le(&clock(a)), ba, "{b:?} <= {a:?}");
        }
    }

    #[test]
    fn join_is_the_least_upper_bound_and_says_whether_it_moved() {
        let mut c = clock(&[1, 5]);
        assert!(c.join(&clock(&[2, 3, 1])));
        assert_eq!(c.slots(), &[2, 5, 1]);
        assert!(!c.join(&clock(&[2, 5])));
        c.meet(&clock(&[1, 7]));
        assert_eq!(c.slots(), &[1, 5]);
    }
}
