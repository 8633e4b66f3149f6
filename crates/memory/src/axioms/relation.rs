//! Relations over the events of one execution, as dense bit matrices.
//!
//! The operations are those of the literature (and of herd's cat language), so that a model can be read
//! against its paper: `r.compose(&s)` is r;s, `r.restrict(&a, &b)` is \[a\];r;\[b\], `r.reflexive()` is r?,
//! `r.closure()` is r⁺.

/// A set of events, named by their positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    size: usize,
    bits: Vec<u64>,
}

impl Set {
    /// Those positions below `size` that `member` accepts.
    pub fn filter(size: usize, mut member: impl FnMut(usize) -> bool) -> Set {
        let mut bits = vec![0; size.div_ceil(64)];
        for i in (0..size).filter(|&i| member(i)) {
            bits[i / 64] |= 1 << (i % 64);
        }
        Set { size, bits }
    }

    /// Is it a member?
    pub fn contains(&self, i: usize) -> bool {
        self.bits[i / 64] >> (i % 64) & 1 == 1
    }

    /// The members of either.
    pub fn union(&self, other: &Set) -> Set {
        Set::filter(self.size, |i| self.contains(i) || other.contains(i))
    }

    /// The members of both.
    pub fn intersection(&self, other: &Set) -> Set {
        Set::filter(self.size, |i| self.contains(i) && other.contains(i))
    }

    fn words(&self) -> &[u64] {
        &self.bits
    }
}

/// A binary relation on the positions `0..size`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    size: usize,
    /// 64-bit words per row.
    width: usize,
    /// Row by row; bit `b` of row `a` says that a is related to b.
    bits: Vec<u64>,
}

impl Relation {
    /// The relation of nothing to nothing.
    pub fn empty(size: usize) -> Relation {
        let width = size.div_ceil(64);
        Relation { size, width, bits: vec![0; size * width] }
    }

    /// These pairs.
    pub fn from_pairs(size: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Relation {
        let mut relation = Relation::empty(size);
        for (a, b) in pairs {
            relation.insert(a, b);
        }
        relation
    }

    /// \[set\]: its members, each related to itself.
    pub fn identity(set: &Set) -> Relation {
        Relation::from_pairs(set.size, (0..set.size).filter(|&i| set.contains(i)).map(|i| (i, i)))
    }

    /// from × to.
    pub fn product(from: &Set, to: &Set) -> Relation {
        let mut relation = Relation::empty(from.size);
        for a in (0..from.size).filter(|&a| from.contains(a)) {
            relation.row_mut(a).copy_from_slice(to.words());
        }
        relation
    }

    /// How many positions there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Relates a to b.
    pub fn insert(&mut self, a: usize, b: usize) {
        self.bits[a * self.width + b / 64] |= 1 << (b % 64);
    }

    /// Is a related to b?
    pub fn contains(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.width + b / 64] >> (b % 64) & 1 == 1
    }

