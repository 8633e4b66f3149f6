//! All critical cycles, enumerated directly.
//!
//! A cycle is critical if it has at most two accesses of each thread, adjacent and to different locations, and at
//! most three of each location, adjacent and from different threads (W W, R W, W R, R W R): every violation contains
//! such a cycle (Shasha and Snir). What matters of an execution for that is little: which accesses (thread, program
//! point, location) there are, which come before which in program order, and which of these pairs the model may
//! reorder. All executions are put together into one such graph, and the search starts from the pairs that can be
//! reordered, so that it never meets a cycle that the model forbids.

mod longer;

use crate::order::passing;
use crate::profile::{Epochs, Profile};
use fencepost_trace::{Cycle, Location, Model, Segment};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::time::Instant;

/// An access that takes part in cycles: all steps of one thread at one program point to one location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    /// Whose.
    pub thread: u32,
    /// The program point.
    pub class: u32,
    /// Where.
    pub at: Location,
    /// Does it read, does it write?
    pub access: (bool, bool),
    /// The epoch, where threads are created and joined.
    pub epoch: u32,
}

impl Node {
    fn conflicts(&self, other: &Node) -> bool {
        self.thread != other.thread && (self.access.1 || other.access.1) && self.at.overlaps(other.at)
    }
}

/// One way in which a cycle of program points could come about: for each segment the accesses.
pub type Instance = Vec<(Node, Option<Node>)>;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The cycles, each once up to rotation, with some of their instances.
    pub cycles: BTreeMap<Cycle, Vec<Instance>>,
    /// Was the whole graph searched?
    pub complete: bool,
}

/// Where the search ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The greatest number of accesses in a cycle; `None`: any number.
    pub length: Option<usize>,
    /// How many instances of a cycle are kept.
    pub instances: usize,
    /// How many steps the search may take.
    pub steps: u64,
    /// When it must be over; it is looked at once in a while.
    pub until: Option<Instant>,
}

impl Limits {
    /// The clock is looked at after so many steps.
    const LOOK: u64 = 1 << 14;

    fn are_reached(&self, steps: u64) -> bool {
        let late = || self.until.is_some_and(|until| Instant::now() >= until);
        steps > self.steps || steps.is_multiple_of(Limits::LOOK) && late()
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { length: Some(8), instances: 12, steps: 200_000_000, until: None }
    }
}

/// The accesses of some executions, and their order.
pub struct Graph {
    nodes: Vec<Node>,
    /// For each node those behind it in program order that access another location, and whether the model can let
    /// them pass.
    pairs: Vec<Vec<(u32, bool)>>,
    /// For each node those behind it in program order that access the same location.
    same: Vec<Vec<u32>>,
    /// For each node those of other threads that it conflicts with.
    conflicts: Vec<Vec<u32>>,
    threads: usize,
}

impl Graph {
    /// Puts executions together, for what `model` can reorder.
    pub fn new(profiles: &[Profile], model: Model) -> Graph {
        let mut gathering = Gathering::default();
        for profile in profiles {
            gathering.add(profile, model);
        }
        gathering.finish()
    }

    /// The cycles of the graph.
    pub fn cycles(&self, limits: Limits) -> Found {
        self.search(Shape::Critical, limits)
    }

    /// The cycles of this shape: from each pair that can be reordered those that no pair before it is in.
    fn search(&self, shape: Shape, limits: Limits) -> Found {
        let mut search = Search::new(self, shape, limits);
        for a in 0..self.nodes.len() as u32 {
            for (b, _) in self.pairs[a as usize].iter().filter(|(_, passes)| *passes) {
                search.from(a, *b);
                search.starts.insert((a, *b));
            }
        }
        search.found
    }
}

#[derive(Default)]
struct Gathering {
    names: FxHashMap<Node, u32>,
    nodes: Vec<Node>,
    /// Pairs in program order, and whether any of them can be reordered.
    pairs: FxHashMap<(u32, u32), bool>,
    /// Pairs in program order at one location.
    same: FxHashSet<(u32, u32)>,
    /// Epochs that are parallel in some execution.
    parallel: FxHashSet<((u32, u32), (u32, u32))>,
    /// What threads have been seen to do.
    seen: FxHashSet<u64>,
    threads: usize,
}

/// A digest of what a thread did, as far as it matters here.
fn digest(thread: u32, steps: &[crate::Item], epochs: &[u32]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    thread.hash(&mut hasher);
    for (item, epoch) in steps.iter().zip(epochs) {
        (item.class, item.kind, item.at, epoch).hash(&mut hasher);
    }
    hasher.finish()
}

