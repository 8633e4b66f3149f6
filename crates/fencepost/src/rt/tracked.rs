//! What must be gone when an execution ends.

/// By number: what it is, and where it was made. Numbers go on from one execution to the next, so that one of an
/// earlier execution means nothing.
#[derive(Default)]
pub(crate) struct Tracked {
    /// How many there were in the executions before.
    before: u64,
    list: Vec<Option<(&'static str, u32)>>,
    /// How many of them are not gone.
    left: usize,
}

impl Tracked {
    /// One more; its number, which is not 0.
    pub(super) fn add(&mut self, what: &'static str, at: u32) -> u64 {
        self.list.push(Some((what, at)));
        self.left += 1;
        self.before + self.list.len() as u64
    }

    /// This one is gone.
    pub(super) fn remove(&mut self, number: u64) {
        let index = number.checked_sub(self.before + 1);
        if let Some(slot) = index.and_then(|index| self.list.get_mut(index as usize)) {
            self.left -= usize::from(slot.take().is_some());
        }
    }

    /// A new execution: nothing is left of the one before.
    pub(super) fn clear(&mut self) {
        self.before += self.list.len() as u64;
        self.list.clear();
        self.left = 0;
    }

    /// How many are not gone.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The first of them.
    pub(crate) fn first(&self) -> Option<(&'static str, u32)> {
        if self.left == 0 { None } else { self.list.iter().flatten().next().copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_gone_is_known_and_numbers_are_of_one_execution() {
        let mut tracked = Tracked::default();
        let [one, two] = [1, 2].map(|at| tracked.add("a thing", at));
        tracked.remove(one);
        tracked.remove(one);
        assert_eq!((tracked.left(), tracked.first()), (1, Some(("a thing", 2))));
        tracked.clear();
        assert_eq!((tracked.left(), tracked.first()), (0, None));
        let three = tracked.add("a thing", 3);
        // 0 is nothing, and the second one is of the execution before.
        [0, two, three + 1].into_iter().for_each(|number| tracked.remove(number));
        assert_eq!(tracked.first(), Some(("a thing", 3)));
    }
}
