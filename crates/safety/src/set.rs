//! Sets of stores, as bits.

/// A set of at most `64 * W` stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set<const W: usize>([u64; W]);

impl<const W: usize> Set<W> {
    /// How many stores there can be.
    pub const ROOM: usize = 64 * W;

    /// No store.
    pub const EMPTY: Set<W> = Set([0; W]);

    /// Adds a store.
    #[inline]
    pub fn insert(&mut self, bit: usize) {
        if W > 8 {
            self.0[bit / 64] |= 1 << (bit % 64);
            return;
        }
        // A store to one word delays whoever reads the set as a whole right afterwards: all are written.
        for (i, word) in self.0.iter_mut().enumerate() {
            *word |= if i == bit / 64 { 1 << (bit % 64) } else { 0 };
        }
    }

    /// Is it there?
    #[inline]
    pub fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] & 1 << (bit % 64) != 0
    }

    /// Adds all of another set.
    #[inline]
    pub fn join(&mut self, other: &Set<W>) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Adds all of another set, and says whether that has changed anything.
    #[inline]
    pub fn grow(&mut self, other: &Set<W>) -> bool {
        let mut new = 0;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            new |= more & !*word;
            *word |= more;
        }
        new != 0
    }

    /// What is in both.
    #[inline]
    pub fn and(&self, other: &Set<W>) -> Set<W> {
        Set(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// What is not in the other.
    #[inline]
    pub fn without(&self, other: &Set<W>) -> Set<W> {
        Set(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Removes the 64 stores of one word.
    #[inline]
    pub fn clear_word(&mut self, word: usize) {
        self.0[word] = 0;
    }

    /// The stores, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * i + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_all_words() {
        let mut set = Set::<2>::EMPTY;
        [3, 63, 64, 127].into_iter().for_each(|bit| set.insert(bit));
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 127]);
        assert!(set.has(64) && !set.has(65));
        set.clear_word(0);
        assert_eq!(set.iter().collect::<Vec<_>>(), [64, 127]);
        assert!(set.without(&set).is_empty() && !set.and(&set).is_empty());
        let mut other = Set::<2>::EMPTY;
        assert!(other.grow(&set) && other == set && !other.grow(&set));
    }
}
