//! Execution graphs under construction.
//!
//! A graph holds the events of an execution in the order in which they were *added*, which is how
//! exhaustive exploration thinks of time: each thread's events in program order, for each read the write
//! it reads from, for each location the coherence order of its writes. It is the only state of an
//! exploration, so that it is built for three things: adding an event at the end, cutting events off the
//! end, and copying a part of it.
//!
//! An RMW is two events, a read and a write that are both [`Flags::EXCLUSIVE`]; the write comes next after the
//! read in program order. Event 0 is the initial write of every location.
//!
//! With every event come clocks (one slot per thread, counting its events): what precedes it in program
//! order and reads-from (*porf*), and what happens before it under C/C++20 (*hb*). Both look only
//! backwards, so that adding events never changes them.

use fencepost_trace::{Access, FenceOrder, Location, ThreadId, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An event of a graph: its position in the order of addition. 0 is the initial write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Node(pub u32);

impl Node {
    /// The initial write of every location.
    pub const INIT: Node = Node(0);

    /// The position in tables indexed by event.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// A location of a graph: a small number, given out by whoever explores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub u32);

impl Place {
    /// The place of events that access none.
    pub const NONE: Place = Place(u32::MAX);

    /// The position in tables indexed by place.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an event is, as bits: the questions that consistency asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(u16);

impl Flags {
    /// Reads memory.
    pub const READ: Flags = Flags(1);
    /// Writes memory.
    pub const WRITE: Flags = Flags(1 << 1);
    /// A fence.
    pub const FENCE: Flags = Flags(1 << 2);
    /// One half of an RMW that succeeded.
    pub const EXCLUSIVE: Flags = Flags(1 << 3);
    /// A compare-exchange that failed.
    pub const FAILED: Flags = Flags(1 << 4);
    /// Acquire or stronger.
    pub const ACQUIRE: Flags = Flags(1 << 5);
    /// Release or stronger.
    pub const RELEASE: Flags = Flags(1 << 6);
    /// seq_cst.
    pub const SC: Flags = Flags(1 << 7);
    /// Not atomic.
    pub const PLAIN: Flags = Flags(1 << 8);
    /// A read of a value that its guard does not let through. With [`FENCE`](Flags::FENCE): a wait, see
    /// [`Graph::wait`].
    pub const BLOCKED: Flags = Flags(1 << 9);
    /// One half of a store to part of a cell: tied together as an RMW is, but no barrier.
    pub const WEAVES: Flags = Flags(1 << 10);

    /// Both sets of bits.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Are all of these bits set?
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Is one of these bits set?
    #[inline]
    pub const fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// `other` if `condition` holds.
    #[inline]
    pub const fn when(condition: bool, other: Flags) -> Flags {
        if condition { other } else { Flags(0) }
    }
}

/// One event.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NodeData {
    /// Whose event.
    pub thread: ThreadId,
    /// Its position among the events of its thread, from 0.
    pub index: u32,
    /// What it is.
    pub flags: Flags,
    /// What it accesses.
    pub place: Place,
    /// What a read got, or a write wrote.
    pub value: Value,
    /// What a read reads from.
    pub source: Node,
    /// Which of several results a read has.
    pub variant: u32,
    /// A write's position in the coherence order of its location; the initial write is at 0.
    pub position: u32,
    /// The last release fence of the thread up to here; `INIT` if there is none.
    pub release_fence: Node,
    /// The event before it in its thread that does not access its location; `INIT` if there is none.
    pub previous_elsewhere: Node,
    /// The program point.
    pub label: u32,
    /// The thread's local state when it asked for this (0: unknown).
    pub digest: u64,
    /// What the program asked for.
    pub access: Access,
}

/// The accesses of one location.
#[derive(Debug, Serialize, Deserialize)]
struct PlaceData {
    location: Location,
    initial: Value,
    /// In coherence order, the initial write first.
    writes: Vec<Node>,
    reads: Vec<Node>,
    plain: u32,
}

/// A copy into what is there needs no new memory.
impl Clone for PlaceData {
    fn clone(&self) -> Self {
        let PlaceData { location, initial, writes, reads, plain } = self;
        let (writes, reads) = (writes.clone(), reads.clone());
        PlaceData { location: *location, initial: *initial, writes, reads, plain: *plain }
    }

    fn clone_from(&mut self, other: &Self) {
        (self.location, self.initial, self.plain) = (other.location, other.initial, other.plain);
        self.writes.clone_from(&other.writes);
        self.reads.clone_from(&other.reads);
    }
}

/// An execution graph. See the module's documentation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Graph {
    nodes: Vec<NodeData>,
    threads: Vec<Vec<Node>>,
    places: Vec<PlaceData>,
    /// Slots per clock.
    stride: usize,
    porf: Vec<u32>,
    hb: Vec<u32>,
    /// What an acquire of this write synchronises with.
    released: Vec<u32>,
    /// What an acquire fence after this event synchronises with.
    acquirable: Vec<u32>,
    /// How many events are not seq_cst accesses or fences.
    not_sc: u32,
    /// seq_cst fences, in the order of addition.
    sc_fences: Vec<Node>,
    /// Waits, in the order of addition.
    waits: Vec<Node>,
    /// A read that was added last and has no source yet: its clocks are what its thread has seen before.
    #[serde(skip)]
    unread: Option<Node>,
    /// Memory for places to come.
    #[serde(skip)]
    spare: Vec<PlaceData>,
}

/// A copy into what is there needs no new memory.
impl Clone for Graph {
    fn clone(&self) -> Self {
        let mut graph = Graph::new();
        graph.clone_from(self);
        graph
    }

    fn clone_from(&mut self, other: &Self) {
        let Graph {
            nodes,
            threads,
            places,
            stride,
            porf,
            hb,
            released,
            acquirable,
            not_sc,
            sc_fences,
            waits,
            unread: _,
            spare: _,
        } = other;
        (self.stride, self.not_sc, self.unread) = (*stride, *not_sc, None);
        self.nodes.clone_from(nodes);
        self.threads.clone_from(threads);
        self.places.clone_from(places);
        self.porf.clone_from(porf);
        self.hb.clone_from(hb);
        self.released.clone_from(released);
        self.acquirable.clone_from(acquirable);
        self.sc_fences.clone_from(sc_fences);
        self.waits.clone_from(waits);
    }
}

/// The part of a new event that its creator knows.
#[derive(Clone, Copy, Debug)]
pub struct NewNode<'a> {
    /// Whose event.
    pub thread: ThreadId,
    /// What it is.
    pub flags: Flags,
    /// What it accesses.
    pub place: Place,
    /// The program point.
    pub label: u32,
    /// The thread's local state.
    pub digest: u64,
    /// What the program asked for.
    pub access: &'a Access,
}

