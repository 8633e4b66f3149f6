//! Relaxer's prediction: the potential happens-before cycles of one execution, by the paper's algorithm 1.
//!
//! A chain is e1 e1' e2 e2' … with each e e' in program order, each e' in a potential data race with the next e (same
//! memory, one of them writes, different threads; what orders them does not matter), and no thread twice. A chain
//! that closes is a cycle, and is not extended.
//!
//! Two deviations. Chains are kept of accesses (thread, program point, location) instead of events: what is asked of
//! a chain is asked of one segment or of two neighbours, so that the cycles of program points are the same and the
//! chains far fewer. And the paper drops only chains that *begin* with a cycle, so that what decomposes may still be
//! reported in another rotation; here no part of a cycle is a cycle.

use crate::profile::Profile;
use fencepost_trace::{Cycle, Location, Segment};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A step as far as chains go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Node {
    thread: u32,
    class: u32,
    at: Location,
    writes: bool,
}

impl Node {
    fn races(&self, other: &Node) -> bool {
        self.thread != other.thread && (self.writes || other.writes) && self.at.overlaps(other.at)
    }
}

/// The cycles of an execution with at most `length` accesses, each once up to rotation.
pub fn cycles(profile: &Profile, length: Option<usize>) -> BTreeSet<Cycle> {
    let pairs = pairs(profile);
    let length = length.unwrap_or(usize::MAX);
    let mut found = BTreeSet::new();
    // C_i, grown by a segment, that is by two events, at a time.
    let mut chains: Vec<Vec<usize>> = (0..pairs.len()).map(|i| vec![i]).collect();
    while !chains.is_empty() {
        let mut longer = FxHashSet::default();
        for chain in &chains {
            if 2 * (chain.len() + 1) > length {
                continue;
            }
            let last = &pairs[chain[chain.len() - 1]].1;
            for (i, (first, second)) in pairs.iter().enumerate() {
                let fresh = chain.iter().all(|c| pairs[*c].0.thread != first.thread);
                if !fresh || !last.races(first) {
                    continue;
                }
                let mut chain = chain.clone();
                chain.push(i);
                // A part at the end that closes is a cycle of its own; a part before that would have been met earlier.
                let from = (0..chain.len() - 1).rev().find(|start| second.races(&pairs[chain[*start]].0));
                match from {
                    Some(0) => {
                        if !decomposes(&chain, &pairs) {
                            found.insert(name(&chain, &pairs));
                        }
                    }
                    Some(_) => {}
                    None => {
                        longer.insert(chain);
                    }
                }
            }
        }
        chains = longer.into_iter().collect();
        chains.sort();
    }
    found
}

/// Is there a shorter cycle among neighbouring segments, around the end too?
fn decomposes(chain: &[usize], pairs: &[(Node, Node)]) -> bool {
    let n = chain.len();
    (0..n).any(|start| {
        (2..n).any(|length| {
            let end = (start + length - 1) % n;
            pairs[chain[end]].1.races(&pairs[chain[start]].0)
        })
    })
}

fn name(chain: &[usize], pairs: &[(Node, Node)]) -> Cycle {
    let segment = |c: &usize| Segment { first: pairs[*c].0.class, second: Some(pairs[*c].1.class) };
    Cycle { segments: chain.iter().map(segment).collect() }.canonical()
}

/// The pairs in program order of accesses that race with anything.
fn pairs(profile: &Profile) -> Vec<(Node, Node)> {
    let node = |thread: usize, item: &crate::Item| Node {
        thread: thread as u32,
        class: item.class,
        at: item.at,
        writes: item.kind.writes,
    };
    let steps = |t: usize| profile.threads[t].iter().filter(|item| item.is_visible()).map(move |item| node(t, item));
    let all: BTreeSet<Node> = (0..profile.threads.len()).flat_map(steps).collect();
    let racing: FxHashSet<Node> = all.iter().filter(|a| all.iter().any(|b| a.races(b))).copied().collect();
    let mut pairs = BTreeSet::new();
    for t in 0..profile.threads.len() {
        let mut before: Vec<Node> = Vec::new();
        for step in steps(t).filter(|step| racing.contains(step)) {
            pairs.extend(before.iter().map(|first| (*first, step)));
            if !before.contains(&step) {
                before.push(step);
            }
        }
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{profile, read, write};

    fn found(threads: &[&[crate::Item]]) -> Vec<Vec<u32>> {
        cycles(&profile(threads), None).iter().map(|cycle| cycle.labels().collect()).collect()
    }

    #[test]
    fn the_example_of_the_paper() {
        // Figure 2: x = 1; y = 1; done = 1 against if (done) { if (x == 0) …; local = y }.
        let (x, y, done) = (0, 1, 2);
        let one = [write(1, x), write(2, y), write(3, done)];
        let other = [read(4, done), read(5, x), read(7, y)];
        assert_eq!(found(&[&one, &other]), [[1, 3, 4, 5], [2, 3, 4, 7]]);
    }

    #[test]
    fn what_decomposes_is_left_out() {
        // Three threads around: one cycle of six; with a shortcut between the first two, the cycle of four alone.
        let (x, y, z) = (0, 1, 2);
        let around: [&[_]; 3] = [&[write(1, x), read(2, y)], &[write(3, y), read(4, z)], &[write(5, z), read(6, x)]];
        assert_eq!(found(&around), [[1, 2, 3, 4, 5, 6]]);
        let shortcut: [&[_]; 3] =
            [&[write(1, x), read(2, y)], &[write(3, y), read(4, z), read(7, x)], &[write(5, z), read(6, x)]];
        assert_eq!(found(&shortcut), [vec![1, 2, 3, 4, 5, 6], vec![1, 2, 3, 7]]);
        let always: [&[_]; 3] = [&[write(1, x), read(2, y)], &[write(3, y), write(4, x)], &[write(5, x), read(6, x)]];
        assert_eq!(found(&always), [[1, 2, 3, 4]]);
    }
}
