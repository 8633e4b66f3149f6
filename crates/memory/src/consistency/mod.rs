//! Consistency of execution graphs under construction, asked only about what changed.
//!
//! Exploration adds one event at a time to a graph that is known to be consistent. The new event is the
//! last of its thread, so that few edges lead out of it: a violation must use one of them.
//! [`Checker::admits`] asks just that. The axioms are those of [`crate::axioms`], where they stand in
//! full; tests hold the two against each other.
//!
//! All models share three facts, which make the common case free: an event that is last in its thread
//! and reads the coherence-last write, is the coherence-last write, or is a fence, has no edges out of it
//! and can break nothing.

mod c11;
mod hardware;

use crate::graph::{Flags, Graph, Node, Place};
use fencepost_trace::Model;

/// Answers whether an event fits into a graph. Keeps its working memory between questions.
#[derive(Clone, Debug)]
pub struct Checker {
    model: Model,
    search: Search,
}

/// Depth-first search over events, without allocation once it has warmed up.
#[derive(Clone, Debug, Default)]
struct Search {
    /// The round in which an event was seen last.
    seen: Vec<u32>,
    round: u32,
    stack: Vec<Node>,
    readers: Readers,
}

/// Who reads a write, where there are many reads of a place: to look through all of them at each of its writes would
/// take quadratic time.
#[derive(Clone, Debug, Default)]
struct Readers {
    /// By write its first reader, by reader the next one; [`Node::INIT`] is nobody.
    next: Vec<Node>,
    first: Vec<Node>,
    /// By place, the round in which they were found.
    found: Vec<u32>,
}

impl Readers {
    /// Finds the readers of all writes of a place, in this round of a search.
    fn find(&mut self, graph: &Graph, place: Place, round: u32) {
        let place_index = place.0 as usize;
        if self.found.len() <= place_index {
            self.found.resize(place_index + 1, 0);
        }
        if self.found[place_index] == round {
            return;
        }
        self.found[place_index] = round;
        if self.first.len() < graph.len() {
            self.first.resize(graph.len(), Node::INIT);
            self.next.resize(graph.len(), Node::INIT);
        }
        for write in graph.writes(place) {
            self.first[write.index()] = Node::INIT;
        }
        // From the last to the first, so that the lists are in the order of the graph.
        for read in graph.reads(place).iter().rev() {
            let source = graph.node(*read).source.index();
            self.next[read.index()] = self.first[source];
            self.first[source] = *read;
        }
    }
}

impl Search {
    /// Forgets what was seen.
    fn begin(&mut self, events: usize) {
        if self.seen.len() < events {
            self.seen.resize(events, 0);
        }
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.readers.found.fill(0);
            self.round = 1;
        }
        self.stack.clear();
    }

    /// Marks an event and puts it on the stack, unless it was seen.
    #[inline]
    fn push(&mut self, node: Node) {
        let seen = &mut self.seen[node.index()];
        if *seen != self.round {
            *seen = self.round;
            self.stack.push(node);
        }
    }

    /// Can `node` be reached from itself by `successors`, which pushes all events that an edge leads to?
    fn cycle_through(&mut self, graph: &Graph, node: Node, successors: fn(&Graph, Node, &mut Search)) -> bool {
        self.begin(graph.len());
        successors(graph, node, self);
        while let Some(next) = self.stack.pop() {
            if next == node {
                return true;
            }
            successors(graph, next, self);
        }
        false
    }
}

impl Checker {
    /// A checker for one model.
    pub fn new(model: Model) -> Checker {
        Checker { model, search: Search::default() }
    }

    /// The model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The events of its own thread that `node` comes before under the model, whatever is read (not C11); the
    /// closure of these edges is all that the model preserves of program order.
    pub fn program_order(&self, graph: &Graph, node: Node, mut push: impl FnMut(Node)) {
        hardware::program_order(self.model, graph, node, &mut push);
    }

    /// The first position in coherence order that the access does not see as overwritten: a read may read from there
    /// on, a write may stand after it. Necessary, not sufficient.
    pub fn floor(&self, graph: &Graph, node: Node) -> usize {
        match self.model {
            Model::C11 => c11::floor(graph, node) as usize,
            _ => hardware::floor(graph, node) as usize,
        }
    }

    /// Is the graph consistent, given that a violation can only involve `node`, the last event of its thread?
    pub fn admits(&mut self, graph: &Graph, node: Node) -> bool {
        let data = graph.node(node);
        if data.flags.has(Flags::FENCE) {
            return true;
        }
        let writes = graph.writes(data.place);
        let after = graph.position_of(node) as usize + 1;
        // Nothing may come between an RMW and what it read.
        if data.flags.has(Flags::WRITE)
            && let Some(next) = writes.get(after)
            && graph.node(*next).flags.has(Flags::EXCLUSIVE)
        {
            return false;
        }
        // Nothing leads out of it.
        if after == writes.len() {
            return true;
        }
        match self.model {
            Model::Sc => !self.search.cycle_through(graph, node, hardware::sc),
            _ if !self.coherent(graph, node) => false,
            Model::Tso => !self.search.cycle_through(graph, node, hardware::tso),
            Model::Pso => !self.search.cycle_through(graph, node, hardware::pso),
            Model::Pslo => !self.search.cycle_through(graph, node, hardware::pslo),
            // With seq_cst events alone, psc is all of program order and communication: RC11 is SC.
            Model::C11 if graph.all_sc() => !self.search.cycle_through(graph, node, hardware::sc),
            Model::C11 => c11::sc_order(graph, node, &mut self.search),
        }
    }

    fn coherent(&self, graph: &Graph, node: Node) -> bool {
        let (floor, position) = (self.floor(graph, node), graph.position_of(node) as usize);
        if graph.node(node).flags.has(Flags::WRITE) { position > floor } else { position >= floor }
    }
}
