//! A list that grows without moving what is in it.
//!
//! A vector of many megabytes is copied to twice the memory whenever it is full. Where every page is touched for the
//! first time, that takes longer than what is done with the list.

/// So many bytes are had at once.
const BYTES: usize = 1 << 16;

/// A list in pieces of the same length.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks { pieces: Vec::new() }
    }
}

impl<T> Chunks<T> {
    /// How many elements are in a piece.
    const LENGTH: usize = {
        let length = BYTES / size_of::<T>();
        if length == 0 { 1 } else { length }
    };

    /// Adds an element at the end.
    pub fn push(&mut self, element: T) {
        if self.pieces.last().is_none_or(|last| last.len() == Self::LENGTH) {
            self.pieces.push(Vec::with_capacity(Self::LENGTH));
        }
        self.pieces.last_mut().expect("it was just added").push(element);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * Self::LENGTH + last.len())
    }

    /// The one with this number.
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        &mut self.pieces[at / Self::LENGTH][at % Self::LENGTH]
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is like a vector, with less and more than a piece, and with elements larger than one.
    #[test]
    fn it_is_a_list() {
        fn hold<T: Clone + PartialEq + std::fmt::Debug>(elements: &[T]) {
            let mut chunks = Chunks::default();
            for (i, element) in elements.iter().enumerate() {
                assert_eq!(chunks.len(), i);
                chunks.push(element.clone());
            }
            assert!(chunks.iter().eq(elements));
            assert!(elements.iter().enumerate().all(|(i, element)| chunks.get_mut(i) == element));
            chunks.clear();
            assert_eq!((chunks.len(), chunks.iter().count()), (0, 0));
        }
        let length = Chunks::<u64>::LENGTH as u64;
        for count in [0, 1, length - 1, length, length + 1, 3 * length] {
            hold(&(0..count).collect::<Vec<u64>>());
        }
        hold(&[[7u8; BYTES + 1], [8; BYTES + 1]]);
    }
}
