//! The modification-order graph: what is known of the coherence order of one location.
//!
//! C11Tester, section 4 and figures 4 and 5. A node is a store or the writing half of an RMW. An edge says that one
//! is before the other; an RMW edge, that nothing comes between. Each node has a clock vector: for each thread the
//! latest of its stores from which the node can be reached. Stores of one thread to one location are always ordered,
//! so that one slot answers whether a store reaches another. Nothing is ever taken back.
//!
//! Deviation from figure 4: whoever asks whether `a` must come before `b` gets the answer for the end of `a`'s chain
//! of RMWs ([`MoGraph::chain_end`]), because nothing fits between the links. The figure moves only the edges there,
//! and compares clocks of the node itself, so that a store could be ordered between an RMW and what it read.
//!
//! Every node knows its chain and its place in it, so that the end is found at once however long the chain is. Nodes
//! that no thread can ever ask for again are given back ([`MoGraph::prune`]).

use super::Knowledge;
use fencepost_trace::{EventId, ThreadId, Value, VectorClock};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A store of one location. 0 is the initial one. The number of a store that was given back is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreId(pub u32);

impl StoreId {
    /// The initial value.
    pub const INIT: StoreId = StoreId(0);
}

/// A node of the graph, and what the machine remembers of its store.
#[derive(Clone, Debug, Default)]
pub struct StoreNode {
    /// The event.
    pub event: EventId,
    /// What it wrote.
    pub value: Value,
    /// Its thread; the initial one has none.
    pub thread: Option<ThreadId>,
    /// The thread's time.
    pub time: u32,
    /// What an acquire of it synchronises with: the reads-from clock vector of figure 7.
    pub released: Knowledge,
    /// From which stores it can be reached.
    reached: VectorClock,
    edges: Vec<StoreId>,
    /// The chain of RMWs that it is part of, and how many come before it there.
    chain: u32,
    position: u32,
}

/// Stores each of which but the first is an RMW that reads the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    end: StoreId,
    /// How many are in the graph.
    members: u32,
}

/// The graph of one location.
#[derive(Clone, Debug, Default)]
pub struct MoGraph {
    /// Allocated nodes; only the first `used` are part of the graph, the others keep their allocations for later.
    nodes: Vec<StoreNode>,
    used: usize,
    /// Nodes that were given back.
    free: Vec<StoreId>,
    /// By thread, the stores in program order.
    stores: Vec<Vec<StoreId>>,
    /// How many there are, the initial one not counted.
    count: usize,
    /// Has the initial store been given back?
    is_pruned: bool,
    chains: Vec<Chain>,
    free_chains: Vec<u32>,
    queue: Vec<StoreId>,
}

impl MoGraph {
    /// The graph of an initial value alone.
    pub fn reset(&mut self, initial: Value) {
        self.used = 0;
        self.free.clear();
        self.chains.clear();
        self.free_chains.clear();
        self.stores.iter_mut().for_each(Vec::clear);
        self.is_pruned = false;
        let init = self.allocate();
        self.nodes[0].value = initial;
        self.start_chain(init);
        self.count = 0;
    }

    fn allocate(&mut self) -> StoreId {
        self.count += 1;
        let store = self.free.pop().unwrap_or_else(|| {
            if self.used == self.nodes.len() {
                self.nodes.push(StoreNode::default());
            }
            self.used += 1;
            StoreId(self.used as u32 - 1)
        });
        let node = self.node_mut(store);
        node.event = EventId::INIT;
        node.thread = None;
        node.time = 0;
        node.released.clear();
        node.reached.clear();
        node.edges.clear();
        store
    }

    fn start_chain(&mut self, store: StoreId) {
        let new = Chain { end: store, members: 1 };
        let chain = match self.free_chains.pop() {
            Some(chain) => {
                self.chains[chain as usize] = new;
                chain
            }
            None => {
                self.chains.push(new);
                self.chains.len() as u32 - 1
            }
        };
        let node = self.node_mut(store);
        (node.chain, node.position) = (chain, 0);
    }