/// The writes whose bytes a read has got. Where accesses have different extents, a write to a part of a place takes the
/// rest over from the write before it: who reads the rest has it from there.
struct Origins {
    at: Option<Location>,
    /// The next write, and which of the bytes of `at` are still to be found.
    next: Option<Node>,
    left: u16,
}

impl Origins {
    fn of(read: &NodeData) -> Origins {
        let at = read.access.location();
        let bytes = at.map_or(0, |at| at.size.bytes());
        Origins { at, next: Some(read.source), left: ((1u32 << bytes) - 1) as u16 }
    }

    fn next(&mut self, graph: &Graph) -> Option<Node> {
        loop {
            let write = self.next.take()?;
            if write == Node::INIT {
                return Some(write);
            }
            let data = graph.node(write);
            let (Some(at), Some(written)) = (self.at, data.access.location()) else { return Some(write) };
            if written.size == graph.location(data.place).size {
                return Some(write);
            }
            let here = |byte: &u64| (written.address..written.end()).contains(&(at.address + byte));
            let found = (0..at.size.bytes()).filter(here).fold(0, |set, byte| set | 1 << byte) & self.left;
            self.left &= !found;
            if self.left != 0 {
                self.next = graph.previous(write).map(|read| graph.node(read).source);
            }
            if found != 0 {
                return Some(write);
            }
        }
    }
}

/// So many threads have clocks of a length that the compiler knows: most programs have no more.
const FEW: usize = 4;

/// What a wait is to consistency: a fence that orders nothing.
const WAIT: Flags = Flags::FENCE.with(Flags::BLOCKED);

impl Default for Graph {
    fn default() -> Self {
        Graph::new()
    }
}

