//! Orion's prediction: the race graph of one execution, and its minimal cycles.
//!
//! The paper's steps, in order: races (conflicting accesses in parallel epochs, an epoch being what lies between two
//! synchronisations of a thread), the profile of the racing accesses (at most so many of each program point and
//! thread), the graph (one node for all accesses of an epoch at one program point to one address, transitive program
//! order, race edges in both directions), cycles of the two shapes of figure 4.

use crate::profile::{Epochs, Profile};
use fencepost_trace::{Cycle, Location, Model, Segment};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A node: the accesses of one kind, in one epoch of a thread, at one program point, to one address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    /// Whose.
    pub thread: u32,
    /// Between which synchronisations.
    pub epoch: u32,
    /// The program point.
    pub class: u32,
    /// Where.
    pub at: Location,
    /// Is it a store, or an RMW?
    pub writes: bool,
}

/// The race graph of an execution.
#[derive(Clone, Debug, Default)]
pub struct RaceGraph {
    /// The racing accesses.
    pub nodes: Vec<Node>,
    /// Program order, transitive: for each node those that some access of it comes before.
    pub program: Vec<Vec<u32>>,
    /// Races, in both directions.
    pub races: Vec<Vec<u32>>,
    /// How many accesses were profiled.
    pub accesses: usize,
}

impl RaceGraph {
    /// The graph of an execution; of each program point a thread's first `cap` racing accesses are profiled.
    pub fn new(profile: &Profile, cap: usize) -> RaceGraph {
        let epochs = Epochs::new(profile, true);
        let racing = racing_classes(profile, &epochs);
        let mut names: FxHashMap<Node, u32> = FxHashMap::default();
        let mut graph = RaceGraph::default();
        for (t, steps) in profile.threads.iter().enumerate() {
            let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
            let (mut first, mut last) = (FxHashMap::default(), FxHashMap::default());
            for (i, item) in steps.iter().enumerate().filter(|(_, item)| item.is_visible()) {
                let count = counts.entry(item.class).or_default();
                *count += 1;
                if !racing.contains(&item.class) || *count > cap {
                    continue;
                }
                graph.accesses += 1;
                let epoch = epochs.of[t][i];
                let node = Node { thread: t as u32, epoch, class: item.class, at: item.at, writes: item.kind.writes };
                let name = *names.entry(node).or_insert_with(|| {
                    graph.nodes.push(node);
                    graph.nodes.len() as u32 - 1
                });
                first.entry(name).or_insert(i);
                last.insert(name, i);
            }
            graph.program.resize(graph.nodes.len(), Vec::new());
            for (a, i) in &first {
                graph.program[*a as usize].extend(last.iter().filter(|(b, j)| i < j && *b != a).map(|(b, _)| *b));
                graph.program[*a as usize].sort_unstable();
            }
        }
        graph.races = (0..graph.nodes.len())
            .map(|a| {
                let one = &graph.nodes[a];
                let races = |other: &Node| {
                    (one.writes || other.writes)
                        && one.at.overlaps(other.at)
                        && epochs.parallel_epochs((one.thread, one.epoch), (other.thread, other.epoch))
                };
                (0..graph.nodes.len() as u32).filter(|b| races(&graph.nodes[*b as usize])).collect()
            })
            .collect();
        graph
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.program.iter().chain(&self.races).map(Vec::len).sum()
    }

    /// How many different locations and program points race.
    pub fn racing(&self) -> (usize, usize) {
        let places: FxHashSet<u64> = self.nodes.iter().map(|node| node.at.address).collect();
        let points: FxHashSet<u32> = self.nodes.iter().map(|node| node.class).collect();
        (places.len(), points.len())
    }

    /// The minimal cycles with at most `length` accesses, each once up to rotation.
    ///
    /// Either program order and races alternate (figure 4a), or there are, besides, stores alone in their threads
    /// between two loads (figure 4b), which makes odd lengths.
    pub fn cycles(&self, length: usize) -> BTreeSet<Cycle> {
        let mut search = Search { graph: self, length, path: Vec::new(), found: BTreeSet::new() };
        for a in 0..self.nodes.len() as u32 {
            for b in &self.program[a as usize] {
                search.path.push((a, Some(*b)));
                search.extend(*b, 2);
                search.path.pop();
            }
        }
        search.found
    }
}

/// Can the model make this cycle a violation: is a store of it followed by a load (tso), or by anything (pso)?
///
/// `writes` tells whether a program point is a store. The paper's classification; what fences are between the two it
/// leaves to its phase 2.
pub fn possible(cycle: &Cycle, model: Model, writes: impl Fn(u32) -> bool) -> bool {
    cycle.segments.iter().any(|segment| match segment.second {
        None => false,
        Some(second) => match model {
            Model::Sc | Model::C11 => false,
            Model::Tso => writes(segment.first) && !writes(second),
            Model::Pso => writes(segment.first),
            Model::Pslo => writes(segment.first) || !writes(second),
        },
    })
}

