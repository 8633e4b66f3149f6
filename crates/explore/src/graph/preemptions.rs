//! The fewest preemptions that an execution graph takes, and a bound on them.
//!
//! A graph stands for many orders in which its threads can take turns: those that extend program order and reads-from,
//! under SC also coherence and from-reads. A *preemption* is a turn that ends although its thread could go on. It
//! could not if it has no further event, if it is at a guarded access that the value of the moment does not let through
//! (a lock that is held), or if it joins a thread that has not ended. It gives way *by itself*, which does not count
//! either, where it has yielded and at a read of a loop that waits; these places are known by their label, so that
//! more may be taken for such. The number of a graph is that of the order with the fewest: the definition of
//! Marmanis, Kokologiannakis and Vafeiadis (Reconciling Preemption Bounding with DPOR, TACAS 2023). What a read reads
//! under a weak model, as long as it has been written, does not count: as in loom, stale values are free.
//!
//! # The fewest
//!
//! Who has the turn keeps it as long as it can. To stop early helps nobody: whatever others need of it would be there
//! as well if it went on. Two things are exceptions. A lock that it takes or gives back changes whether others could go
//! on, so that stopping before such an access is tried, too. And where it gives way by itself, stopping costs nothing.
//!
//! # When a graph is given up
//!
//! A revisit deletes events, so that a graph with too many preemptions may lead to one with few. (The paper lets more
//! through, by a slack.) Here only what *lasts* is counted. An event that was not added maximally is never deleted, nor
//! does it read something else later, by the rule that says what may be revisited (`maximal`): a read with another
//! variant than the first or of a write that was not last, a write that did not go last, and a write that has revisited
//! a read. Of these, once one is kept by a later revisit, the write that revisits has it among what comes before it in
//! program order and reads-from, and is itself one of the last kind. So all that comes before such events is part of
//! every graph that follows, with the same sources and the same order of writes. Leaving events out of an order never
//! adds a preemption: an event that is followed by the next one of its thread still is, and whatever a lock had to do
//! with it is among what comes before. So no graph is given up that leads to one within the bound. Complete graphs are
//! counted as a whole.
//!
//! Labels at which threads give way are learnt on the way. Whenever there is a new one the exploration starts over.

use super::cells::extract;
use super::event::is_join;
use super::walk::bit_of;
use fencepost_engine::WaitSets;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Guard, Model, ThreadId};
use rustc_hash::FxHashMap;

/// Which part of a graph is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// What is part of every graph that follows.
    Lasting,
    Whole,
}

/// A bound on preemptions.
pub(super) struct Preemptions {
    most: u32,
    /// Are coherence and from-reads part of the order?
    total: bool,
    /// The fewest preemptions with which these events have been performed, by how many of each thread.
    met: FxHashMap<Vec<u32>, u32>,
    open: Vec<(Vec<u32>, u32)>,
    /// Places at which somebody may wait.
    guarded: Vec<bool>,
}

/// A graph, and how much of each thread is counted.
struct Part<'a> {
    graph: &'a Graph,
    lengths: Vec<u32>,
    sets: &'a WaitSets,
    volunteers: u64,
    total: bool,
}

impl Preemptions {
    pub(super) fn new(most: u32, model: Model) -> Preemptions {
        let (met, open, guarded) = (FxHashMap::default(), Vec::new(), Vec::new());
        Preemptions { most, total: model == Model::Sc, met, open, guarded }
    }

    /// Does this much of the graph have more preemptions, in whichever order?
    pub(super) fn exceed(&mut self, graph: &Graph, extent: Extent, sets: &WaitSets, volunteers: u64) -> bool {
        let lengths = match extent {
            Extent::Lasting => lasting(graph),
            Extent::Whole => (0..graph.threads() as u32).map(|t| graph.thread(ThreadId(t)).len() as u32).collect(),
        };
        self.guarded.clear();
        self.guarded.resize(graph.places(), false);
        for (_, data) in graph.nodes().filter(|(_, data)| data.place != Place::NONE) {
            self.guarded[data.place.index()] |= data.access.guard() != Guard::Any;
        }
        let part = Part { graph, lengths, sets, volunteers, total: self.total };
        !self.has_order(&part)
    }

    /// Is there an order within the bound?
    fn has_order(&mut self, part: &Part<'_>) -> bool {
        self.met.clear();
        self.open.clear();
        self.open.push((vec![0; part.lengths.len()], 0));
        while let Some((done, cost)) = self.open.pop() {
            if done == part.lengths {
                return true;
            }
            if self.met.get(&done).is_some_and(|least| *least < cost) {
                continue;
            }
            for t in (0..done.len()).rev() {
                self.turn(part, done.clone(), ThreadId(t as u32), cost);
            }
        }
        false
    }