impl Graph {
    /// The graph of the initial write alone.
    pub fn new() -> Self {
        let mut graph = Graph {
            nodes: Vec::new(),
            threads: Vec::new(),
            places: Vec::new(),
            stride: FEW,
            porf: Vec::new(),
            hb: Vec::new(),
            released: Vec::new(),
            acquirable: Vec::new(),
            not_sc: 0,
            sc_fences: Vec::new(),
            waits: Vec::new(),
            unread: None,
            spare: Vec::new(),
        };
        graph.nodes.push(NodeData {
            thread: ThreadId(u32::MAX),
            index: 0,
            flags: Flags::WRITE,
            place: Place::NONE,
            value: Value::ZERO,
            source: Node::INIT,
            variant: 0,
            position: 0,
            release_fence: Node::INIT,
            previous_elsewhere: Node::INIT,
            label: 0,
            digest: 0,
            access: Access::Fence { order: FenceOrder::Acquire },
        });
        graph.push_clocks();
        graph
    }

    /// Clocks for the event added last.
    #[inline]
    fn push_clocks(&mut self) {
        let stride = self.stride;
        let Graph { porf, hb, released, acquirable, .. } = self;
        for clocks in [porf, hb, released, acquirable] {
            if stride == FEW && clocks.capacity() - clocks.len() >= FEW {
                clocks.extend_from_slice(&[0; FEW]);
            } else {
                clocks.resize(clocks.len() + stride, 0);
            }
        }
    }

    /// How many events there are, the initial one included.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Is there nothing but the initial write?
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The event added last.
    #[inline]
    pub fn last(&self) -> Node {
        Node(self.nodes.len() as u32 - 1)
    }

    /// An event.
    #[inline]
    pub fn node(&self, node: Node) -> &NodeData {
        &self.nodes[node.index()]
    }

    /// All events but the initial one, in the order of addition.
    pub fn nodes(&self) -> impl Iterator<Item = (Node, &NodeData)> {
        self.nodes.iter().enumerate().skip(1).map(|(i, data)| (Node(i as u32), data))
    }

    /// A thread's events in program order.
    #[inline]
    pub fn thread(&self, thread: ThreadId) -> &[Node] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// How many threads have (or had) events.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many locations are known.
    #[inline]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The location behind a place.
    #[inline]
    pub fn location(&self, place: Place) -> Location {
        self.places[place.index()].location
    }

    /// The writes to a place in coherence order, the initial write first.
    #[inline]
    pub fn writes(&self, place: Place) -> &[Node] {
        &self.places[place.index()].writes
    }

    /// The reads of a place in the order of addition.
    #[inline]
    pub fn reads(&self, place: Place) -> &[Node] {
        &self.places[place.index()].reads
    }

    /// How many plain accesses a place has.
    #[inline]
    pub fn plain_accesses(&self, place: Place) -> u32 {
        self.places[place.index()].plain
    }

    /// The value of a place in the end: that of the last write.
    pub fn final_value(&self, place: Place) -> Value {
        self.written(place, *self.writes(place).last().expect("the initial write is always there"))
    }

    /// The value of a location in the end; `None` if no access made it known.
    pub fn final_value_at(&self, location: Location) -> Option<Value> {
        let place = self.places.iter().position(|place| place.location == location)?;
        Some(self.final_value(Place(place as u32)))
    }

    /// What `write` put into `place`; the initial write holds another value in each place.
    #[inline]
    pub fn written(&self, place: Place, write: Node) -> Value {
        if write == Node::INIT { self.places[place.index()].initial } else { self.node(write).value }
    }

    /// Is every event a seq_cst access or fence?
    #[inline]
    pub fn all_sc(&self) -> bool {
        self.not_sc == 0
    }

    /// The seq_cst fences.
    #[inline]
    pub fn sc_fences(&self) -> &[Node] {
        &self.sc_fences
    }

    /// The waits.
    #[inline]
    pub fn waits(&self) -> &[Node] {
        &self.waits
    }

    /// Is this a wait?
    #[inline]
    pub fn is_wait(&self, node: Node) -> bool {
        self.node(node).flags.has(WAIT)
    }

