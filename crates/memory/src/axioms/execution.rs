//! An execution as the axioms see it: events and the relations between them.
//!
//! A [`Trace`] is a sequence; an [`Execution`] forgets the order of execution and keeps what memory models
//! speak of:
//!
//! - *po*, program order: one thread's events in their order;
//! - *rf*, reads-from: from the store to the load that reads it;
//! - *mo*, modification order (coherence): all stores to a byte in the order in which they take effect;
//! - *rb*, reads-before: from a load to the stores that come after the one it read, rf⁻¹;mo without identity;
//! - *rmw*: from the reading to the writing half of a read-modify-write.
//!
//! Three things differ from the trace. An RMW is two events, a read and, directly behind it in po, a write.
//! A commit is no event: what it did is in mo. And one more event stands for the initial values: it
//! writes every byte, is first in every mo and comes before everything.
//!
//! Locations are bytes. Accesses of different sizes may overlap, so that a load may read from several
//! stores, and two stores may be ordered by mo on the bytes that they share only. rf, mo and rb are
//! therefore given per [`Region`] (bytes that no access tells apart), and as the union over all regions.
//! Where all accesses to a location have the same size, this is the usual definition.

use super::Violation;
use super::relation::{Relation, Set};
use fencepost_trace::{
    Event, EventId, EventKind, FenceOrder, LoadOrder, Location, Part, RmwOrder, StoreOrder, ThreadId, Trace, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// What an event of the axioms is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// The write of all initial values.
    Init,
    /// A load, or the reading half of an RMW.
    Read {
        /// The bytes.
        at: Location,
        /// Its order.
        order: LoadOrder,
        /// A compare-exchange that failed.
        failed_rmw: bool,
    },
    /// A store, or the writing half of an RMW.
    Write {
        /// The bytes.
        at: Location,
        /// Its order.
        order: StoreOrder,
    },
    /// A fence.
    Fence {
        /// Its order.
        order: FenceOrder,
    },
}

/// An event of the axioms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The event of the trace; both halves of an RMW have the same.
    pub id: EventId,
    /// Whose event; `None` for the initial write.
    pub thread: Option<ThreadId>,
    /// What it is.
    pub kind: NodeKind,
    /// The order of the whole RMW, if it is half of one.
    pub rmw: Option<RmwOrder>,
}

impl Node {
    /// The bytes that it accesses; `None` for fences and the initial write.
    pub fn location(&self) -> Option<Location> {
        match self.kind {
            NodeKind::Read { at, .. } | NodeKind::Write { at, .. } => Some(at),
            NodeKind::Init | NodeKind::Fence { .. } => None,
        }
    }

    /// Does it read?
    pub fn is_read(&self) -> bool {
        matches!(self.kind, NodeKind::Read { .. })
    }

    /// Does it write? The initial write is not counted.
    pub fn is_write(&self) -> bool {
        matches!(self.kind, NodeKind::Write { .. })
    }

    /// Does it read or write?
    pub fn is_access(&self) -> bool {
        self.is_read() || self.is_write()
    }

    /// Is it a non-atomic access?
    pub fn is_plain(&self) -> bool {
        matches!(
            self.kind,
            NodeKind::Read { order: LoadOrder::Plain, .. } | NodeKind::Write { order: StoreOrder::Plain, .. }
        )
    }

    /// Is it seq_cst?
    pub fn is_seq_cst(&self) -> bool {
        matches!(
            self.kind,
            NodeKind::Read { order: LoadOrder::SeqCst, .. }
                | NodeKind::Write { order: StoreOrder::SeqCst, .. }
                | NodeKind::Fence { order: FenceOrder::SeqCst }
        )
    }
}

/// Bytes that no access of the execution tells apart, and their coherence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first byte.
    pub address: u64,
    /// The reads and writes of these bytes, in ascending order.
    pub accesses: Vec<usize>,
    /// The writes in modification order; the initial write is the first.
    pub writes: Vec<usize>,
    /// Each read with the place in `writes` of what it read.
    pub reads: Vec<(usize, usize)>,
}