impl Gathering {
    fn add(&mut self, profile: &Profile, model: Model) {
        let epochs = Epochs::new(profile, false);
        self.threads = self.threads.max(profile.threads.len());
        let mut present: Vec<(u32, u32)> = Vec::new();
        for (t, steps) in profile.threads.iter().enumerate() {
            let of = &epochs.of[t];
            present.extend(of.last().map_or(0..0, |last| 0..last + 1).map(|epoch| (t as u32, epoch)));
            if self.seen.insert(digest(t as u32, steps, of)) {
                self.add_thread(t as u32, steps, of, model);
            }
        }
        for a in &present {
            self.parallel.extend(present.iter().filter(|b| epochs.parallel_epochs(*a, **b)).map(|b| (*a, *b)));
        }
    }

    fn add_thread(&mut self, thread: u32, steps: &[crate::Item], epochs: &[u32], model: Model) {
        let node = |(item, epoch): (&crate::Item, &u32)| Node {
            thread,
            class: item.class,
            at: item.at,
            access: (item.kind.reads, item.kind.writes),
            epoch: *epoch,
        };
        let names: Vec<Option<u32>> = steps
            .iter()
            .zip(epochs)
            .map(|(item, epoch)| item.is_visible().then(|| self.name(node((item, epoch)))))
            .collect();
        let (mut first, mut last) = (FxHashMap::default(), FxHashMap::default());
        for (i, name) in names.iter().enumerate() {
            if let Some(name) = name {
                first.entry(*name).or_insert(i);
                last.insert(*name, i);
            }
        }
        for (a, i) in &first {
            for (b, j) in &last {
                if i >= j {
                    continue;
                }
                if !self.nodes[*a as usize].at.overlaps(self.nodes[*b as usize].at) {
                    self.pairs.entry((*a, *b)).or_insert(false);
                } else if a != b {
                    self.same.insert((*a, *b));
                }
            }
        }
        let pairs = &mut self.pairs;
        passing(model, steps, &names, |a, b| {
            if let Some(passes) = pairs.get_mut(&(a, b)) {
                *passes = true;
            }
        });
    }

    fn name(&mut self, node: Node) -> u32 {
        *self.names.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        })
    }

    fn finish(mut self) -> Graph {
        // In the order of their contents, so that nothing depends on the order of executions.
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|i| self.nodes[*i as usize]);
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| rank[*old as usize] = new as u32);
        self.nodes.sort();
        let n = self.nodes.len();
        let mut conflicts = vec![Vec::new(); n];
        for (a, one) in self.nodes.iter().enumerate() {
            for (b, other) in self.nodes.iter().enumerate() {
                let epochs = ((one.thread, one.epoch), (other.thread, other.epoch));
                if one.conflicts(other) && self.parallel.contains(&epochs) {
                    conflicts[a].push(b as u32);
                }
            }
        }
        let mut pairs = vec![Vec::new(); n];
        for ((a, b), passes) in self.pairs {
            let (a, b) = (rank[a as usize], rank[b as usize]);
            if !conflicts[a as usize].is_empty() && !conflicts[b as usize].is_empty() {
                pairs[a as usize].push((b, passes));
            }
        }
        pairs.iter_mut().for_each(|list| list.sort_unstable());
        let mut same = vec![Vec::new(); n];
        self.same.iter().for_each(|(a, b)| same[rank[*a as usize] as usize].push(rank[*b as usize]));
        same.iter_mut().for_each(|list| list.sort_unstable());
        Graph { nodes: self.nodes, pairs, same, conflicts, threads: self.threads }
    }
}

/// Which cycles are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Critical ones.
    Critical,
    /// Those too in which a location comes back, or a thread's two accesses are to one location.
    Any,
}

struct Search<'a> {
    graph: &'a Graph,
    shape: Shape,
    length: usize,
    limits: Limits,
    path: Vec<(u32, Option<u32>)>,
    used: Vec<bool>,
    /// Pairs from which all cycles have been found.
    starts: FxHashSet<(u32, u32)>,
    steps: u64,
    found: Found,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, shape: Shape, limits: Limits) -> Search<'a> {
        Search {
            graph,
            shape,
            length: limits.length.unwrap_or(usize::MAX).min(2 * graph.threads),
            limits,
            path: Vec::new(),
            used: vec![false; graph.threads],
            starts: FxHashSet::default(),
            steps: 0,
            found: Found { cycles: BTreeMap::new(), complete: true },
        }
    }
}

