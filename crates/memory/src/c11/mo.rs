//! The modification-order graph: what is known of the coherence order of one location.
//!
//! C11Tester, section 4 and figures 4 and 5. A node is a store or the writing half of an RMW. An edge says
//! that one is before the other; an RMW edge, that nothing comes between. Each node has a clock vector: for each thread the
//! latest of its stores from which the node can be reached. Stores of one thread to one location are always ordered, so
//! that one slot answers whether a store reaches another. Nothing is ever taken back.
//!
//! Deviation from figure 4: whoever asks whether `a` must come before `b` gets the answer for the end of `a`'s
//! chain of RMWs ([`MoGraph::chain_end`]), because nothing fits between the links. The figure moves only the edges there, and
//! compares clocks of the node itself, so that a store could be ordered between an RMW and what it read.

use fencepost_trace::{EventId, ThreadId, Value, VectorClock};

/// A store of one location. 0 is the initial one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StoreId(pub u32);

impl StoreId {
    /// The initial value.
    pub const INIT: StoreId = StoreId(0);
}

/// A node of the graph, and what the machine remembers of its store.
#[derive(Clone, Debug, Default)]
pub struct StoreNode {
    /// The event; the initial one has none.
    pub event: Option<EventId>,
    /// What it wrote.
    pub value: Value,
    /// Its thread and that thread's time.
    pub thread: Option<ThreadId>,
    /// The thread's time.
    pub time: u32,
    /// What an acquire of it synchronises with: the reads-from clock vector of figure 7.
    pub released: super::Knowledge,
    /// From which stores it can be reached.
    reached: VectorClock,
    edges: Vec<StoreId>,
    /// The RMW that reads it.
    rmw: Option<StoreId>,
}

/// The graph of one location.
#[derive(Clone, Debug, Default)]
pub struct MoGraph {
    /// Allocated nodes; only the first `used` are part of the graph, the others keep their allocations for later.
    nodes: Vec<StoreNode>,
    used: usize,
    queue: Vec<StoreId>,
}

impl MoGraph {
    /// The graph of an initial value alone.
    pub fn reset(&mut self, initial: Value) {
        self.used = 0;
        self.allocate();
        self.nodes[0].value = initial;
    }

    fn allocate(&mut self) -> StoreId {
        if self.used == self.nodes.len() {
            self.nodes.push(StoreNode::default());
        }
        let node = &mut self.nodes[self.used];
        node.event = None;
        node.thread = None;
        node.time = 0;
        node.released.clear();
        node.reached.clear();
        node.edges.clear();
        node.rmw = None;
        self.used += 1;
        StoreId(self.used as u32 - 1)
    }

    /// All stores in the order of execution.
    pub fn stores(&self) -> impl DoubleEndedIterator<Item = (StoreId, &StoreNode)> {
        self.nodes[..self.used].iter().enumerate().map(|(i, n)| (StoreId(i as u32), n))
    }

    /// A store.
    #[inline]
    pub fn node(&self, store: StoreId) -> &StoreNode {
        &self.nodes[store.0 as usize]
    }

    /// A store.
    #[inline]
    pub fn node_mut(&mut self, store: StoreId) -> &mut StoreNode {
        &mut self.nodes[store.0 as usize]
    }

    /// Has an RMW read this store?
    #[inline]
    pub fn is_taken(&self, store: StoreId) -> bool {
        self.node(store).rmw.is_some()
    }

    /// Is `a` known to be before `b`?
    #[inline]
    pub fn before(&self, a: StoreId, b: StoreId) -> bool {
        if a == b {
            return false;
        }
        let from = self.node(a);
        match from.thread {
            None => true,
            Some(thread) => self.node(b).reached.get(thread) >= from.time,
        }
    }

    /// The last of the RMWs that read `store`, and each other, in a chain; at most up to `stop`.
    #[inline]
    pub fn chain_end(&self, mut store: StoreId, stop: Option<StoreId>) -> StoreId {
        while let Some(next) = self.node(store).rmw {
            if Some(store) == stop {
                break;
            }
            store = next;
        }
        store
    }