/// The program points that take part in a race.
fn racing_classes(profile: &Profile, epochs: &Epochs) -> FxHashSet<u32> {
    let mut nodes: FxHashSet<Node> = FxHashSet::default();
    for (t, steps) in profile.threads.iter().enumerate() {
        nodes.extend(steps.iter().enumerate().filter(|(_, item)| item.is_visible()).map(|(i, item)| Node {
            thread: t as u32,
            epoch: epochs.of[t][i],
            class: item.class,
            at: item.at,
            writes: item.kind.writes,
        }));
    }
    let mut by_place: FxHashMap<u64, Vec<&Node>> = FxHashMap::default();
    for node in &nodes {
        by_place.entry(node.at.address / 16).or_default().push(node);
    }
    let mut racing = FxHashSet::default();
    for list in by_place.values() {
        for a in list {
            let races = |b: &&Node| {
                (a.writes || b.writes)
                    && a.at.overlaps(b.at)
                    && epochs.parallel_epochs((a.thread, a.epoch), (b.thread, b.epoch))
            };
            if list.iter().any(races) {
                racing.insert(a.class);
            }
        }
    }
    racing
}

struct Search<'a> {
    graph: &'a RaceGraph,
    length: usize,
    path: Vec<(u32, Option<u32>)>,
    found: BTreeSet<Cycle>,
}

impl Search<'_> {
    fn extend(&mut self, current: u32, length: usize) {
        let graph = self.graph;
        let node = |n: u32| &graph.nodes[n as usize];
        let alone = self.path.last().is_some_and(|(_, second)| second.is_none());
        for next in &graph.races[current as usize] {
            // Behind a store that is alone comes a load.
            if alone && node(*next).writes {
                continue;
            }
            if *next == self.path[0].0 {
                self.report();
                continue;
            }
            if self.path.iter().any(|(a, _)| node(*a).thread == node(*next).thread) {
                continue;
            }
            if !alone && !node(current).writes && node(*next).writes && length + 1 < self.length {
                self.path.push((*next, None));
                self.extend(*next, length + 1);
                self.path.pop();
            }
            // The same store can also be the last of the cycle, before the load that begins it.
            if !alone && !node(current).writes && node(*next).writes && length + 1 == self.length {
                let start = self.path[0].0;
                if !node(start).writes && graph.races[*next as usize].contains(&start) {
                    self.path.push((*next, None));
                    self.report();
                    self.path.pop();
                }
            }
            if length + 2 <= self.length {
                for second in &graph.program[*next as usize] {
                    self.path.push((*next, Some(*second)));
                    self.extend(*second, length + 2);
                    self.path.pop();
                }
            }
        }
    }

    fn report(&mut self) {
        let name = |n: u32| self.graph.nodes[n as usize].class;
        let segments = self.path.iter().map(|(a, b)| Segment { first: name(*a), second: b.map(name) });
        self.found.insert(Cycle { segments: segments.collect() }.canonical());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lock, profile, read, unlock, write};

    fn labels(graph: &RaceGraph, length: usize) -> Vec<Vec<u32>> {
        graph.cycles(length).iter().map(|cycle| cycle.labels().collect()).collect()
    }

    #[test]
    fn accesses_under_one_lock_do_not_race() {
        let (x, y) = (0, 1);
        let body = |a, b| [lock(9), write(a, x), read(b, y), unlock(9)];
        let (one, other) = (body(1, 2), [lock(9), write(3, y), read(4, x), unlock(9)]);
        let graph = RaceGraph::new(&profile(&[&one, &other]), 20);
        assert!(graph.nodes.is_empty());
        let other = [lock(8), write(3, y), read(4, x), unlock(8)];
        let graph = RaceGraph::new(&profile(&[&one, &other]), 20);
        assert_eq!(labels(&graph, 8), [[1, 2, 3, 4]]);
        assert_eq!(graph.racing(), (2, 4));
    }

    #[test]
    fn accesses_of_an_epoch_are_one_node_and_order_is_transitive() {
        // Figure 3: ld(x, 1) st(y, 2) ld(x, 1) … against st(x, 3).
        let (x, y) = (0, 1);
        let one = [read(1, x), write(2, y), read(1, x), read(4, x)];
        let other = [write(3, x), read(5, y)];
        let graph = RaceGraph::new(&profile(&[&one, &other]), 20);
        assert_eq!(graph.nodes.len(), 5);
        // 1 → 2, 2 → 1, 1 → 4, 2 → 4; 3 → 5; the races 1-3, 4-3, 2-5 both ways.
        assert_eq!(graph.edges(), 5 + 6);
        let graph = RaceGraph::new(&profile(&[&one, &other]), 1);
        assert_eq!(graph.accesses, 5);
    }

    #[test]
    fn odd_lengths_exist() {
        // Figure 9: a store alone in its thread, between two loads.
        let (tail, head) = (0, 1);
        let threads: [&[_]; 3] =
            [&[write(16, tail), read(21, head)], &[write(30, head)], &[read(22, head), read(17, tail)]];
        let graph = RaceGraph::new(&profile(&threads), 20);
        assert_eq!(labels(&graph, 8), [[16, 21, 30, 22, 17]]);
        let writes = |class: u32| class == 16 || class == 30;
        let cycle = graph.cycles(8).pop_first().unwrap();
        assert!(possible(&cycle, Model::Tso, writes) && possible(&cycle, Model::Pso, writes));
        assert!(labels(&graph, 4).is_empty());
    }
}