impl Search<'_> {
    fn node(&self, name: u32) -> &Node {
        &self.graph.nodes[name as usize]
    }

    fn from(&mut self, a: u32, b: u32) {
        let thread = self.node(a).thread as usize;
        self.used[thread] = true;
        self.path.push((a, Some(b)));
        self.extend(b, 2);
        self.path.pop();
        self.used[thread] = false;
    }

    /// Is the location new to the cycle, that of the last conflict aside?
    fn is_new(&self, at: Location) -> bool {
        // The first access's location is that of the last conflict of all.
        self.path.iter().all(|(a, b)| !self.node(*a).at.overlaps(at) && b.is_none_or(|b| !self.node(b).at.overlaps(at)))
    }

    /// Goes on behind `current`, the last of so many accesses: by those of one more thread.
    fn extend(&mut self, current: u32, length: usize) {
        self.steps += 1;
        if self.limits.are_reached(self.steps) {
            self.found.complete = false;
            return;
        }
        let graph = self.graph;
        let critical = self.shape == Shape::Critical;
        let start = self.path[0].0;
        let after_single = self.path.last().is_some_and(|(_, second)| second.is_none());
        if !critical && self.is_closed(current, after_single) {
            self.report();
        }
        for next in &graph.conflicts[current as usize] {
            let one = *self.node(*next);
            // Behind a store that is alone in its thread comes a load that does not write, like the one before it.
            if self.used[one.thread as usize] || length + 1 > self.length || after_single && one.access.1 {
                continue;
            }
            // The end is found by `close`: no other access is to the location of the start.
            if critical && one.at.overlaps(self.node(start).at) {
                continue;
            }
            self.used[one.thread as usize] = true;
            // A store between two loads.
            if !self.node(current).access.1 && one.access.1 && !after_single {
                self.path.push((*next, None));
                self.extend(*next, length + 1);
                self.path.pop();
            }
            if length + 2 <= self.length {
                for (second, passes) in &graph.pairs[*next as usize] {
                    // Cycles with such a pair have been found from there.
                    if !*passes || !self.starts.contains(&(*next, *second)) {
                        self.extend_by(*next, *second, length + 2);
                    }
                }
                for second in graph.same[*next as usize].iter().filter(|_| !critical) {
                    self.extend_by(*next, *second, length + 2);
                }
            }
            self.used[one.thread as usize] = false;
        }
    }

    /// Goes on behind two accesses of a thread, the last of so many.
    fn extend_by(&mut self, first: u32, second: u32, length: usize) {
        let at = self.node(second).at;
        let critical = self.shape == Shape::Critical;
        let closes = critical && at.overlaps(self.node(self.path[0].0).at);
        if critical && !closes && !self.is_new(at) {
            return;
        }
        self.path.push((first, Some(second)));
        if closes {
            self.close(second, length);
        } else {
            self.extend(second, length);
        }
        self.path.pop();
    }

    /// Is the first access behind the last one? A store alone is between two loads here, too.
    fn is_closed(&self, current: u32, after_single: bool) -> bool {
        let start = self.path[0].0;
        let begins = !after_single || !self.node(start).access.1;
        self.path.len() > 1 && begins && self.graph.conflicts[current as usize].contains(&start)
    }

    /// The last access is to the location of the first: nothing can follow but the end, or one store between two loads.
    fn close(&mut self, current: u32, length: usize) {
        let graph = self.graph;
        let start = self.path[0].0;
        // Of all accesses in between none may be to that location.
        let at = self.node(start).at;
        let inner = &self.path[1..self.path.len() - 1];
        if inner.iter().any(|(a, b)| self.node(*a).at.overlaps(at) || b.is_some_and(|b| self.node(b).at.overlaps(at))) {
            return;
        }
        if graph.conflicts[current as usize].contains(&start) {
            return self.report();
        }
        let (one, other) = (self.node(current), self.node(start));
        if one.access.1 || other.access.1 || length + 1 > self.length {
            return;
        }
        for store in &graph.conflicts[current as usize] {
            let node = self.node(*store);
            if node.access.1 && !self.used[node.thread as usize] && graph.conflicts[*store as usize].contains(&start) {
                self.path.push((*store, None));
                self.report();
                self.path.pop();
            }
        }
    }

    fn report(&mut self) {
        let name = |n: u32| self.node(n).class;
        let segments: Vec<Segment> =
            self.path.iter().map(|(a, b)| Segment { first: name(*a), second: b.map(name) }).collect();
        let cycle = Cycle { segments: segments.clone() }.canonical();
        let limit = self.limits.instances;
        let instances = self.found.cycles.entry(cycle).or_default();
        if instances.len() < limit {
            let nodes = &self.graph.nodes;
            let mut instance: Instance =
                self.path.iter().map(|(a, b)| (nodes[*a as usize], b.map(|b| nodes[b as usize]))).collect();
            // In the rotation of the cycle.
            let best = (0..segments.len()).min_by(|a, b| {
                let turn = |by: usize| segments.iter().cycle().skip(by).take(segments.len());
                turn(*a).cmp(turn(*b))
            });
            instance.rotate_left(best.unwrap_or(0));
            instances.push(instance);
        }
    }
}

#[cfg(test)]
mod tests;
