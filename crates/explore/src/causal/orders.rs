//! Orders under construction: what comes before what, closed under transitivity.
//!
//! Whoever draws conclusions from an order asks which writes to a place come before or after an event, and looks again
//! when that changes. So what has changed is noted by place, and what is ordered with an event that writes nothing is
//! not noted at all, but for that event itself.

/// If more writes than this are ordered with others at once, their places are not told apart.
const FEW: u32 = 4;

/// A strict partial order over numbered events, as two matrices of bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    words: usize,
    /// Row `a`, bit `b`: `a` comes before `b`.
    after: Vec<u64>,
    /// Row `b`, bit `a`: `a` comes before `b`.
    before: Vec<u64>,
    /// Where an event writes, if it does.
    places: Vec<Option<u32>>,
    /// The events that write, as bits.
    writes: Vec<u64>,
    /// Events that have changed their place in the order since somebody looked.
    changed: Changed,
}

/// Events to look at again.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    words: usize,
    /// Whatever place is looked at.
    anywhere: Vec<u64>,
    /// By place: where that one is looked at.
    at: Vec<u64>,
}

impl Changed {
    fn reset(&mut self, words: usize, places: usize) {
        self.words = words;
        self.anywhere.clear();
        self.anywhere.resize(words, u64::MAX);
        self.at.clear();
        self.at.resize(words * places, 0);
    }

    fn copy_from(&mut self, other: &Changed) {
        self.words = other.words;
        self.anywhere.clone_from(&other.anywhere);
        self.at.clone_from(&other.at);
    }

    fn clear(&mut self) {
        self.anywhere.fill(0);
        self.at.fill(0);
    }

    fn is_empty(&self) -> bool {
        self.anywhere.iter().chain(&self.at).all(|word| *word == 0)
    }

    /// How many words a row has.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Those among 64 events for who looks at this place.
    #[inline]
    pub fn word(&self, place: usize, word: usize) -> u64 {
        self.anywhere[word] | self.at[place * self.words + word]
    }

    /// Is this event to be looked at again by who looks at this place?
    #[inline]
    pub fn has(&self, place: usize, event: usize) -> bool {
        self.word(place, event / 64) >> (event % 64) & 1 != 0
    }
}

impl Orders {
    /// Nothing is ordered, and nothing is known to write.
    pub fn reset(&mut self, events: usize, places: usize) {
        self.words = events.div_ceil(64);
        for matrix in [&mut self.after, &mut self.before] {
            matrix.clear();
            matrix.resize(self.words * events, 0);
        }
        self.places.clear();
        self.places.resize(events, None);
        self.writes.clear();
        self.writes.resize(self.words, 0);
        self.changed.reset(self.words, places);
    }

    /// There are so many places now.
    pub fn set_places(&mut self, places: usize) {
        self.changed.at.resize(self.words * places, 0);
    }

    /// This event writes there. To be said before it is ordered with others, or before anybody has looked.
    pub fn set_write(&mut self, event: usize, place: usize) {
        self.places[event] = Some(place as u32);
        self.writes[event / 64] |= 1 << (event % 64);
    }

    /// How many words a row has.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Nothing is ordered but what follows from these pairs. Each of them goes from a lower number to a higher one, and
    /// none has a lower first number than the one after it.
    pub fn begin(&mut self, events: usize, places: usize, pairs: &[(u32, u32)]) {
        self.reset(events, places);
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
        self.places.clone_from(&other.places);
        self.writes.clone_from(&other.writes);
        self.changed.copy_from(&other.changed);
    }

    /// Says which events have changed since the last time; false if none.
    pub fn take_changed(&mut self, changed: &mut Changed) -> bool {
        if self.changed.is_empty() {
            return false;
        }
        changed.copy_from(&self.changed);
        self.changed.clear();
        true
    }

    /// Whatever depends on this event is to be looked at again.
    pub fn touch(&mut self, event: usize) {
        self.changed.anywhere[event / 64] |= 1 << (event % 64);
    }

    /// Whatever depends on this event and looks at this place is to be looked at again.
    pub fn touch_at(&mut self, event: usize, place: usize) {
        self.changed.at[place * self.words + event / 64] |= 1 << (event % 64);
    }

    /// Takes note of what a new pair changes: those of `a` and before it that were not before `b` come before those of
    /// `b` and after it that were not after `a`.
    fn note_change(&mut self, a: usize, b: usize) {
        let words = self.words;
        let bit = |event: usize, word: usize| if event / 64 == word { 1 << (event % 64) } else { 0 };
        let earlier = |orders: &Orders, word: usize| {
            (orders.before[a * words + word] | bit(a, word)) & !orders.before[b * words + word]
        };
        let later = |orders: &Orders, word: usize| {
            (orders.after[b * words + word] | bit(b, word)) & !orders.after[a * words + word]
        };
        self.note_gain(earlier, later);
        self.note_gain(later, earlier);
    }