    /// Gives `thread` the turn, and notes where it may end.
    fn turn(&mut self, part: &Part<'_>, mut done: Vec<u32>, thread: ThreadId, cost: u32) {
        let t = thread.index();
        let mut begun = false;
        while done[t] < part.lengths[t] {
            let node = part.graph.thread(thread)[done[t] as usize];
            let steps = part.steps(node);
            if !part.is_possible(&done, node) {
                if begun {
                    let price = u32::from(!part.gives_way(&done, node));
                    self.note(done, cost + price);
                }
                return;
            }
            if begun && part.is_volunteer(node) {
                self.note(done.clone(), cost);
            } else if begun && self.changes_a_guard(part, node, steps) {
                self.note(done.clone(), cost + 1);
            }
            begun = true;
            done[t] += steps;
        }
        if begun {
            self.note(done, cost);
        }
    }

    fn note(&mut self, done: Vec<u32>, cost: u32) {
        if cost > self.most || self.met.get(&done).is_some_and(|least| *least <= cost) {
            return;
        }
        self.met.insert(done.clone(), cost);
        self.open.push((done, cost));
    }

    fn changes_a_guard(&self, part: &Part<'_>, node: Node, steps: u32) -> bool {
        let data = part.graph.node(node);
        data.place != Place::NONE && self.guarded[data.place.index()] && (steps == 2 || data.flags.has(Flags::WRITE))
    }
}

impl Part<'_> {
    fn contains(&self, node: Node) -> bool {
        let data = self.graph.node(node);
        data.index < self.lengths[data.thread.index()]
    }

    /// Has an event been performed? One that is not counted never needs to be.
    fn is_done(&self, done: &[u32], node: Node) -> bool {
        let data = self.graph.node(node);
        node == Node::INIT || done[data.thread.index()] > data.index || !self.contains(node)
    }

    /// How many events are performed in one step: both halves of an RMW, or one.
    fn steps(&self, node: Node) -> u32 {
        if self.writing_half(node).is_some() { 2 } else { 1 }
    }

    fn writing_half(&self, node: Node) -> Option<Node> {
        let is_half = self.graph.node(node).flags.has(Flags::READ.with(Flags::EXCLUSIVE));
        self.graph.next(node).filter(|next| is_half && self.contains(*next))
    }

    /// Can this step be taken as it is in the graph?
    fn is_possible(&self, done: &[u32], node: Node) -> bool {
        let data = self.graph.node(node);
        if data.place == Place::NONE {
            return true;
        }
        let reads = data.flags.has(Flags::READ);
        if reads && !self.is_done(done, data.source) {
            return false;
        }
        let write = if reads { self.writing_half(node) } else { Some(node) };
        !self.total || write.is_none_or(|write| self.is_next(done, node, write))
    }

    /// Has all been performed that accesses the place of `write` before it in a total order? `node` is in the step.
    fn is_next(&self, done: &[u32], node: Node, write: Node) -> bool {
        let data = self.graph.node(write);
        let position = data.position as usize;
        let reads = self
            .graph
            .reads(data.place)
            .iter()
            .filter(|read| **read != node && (self.graph.position_of(**read) as usize) < position);
        self.graph.writes(data.place)[..position].iter().chain(reads).all(|other| self.is_done(done, *other))
    }

    /// Does its thread end its turn before `node` for another reason than being preempted?
    fn gives_way(&self, done: &[u32], node: Node) -> bool {
        let data = self.graph.node(node);
        let Some(at) = data.access.location() else { return false };
        let guard = data.access.guard();
        if is_join(at) || self.is_volunteer(node) {
            return true;
        }
        if guard == Guard::Any {
            return false;
        }
        let newest = self
            .graph
            .writes(data.place)
            .iter()
            .rev()
            .find(|write| **write == Node::INIT || self.contains(**write) && self.is_done(done, **write));
        let value = self.graph.written(data.place, *newest.unwrap_or(&Node::INIT));
        !self.sets.passes(guard, extract(self.graph.location(data.place), &data.access, value))
    }

    fn is_volunteer(&self, node: Node) -> bool {
        self.volunteers & bit_of(self.graph.node(node).label) != 0
    }
}

/// How many events of each thread are part of every graph that follows.
fn lasting(graph: &Graph) -> Vec<u32> {
    let mut lengths = vec![0; graph.threads()];
    for (node, _) in graph.nodes().filter(|(node, _)| lasts(graph, *node)) {
        for (length, clock) in lengths.iter_mut().zip(graph.porf_clock(node)) {
            *length = (*length).max(*clock);
        }
    }
    lengths
}

/// Was an event not added maximally, whatever is deleted later?
fn lasts(graph: &Graph, node: Node) -> bool {
    let data = graph.node(node);
    if node == Node::INIT || data.place == Place::NONE {
        return false;
    }
    let stands_for = if data.flags.has(Flags::READ) {
        if data.variant != 0 {
            return true;
        }
        data.source
    } else {
        let revisited = |read: &Node| *read < node && graph.node(*read).source == node;
        if graph.reads(data.place).iter().any(revisited) || graph.waits().iter().any(revisited) {
            return true;
        }
        node
    };
    let position = graph.node(stands_for).position as usize;
    graph.writes(data.place)[position + 1..].iter().any(|later| *later < node)
}
