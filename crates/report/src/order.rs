//! The order in which the events of a trace are shown.
//!
//! What a machine ran is shown as it ran. A graph has no order of its own but program order and reads-from; of all the
//! orders that extend these, the one with the fewest surprises is shown: a read comes before the writes that
//! it does not see, and writes come in coherence order, as far as that is possible. If the execution is sequentially
//! consistent, it always is, and no read is stale.

use crate::text::Execution;
use fencepost_trace::{Event, EventId, EventKind, Model, StoreOrder, Trace};
use std::collections::BTreeMap;

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
    newer: NewerStores,
    /// For each list of the coherence order and each store of it: the first time at which that one or a later one is
    /// visible, and the first at which one of them was made.
    first: Vec<Vec<(u32, u32)>>,
    /// The file that most events are in, if files are to be told at all.
    file: Option<String>,
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
        // A graph knows of none.
        let has_buffers = order == Order::Executed && has_buffers(trace);
        for event in &trace.events {
            match event.kind {
                EventKind::Commit { store } => visible[store.index()] = numbers[event.id.index()],
                // One that was still in its buffer when the execution ended.
                EventKind::Store { at, order, .. }
                    if has_buffers && order != StoreOrder::SeqCst && at.as_hidden().is_none() =>
                {
                    visible[event.id.index()] = u32::MAX;
                }
                _ => {}
            }
        }
        let first = trace.coherence.iter().map(|list| {
            let mut first = vec![(u32::MAX, u32::MAX); list.stores.len() + 1];
            for (i, store) in list.stores.iter().enumerate().rev() {
                let (shown, made) = first[i + 1];
                first[i] = (shown.min(visible[store.index()]), made.min(numbers[store.index()]));
            }
            first
        });
        let first = first.collect();
        Timeline { events, numbers, visible, newer: NewerStores::new(trace), first, file: None }
    }

    /// Of an execution that is shown: places in other files than the program's most frequent one are told with theirs.
    pub(crate) fn of(shown: &Execution<'_>) -> Timeline {
        let file = Some(usual_file(shown));
        Timeline { file, ..Timeline::new(shown.trace, shown.order) }
    }

    /// Need the file of a place not be told?
    pub(crate) fn is_usual_file(&self, file: &str) -> bool {
        self.file.as_ref().is_none_or(|usual| usual == file)
    }

    /// The events in order.
    pub fn events(&self) -> &[EventId] {
        &self.events
    }

    /// The position of an event, from 1; 0 for the initial write.
    pub fn number(&self, event: EventId) -> u32 {
        self.numbers[event.index()]
    }

    /// Does the store become visible behind the event of this position?
    pub(crate) fn is_visible_behind(&self, store: EventId, position: u32) -> bool {
        self.visible[store.index()] > position
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
        let lists = self.newer.lists(trace, reader);
        let now = self.number(reader.id);
        // The newest of all that were there; the others, of which there may be many, are not looked at.
        let newest = |first: fn(&(u32, u32)) -> u32, is_it: &dyn Fn(EventId) -> bool| {
            lists.iter().rev().find_map(|(list, from)| {
                let stores = &trace.coherence[*list].stores;
                let end = self.first[*list].partition_point(|times| first(times) < now);
                let there = stores.get(*from..end).unwrap_or_default().iter().rev();
                there.copied().find(|store| is_it(*store) && concerns(trace, reader, *store))
            })
        };
        let is_visible = |store: EventId| self.visible[store.index()] < now;
        let is_made = |store: EventId| {
            self.number(store) < now && trace.event(store).is_some_and(|event| event.thread != reader.thread)
        };
        let visible = newest(|times| times.0, &is_visible).map(Staleness::Stale);
        visible.or_else(|| newest(|times| times.1, &is_made).map(Staleness::Buffered))
    }
}

/// Do stores go through buffers? A trace does not say so if none has left one, but then nobody else has read any.
fn has_buffers(trace: &Trace) -> bool {
    let commits = trace.events.iter().any(|event| matches!(event.kind, EventKind::Commit { .. }));
    let is_foreign = |event: &Event| {
        let store = source_of(event).and_then(|from| trace.event(from));
        store.is_some_and(|store| {
            let weak = matches!(store.kind, EventKind::Store { order, .. } if order != StoreOrder::SeqCst);
            weak && store.thread != event.thread && event.kind.location().is_some_and(|at| at.as_hidden().is_none())
        })
    };
    let buffered = matches!(trace.model, Model::Tso | Model::Pso | Model::Pslo);
    buffered && (commits || !trace.events.iter().any(is_foreign))
}