    /// The event before `node` in its thread.
    #[inline]
    pub fn previous(&self, node: Node) -> Option<Node> {
        let data = self.node(node);
        data.index.checked_sub(1).map(|i| self.threads[data.thread.index()][i as usize])
    }

    /// The event after `node` in its thread.
    #[inline]
    pub fn next(&self, node: Node) -> Option<Node> {
        let data = self.node(node);
        self.threads.get(data.thread.index())?.get(data.index as usize + 1).copied()
    }

    /// The write that an access stands for in coherence order: itself, or what it reads.
    #[inline]
    pub fn write_of(&self, node: Node) -> Node {
        let data = self.node(node);
        if data.flags.has(Flags::READ) { data.source } else { node }
    }

    /// The position of a write, or of what a read reads, in coherence order.
    #[inline]
    pub fn position_of(&self, node: Node) -> u32 {
        self.node(self.write_of(node)).position
    }

    #[inline]
    fn slot(clocks: &[u32], stride: usize, node: Node, thread: ThreadId) -> u32 {
        if thread.index() < stride { clocks[node.index() * stride + thread.index()] } else { 0 }
    }

    /// Is `a` before `b` (or the same) in program order and reads-from?
    #[inline]
    pub fn porf_le(&self, a: Node, b: Node) -> bool {
        let data = self.node(a);
        a == Node::INIT || Self::slot(&self.porf, self.stride, b, data.thread) > data.index
    }

    /// Does `a` happen before `b` under C/C++20?
    #[inline]
    pub fn hb(&self, a: Node, b: Node) -> bool {
        if a == b {
            return false;
        }
        let data = self.node(a);
        a == Node::INIT || Self::slot(&self.hb, self.stride, b, data.thread) > data.index
    }

    /// What happens before `node`, itself included: for each thread how many of its events.
    #[inline]
    pub fn hb_clock(&self, node: Node) -> &[u32] {
        &self.hb[node.index() * self.stride..(node.index() + 1) * self.stride]
    }

    /// What comes before `node` by program order and reads-from, itself included: for each thread how many of its
    /// events.
    pub fn porf_clock(&self, node: Node) -> &[u32] {
        &self.porf[node.index() * self.stride..(node.index() + 1) * self.stride]
    }

    /// Makes a location known. Places are numbered in the order of these calls.
    pub fn add_place(&mut self, location: Location, initial: Value) -> Place {
        let place = Place(self.places.len() as u32);
        let (writes, reads) = (Vec::new(), Vec::new());
        let mut data = self.spare.pop().unwrap_or(PlaceData { location, initial, writes, reads, plain: 0 });
        (data.location, data.initial, data.plain) = (location, initial, 0);
        data.writes.clear();
        data.writes.push(Node::INIT);
        data.reads.clear();
        self.places.push(data);
        place
    }

    /// Adds an event at the end. A read reads the last write until [`set_source`](Self::set_source) says otherwise; a
    /// write stands nowhere in coherence order until [`place_write`](Self::place_write).
    pub fn add(&mut self, new: NewNode<'_>) -> Node {
        let t = new.thread.index();
        if t >= self.threads.len() {
            self.threads.resize(t + 1, Vec::new());
        }
        if t >= self.stride {
            self.widen(t + 1);
        }
        let node = Node(self.nodes.len() as u32);
        let previous = self.threads[t].last().copied();
        let index = self.threads[t].len() as u32;
        let release_fence = if new.flags.has(Flags::FENCE.with(Flags::RELEASE)) {
            node
        } else {
            previous.map_or(Node::INIT, |p| self.node(p).release_fence)
        };
        let previous_elsewhere = match previous {
            Some(p) if new.place != Place::NONE && self.node(p).place == new.place => self.node(p).previous_elsewhere,
            Some(p) => p,
            None => Node::INIT,
        };
        self.nodes.push(NodeData {
            thread: new.thread,
            index,
            flags: new.flags,
            place: new.place,
            value: Value::ZERO,
            source: Node::INIT,
            variant: 0,
            position: 0,
            release_fence,
            previous_elsewhere,
            label: new.label,
            digest: new.digest,
            access: *new.access,
        });
        self.threads[t].push(node);
        self.push_clocks();
        if new.place != Place::NONE {
            let place = &mut self.places[new.place.index()];
            if new.flags.has(Flags::READ) {
                place.reads.push(node);
            }
            place.plain += u32::from(new.flags.has(Flags::PLAIN));
        }
        // Those of a read that has no source yet are what its thread has seen before.
        self.update_clocks(node);
        self.unread = new.flags.has(Flags::READ).then_some(node);
        if !new.flags.has(Flags::SC) {
            self.not_sc += 1;
        } else if new.flags.has(Flags::FENCE) {
            self.sc_fences.push(node);
        }
        node
    }

