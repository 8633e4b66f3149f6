//! Orders under construction: what comes before what, closed under transitivity.

/// A strict partial order over numbered events, as two matrices of bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    words: usize,
    /// Row `a`, bit `b`: `a` comes before `b`.
    after: Vec<u64>,
    /// Row `b`, bit `a`: `a` comes before `b`.
    before: Vec<u64>,
    /// Events whose rows have changed since somebody looked.
    changed: Vec<u64>,
}

impl Orders {
    /// Nothing is ordered.
    pub fn reset(&mut self, events: usize) {
        self.words = events.div_ceil(64);
        for matrix in [&mut self.after, &mut self.before] {
            matrix.clear();
            matrix.resize(self.words * events, 0);
        }
        self.changed.clear();
        self.changed.resize(self.words, u64::MAX);
    }

    /// How many words a row has.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Nothing is ordered but what follows from these pairs. Each of them goes from a lower number to a higher one, and
    /// none has a lower first number than the one after it.
    pub fn begin(&mut self, events: usize, pairs: &[(u32, u32)]) {
        self.reset(events);
        let words = self.words;
        for (a, b) in pairs {
            let (a, b) = (*a as usize, *b as usize);
            merge(&mut self.after, words, b, a);
        }
        for (a, b) in pairs.iter().rev() {
            let (a, b) = (*a as usize, *b as usize);
            merge(&mut self.before, words, a, b);
        }
    }

    /// Those after `a` among 64 events.
    #[inline]
    pub fn after(&self, a: usize, word: usize) -> u64 {
        self.after[a * self.words + word]
    }

    /// Those before `b` among 64 events.
    #[inline]
    pub fn before(&self, b: usize, word: usize) -> u64 {
        self.before[b * self.words + word]
    }

    /// The same as the other, in the memory that is there.
    pub fn copy_from(&mut self, other: &Orders) {
        self.words = other.words;
        self.after.clone_from(&other.after);
        self.before.clone_from(&other.before);
        self.changed.clone_from(&other.changed);
    }

    /// Says which events' rows have changed since the last time; false if none.
    pub fn take_changed(&mut self, changed: &mut Vec<u64>) -> bool {
        changed.clone_from(&self.changed);
        self.changed.fill(0);
        changed.iter().any(|word| *word != 0)
    }

    /// Whatever depends on this event is to be looked at again.
    pub fn touch(&mut self, event: usize) {
        self.changed[event / 64] |= 1 << (event % 64);
    }

    /// Does `a` come before `b`?
    #[inline]
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.after[a * self.words + b / 64] >> (b % 64) & 1 != 0
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.after.len().checked_div(self.words).unwrap_or(0)
    }

    /// Those that come after `a`.
    pub fn each_after(&self, a: usize, mut tell: impl FnMut(usize)) {
        for word in 0..self.words {
            let mut bits = self.after[a * self.words + word];
            while bits != 0 {
                tell(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// How many events come before `b`.
    pub fn count_before(&self, b: usize) -> u32 {
        self.before[b * self.words..(b + 1) * self.words].iter().map(|word| word.count_ones()).sum()
    }

    /// Puts `a` before `b`; `None` if `b` comes before `a`, otherwise whether that is new.
    pub fn add(&mut self, a: usize, b: usize) -> Option<bool> {
        if a == b || self.has(b, a) {
            return None;
        }
        if self.has(a, b) {
            return Some(false);
        }
        let words = self.words;
        let (first, last) = (a * words, b * words);
        let bit = |event: usize, word: usize| if event / 64 == word { 1 << (event % 64) } else { 0 };
        // Whoever comes before a comes before b and all after b. Who comes before b already has those after it, too.
        for word in 0..words {
            let mut bits = (self.before[first + word] | bit(a, word)) & !self.before[last + word];
            self.changed[word] |= bits;
            while bits != 0 {
                let from = (word * 64 + bits.trailing_zeros() as usize) * words;
                bits &= bits - 1;
                // All that is after a is about to have a before it: its row is needed as it is, below.
                if from != first {
                    for i in 0..words {
                        self.after[from + i] |= self.after[last + i];
                    }
                    self.after[from + b / 64] |= 1 << (b % 64);
                }
            }
        }
        for word in 0..words {
            let mut bits = (self.after[last + word] | bit(b, word)) & !self.after[first + word];
            self.changed[word] |= bits;
            while bits != 0 {
                let to = (word * 64 + bits.trailing_zeros() as usize) * words;
                bits &= bits - 1;
                for i in 0..words {
                    self.before[to + i] |= self.before[first + i];
                }
                self.before[to + a / 64] |= 1 << (a % 64);
            }
        }
        for i in 0..words {
            self.after[first + i] |= self.after[last + i];
        }
        self.after[first + b / 64] |= 1 << (b % 64);
        Some(true)
    }
}

/// Adds an event and its row to the row of another.
fn merge(matrix: &mut [u64], words: usize, from: usize, to: usize) {
    for i in 0..words {
        matrix[to * words + i] |= matrix[from * words + i];
    }
    matrix[to * words + from / 64] |= 1 << (from % 64);
}

#[cfg(test)]
mod tests {
    use super::Orders;

    #[test]
    fn closed_and_without_cycles() {
        let mut orders = Orders::default();
        orders.reset(130);
        assert_eq!(orders.add(1, 2), Some(true));
        assert_eq!(orders.add(3, 129), Some(true));
        assert_eq!(orders.add(2, 3), Some(true));
        assert!(orders.has(1, 129));
        assert_eq!(orders.add(1, 129), Some(false));
        assert_eq!(orders.add(129, 1), None);
        assert_eq!(orders.count_before(129), 3);
    }

    #[test]
    fn begun_with_pairs_or_one_by_one() {
        let pairs = [(70, 99), (3, 70), (3, 4), (2, 3), (1, 70), (1, 2)];
        let (mut at_once, mut one_by_one) = (Orders::default(), Orders::default());
        at_once.begin(100, &pairs);
        one_by_one.reset(100);
        pairs.iter().for_each(|(a, b)| _ = one_by_one.add(*a as usize, *b as usize));
        assert_eq!((at_once.after, at_once.before), (one_by_one.after, one_by_one.before));
    }
}