/// The file of the program that most events are in; of several the first by name.
fn usual_file(shown: &Execution<'_>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let labels = shown.trace.labels.iter().map(|label| label.line != 0 && !shown.describe.is_library(label));
    let is_own: Vec<bool> = labels.collect();
    for event in shown.trace.events.iter().filter(|event| is_own.get(event.label as usize) == Some(&true)) {
        *counts.entry(&shown.trace.labels[event.label as usize].file).or_default() += 1;
    }
    let most = counts.iter().rev().max_by_key(|(_, count)| **count);
    most.map_or_else(String::new, |(file, _)| (*file).to_owned())
}

/// What a read reads from.
fn source_of(event: &Event) -> Option<EventId> {
    match event.kind {
        EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => Some(from),
        _ => None,
    }
}

/// Is this a store to bytes that `reader` reads, itself aside?
fn concerns(trace: &Trace, reader: &Event, store: EventId) -> bool {
    let written = trace.event(store).and_then(|event| event.kind.location());
    let read = reader.kind.location();
    store != reader.id && written.zip(read).is_some_and(|(to, at)| to.overlaps(at))
}

/// Finds the stores that are newer than the one that an event has read, without a look at all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NewerStores {
    /// The lists of the coherence order by their first byte, and how many bytes the longest is about.
    by_address: Vec<usize>,
    most_bytes: u64,
    /// For each list, its stores by number, with their positions.
    positions: Vec<Vec<(EventId, usize)>>,
}

impl NewerStores {
    pub(crate) fn new(trace: &Trace) -> NewerStores {
        let mut by_address: Vec<usize> = (0..trace.coherence.len()).collect();
        by_address.sort_by_key(|list| trace.coherence[*list].address);
        let positions = trace.coherence.iter().map(|list| {
            let mut positions: Vec<_> = list.stores.iter().enumerate().map(|(i, store)| (*store, i)).collect();
            positions.sort_unstable();
            positions
        });
        let most_bytes = trace.coherence.iter().map(|list| list.bytes).max().unwrap_or(0);
        NewerStores { by_address, most_bytes, positions: positions.collect() }
    }

    /// The lists that are about bytes of what `reader` reads, in their order; of each, where the newer stores begin.
    fn lists(&self, trace: &Trace, reader: &Event) -> Vec<(usize, usize)> {
        let (Some(at), Some(from)) = (reader.kind.location(), source_of(reader)) else { return Vec::new() };
        let end = self.by_address.partition_point(|list| trace.coherence[*list].address < at.end());
        let near = self.by_address[..end].iter().rev().copied();
        let near = near.take_while(|list| at.address < trace.coherence[*list].address + self.most_bytes);
        let mut lists: Vec<_> = near
            .filter(|list| at.address < trace.coherence[*list].address + trace.coherence[*list].bytes)
            .map(|list| {
                let found = self.positions[list].binary_search_by_key(&from, |(store, _)| *store);
                (list, found.map_or(0, |found| self.positions[list][found].1 + 1))
            })
            .collect();
        lists.sort_unstable();
        lists
    }

    /// The stores to bytes of `reader`'s location that come after the one it read in coherence order, itself aside.
    pub(crate) fn of<'a>(&self, trace: &'a Trace, reader: &'a Event) -> impl Iterator<Item = EventId> + 'a {
        let lists = self.lists(trace, reader).into_iter();
        let stores = lists.flat_map(|(list, from)| &trace.coherence[list].stores[from..]).copied();
        stores.filter(|store| concerns(trace, reader, *store))
    }
}

