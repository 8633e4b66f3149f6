//! The order in which the events of a trace are shown.
//!
//! What a machine ran is shown as it ran. A graph has no order of its own but program order and reads-from; of all the
//! orders that extend these, the one with the fewest surprises is shown: a read comes before the writes that
//! it does not see, and writes come in coherence order, as far as that is possible. If the execution is sequentially
//! consistent, it always is, and no read is stale.

use fencepost_trace::{Event, EventId, EventKind, Trace};

/// Where the order comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The events happened in the order of the trace.
    Executed,
    /// The trace is an execution graph: any order that extends program order and reads-from will do.
    Graph,
}

/// With more events than this a graph is shown in the order of its trace: the search is quadratic.
const MOST_SORTED: usize = 2_000;

/// When each event of a trace happens, as far as the reader is concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    events: Vec<EventId>,
    /// By event, from 1; 0 for the initial write.
    numbers: Vec<u32>,
    /// By event: when a store becomes visible to the other threads.
    visible: Vec<u32>,
}

/// What is odd about a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Staleness {
    /// This store is newer and was visible already.
    Stale(EventId),
    /// This store is newer, and came before, but is still in the store buffer of its thread.
    Buffered(EventId),
}

impl Timeline {
    /// The events of `trace` in their order.
    pub fn new(trace: &Trace, order: Order) -> Timeline {
        let events = match order {
            Order::Graph if trace.events.len() <= MOST_SORTED => least_surprising(trace),
            _ => trace.events.iter().map(|event| event.id).collect(),
        };
        let mut numbers = vec![0; events.len() + 1];
        for (position, event) in events.iter().enumerate() {
            numbers[event.index()] = position as u32 + 1;
        }
        let mut visible = numbers.clone();
        for event in &trace.events {
            if let EventKind::Commit { store } = event.kind {
                visible[store.index()] = numbers[event.id.index()];
            }
        }
        Timeline { events, numbers, visible }
    }

    /// The events in order.
    pub fn events(&self) -> &[EventId] {
        &self.events
    }

    /// The position of an event, from 1; 0 for the initial write.
    pub fn number(&self, event: EventId) -> u32 {
        self.numbers[event.index()]
    }

    /// Does the store go through its thread's store buffer?
    pub(crate) fn is_buffered(&self, store: EventId) -> bool {
        self.visible[store.index()] != self.numbers[store.index()]
    }

    /// Does `reader` read `store` before it is visible to others?
    pub(crate) fn reads_own_buffer(&self, reader: EventId, store: EventId) -> bool {
        self.number(reader) < self.visible[store.index()]
    }

    /// Is there a newer store than the one that `reader` read?
    pub(crate) fn staleness(&self, trace: &Trace, reader: &Event) -> Option<Staleness> {
        let newer = newer_stores(trace, reader);
        let now = self.number(reader.id);
        let visible = newer.iter().rev().find(|s| self.visible[s.index()] < now);
        let buffered = || {
            newer
                .iter()
                .rev()
                .find(|s| self.number(**s) < now && trace.event(**s).is_some_and(|event| event.thread != reader.thread))
        };
        visible.map(|s| Staleness::Stale(*s)).or_else(|| buffered().map(|s| Staleness::Buffered(*s)))
    }
}

/// What a read reads from.
fn source_of(event: &Event) -> Option<EventId> {
    match event.kind {
        EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => Some(from),
        _ => None,
    }
}

/// The stores to bytes of `reader`'s location that come after the one it read in coherence order, itself aside.
pub(crate) fn newer_stores(trace: &Trace, reader: &Event) -> Vec<EventId> {
    let (Some(at), Some(from)) = (reader.kind.location(), source_of(reader)) else { return Vec::new() };
    let lists = trace.coherence.iter().filter(|list| list.address < at.end() && at.address < list.address + list.bytes);
    lists
        .flat_map(|list| {
            let seen = list.stores.iter().position(|s| *s == from).map_or(0, |position| position + 1);
            &list.stores[seen..]
        })
        .copied()
        .filter(|s| *s != reader.id)
        .filter(|s| trace.event(*s).and_then(|e| e.kind.location()).is_some_and(|to| to.overlaps(at)))
        .collect()
}

/// Repeatedly takes, of the events that program order and reads-from permit next, the one that has the fewest events
/// that should have come before it.
fn least_surprising(trace: &Trace) -> Vec<EventId> {
    let count = trace.events.len();
    let mut hard: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut soft: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut last_of_thread = vec![None; trace.threads as usize];
    let index = |event: EventId| event.index() - 1;
    for (i, event) in trace.events.iter().enumerate() {
        if let Some(slot) = last_of_thread.get_mut(event.thread.index()) {
            hard[i].extend(slot.replace(i));
        }
        hard[i].extend(source_of(event).filter(|from| !from.is_init()).map(index));
        for store in newer_stores(trace, event) {
            soft[index(store)].push(i);
        }
    }
    for list in &trace.coherence {
        for pair in list.stores.windows(2) {
            soft[index(pair[1])].push(index(pair[0]));
        }
    }
    let mut placed = vec![false; count];
    let mut order = Vec::with_capacity(count);
    while order.len() < count {
        let missing = |before: &[usize]| before.iter().filter(|i| !placed[**i]).count();
        let next = (0..count)
            .filter(|i| !placed[*i] && missing(&hard[*i]) == 0)
            .min_by_key(|i| missing(&soft[*i]))
            // Only a trace that is none has a cycle there.
            .or_else(|| (0..count).find(|i| !placed[*i]));
        let Some(next) = next else { break };
        placed[next] = true;
        order.push(trace.events[next].id);
    }
    order
}