    /// Lets a read read `source`, with that result. Nothing may come after it in its thread.
    pub fn set_source(&mut self, read: Node, source: Node, value: Value, variant: u32, flags: Flags) {
        let data = &mut self.nodes[read.index()];
        let before = data.flags;
        data.source = source;
        data.value = value;
        data.variant = variant;
        data.flags = flags;
        let place = &mut self.places[data.place.index()];
        place.plain = place.plain + u32::from(flags.has(Flags::PLAIN)) - u32::from(before.has(Flags::PLAIN));
        self.not_sc = self.not_sc + u32::from(before.has(Flags::SC)) - u32::from(flags.has(Flags::SC));
        if self.unread != Some(read) {
            self.update_clocks(read);
        } else if source != Node::INIT {
            self.unread = None;
            match self.stride {
                FEW => self.join_source(read, FEW),
                stride => self.join_source(read, stride),
            }
        }
    }

    /// Lets a read read another write that makes no difference to its thread. (Clocks keep what the first one gave:
    /// for SC, TSO and PSO.)
    pub fn swap_source(&mut self, read: Node, source: Node) {
        let value = self.written(self.node(read).place, source);
        let data = &mut self.nodes[read.index()];
        data.source = source;
        data.value = value;
    }

    /// Puts the writes of a place into this coherence order, the initial write first.
    pub fn reorder(&mut self, place: Place, order: &[Node]) {
        debug_assert_eq!(order.len(), self.writes(place).len());
        self.places[place.index()].writes.copy_from_slice(order);
        self.renumber(place.index(), 0);
    }

    /// Turns a read, which is the last event of its thread, into a *wait*: an event that accesses nothing and orders
    /// nothing, which says that its thread has come to its guarded access here and will not read anything up to
    /// `until`. The access itself comes later.
    pub fn wait(&mut self, read: Node, until: Node) {
        let data = &mut self.nodes[read.index()];
        let (place, before) = (data.place, data.flags);
        data.variant = place.0;
        data.place = Place::NONE;
        data.source = until;
        data.flags = WAIT;
        self.not_sc += u32::from(before.has(Flags::SC));
        let data = &mut self.places[place.index()];
        data.reads.retain(|other| *other != read);
        data.plain -= u32::from(before.has(Flags::PLAIN));
        let at = self.waits.partition_point(|other| *other < read);
        self.waits.insert(at, read);
        self.update_clocks(read);
    }

    /// Makes a wait, which is the last event, the read again that it was.
    pub fn unwait(&mut self, read: Node) {
        self.waits.pop();
        let data = &mut self.nodes[read.index()];
        data.place = Place(data.variant);
        data.flags = Flags::READ;
        self.places[data.place.index()].reads.push(read);
    }

    /// Says what a write writes, or what a read that has its source gets.
    #[inline]
    pub fn set_value(&mut self, write: Node, value: Value) {
        self.nodes[write.index()].value = value;
    }

    /// The thread's local state at the same event in another run of the program.
    #[inline]
    pub fn set_digest(&mut self, node: Node, digest: u64) {
        self.nodes[node.index()].digest = digest;
    }

    /// The operands of the same event in another run of the program, which has asked for this access. It is the same
    /// but for those.
    #[inline]
    pub fn set_operands(&mut self, node: Node, access: &Access) {
        // A load has none.
        if !matches!(access, Access::Load { .. } | Access::Fence { .. }) {
            self.nodes[node.index()].access = *access;
        }
    }

    /// What the program asked for at `to` is what it asked for at `from`.
    #[inline]
    pub fn copy_operands(&mut self, from: Node, to: Node) {
        self.nodes[to.index()].access = self.nodes[from.index()].access;
    }

    /// What a place holds initially, in another run of the program.
    pub fn set_initial(&mut self, place: Place, initial: Value) {
        self.places[place.index()].initial = initial;
    }

