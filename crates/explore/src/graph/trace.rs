//! Graphs as traces, and as steps to replay.

use super::cells::extract;
use super::event::is_weaving;
use fencepost_engine::Threads;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{
    Access, Coherence, Event, EventId, EventKind, GraphStep, LoadOrder, Location, Model, Outcome, Part, RmwOrder,
    StoreOrder, ThreadId, Trace,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::replace;

/// All events but waits in an order that extends program order and reads-from, both halves of an RMW together. Of the
/// possible next ones, the one that was added first comes first.
pub(super) fn linearise(graph: &Graph) -> Vec<Node> {
    let mut order = Vec::with_capacity(graph.len() - 1);
    // How many of the event before and the store that is read are still to come, and who reads a store: the first of
    // its readers, and of each of them the next one.
    let mut missing = vec![0u8; graph.len()];
    let mut readers = vec![Node::INIT; graph.len()];
    let mut next_reader = vec![Node::INIT; graph.len()];
    let mut ready = BinaryHeap::new();
    for (node, data) in graph.nodes() {
        missing[node.index()] = u8::from(graph.previous(node).is_some());
        if data.flags.has(Flags::READ) && data.source != Node::INIT {
            missing[node.index()] += 1;
            next_reader[node.index()] = replace(&mut readers[data.source.index()], node);
        }
        if missing[node.index()] == 0 {
            ready.push(Reverse(node));
        }
    }
    while let Some(Reverse(node)) = ready.pop() {
        let mut placed = Some(node);
        while let Some(node) = placed {
            order.push(node);
            let mut release = |node: Node| {
                missing[node.index()] -= 1;
                if missing[node.index()] == 0 {
                    ready.push(Reverse(node));
                }
            };
            let exclusive = graph.node(node).flags.has(Flags::READ.with(Flags::EXCLUSIVE));
            placed = graph.next(node).filter(|_| exclusive);
            if placed.is_none() {
                graph.next(node).into_iter().for_each(&mut release);
            }
            let mut reader = readers[node.index()];
            while reader != Node::INIT {
                release(reader);
                reader = next_reader[reader.index()];
            }
        }
    }
    assert!(order.len() + 1 == graph.len(), "internal error: program order and reads-from have a cycle");
    order.retain(|node| !graph.is_wait(*node));
    order
}

/// The graph as steps: what it takes to build it again.
pub fn steps_of(graph: &Graph) -> Vec<GraphStep> {
    let order = linearise(graph);
    let mut numbers = vec![0; graph.len()];
    for (i, node) in order.iter().enumerate() {
        numbers[node.index()] = i as u32 + 1;
    }
    let step = |node: &Node| {
        let data = graph.node(*node);
        let reads = data.flags.has(Flags::READ).then(|| numbers[data.source.index()]);
        let position = data.flags.has(Flags::WRITE).then_some(data.position);
        GraphStep { thread: data.thread.0, reads, variant: data.variant, position, end: None }
    };
    order.iter().map(step).collect()
}

/// The same for a graph in which a thread has ended the process, and `others` could have.
pub fn steps_to_end(graph: &Graph, by: ThreadId, others: &[ThreadId]) -> Vec<GraphStep> {
    let mut steps = steps_of(graph);
    let end = |thread: &ThreadId, end: bool| GraphStep {
        thread: thread.0,
        reads: None,
        variant: 0,
        position: None,
        end: Some(end),
    };
    steps.extend(others.iter().map(|other| end(other, false)));
    steps.push(end(&by, true));
    steps
}

/// The graph as a trace, in an order that extends program order and reads-from.
pub fn trace_of<T: Threads>(program: &T, graph: &Graph, model: Model, outcome: Outcome) -> Trace {
    let order = linearise(graph);
    let mut labels: Vec<u32> = order.iter().map(|n| graph.node(*n).label).collect();
    labels.sort_unstable();
    labels.dedup();
    let names = names_of(graph, &order);
    let mut events = Vec::new();
    for node in &order {
        let data = graph.node(*node);
        if data.flags.has(Flags::READ) && joined_write(graph, *node).is_some() {
            continue;
        }
        let clock = if model == Model::C11 { trace_clock(graph, *node) } else { Vec::new() };
        events.push(Event {
            id: names[node.index()],
            thread: data.thread,
            label: labels.binary_search(&data.label).expect("every label is in the list") as u32,
            kind: kind_of(graph, *node, &names),
            clock,
        });
    }
    let mut coherence: Vec<Coherence> = (0..graph.places() as u32)
        .map(Place)
        .filter(|p| graph.writes(*p).len() > 1)
        .map(|place| {
            let Location { address, size } = graph.location(place);
            let stores = graph.writes(place)[1..].iter().map(|w| names[w.index()]).collect();
            Coherence { address, bytes: size.bytes(), stores }
        })
        .collect();
    coherence.sort_by_key(|c| c.address);
    Trace {
        model,
        outcome,
        threads: graph.threads() as u32,
        events,
        coherence,
        labels: labels.iter().map(|l| program.describe(*l)).collect(),
        choices: Vec::new(),
    }
}

/// The writing half that stands for a reading half in the trace.
fn joined_write(graph: &Graph, node: Node) -> Option<Node> {
    let exclusive = graph.node(node).flags.has(Flags::READ.with(Flags::EXCLUSIVE));
    graph.next(node).filter(|_| exclusive)
}

/// The name of each event in the trace: both halves of an RMW share one.
fn names_of(graph: &Graph, order: &[Node]) -> Vec<EventId> {
    let mut names = vec![EventId::INIT; graph.len()];
    let mut next = 1;
    for node in order {
        names[node.index()] = EventId(next);
        next += u32::from(joined_write(graph, *node).is_none());
    }
    names
}

/// The happens-before clock, in events of the trace.
fn trace_clock(graph: &Graph, node: Node) -> Vec<u32> {
    let clock = graph.hb_clock(node);
    let mut counts: Vec<u32> = (0..graph.threads())
        .map(|t| {
            let events = graph.thread(ThreadId(t as u32));
            let seen = clock.get(t).copied().unwrap_or(0) as usize;
            let told = |n: &&Node| joined_write(graph, **n).is_none() && !graph.is_wait(**n);
            events[..seen].iter().filter(told).count() as u32
        })
        .collect();
    while counts.last() == Some(&0) {
        counts.pop();
    }
    counts
}

fn kind_of(graph: &Graph, node: Node, names: &[EventId]) -> EventKind {
    let data = graph.node(node);
    if let Access::Fence { order } = data.access {
        return EventKind::Fence { order };
    }
    let at = data.access.location().expect("what is no fence accesses a location");
    if data.flags.has(Flags::READ) {
        let (from, parts) = sources_of(graph, node, at, names);
        let value = extract(graph.location(data.place), &data.access, data.value);
        let failed_rmw = data.flags.has(Flags::FAILED);
        return EventKind::Load { at, order: load_order(data.flags), value, from, parts, failed_rmw };
    }
    let written = extract(graph.location(data.place), &data.access, data.value);
    if !data.flags.has(Flags::EXCLUSIVE) || is_weaving(data.flags) {
        return EventKind::Store { at, order: store_order(data.flags), value: written };
    }
    let read = graph.previous(node).expect("an exclusive write follows its read");
    let (from, parts) = sources_of(graph, read, at, names);
    let seen = extract(graph.location(data.place), &data.access, graph.node(read).value);
    let order = rmw_order(load_order(graph.node(read).flags), store_order(data.flags));
    EventKind::Rmw { at, order, read: seen, written, from, parts }
}

/// Where the bytes of a read come from: the newest store, and the pieces if there are several.
fn sources_of(graph: &Graph, read: Node, at: Location, names: &[EventId]) -> (EventId, Vec<Part>) {
    let data = graph.node(read);
    let source = graph.node(data.source).access.location();
    if data.source == Node::INIT || source.is_some_and(|written| written.covers(at)) {
        return (names[data.source.index()], Vec::new());
    }
    let seen = &graph.writes(data.place)[..=graph.node(data.source).position as usize];
    let mut parts: Vec<Part> = Vec::new();
    let mut newest = 0;
    for offset in 0..at.size.bytes() {
        let address = at.address + offset;
        let writes =
            |w: &Node| graph.node(*w).access.location().is_some_and(|l| (l.address..l.end()).contains(&address));
        let position = seen.iter().rposition(writes).unwrap_or(0);
        newest = newest.max(position);
        let from = names[seen[position].index()];
        match parts.last_mut() {
            Some(part) if part.from == from => part.bytes += 1,
            _ => parts.push(Part { offset: offset as u8, bytes: 1, from }),
        }
    }
    if parts.len() == 1 {
        parts.clear();
    }
    (names[seen[newest].index()], parts)
}

fn load_order(flags: Flags) -> LoadOrder {
    if flags.has(Flags::PLAIN) {
        LoadOrder::Plain
    } else if flags.has(Flags::SC) {
        LoadOrder::SeqCst
    } else if flags.has(Flags::ACQUIRE) {
        LoadOrder::Acquire
    } else {
        LoadOrder::Relaxed
    }
}

fn store_order(flags: Flags) -> StoreOrder {
    if flags.has(Flags::PLAIN) {
        StoreOrder::Plain
    } else if flags.has(Flags::SC) {
        StoreOrder::SeqCst
    } else if flags.has(Flags::RELEASE) {
        StoreOrder::Release
    } else {
        StoreOrder::Relaxed
    }
}

fn rmw_order(load: LoadOrder, store: StoreOrder) -> RmwOrder {
    match (load, store) {
        (LoadOrder::SeqCst, _) => RmwOrder::SeqCst,
        (LoadOrder::Acquire, StoreOrder::Release) => RmwOrder::AcqRel,
        (LoadOrder::Acquire, _) => RmwOrder::Acquire,
        (_, StoreOrder::Release) => RmwOrder::Release,
        _ => RmwOrder::Relaxed,
    }
}