/// Repeatedly takes, of the events that program order and reads-from permit next, the one that has the fewest events
/// that should have come before it.
fn least_surprising(trace: &Trace) -> Vec<EventId> {
    let count = trace.events.len();
    let mut hard: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut soft: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut last_of_thread = vec![None; trace.threads as usize];
    let index = |event: EventId| event.index() - 1;
    let newer = NewerStores::new(trace);
    for (i, event) in trace.events.iter().enumerate() {
        if let Some(slot) = last_of_thread.get_mut(event.thread.index()) {
            hard[i].extend(slot.replace(i));
        }
        hard[i].extend(source_of(event).filter(|from| !from.is_init()).map(index));
        for store in newer.of(trace, event) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{Coherence, LoadOrder, Location, Model, Outcome, Size, StoreOrder, ThreadId, Value};

    /// Stores and loads of bytes that overlap, stores that are committed late, and any store as the source of a load:
    /// more than a model would permit.
    fn random_trace(seed: u64) -> Trace {
        let mut state = seed;
        let mut draw = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut events: Vec<Event> = Vec::new();
        let mut lists = [0, 8, 12].map(|address| Coherence { address, bytes: 8 - address / 3, stores: Vec::new() });
        for i in 1..=40 {
            let at = [Location::new(0, Size::B8), Location::new(8, Size::B4), Location::new(8, Size::B8)];
            let at = at[draw(3) as usize];
            let stores: Vec<EventId> = events.iter().filter(|e| e.kind.is_write()).map(|e| e.id).collect();
            let kind = match draw(3) {
                0 => EventKind::Store { at, order: StoreOrder::Relaxed, value: Value::ZERO },
                1 if !stores.is_empty() => EventKind::Commit { store: stores[draw(stores.len() as u64) as usize] },
                _ => {
                    let from = stores.get(draw(stores.len() as u64 + 1) as usize).copied().unwrap_or(EventId::INIT);
                    let (order, value) = (LoadOrder::Relaxed, Value::ZERO);
                    EventKind::Load { at, order, value, from, parts: Vec::new(), failed_rmw: false }
                }
            };
            if let EventKind::Store { at, .. } = kind {
                let of = |list: &&mut Coherence| list.address < at.end() && at.address < list.address + list.bytes;
                for list in lists.iter_mut().filter(of) {
                    let position = draw(list.stores.len() as u64 + 1) as usize;
                    list.stores.insert(position, EventId(i));
                }
            }
            events.push(Event { id: EventId(i), thread: ThreadId(draw(2) as u32), label: 0, kind, clock: Vec::new() });
        }
        Trace {
            model: Model::Tso,
            outcome: Outcome::Finished,
            threads: 2,
            events,
            coherence: lists.into(),
            labels: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// What is newer, as it is defined: every store of every list is looked at.
    fn newer_by_definition(trace: &Trace, reader: &Event) -> Vec<EventId> {
        let (Some(at), Some(from)) = (reader.kind.location(), source_of(reader)) else { return Vec::new() };
        let of = |list: &&Coherence| list.address < at.end() && at.address < list.address + list.bytes;
        let behind = |list: &Coherence| {
            let seen = list.stores.iter().position(|store| *store == from).map_or(0, |position| position + 1);
            list.stores[seen..].to_vec()
        };
        let all = trace.coherence.iter().filter(of).flat_map(behind);
        all.filter(|store| concerns(trace, reader, *store)).collect()
    }

    #[test]
    fn what_is_newer_is_found_without_a_look_at_everything() {
        let mut kinds = [0; 3];
        for seed in 0..500 {
            let trace = random_trace(seed);
            let (newer, timeline) = (NewerStores::new(&trace), Timeline::new(&trace, Order::Executed));
            for reader in &trace.events {
                let expected = newer_by_definition(&trace, reader);
                assert_eq!(newer.of(&trace, reader).collect::<Vec<_>>(), expected, "seed {seed}, {:?}", reader.id);
                let now = timeline.number(reader.id);
                let visible = expected.iter().rev().find(|store| timeline.visible[store.index()] < now);
                let others = |store: &&EventId| trace.event(**store).is_some_and(|e| e.thread != reader.thread);
                let made = expected.iter().rev().filter(others).find(|store| timeline.number(**store) < now);
                let stale = visible.map(|store| Staleness::Stale(*store));
                let stale = stale.or(made.map(|store| Staleness::Buffered(*store)));
                assert_eq!(timeline.staleness(&trace, reader), stale, "seed {seed}, {:?}", reader.id);
                kinds[match stale {
                    None => 0,
                    Some(Staleness::Stale(_)) => 1,
                    Some(Staleness::Buffered(_)) => 2,
                }] += 1;
            }
        }
        assert!(kinds.iter().all(|count| *count > 100), "each is met often: {kinds:?}");
    }
}