    /// Puts a write at `position` in the coherence order of its location.
    pub fn place_write(&mut self, write: Node, position: u32) {
        let place = self.node(write).place.index();
        self.places[place].writes.insert(position as usize, write);
        self.renumber(place, position);
    }

    /// Takes a write out of coherence order again.
    pub fn unplace_write(&mut self, write: Node) {
        let data = self.node(write);
        let (place, position) = (data.place.index(), data.position);
        if position != 0 {
            self.places[place].writes.remove(position as usize);
            self.nodes[write.index()].position = 0;
            self.renumber(place, position);
        }
    }

    fn renumber(&mut self, place: usize, from: u32) {
        for (i, write) in self.places[place].writes.iter().enumerate().skip(from as usize) {
            self.nodes[write.index()].position = i as u32;
        }
    }

    /// Computes the clocks of an event that is the last of its thread.
    #[inline]
    fn update_clocks(&mut self, node: Node) {
        match self.stride {
            FEW => self.update_clocks_of(node, FEW),
            stride => self.update_clocks_of(node, stride),
        }
    }

    #[inline(always)]
    fn update_clocks_of(&mut self, node: Node, stride: usize) {
        let NodeData { thread, index, flags, source, release_fence, .. } = self.nodes[node.index()];
        let at = node.index() * stride;
        match self.previous(node) {
            Some(previous) => {
                let from = previous.index() * stride;
                for clocks in [&mut self.porf, &mut self.hb, &mut self.acquirable] {
                    copy(clocks, from, at, stride);
                }
            }
            None => {
                for clocks in [&mut self.porf, &mut self.hb, &mut self.acquirable] {
                    clocks[at..at + stride].fill(0);
                }
            }
        }
        let own = at + thread.index();
        self.porf[own] = index + 1;
        self.hb[own] = index + 1;
        if flags.has(Flags::READ) {
            // Nothing comes before the initial write, and nobody has released it.
            if source != Node::INIT {
                self.join_source(node, stride);
            }
        } else if flags.has(Flags::FENCE) {
            if flags.has(Flags::ACQUIRE) {
                join_from(&mut self.hb, &self.acquirable, at, at, stride);
            }
        } else {
            if flags.has(Flags::RELEASE) {
                copy_from(&mut self.released, &self.hb, at, at, stride);
            } else if release_fence != Node::INIT && !flags.has(Flags::PLAIN) {
                copy_from(&mut self.released, &self.hb, release_fence.index() * stride, at, stride);
            } else {
                self.released[at..at + stride].fill(0);
            }
            if flags.has(Flags::EXCLUSIVE) && !flags.has(Flags::WEAVES) {
                let read = self.previous(node).expect("an exclusive write follows its read");
                self.for_each_origin(read, |graph, origin| {
                    join(&mut graph.released, origin.index() * stride, at, stride);
                });
            }
        }
    }

    /// What a read has from its source.
    #[inline(always)]
    fn join_source(&mut self, read: Node, stride: usize) {
        let NodeData { source, flags, .. } = self.nodes[read.index()];
        let at = read.index() * stride;
        join(&mut self.porf, source.index() * stride, at, stride);
        if flags.any(Flags::PLAIN.with(Flags::WEAVES)) {
            return;
        }
        let acquires = flags.has(Flags::ACQUIRE);
        self.for_each_origin(read, |graph, origin| {
            let from = origin.index() * stride;
            join_from(&mut graph.acquirable, &graph.released, from, at, stride);
            if acquires {
                join_from(&mut graph.hb, &graph.released, from, at, stride);
            }
        });
    }

    /// The writes whose bytes a read has got: nearly always one, which has written as much as is read.
    #[inline(always)]
    fn for_each_origin(&mut self, read: Node, mut take: impl FnMut(&mut Graph, Node)) {
        let data = self.node(read);
        let source = data.source;
        let written = if source == Node::INIT { None } else { self.node(source).access.location() };
        if written.is_none_or(|written| written.size == self.location(data.place).size) {
            return take(self, source);
        }
        let mut origins = Origins::of(data);
        loop {
            let Some(origin) = origins.next(self) else { return };
            take(self, origin);
        }
    }

