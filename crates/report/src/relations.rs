//! The relations of an execution, as edges between its events: what pictures are drawn from.

use crate::order::NewerStores;
use fencepost_trace::{EventId, EventKind, Trace};
use std::collections::{HashMap, HashSet, VecDeque};

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Relation {
    /// Program order: the next event of the same thread.
    Program,
    /// Reads-from: from a store to who read it.
    ReadsFrom,
    /// Modification order: from a store to the next one of the same bytes.
    Modification,
    /// From-read: from a read to the first store that it did not see.
    FromRead,
    /// Synchronises-with: what happens before an event of another thread, and was not known to it before.
    Synchronises,
}

impl Relation {
    /// Its usual short name.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Program => "po",
            Relation::ReadsFrom => "rf",
            Relation::Modification => "mo",
            Relation::FromRead => "fr",
            Relation::Synchronises => "sw",
        }
    }
}

/// An edge from the event that comes first.
pub(crate) type Edge = (Relation, EventId, EventId);

/// All edges, none of them implied by others of the same relation.
pub(crate) fn edges(trace: &Trace) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut last: HashMap<u32, EventId> = HashMap::new();
    for event in &trace.events {
        // A commit is a step of the store buffer.
        if let EventKind::Commit { .. } = event.kind {
            continue;
        }
        if let Some(before) = last.insert(event.thread.0, event.id) {
            edges.push((Relation::Program, before, event.id));
        }
    }
    let readers = trace.events.iter().filter_map(|event| match event.kind {
        EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => Some((from, event)),
        _ => None,
    });
    let newer = NewerStores::new(trace);
    for (from, event) in readers {
        if !from.is_init() {
            edges.push((Relation::ReadsFrom, from, event.id));
        }
        edges.extend(newer.of(trace, event).next().map(|next| (Relation::FromRead, event.id, next)));
    }
    let mut known = HashSet::new();
    for pair in trace.coherence.iter().flat_map(|list| list.stores.windows(2)) {
        if known.insert((pair[0], pair[1])) {
            edges.push((Relation::Modification, pair[0], pair[1]));
        }
    }
    synchronises(trace, &mut edges);
    edges
}

/// From the clocks: the newest events of other threads that an event knows of and the one before it in its thread did
/// not, unless one of them knows of the other.
fn synchronises(trace: &Trace, edges: &mut Vec<Edge>) {
    let mut threads: Vec<Vec<EventId>> = vec![Vec::new(); trace.threads as usize];
    for event in &trace.events {
        let own = event.thread.index();
        let before = threads.get(own).and_then(|list| list.last()).and_then(|id| trace.event(*id));
        let known = |thread: usize| before.and_then(|event| event.clock.get(thread)).copied().unwrap_or(0);
        let news: Vec<EventId> = (event.clock.iter().enumerate())
            .filter(|(thread, count)| *thread != own && **count > known(*thread))
            .filter_map(|(thread, count)| threads.get(thread)?.get(*count as usize - 1).copied())
            .collect();
        let knows = |one: EventId, other: EventId| {
            let (Some(one), Some(other)) = (trace.event(one), trace.event(other)) else { return false };
            let thread = other.thread.index();
            one.clock.get(thread) >= other.clock.get(thread) && one.id != other.id
        };
        let newest = news.iter().filter(|id| !news.iter().any(|other| knows(*other, **id)));
        edges.extend(newest.map(|from| (Relation::Synchronises, *from, event.id)));
        if let Some(list) = threads.get_mut(own) {
            list.push(event.id);
        }
    }
}

/// How many from-read edges a cycle is looked for from.
const TRIED: usize = 64;

/// The shortest cycle of program order, reads-from, modification order and from-read: why an execution is not
/// sequentially consistent. Empty if there is none.
pub(crate) fn cycle(trace: &Trace, edges: &[Edge]) -> Vec<EventId> {
    let mut next: HashMap<EventId, Vec<EventId>> = HashMap::new();
    let mut previous: HashMap<EventId, EventId> = HashMap::new();
    for (relation, from, to) in edges {
        if *relation != Relation::Synchronises {
            next.entry(*from).or_default().push(*to);
        }
        if *relation == Relation::Program {
            previous.insert(*to, *from);
        }
    }
    // In the order of execution every edge but a from-read one, or one into a store that left its buffer late, goes
    // forwards: a cycle has such an edge.
    let commits: HashMap<EventId, EventId> = (trace.events.iter())
        .filter_map(|event| match event.kind {
            EventKind::Commit { store } => Some((store, event.id)),
            _ => None,
        })
        .collect();
    let closing = edges
        .iter()
        .filter(|(relation, from, to)| *relation == Relation::FromRead && !is_visible_after(&commits, *to, *from));
    let mut best: Vec<EventId> = Vec::new();
    for (_, from, to) in closing.take(TRIED) {
        let path = path(*to, *from, &next);
        if !path.is_empty() && (best.is_empty() || path.len() < best.len()) {
            best = path;
        }
    }
    // Between two accesses of one thread, what lies between is no part of the cycle.
    let of = |id: EventId| trace.event(id).map(|event| event.thread);
    let inner = |i: usize| {
        let (before, here, after) = (best[(i + best.len() - 1) % best.len()], best[i], best[(i + 1) % best.len()]);
        previous.get(&here) == Some(&before) && previous.get(&after) == Some(&here) && of(before) == of(after)
    };
    (0..best.len()).filter(|i| !inner(*i)).map(|i| best[i]).collect()
}

/// Is the store seen by others only after that event? One that is never committed stays in its buffer to the end.
fn is_visible_after(commits: &HashMap<EventId, EventId>, store: EventId, event: EventId) -> bool {
    commits.get(&store).copied().unwrap_or(store) > event && store > event
}

/// The shortest path, both ends included; empty if there is none.
fn path(from: EventId, to: EventId, next: &HashMap<EventId, Vec<EventId>>) -> Vec<EventId> {
    let mut came: HashMap<EventId, EventId> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            let mut path = vec![at];
            while let Some(before) = came.get(path.last().expect("it has a first")) {
                path.push(*before);
                if *before == from {
                    break;
                }
            }
            path.reverse();
            return path;
        }
        for after in next.get(&at).into_iter().flatten() {
            if *after != from && !came.contains_key(after) {
                came.insert(*after, at);
                queue.push_back(*after);
            }
        }
    }
    Vec::new()
}
