//! The orderings that make a program safe, and those that a safe program could do without. Whether a program is safe
//! with a change is asked of `safe` itself, so that every answer is a proof.

use fencepost_report::{FenceAdvice, FenceKind, VerifiedBy};
use fencepost_trace::{Access, FenceOrder, Label, RmwOrder};

/// The fewest of the candidates that are enough; `None` if all together are not.
///
/// One after the other is left out as long as the rest is enough: what is left cannot spare any. Then up to `most`
/// smaller sets are tried. Fences only take executions away, so that a part of what is not enough is not enough.
pub fn fewest<T: Clone, E>(
    candidates: &[T],
    most: usize,
    mut enough: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Option<Vec<T>>, E> {
    let pick = |set: &[usize]| -> Vec<T> { set.iter().map(|i| candidates[*i].clone()).collect() };
    let mut chosen: Vec<usize> = (0..candidates.len()).collect();
    if !enough(candidates)? {
        return Ok(None);
    }
    let mut too_few: Vec<Vec<usize>> = Vec::new();
    for i in 0..candidates.len() {
        let fewer: Vec<usize> = chosen.iter().copied().filter(|other| *other != i).collect();
        if enough(&pick(&fewer))? {
            chosen = fewer;
        } else {
            too_few.push(fewer);
        }
    }
    let mut tried = 0;
    for size in 1..chosen.len() {
        let mut set: Vec<usize> = (0..size).collect();
        loop {
            if !too_few.iter().any(|known| set.iter().all(|i| known.binary_search(i).is_ok())) {
                tried += 1;
                if tried > most {
                    return Ok(Some(pick(&chosen)));
                }
                if enough(&pick(&set))? {
                    return Ok(Some(pick(&set)));
                }
                too_few.push(set.clone());
            }
            if !next_combination(&mut set, candidates.len()) {
                break;
            }
        }
    }
    Ok(Some(pick(&chosen)))
}

fn next_combination(indices: &mut [usize], of: usize) -> bool {
    let size = indices.len();
    let Some(i) = (0..size).rev().find(|i| indices[*i] < of - size + i) else { return false };
    indices[i] += 1;
    for j in i + 1..size {
        indices[j] = indices[j - 1] + 1;
    }
    true
}

/// Makes each as weak as can be while all together stay enough. `weaker` lists what could take the place of one, the
/// weakest first.
pub fn weakest<T: Clone, E>(
    list: &mut Vec<T>,
    weaker: impl Fn(&T) -> Vec<T>,
    mut enough: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<(), E> {
    for i in 0..list.len() {
        for candidate in weaker(&list[i]) {
            let mut changed = list.clone();
            changed[i] = candidate;
            if enough(&changed)? {
                *list = changed;
                break;
            }
        }
    }
    Ok(())
}

/// Fences weaker than a full one, the weakest first.
pub const WEAKER_FENCES: [FenceOrder; 3] = [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel];

/// What a fence or a seq_cst operation could be weakened to, the weakest first; see [`Access::weakened`].
pub fn weaker_than(access: &Access) -> Vec<RmwOrder> {
    let mut known = vec![Some(*access)];
    let mut list = Vec::new();
    for to in [RmwOrder::Relaxed, RmwOrder::Acquire, RmwOrder::Release, RmwOrder::AcqRel] {
        let weaker = access.weakened(to);
        if !known.contains(&weaker) {
            known.push(weaker);
            list.push(to);
        }
    }
    list
}

/// Which operations and fences can be weaker, all of them together. One after the other is made as weak as can be while
/// the program stays safe, which `safe` is asked about lists of them.
pub fn spare<T: Clone, E>(
    strong: &[(T, Access)],
    mut safe: impl FnMut(&[(T, RmwOrder)]) -> Result<bool, E>,
) -> Result<Vec<(T, RmwOrder)>, E> {
    let mut chosen: Vec<(T, RmwOrder)> = Vec::new();
    for (at, access) in strong {
        for to in weaker_than(access) {
            chosen.push((at.clone(), to));
            if safe(&chosen)? {
                break;
            }
            chosen.pop();
        }
    }
    Ok(chosen)
}

/// What can be weaker, in words.
pub fn spared(place: &str, access: &Access, to: RmwOrder) -> String {
    if let Access::Fence { order } = access {
        let now = FenceKind::of(*order).words();
        return match access.weakened(to) {
            Some(Access::Fence { order }) => format!("{place}: {now} can be a {}", FenceKind::of(order).words()),
            _ => format!("{place}: {now} can go"),
        };
    }
    let order = match to {
        RmwOrder::Relaxed => "relaxed",
        RmwOrder::Acquire => "acquire",
        RmwOrder::Release => "release",
        RmwOrder::AcqRel => "acq_rel",
        RmwOrder::SeqCst => "seq_cst",
    };
    format!("{place}: seq_cst {} can be {order}", name_of(access))
}

/// What an access is called.
pub fn name_of(access: &Access) -> &'static str {
    match access {
        Access::Load { .. } => "load",
        Access::Store { .. } => "store",
        Access::Rmw { .. } => "read-modify-write",
        Access::CompareExchange { .. } => "compare-exchange",
        Access::Fence { .. } => "fence",
    }
}

/// A fence that makes a program safe, with the rest of them: before or behind `what`, which is at `place`.
pub fn advice(label: &Label, place: &str, what: &str, before: bool, order: FenceOrder) -> FenceAdvice {
    let kind = FenceKind::of(order);
    let side = if before { "before" } else { "behind" };
    FenceAdvice {
        advice: format!("{place}: {} {side} {what}", kind.words()),
        file: label.file.clone(),
        line: label.line,
        before,
        order: kind,
        pairs: Vec::new(),
        verified: true,
        by: Some(VerifiedBy::Explored),
        reads: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{Guard, LoadOrder, Location, Size};
    use std::convert::Infallible;

    /// Enough is what hits each of the groups.
    fn hits(groups: &[&[u32]]) -> impl Fn(&[u32]) -> Result<bool, Infallible> {
        move |set| Ok(groups.iter().all(|group| group.iter().any(|i| set.contains(i))))
    }

    #[test]
    fn the_fewest_are_found_where_leaving_out_leads_elsewhere() {
        // Leaving out 1 first leaves 2 and 3; 1 alone is enough.
        let groups: [&[u32]; 2] = [&[1, 2], &[1, 3]];
        assert_eq!(fewest(&[1, 2, 3], 100, hits(&groups)), Ok(Some(vec![1])));
        assert_eq!(fewest(&[1, 2, 3], 0, hits(&groups)), Ok(Some(vec![2, 3])));
        assert_eq!(fewest(&[2], 100, hits(&groups)), Ok(None));
    }

    #[test]
    fn each_is_as_weak_as_can_be() {
        let mut list = vec![3, 3];
        let sum = |list: &[i32]| Ok::<_, Infallible>(list.iter().sum::<i32>() >= 4);
        assert_eq!(weakest(&mut list, |n| (0..*n).collect(), sum), Ok(()));
        assert_eq!(list, [1, 3]);
    }

    #[test]
    fn what_is_weaker_is_listed_once() {
        let load = Access::Load { at: Location::new(8, Size::B4), order: LoadOrder::SeqCst, guard: Guard::Any };
        assert_eq!(weaker_than(&load), [RmwOrder::Relaxed, RmwOrder::Acquire]);
        let fence = Access::Fence { order: FenceOrder::Release };
        assert_eq!(weaker_than(&fence), [RmwOrder::Relaxed]);
        assert_eq!(spared("a.c:1", &fence, RmwOrder::Relaxed), "a.c:1: store-store (release) fence can go");
        let full = Access::Fence { order: FenceOrder::SeqCst };
        assert_eq!(weaker_than(&full).len(), 4);
        assert_eq!(spared("a.c:1", &full, RmwOrder::Acquire), "a.c:1: full fence can be a load-load (acquire) fence");
        assert_eq!(spared("a.c:1", &load, RmwOrder::Relaxed), "a.c:1: seq_cst load can be relaxed");
    }
}