    /// How many stores there are, the initial one not counted.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// All stores in the order of execution, the initial one first if it is there.
    pub fn in_order(&self) -> Vec<StoreId> {
        let mut order: Vec<StoreId> = self.stores.iter().flatten().copied().collect();
        order.sort_unstable_by_key(|s| self.node(*s).event);
        if !self.is_pruned {
            order.insert(0, StoreId::INIT);
        }
        order
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

    /// The store that this event made.
    pub fn find(&self, event: EventId) -> Option<StoreId> {
        if event.is_init() {
            return (!self.is_pruned).then_some(StoreId::INIT);
        }
        self.stores.iter().find_map(|stores| {
            let last = stores.last()?;
            if self.node(*last).event == event {
                return Some(*last);
            }
            stores.binary_search_by_key(&event, |s| self.node(*s).event).ok().map(|i| stores[i])
        })
    }

    /// The last store of `thread` up to an event.
    pub fn last_up_to(&self, thread: usize, event: EventId) -> Option<StoreId> {
        let stores = &self.stores[thread];
        let end = stores.partition_point(|s| self.node(*s).event <= event);
        end.checked_sub(1).map(|i| stores[i])
    }

    /// How many threads may have stored here.
    pub fn threads(&self) -> usize {
        self.stores.len()
    }

    /// Has an RMW read this store?
    #[inline]
    pub fn is_taken(&self, store: StoreId) -> bool {
        self.chain_end(store) != store
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

    /// The last of the RMWs that read `store`, and each other, in a chain.
    #[inline]
    fn chain_end(&self, store: StoreId) -> StoreId {
        self.chains[self.node(store).chain as usize].end
    }

    /// The same, at most up to `stop`.
    #[inline]
    fn chain_end_up_to(&self, store: StoreId, stop: StoreId) -> StoreId {
        let (from, to) = (self.node(store), self.node(stop));
        if from.chain == to.chain && from.position <= to.position { stop } else { self.chains[from.chain as usize].end }
    }

    /// Could `prior` come before `store`, or be it?
    #[inline]
    pub fn may_precede(&self, prior: StoreId, store: StoreId) -> bool {
        let end = self.chain_end_up_to(prior, store);
        end == store || !self.before(store, end)
    }

    /// Up to which time the stores of `thread` are known to be before one of `prior`.
    #[inline]
    fn floor(&self, thread: ThreadId, prior: &[StoreId]) -> u32 {
        let mut floor = 0;
        for store in prior {
            let node = self.node(*store);
            let before = if node.thread == Some(thread) { node.time - 1 } else { node.reached.get(thread) };
            floor = floor.max(before);
        }
        floor
    }

    /// Raises `floors` to the times up to which the stores of each thread are known to be before `store`.
    pub fn raise_floors(&self, store: StoreId, floors: &mut VectorClock) {
        let node = self.node(store);
        let Some(own) = node.thread else { return };
        for (t, time) in node.reached.slots().iter().enumerate() {
            let thread = ThreadId(t as u32);
            let before = if thread == own { node.time - 1 } else { *time };
            if before > floors.get(thread) {
                floors.set(thread, before);
            }
        }
    }

    /// Appends, in the order of execution, what a read may read that comes after all of `prior`.
    pub fn readable(&self, prior: &[StoreId], exclusive: bool, out: &mut Vec<StoreId>) {
        let start = out.len();
        let fits = |store: StoreId| {
            !(exclusive && self.is_taken(store)) && prior.iter().all(|prior| self.may_precede(*prior, store))
        };
        if !self.is_pruned && fits(StoreId::INIT) {
            out.push(StoreId::INIT);
        }
        let mut sorted = true;
        for (t, stores) in self.stores.iter().enumerate() {
            let Some(last) = stores.last() else { continue };
            let floor = self.floor(ThreadId(t as u32), prior);
            if self.node(*last).time <= floor {
                continue;
            }
            let first = stores.partition_point(|s| self.node(*s).time <= floor);
            let before = out.len();
            out.extend(stores[first..].iter().copied().filter(|s| fits(*s)));
            sorted &= before == start || before == out.len();
        }
        if !sorted {
            out[start..].sort_unstable_by_key(|s| self.node(*s).event);
        }
    }

    /// A new store, unordered.
    pub fn add(&mut self, event: EventId, thread: ThreadId, time: u32, value: Value) -> StoreId {
        let store = self.add_node(event, thread, time, value);
        self.start_chain(store);
        // Every store comes after the initial one, and so after the RMWs that are tied to it.
        if !self.is_pruned && self.is_taken(StoreId::INIT) {
            self.link(self.chain_end(StoreId::INIT), store);
        }
        store
    }

    fn add_node(&mut self, event: EventId, thread: ThreadId, time: u32, value: Value) -> StoreId {
        let store = self.allocate();
        let node = self.node_mut(store);
        node.event = event;
        node.thread = Some(thread);
        node.time = time;
        node.value = value;
        node.reached.set(thread, time);
        if self.stores.len() <= thread.index() {
            self.stores.resize_with(thread.index() + 1, Vec::new);
        }
        self.stores[thread.index()].push(store);
        store
    }

    /// ADDEDGE of figure 4.
    pub fn add_edge(&mut self, from: StoreId, to: StoreId) {
        let from = self.chain_end_up_to(from, to);
        // Between stores of one thread the clocks say so from the start, but a later RMW needs the edge itself.
        let same_thread = self.node(from).thread == self.node(to).thread;
        if from == to || self.before(from, to) && !same_thread {
            return;
        }
        self.link(from, to);
    }

    /// ADDRMWEDGE of figure 4: a new store that comes directly after `from`, and before whatever came after `from`.
    pub fn add_rmw(&mut self, from: StoreId, event: EventId, thread: ThreadId, time: u32, value: Value) -> StoreId {
        let mut edges = std::mem::take(&mut self.node_mut(from).edges);
        if from == StoreId::INIT {
            // The edges out of the initial store go without saying, until now.
            edges.clear();
            edges.extend(self.stores.iter().flatten());
        }
        let rmw = self.add_node(event, thread, time, value);
        let (chain, position) = (self.node(from).chain, self.node(from).position);
        let entry = &mut self.chains[chain as usize];
        debug_assert_eq!(entry.end, from, "an RMW reads what no other has read");
        *entry = Chain { end: rmw, members: entry.members + 1 };
        let node = self.node_mut(rmw);
        (node.chain, node.position) = (chain, position + 1);
        self.link(from, rmw);
        for to in &edges {
            self.link(rmw, *to);
        }
        edges.clear();
        edges.push(rmw);
        self.node_mut(from).edges = edges;
        rmw
    }

    fn link(&mut self, from: StoreId, to: StoreId) {
        self.node_mut(from).edges.push(to);
        if !self.merge(from, to) || self.node(to).edges.is_empty() {
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

    /// Gives back the stores of each thread up to the time that `dead` says, and the initial one. `released` takes
    /// over what they have released. None of them may be read by anybody any more, nor come after anything that is
    /// not given back.
    pub fn prune(&mut self, dead: &VectorClock, released: &mut Knowledge) {
        self.is_pruned = true;
        for t in 0..self.stores.len() {
            let time = dead.get(ThreadId(t as u32));
            let gone = self.stores[t].partition_point(|s| self.node(*s).time <= time);
            for i in 0..gone {
                let store = self.stores[t][i];
                released.join(&self.node(store).released);
                let chain = self.node(store).chain;
                let entry = &mut self.chains[chain as usize];
                entry.members -= 1;
                if entry.members == 0 {
                    self.free_chains.push(chain);
                }
                self.free.push(store);
            }
            self.stores[t].drain(..gone);
            self.count -= gone;
        }
    }

    /// Appends the stores that can be the last of all.
    pub fn possible_last(&self, out: &mut Vec<StoreId>) {
        let order = self.in_order();
        let is_last = |s: &StoreId| !self.is_taken(*s) && order.iter().all(|other| !self.before(*s, *other));
        // Of one thread, only the last.
        let last_of_its_thread = |s: &StoreId| match self.node(*s).thread {
            None => order.len() == 1,
            Some(thread) => self.stores[thread.index()].last() == Some(s),
        };
        out.extend(order.iter().copied().filter(|s| last_of_its_thread(s) && is_last(s)));
    }

    /// Decides that `last` comes after all others.
    pub fn put_last(&mut self, last: StoreId) {
        for t in 0..self.stores.len() {
            if let Some(other) = self.stores[t].last().copied().filter(|s| *s != last) {
                self.add_edge(other, last);
            }
        }
    }

    /// One order of all stores that fits what is known, the initial one first: among the possible next ones, the RMW
    /// of the one before, else the one executed first.
    pub fn linearise(&self) -> Vec<StoreId> {
        // A chain is one piece. How many edges lead into each from others:
        let mut incoming = vec![0u32; self.chains.len()];
        let chain = |s: StoreId| self.node(s).chain as usize;
        let stores = self.in_order();
        let mut members: Vec<Vec<StoreId>> = vec![Vec::new(); self.chains.len()];
        for from in &stores {
            members[chain(*from)].push(*from);
            let others = self.node(*from).edges.iter().filter(|to| chain(**to) != chain(*from));
            others.for_each(|to| incoming[chain(*to)] += 1);
        }
        let mut order: Vec<StoreId> = Vec::with_capacity(stores.len());
        let mut ready: BinaryHeap<Reverse<(EventId, usize)>> = (0..members.len())
            .filter(|c| incoming[*c] == 0)
            .filter_map(|c| members[c].first().map(|head| Reverse((self.node(*head).event, c))))
            .collect();
        while let Some(Reverse((_, c))) = ready.pop() {
            for from in &members[c] {
                order.push(*from);
                for to in self.node(*from).edges.iter().map(|to| chain(*to)).filter(|to| *to != c) {
                    incoming[to] -= 1;
                    if incoming[to] == 0 {
                        ready.push(Reverse((self.node(members[to][0]).event, to)));
                    }
                }
            }
        }
        assert_eq!(order.len(), stores.len(), "internal error: the modification order has a cycle");
        order
    }
}