    /// Computes the clocks of all events anew: after sources have been swapped those at hand are of the past.
    pub fn refresh_clocks(&mut self) {
        let mut done = vec![false; self.nodes.len()];
        done[Node::INIT.index()] = true;
        let mut next = vec![0; self.threads.len()];
        // Program order and reads-from together have no cycle, so that somebody can always go on.
        let mut left = self.nodes.len() - 1;
        while left > 0 {
            let before = left;
            for (thread, next) in next.iter_mut().enumerate() {
                while let Some(node) = self.threads[thread].get(*next).copied() {
                    let data = &self.nodes[node.index()];
                    if data.flags.has(Flags::READ) && !done[data.source.index()] {
                        break;
                    }
                    self.update_clocks(node);
                    done[node.index()] = true;
                    *next += 1;
                    left -= 1;
                }
            }
            assert!(left < before, "internal error: events that read each other");
        }
    }

    /// Makes room for more threads in every clock.
    fn widen(&mut self, threads: usize) {
        let (old, new) = (self.stride, threads.next_power_of_two());
        for clocks in [&mut self.porf, &mut self.hb, &mut self.released, &mut self.acquirable] {
            let mut wide = vec![0; self.nodes.len() * new];
            for (from, to) in clocks.chunks_exact(old).zip(wide.chunks_exact_mut(new)) {
                to[..old].copy_from_slice(from);
            }
            *clocks = wide;
        }
        self.stride = new;
    }

    /// Cuts the graph back to its first `length` events, the initial one included.
    pub fn truncate(&mut self, length: usize) {
        self.unread = None;
        while self.nodes.len() > length {
            let node = self.last();
            let NodeData { thread, flags, place, .. } = self.nodes[node.index()];
            if place != Place::NONE {
                if flags.has(Flags::WRITE) {
                    self.unplace_write(node);
                }
                let place = &mut self.places[place.index()];
                if flags.has(Flags::READ) {
                    debug_assert_eq!(place.reads.last(), Some(&node));
                    place.reads.pop();
                }
                place.plain -= u32::from(flags.has(Flags::PLAIN));
            }
            if !flags.has(Flags::SC) {
                self.not_sc -= 1;
            } else if flags.has(Flags::FENCE) {
                self.sc_fences.pop();
            }
            if flags.has(WAIT) {
                self.waits.pop();
            }
            self.threads[thread.index()].pop();
            self.nodes.pop();
        }
        let end = self.nodes.len() * self.stride;
        for clocks in [&mut self.porf, &mut self.hb, &mut self.released, &mut self.acquirable] {
            clocks.truncate(end);
        }
    }

    /// Becomes the graph of the initial write alone, keeping its allocations.
    pub fn clear(&mut self) {
        self.truncate(1);
        self.spare.append(&mut self.places);
    }