impl Region {
    /// rf on these bytes.
    pub fn rf(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.reads.iter().map(|&(read, place)| (self.writes[place], read))
    }

    /// mo on these bytes.
    pub fn mo(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.writes.iter().enumerate().flat_map(|(i, &a)| self.writes[i + 1..].iter().map(move |&b| (a, b)))
    }

    /// rb on these bytes.
    pub fn rb(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.reads.iter().flat_map(|&(read, place)| self.writes[place + 1..].iter().map(move |&write| (read, write)))
    }
}

/// An execution as the axioms see it. The position of an event in [`Execution::nodes`] is its name in all
/// relations and sets.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The events: the initial write, then those of the trace in its order.
    pub nodes: Vec<Node>,
    /// The bytes that are accessed.
    pub regions: Vec<Region>,
    /// Program order. The initial write is not in it.
    pub po: Relation,
    /// Reads-from.
    pub rf: Relation,
    /// Modification order.
    pub mo: Relation,
    /// Reads-before.
    pub rb: Relation,
    /// From the reading to the writing half of each RMW.
    pub rmw: Relation,
    /// Pairs of accesses that share a byte.
    pub same_location: Relation,
}

/// The position of the initial write.
const INIT: usize = 0;

impl Execution {
    /// Reads a trace, and checks that it is well formed:
    ///
    /// - every byte of every read comes from exactly one store, which wrote that byte, and the value agrees;
    /// - all reads of a byte's initial value agree on it (what it is, a trace does not say);
    /// - every store is in the coherence order of each of its bytes exactly once, and nothing else is.
    pub fn from_trace(trace: &Trace) -> Result<Execution, Violation> {
        let names = Names::of(trace)?;
        let cuts = cuts(trace)?;
        check_coherence(trace)?;
        let regions = regions(trace, &names, &cuts)?;
        check_values(trace)?;

        let nodes = names.nodes;
        let size = nodes.len();
        let union =
            |pairs: &dyn Fn(&Region) -> Vec<(usize, usize)>| Relation::from_pairs(size, regions.iter().flat_map(pairs));
        Ok(Execution {
            po: Relation::from_pairs(
                size,
                (1..size).flat_map(|a| (a + 1..size).map(move |b| (a, b))).filter(|&(a, b)| same_thread(&nodes, a, b)),
            ),
            rf: union(&|r| r.rf().collect()),
            mo: union(&|r| r.mo().collect()),
            rb: union(&|r| r.rb().collect()),
            rmw: Relation::from_pairs(size, (1..size).filter(|&b| nodes[b - 1].id == nodes[b].id).map(|b| (b - 1, b))),
            same_location: union(&|r| {
                r.accesses.iter().flat_map(|&a| r.accesses.iter().map(move |&b| (a, b))).collect()
            }),
            regions,
            nodes,
        })
    }

    /// How many events there are, with the initial write.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The events that `member` accepts.
    pub fn set(&self, member: impl Fn(&Node) -> bool) -> Set {
        Set::filter(self.size(), |i| member(&self.nodes[i]))
    }

    /// All reads.
    pub fn reads(&self) -> Set {
        self.set(Node::is_read)
    }

    /// All writes but the initial one.
    pub fn writes(&self) -> Set {
        self.set(Node::is_write)
    }

    /// All reads and writes but the initial one.
    pub fn accesses(&self) -> Set {
        self.set(Node::is_access)
    }

    /// The initial write alone.
    pub fn init(&self) -> Set {
        Set::filter(self.size(), |i| i == INIT)
    }

    /// The part of `relation` between events of different threads.
    pub fn external(&self, relation: &Relation) -> Relation {
        Relation::from_pairs(self.size(), relation.pairs().filter(|&(a, b)| !same_thread(&self.nodes, a, b)))
    }

    /// A violation by these events.
    pub fn violation(&self, axiom: &'static str, events: &[usize], message: impl Into<String>) -> Violation {
        let mut events: Vec<EventId> = events.iter().map(|&i| self.nodes[i].id).collect();
        events.dedup();
        Violation { axiom, events, message: message.into() }
    }
}