    /// Could `prior` come before `store`, or be it?
    pub fn may_precede(&self, prior: StoreId, store: StoreId) -> bool {
        let end = self.chain_end(prior, Some(store));
        end == store || !self.before(store, end)
    }

    /// A new store, unordered.
    pub fn add(&mut self, event: EventId, thread: ThreadId, time: u32, value: Value) -> StoreId {
        let store = self.allocate();
        let node = self.node_mut(store);
        node.event = Some(event);
        node.thread = Some(thread);
        node.time = time;
        node.value = value;
        node.reached.set(thread, time);
        // Every store comes after the initial one, and so after the RMWs that are tied to it.
        if self.is_taken(StoreId::INIT) {
            self.link(self.chain_end(StoreId::INIT, None), store);
        }
        store
    }

    /// ADDEDGE of figure 4.
    pub fn add_edge(&mut self, from: StoreId, to: StoreId) {
        let from = self.chain_end(from, Some(to));
        // Between stores of one thread the clocks say so from the start, but a later RMW needs the edge itself.
        let same_thread = self.node(from).thread == self.node(to).thread;
        if from == to || self.before(from, to) && !same_thread {
            return;
        }
        self.link(from, to);
    }

    /// ADDRMWEDGE of figure 4: `rmw` comes directly after `from`, and before whatever came after `from`.
    pub fn add_rmw(&mut self, from: StoreId, rmw: StoreId) {
        let mut edges = std::mem::take(&mut self.node_mut(from).edges);
        if from == StoreId::INIT {
            // The edges out of the initial store go without saying, until now.
            edges.clear();
            edges.extend((1..self.used as u32).map(StoreId));
        }
        edges.retain(|to| *to != rmw);
        self.node_mut(from).rmw = Some(rmw);
        self.link(from, rmw);
        for to in &edges {
            self.link(rmw, *to);
        }
        let node = self.node_mut(from);
        node.edges = edges;
        node.edges.clear();
        node.edges.push(rmw);
    }

    fn link(&mut self, from: StoreId, to: StoreId) {
        self.node_mut(from).edges.push(to);
        if !self.merge(from, to) {
            return;
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.push(to);
        while let Some(node) = queue.pop() {
            for i in 0..self.node(node).edges.len() {
                let next = self.node(node).edges[i];
                if self.merge(node, next) {
                    queue.push(next);
                }
            }
        }
        self.queue = queue;
    }

    /// MERGE of figure 4.
    fn merge(&mut self, from: StoreId, to: StoreId) -> bool {
        let [from, to] =
            self.nodes.get_disjoint_mut([from.0 as usize, to.0 as usize]).expect("an edge joins two different stores");
        to.reached.join(&from.reached)
    }

    /// Can `store` be the last of all?
    pub fn may_be_last(&self, store: StoreId) -> bool {
        !self.is_taken(store) && self.stores().all(|(other, _)| !self.before(store, other))
    }

    /// One order of all stores that fits what is known, the initial one first: among the possible next ones, the RMW of the one
    /// before, else the one executed first.
    pub fn linearise(&self) -> Vec<StoreId> {
        let mut order = vec![StoreId::INIT];
        let mut placed = vec![false; self.used];
        placed[0] = true;
        while order.len() < self.used {
            let last = *order.last().expect("it starts with the initial store");
            let next = match self.node(last).rmw {
                Some(rmw) => rmw,
                None => self
                    .stores()
                    .map(|(s, _)| s)
                    .find(|s| {
                        !placed[s.0 as usize]
                            && self.stores().all(|(o, _)| placed[o.0 as usize] || o == *s || !self.must_precede(o, *s))
                    })
                    .expect("internal error: the modification order has a cycle"),
            };
            placed[next.0 as usize] = true;
            order.push(next);
        }
        order
    }

    /// Must `a` come before `b`, given that an RMW's chain is one piece?
    fn must_precede(&self, a: StoreId, b: StoreId) -> bool {
        let end = self.chain_end(b, None);
        self.before(a, end) && self.chain_end(a, None) != end || self.before(a, b)
    }
}
