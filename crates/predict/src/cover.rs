//! Where an ordering breaks cycles.

use std::collections::BTreeSet;

/// A smallest set of places such that every cycle has at least one of its places in it; `cycles` lists for each cycle
/// the places where an ordering would break it. Of several smallest sets the first in the order of places. A cycle
/// without places cannot be broken and is left out.
///
/// ```
/// use fencepost_predict::cover::smallest;
/// assert_eq!(smallest(&[vec![1, 2], vec![2, 3], vec![3, 4]]), [1, 3]);
/// ```
pub fn smallest(cycles: &[Vec<usize>]) -> Vec<usize> {
    let mut rest: Vec<Vec<usize>> = cycles
        .iter()
        .filter(|places| !places.is_empty())
        .map(|places| places.iter().copied().collect::<BTreeSet<_>>().into_iter().collect())
        .collect();
    rest.sort();
    rest.dedup();
    // A cycle whose places contain another's is broken with that one.
    let all = rest.clone();
    let contains = |big: &[usize], small: &[usize]| small.len() < big.len() && small.iter().all(|p| big.contains(p));
    rest.retain(|places| !all.iter().any(|other| contains(places, other)));
    (0..=rest.len()).find_map(|size| hit(&rest, size)).unwrap_or_default()
}

/// A set of at most `size` places that hits all of them.
fn hit(cycles: &[Vec<usize>], size: usize) -> Option<Vec<usize>> {
    let Some(first) = cycles.first() else { return Some(Vec::new()) };
    if size == 0 {
        return None;
    }
    // Disjoint cycles need a place each.
    let mut taken: Vec<&Vec<usize>> = Vec::new();
    for places in cycles {
        if taken.iter().all(|other| other.iter().all(|p| !places.contains(p))) {
            taken.push(places);
        }
    }
    if taken.len() > size {
        return None;
    }
    first.iter().find_map(|place| {
        let rest: Vec<Vec<usize>> = cycles.iter().filter(|places| !places.contains(place)).cloned().collect();
        let mut set = hit(&rest, size - 1)?;
        set.push(*place);
        set.sort_unstable();
        Some(set)
    })
}

#[cfg(test)]
mod tests {
    use super::smallest;

    #[test]
    fn it_is_the_smallest() {
        assert_eq!(smallest(&[]), []);
        assert_eq!(smallest(&[vec![]]), []);
        assert_eq!(smallest(&[vec![5, 7], vec![7, 9], vec![9, 7, 1]]), [7]);
        // The greedy choice, 1, would need three.
        let cycles = [vec![1, 2], vec![1, 3], vec![1, 2, 4], vec![2, 5], vec![3, 6]];
        assert_eq!(smallest(&cycles).len(), 2);
    }

    #[test]
    fn it_is_no_larger_than_by_brute_force() {
        let mut state = 1u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        for _ in 0..200 {
            let cycles: Vec<Vec<usize>> =
                (0..random(8)).map(|_| (0..1 + random(4)).map(|_| random(8) as usize).collect()).collect();
            let best = (0u32..256)
                .filter(|set| cycles.iter().all(|places| places.iter().any(|p| set >> p & 1 == 1)))
                .map(u32::count_ones)
                .min();
            let found = smallest(&cycles);
            assert!(cycles.iter().all(|places| places.iter().any(|p| found.contains(p))));
            assert_eq!(Some(found.len() as u32), best);
        }
    }
}