fn same_thread(nodes: &[Node], a: usize, b: usize) -> bool {
    nodes[a].thread.is_some() && nodes[a].thread == nodes[b].thread
}

fn ill_formed(events: &[EventId], message: impl Into<String>) -> Violation {
    Violation { axiom: "well-formed", events: events.to_vec(), message: message.into() }
}

/// The nodes, and where the reads and writes of the trace's events are among them.
struct Names {
    nodes: Vec<Node>,
    /// By event: its first node.
    first: BTreeMap<EventId, usize>,
}

impl Names {
    fn of(trace: &Trace) -> Result<Names, Violation> {
        let mut nodes = vec![Node { id: EventId::INIT, thread: None, kind: NodeKind::Init, rmw: None }];
        let mut first = BTreeMap::new();
        for (i, event) in trace.events.iter().enumerate() {
            if event.id.index() != i + 1 {
                return Err(ill_formed(&[event.id], format!("the event at place {} has another name", i + 1)));
            }
            first.insert(event.id, nodes.len());
            let node = |kind, rmw| Node { id: event.id, thread: Some(event.thread), kind, rmw };
            match event.kind {
                EventKind::Load { at, order, failed_rmw, .. } => {
                    nodes.push(node(NodeKind::Read { at, order, failed_rmw }, None));
                }
                EventKind::Store { at, order, .. } => nodes.push(node(NodeKind::Write { at, order }, None)),
                EventKind::Rmw { at, order, .. } => {
                    nodes.push(node(NodeKind::Read { at, order: order.load(), failed_rmw: false }, Some(order)));
                    nodes.push(node(NodeKind::Write { at, order: order.store() }, Some(order)));
                }
                EventKind::Fence { order } => nodes.push(node(NodeKind::Fence { order }, None)),
                EventKind::Commit { .. } => {}
            }
        }
        Ok(Names { nodes, first })
    }

    /// The node that reads in an event that does.
    fn read(&self, event: &Event) -> usize {
        self.first[&event.id]
    }

    /// The node that writes in an event that does.
    fn write(&self, event: &Event) -> usize {
        self.first[&event.id] + usize::from(event.kind.is_read())
    }
}

/// Where the bytes of a read came from: from, to (addresses), and the store.
struct Source {
    start: u64,
    end: u64,
    from: EventId,
}

/// The sources of a read, one if it says nothing of parts.
fn sources(event: &Event) -> Vec<Source> {
    let (EventKind::Load { at, from, parts, .. } | EventKind::Rmw { at, from, parts, .. }) = &event.kind else {
        return Vec::new();
    };
    if parts.is_empty() {
        return vec![Source { start: at.address, end: at.end(), from: *from }];
    }
    let source = |p: &Part| {
        let start = at.address + u64::from(p.offset);
        Source { start, end: start + u64::from(p.bytes), from: p.from }
    };
    parts.iter().map(source).collect()
}

/// The addresses at which one region ends or another begins. Every source is then a run of whole regions.
fn cuts(trace: &Trace) -> Result<Vec<u64>, Violation> {
    let mut cuts = BTreeSet::new();
    for event in &trace.events {
        let Some(at) = event.kind.location() else { continue };
        cuts.extend([at.address, at.end()]);
        let mut sources = sources(event);
        sources.sort_by_key(|s| s.start);
        let mut reached = at.address;
        for source in &sources {
            if source.start != reached || source.end <= source.start {
                break;
            }
            reached = source.end;
            cuts.insert(source.end);
        }
        if event.kind.is_read() && (reached != at.end() || sources.last().is_some_and(|s| s.end != reached)) {
            return Err(ill_formed(&[event.id], "its parts are not exactly the bytes that it read"));
        }
    }
    for list in &trace.coherence {
        cuts.extend([list.address, list.address.saturating_add(list.bytes)]);
    }
    Ok(cuts.into_iter().collect())
}