    /// Is nothing related to anything?
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    /// What a is related to, in ascending order.
    pub fn successors(&self, a: usize) -> impl Iterator<Item = usize> + '_ {
        self.row(a).iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors(Some(word), |&w| Some(w & w.wrapping_sub(1)))
                .take_while(|&w| w != 0)
                .map(move |w| i * 64 + w.trailing_zeros() as usize)
        })
    }

    /// All pairs, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.size).flat_map(|a| self.successors(a).map(move |b| (a, b)))
    }

    /// r ∪ s
    pub fn union(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }

    /// r ∩ s
    pub fn intersection(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }

    /// r \ s
    pub fn difference(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }

    /// r;s: first r, then s.
    pub fn compose(&self, other: &Relation) -> Relation {
        let mut result = Relation::empty(self.size);
        for a in 0..self.size {
            for b in self.successors(a) {
                result.join_row(a, other.row(b));
            }
        }
        result
    }

    /// r⁻¹
    pub fn inverse(&self) -> Relation {
        Relation::from_pairs(self.size, self.pairs().map(|(a, b)| (b, a)))
    }

    /// r?: r or the same.
    pub fn reflexive(&self) -> Relation {
        let mut result = self.clone();
        for i in 0..self.size {
            result.insert(i, i);
        }
        result
    }

    /// r without what is related to itself.
    pub fn irreflexive_part(&self) -> Relation {
        Relation::from_pairs(self.size, self.pairs().filter(|(a, b)| a != b))
    }

    /// r⁺: one or more steps of r.
    pub fn closure(&self) -> Relation {
        let mut result = self.clone();
        // Warshall: after round k, every path whose inner positions are at most k is there.
        for k in 0..self.size {
            let through = result.row(k).to_vec();
            for a in 0..self.size {
                if result.contains(a, k) {
                    result.join_row(a, &through);
                }
            }
        }
        result
    }

    /// \[from\];r;\[to\]
    pub fn restrict(&self, from: &Set, to: &Set) -> Relation {
        let mut result = self.clone();
        for a in 0..self.size {
            let keep = from.contains(a);
            for (word, mask) in result.row_mut(a).iter_mut().zip(to.words()) {
                *word &= if keep { *mask } else { 0 };
            }
        }
        result
    }

    /// Makes one position of each pair (a, b) of `together`: whatever is related to one is related to the
    /// other, and between the two nothing is said. Every position may be in one pair only.
    pub fn contract(&self, together: &Relation) -> Relation {
        let mut first: Vec<usize> = (0..self.size).collect();
        for (a, b) in together.pairs() {
            first[b] = a;
        }
        Relation::from_pairs(self.size, self.pairs().map(|(a, b)| (first[a], first[b]))).irreflexive_part()
    }

    /// Does no path lead back to where it began?
    pub fn is_acyclic(&self) -> bool {
        self.find_cycle().is_none()
    }

    /// A position that is related to itself.
    pub fn find_loop(&self) -> Option<usize> {
        (0..self.size).find(|&i| self.contains(i, i))
    }

    /// The positions of some cycle in order, each related to the next and the last to the first.
    pub fn find_cycle(&self) -> Option<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            OnPath,
            Done,
        }
        let mut marks = vec![Mark::New; self.size];
        for root in 0..self.size {
            if marks[root] != Mark::New {
                continue;
            }
            marks[root] = Mark::OnPath;
            let mut path = vec![(root, self.successors(root))];
            while let Some((last, next)) = path.last_mut() {
                let last = *last;
                match next.next() {
                    Some(b) => match marks[b] {
                        Mark::New => {
                            marks[b] = Mark::OnPath;
                            path.push((b, self.successors(b)));
                        }
                        Mark::OnPath => {
                            return Some(path.iter().map(|(a, _)| *a).skip_while(|&a| a != b).collect());
                        }
                        Mark::Done => {}
                    },
                    None => {
                        marks[last] = Mark::Done;
                        path.pop();
                    }
                }
            }
        }
        None
    }

    fn row(&self, a: usize) -> &[u64] {
        &self.bits[a * self.width..][..self.width]
    }

    fn row_mut(&mut self, a: usize) -> &mut [u64] {
        &mut self.bits[a * self.width..][..self.width]
    }

    fn join_row(&mut self, a: usize, row: &[u64]) {
        for (mine, theirs) in self.row_mut(a).iter_mut().zip(row) {
            *mine |= theirs;
        }
    }

    fn zip(&self, other: &Relation, word: impl Fn(u64, u64) -> u64) -> Relation {
        assert_eq!(self.size, other.size, "relations over different events");
        let bits = self.bits.iter().zip(&other.bits).map(|(&a, &b)| word(a, b)).collect();
        Relation { bits, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than one word a row, so that the arithmetic of words is tested too.
    const SIZE: usize = 70;

    fn relation(pairs: &[(usize, usize)]) -> Relation {
        Relation::from_pairs(SIZE, pairs.iter().copied())
    }

    fn pairs(relation: &Relation) -> Vec<(usize, usize)> {
        relation.pairs().collect()
    }

    #[test]
    fn the_algebra() {
        let r = relation(&[(0, 1), (1, 69), (2, 2)]);
        let s = relation(&[(1, 69), (69, 0), (2, 3)]);
        let small = Set::filter(SIZE, |i| i < 2);
        let all = Set::filter(SIZE, |_| true);
        let table = [
            ("r ∪ s", r.union(&s), vec![(0, 1), (1, 69), (2, 2), (2, 3), (69, 0)]),
            ("r ∩ s", r.intersection(&s), vec![(1, 69)]),
            ("r \\ s", r.difference(&s), vec![(0, 1), (2, 2)]),
            ("r;s", r.compose(&s), vec![(0, 69), (1, 0), (2, 3)]),
            ("r⁻¹", r.inverse(), vec![(1, 0), (2, 2), (69, 1)]),
            ("r⁺", r.closure(), vec![(0, 1), (0, 69), (1, 69), (2, 2)]),
            ("r \\ id", r.irreflexive_part(), vec![(0, 1), (1, 69)]),
            ("[small];r;[small]", r.restrict(&small, &small), vec![(0, 1)]),
            ("[all];r;[small]", r.restrict(&all, &small), vec![(0, 1)]),
            ("[small];r;[all]", r.restrict(&small, &all), vec![(0, 1), (1, 69)]),
            ("[small]", Relation::identity(&small), vec![(0, 0), (1, 1)]),
            ("small × small", Relation::product(&small, &small), vec![(0, 0), (0, 1), (1, 0), (1, 1)]),
            ("0 and 69 as one", s.contract(&relation(&[(0, 69)])), vec![(1, 0), (2, 3)]),
        ];
        for (name, got, expected) in table {
            assert_eq!(pairs(&got), expected, "{name}");
        }
        assert_eq!(r.reflexive().pairs().count(), SIZE + 2);
        assert_eq!(r.find_loop(), Some(2));
    }

    #[test]
    fn cycles_are_found_and_are_cycles() {
        let table: [(&[(usize, usize)], bool); 6] = [
            (&[], false),
            (&[(0, 1), (1, 69), (0, 69)], false),
            (&[(3, 3)], true),
            (&[(5, 69), (69, 5)], true),
            (&[(0, 1), (1, 2), (2, 3), (3, 1)], true),
            // a diamond is no cycle
            (&[(0, 1), (0, 2), (1, 3), (2, 3)], false),
        ];
        for (edges, cyclic) in table {
            let r = relation(edges);
            let cycle = r.find_cycle();
            assert_eq!(cycle.is_some(), cyclic, "{edges:?}");
            assert_eq!(r.is_acyclic(), !cyclic);
            assert_eq!(r.closure().find_loop().is_some(), cyclic, "{edges:?}");
            if let Some(cycle) = cycle {
                for (i, &a) in cycle.iter().enumerate() {
                    assert!(r.contains(a, cycle[(i + 1) % cycle.len()]), "{cycle:?} in {edges:?}");
                }
            }
        }
    }
}