    /// Becomes the part of `other` that `keep` says, in the same order, keeping its own allocations.
    ///
    /// What is kept must be closed under program order and reads-from, but for `dangling`: that read loses its
    /// source, and its caller gives it another.
    pub fn assign_part(&mut self, other: &Graph, keep: impl Fn(Node) -> bool, dangling: Node, names: &mut Vec<Node>) {
        let stride = other.stride;
        self.stride = stride;
        self.unread = None;
        self.nodes.clear();
        self.not_sc = 0;
        self.sc_fences.clear();
        self.waits.clear();
        for clocks in [&mut self.porf, &mut self.hb, &mut self.released, &mut self.acquirable] {
            clocks.clear();
        }
        self.threads.iter_mut().for_each(Vec::clear);
        if self.threads.len() < other.threads.len() {
            self.threads.resize(other.threads.len(), Vec::new());
        }
        while self.places.len() < other.places.len() {
            let from = &other.places[self.places.len()];
            self.add_place(from.location, from.initial);
        }
        let fewer = self.places.len().min(other.places.len());
        self.spare.extend(self.places.drain(fewer..));
        for (place, from) in self.places.iter_mut().zip(&other.places) {
            place.location = from.location;
            place.initial = from.initial;
            place.reads.clear();
            place.plain = 0;
        }
        // New names first: a read may come before its source.
        names.clear();
        let mut next = 0;
        for i in 0..other.nodes.len() as u32 {
            names.push(Node(if i == 0 || keep(Node(i)) { next } else { u32::MAX }));
            next += u32::from(names[i as usize].0 != u32::MAX);
        }
        // What is kept from the beginning is copied in one go.
        let whole = names.iter().enumerate().take_while(|(i, name)| name.index() == *i).count();
        let Graph { porf, hb, released, acquirable, .. } = self;
        let all = [&other.porf, &other.hb, &other.released, &other.acquirable];
        for (clocks, from) in [porf, hb, released, acquirable].into_iter().zip(all) {
            clocks.extend_from_slice(&from[..whole * stride]);
        }
        for (i, data) in other.nodes.iter().enumerate() {
            let name = names[i];
            if name.0 == u32::MAX {
                continue;
            }
            let mut data = *data;
            if i != 0 {
                data.source = if Node(i as u32) == dangling { Node::INIT } else { names[data.source.index()] };
                data.release_fence = names[data.release_fence.index()];
                data.previous_elsewhere = names[data.previous_elsewhere.index()];
                self.threads[data.thread.index()].push(name);
                if data.place != Place::NONE {
                    let place = &mut self.places[data.place.index()];
                    if data.flags.has(Flags::READ) {
                        place.reads.push(name);
                    }
                    place.plain += u32::from(data.flags.has(Flags::PLAIN));
                }
                if !data.flags.has(Flags::SC) {
                    self.not_sc += 1;
                } else if data.flags.has(Flags::FENCE) {
                    self.sc_fences.push(name);
                }
                if data.flags.has(WAIT) {
                    self.waits.push(name);
                }
            }
            self.nodes.push(data);
            if i < whole {
                continue;
            }
            let range = i * stride..(i + 1) * stride;
            self.porf.extend_from_slice(&other.porf[range.clone()]);
            self.hb.extend_from_slice(&other.hb[range.clone()]);
            self.released.extend_from_slice(&other.released[range.clone()]);
            self.acquirable.extend_from_slice(&other.acquirable[range]);
        }
        for (place, from) in self.places.iter_mut().zip(&other.places) {
            place.writes.clear();
            place.writes.extend(from.writes.iter().map(|w| names[w.index()]).filter(|w| w.0 != u32::MAX));
        }
        for place in 0..self.places.len() {
            self.renumber(place, 1);
        }
    }

    /// Becomes a copy of `other`, keeping its own allocations.
    pub fn assign(&mut self, other: &Graph) {
        self.assign_part(other, |_| true, Node::INIT, &mut Vec::new());
    }
}

/// `clocks[to] = clocks[from]`, slot by slot. The two are clocks of different events.
#[inline(always)]
fn copy(clocks: &mut [u32], from: usize, to: usize, stride: usize) {
    let (one, other) = halves(clocks, from, to, stride);
    other.copy_from_slice(one);
}

/// `into[to] = other[from]`, slot by slot.
#[inline(always)]
fn copy_from(into: &mut [u32], other: &[u32], from: usize, to: usize, stride: usize) {
    into[to..to + stride].copy_from_slice(&other[from..from + stride]);
}

/// `clocks[to] |= clocks[from]`, slot by slot. The two are clocks of different events.
#[inline(always)]
fn join(clocks: &mut [u32], from: usize, to: usize, stride: usize) {
    let (one, other) = halves(clocks, from, to, stride);
    other.iter_mut().zip(one).for_each(|(slot, seen)| *slot = (*slot).max(*seen));
}

/// `into[to] |= other[from]`, slot by slot.
#[inline(always)]
fn join_from(into: &mut [u32], other: &[u32], from: usize, to: usize, stride: usize) {
    let (into, other) = (&mut into[to..to + stride], &other[from..from + stride]);
    into.iter_mut().zip(other).for_each(|(slot, seen)| *slot = (*slot).max(*seen));
}

/// The clock at `from`, and the one at `to` to be changed.
#[inline(always)]
fn halves(clocks: &mut [u32], from: usize, to: usize, stride: usize) -> (&[u32], &mut [u32]) {
    if from < to {
        let (low, high) = clocks.split_at_mut(to);
        (&low[from..from + stride], &mut high[..stride])
    } else {
        let (low, high) = clocks.split_at_mut(from);
        (&high[..stride], &mut low[to..to + stride])
    }
}