    /// These events are ordered with those others from now on.
    fn note_gain(&mut self, these: impl Fn(&Orders, usize) -> u64, others: impl Fn(&Orders, usize) -> u64) {
        let words = self.words;
        let count = (0..words).map(|word| (others(self, word) & self.writes[word]).count_ones()).sum::<u32>();
        if count > FEW {
            for word in 0..words {
                self.changed.anywhere[word] |= these(self, word);
            }
        } else if count > 0 {
            for word in 0..words {
                let mut bits = others(self, word) & self.writes[word];
                while bits != 0 {
                    let place = self.places[word * 64 + bits.trailing_zeros() as usize].expect("it writes") as usize;
                    bits &= bits - 1;
                    for i in 0..words {
                        self.changed.at[place * words + i] |= these(self, i);
                    }
                }
            }
        }
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

    /// Puts an event that is ordered with nothing so far after these, and after all that is before them. It is the last
    /// of all; nobody depends on it yet but the read of the same read-modify-write, if it is a write.
    pub fn append(&mut self, event: usize, earlier: impl Iterator<Item = usize>) {
        let words = self.words;
        let row = event * words;
        for before in earlier {
            merge(&mut self.before, words, before, event);
        }
        for word in 0..words {
            let mut bits = self.before[row + word];
            while bits != 0 {
                let before = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.after[before * words + event / 64] |= 1 << (event % 64);
            }
        }
        if let Some(place) = self.places[event] {
            let place = place as usize;
            for word in 0..words {
                self.changed.at[place * words + word] |= self.before[row + word];
            }
            self.touch_at(event, place);
        }
    }

    /// Puts `a` before `b`; `None` if `b` comes before `a`, otherwise whether that is new.
    pub fn add(&mut self, a: usize, b: usize) -> Option<bool> {
        if a == b || self.has(b, a) {
            return None;
        }
        if self.has(a, b) {
            return Some(false);
        }
        self.note_change(a, b);
        let words = self.words;
        let (first, last) = (a * words, b * words);
        let bit = |event: usize, word: usize| if event / 64 == word { 1 << (event % 64) } else { 0 };
        // Whoever comes before a comes before b and all after b. Who comes before b already has those after it, too.
        for word in 0..words {
            let mut bits = (self.before[first + word] | bit(a, word)) & !self.before[last + word];
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
    use super::{Changed, Orders};

    #[test]
    fn closed_and_without_cycles() {
        let mut orders = Orders::default();
        orders.reset(130, 0);
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
        at_once.begin(100, 0, &pairs);
        one_by_one.reset(100, 0);
        pairs.iter().for_each(|(a, b)| _ = one_by_one.add(*a as usize, *b as usize));
        assert_eq!((at_once.after, at_once.before), (one_by_one.after, one_by_one.before));
    }

    #[test]
    fn appended_or_added_one_by_one() {
        let (mut appended, mut added) = (Orders::default(), Orders::default());
        for orders in [&mut appended, &mut added] {
            orders.begin(100, 1, &[(3, 70), (3, 4), (2, 3), (1, 2)]);
        }
        appended.append(99, [4, 70, 1].into_iter());
        [4, 70, 1].into_iter().for_each(|before| _ = added.add(before, 99));
        assert_eq!((appended.after, appended.before), (added.after, added.before));
    }

    /// Events 1, 2 and 3 are a thread, of which 2 writes to place 1; event 65 is another's.
    #[test]
    fn changes_are_noted_where_somebody_writes() {
        let (mut orders, mut changed) = (Orders::default(), Changed::default());
        orders.begin(128, 2, &[(2, 3), (1, 2)]);
        orders.set_write(2, 1);
        assert!(orders.take_changed(&mut changed), "nobody has looked so far");
        assert!(!orders.take_changed(&mut changed));
        // What writes nothing is ordered with a write and with others: only who looks at the write's place may care,
        // and of those, who depends on the new one.
        orders.add(3, 65);
        assert!(orders.take_changed(&mut changed));
        assert!(changed.has(1, 65) && !changed.has(0, 65));
        assert!([1, 2, 3].iter().all(|event| !changed.has(1, *event)));
        // A write is ordered with all: who depends on any of these and looks there.
        orders.set_write(66, 0);
        orders.add(3, 66);
        assert!(orders.take_changed(&mut changed));
        assert!([1, 2, 3].iter().all(|event| changed.has(0, *event) && !changed.has(1, *event)));
        assert!(changed.has(1, 66) && !changed.has(0, 66), "what comes before it writes to place 1");
    }
}