fn regions(trace: &Trace, names: &Names, cuts: &[u64]) -> Result<Vec<Region>, Violation> {
    let mut regions = Vec::new();
    for run in cuts.windows(2) {
        let address = run[0];
        let touches = |e: &&Event| e.kind.location().is_some_and(|at| (at.address..at.end()).contains(&address));
        let accesses: Vec<&Event> = trace.events.iter().filter(touches).collect();
        if accesses.is_empty() {
            continue;
        }
        let coherence = coherence_at(trace, address)?;
        let mut writes = vec![INIT];
        for id in &coherence {
            writes.push(names.write(trace.event(*id).expect("a coherence order is of stores")));
        }
        for store in accesses.iter().filter(|e| e.kind.is_write()) {
            match coherence.iter().filter(|id| **id == store.id).count() {
                1 => {}
                n => {
                    let message = format!("{n} times in the coherence order of byte {address:#x}, which it wrote");
                    return Err(ill_formed(&[store.id], message));
                }
            }
        }
        let mut reads = Vec::new();
        for read in accesses.iter().filter(|e| e.kind.is_read()) {
            let from = sources(read).into_iter().find(|s| (s.start..s.end).contains(&address)).map(|s| s.from);
            let from = from.expect("the sources of a read are all of its bytes");
            let place =
                if from.is_init() { Some(0) } else { coherence.iter().position(|id| *id == from).map(|i| i + 1) };
            let place = place.ok_or_else(|| {
                ill_formed(&[read.id, from], format!("read byte {address:#x} from what did not write it"))
            })?;
            reads.push((names.read(read), place));
        }
        let mut nodes: Vec<usize> = reads.iter().map(|r| r.0).chain(writes[1..].iter().copied()).collect();
        nodes.sort_unstable();
        regions.push(Region { address, accesses: nodes, writes, reads });
    }
    Ok(regions)
}

/// Every store in a coherence order writes some of its bytes.
fn check_coherence(trace: &Trace) -> Result<(), Violation> {
    for list in &trace.coherence {
        for id in &list.stores {
            let store = trace.event(*id).filter(|e| e.kind.is_write()).and_then(|e| e.kind.location());
            let end = list.address.saturating_add(list.bytes);
            if !store.is_some_and(|at| at.address < end && list.address < at.end()) {
                return Err(ill_formed(
                    &[*id],
                    format!("in the coherence order of {:#x}, but no store to it", list.address),
                ));
            }
        }
    }
    Ok(())
}

/// The stores to one byte in coherence order.
fn coherence_at(trace: &Trace, address: u64) -> Result<Vec<EventId>, Violation> {
    let mut lists = trace.coherence.iter().filter(|c| c.address <= address && address - c.address < c.bytes);
    let Some(list) = lists.next() else { return Ok(Vec::new()) };
    if lists.next().is_some() {
        return Err(ill_formed(&[], format!("byte {address:#x} has two coherence orders")));
    }
    let covers = |id: &&EventId| {
        let at = trace.event(**id).and_then(|e| e.kind.location());
        at.is_some_and(|at| (at.address..at.end()).contains(&address))
    };
    Ok(list.stores.iter().filter(covers).copied().collect())
}

/// Every byte that was read is the one that was written.
fn check_values(trace: &Trace) -> Result<(), Violation> {
    let mut initial: BTreeMap<u64, (u8, EventId)> = BTreeMap::new();
    for event in &trace.events {
        let (EventKind::Load { at, value, .. } | EventKind::Rmw { at, read: value, .. }) = event.kind else { continue };
        for source in sources(event) {
            for address in source.start..source.end {
                let seen = byte_at(at, value, address);
                let (written, by) = match trace.event(source.from) {
                    None => *initial.entry(address).or_insert((seen, event.id)),
                    Some(store) => {
                        let at = store.kind.location().expect("a source is a store");
                        let value = store.kind.written().expect("a source is a store");
                        (byte_at(at, value, address), store.id)
                    }
                };
                if seen != written {
                    let what = if source.from.is_init() { "initially, as another read has it," } else { "written" };
                    let message = format!("byte {address:#x} was {what} {written}, but is read as {seen}");
                    return Err(ill_formed(&[by, event.id], message));
                }
            }
        }
    }
    Ok(())
}

fn byte_at(at: Location, value: Value, address: u64) -> u8 {
    value.0.to_le_bytes()[(address - at.address) as usize]
}
