//! What an execution needs, so that it shows what it shows.

use crate::order::Staleness;
use crate::text::Mark;
use crate::{Order, Timeline};
use fencepost_trace::{Event, EventId, EventKind, Location, Needs, ThreadId, Trace};

/// What an execution needs, up to what was found in it: the last of the marks, or the first race.
pub fn needs(trace: &Trace, order: Order, marks: &[Mark], races: &[(EventId, EventId)]) -> Needs {
    let marked = marks.iter().max_by_key(|mark| mark.after);
    let raced = races.iter().map(|(first, second)| first.index().max(second.index()) as u32).min();
    let until = marked.map(|mark| mark.after).or(raced);
    needs_until(trace, order, until, marked.map(|mark| mark.thread))
}

/// Counts what the first `until` events need, or all; `last` goes on behind them.
fn needs_until(trace: &Trace, order: Order, until: Option<u32>, last: Option<ThreadId>) -> Needs {
    let timeline = Timeline::new(trace, order);
    let count = until.map_or(trace.events.len(), |until| (until as usize).min(trace.events.len()));
    let events = timeline.events()[..count].iter().filter_map(|id| trace.event(*id));
    let mut needs = Needs { context_switches: 0, stale_reads: 0, delayed_stores: 0, operations: 0 };
    let mut running = None;
    let mut goes = |thread: ThreadId| u32::from(running.replace(thread).is_some_and(|before| before != thread));
    let mut before = None;
    for event in events {
        if let EventKind::Commit { .. } = event.kind {
            continue;
        }
        // A store that waits while this happens is late.
        let is_late = |store: EventId| timeline.is_visible_behind(store, timeline.number(event.id));
        needs.delayed_stores += u32::from(before.replace(event.id).is_some_and(is_late));
        needs.operations += 1;
        needs.context_switches += goes(event.thread);
        let is_hidden = event.kind.location().and_then(Location::as_hidden).is_some();
        let is_stale = matches!(timeline.staleness(trace, event), Some(Staleness::Stale(_)));
        needs.stale_reads += u32::from(is_stale && !is_hidden);
    }
    needs.context_switches += last.map_or(0, goes);
    needs
}

/// A read that did not see the newest store to what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missed {
    /// The read.
    pub read: EventId,
    /// The newest store.
    pub newer: EventId,
    /// Was that still in the buffer of its thread? If not, the read is stale.
    pub buffered: bool,
}

/// The reads of an execution that did not see the newest store, as they are shown.
pub fn missed(trace: &Trace, order: Order) -> Vec<Missed> {
    let timeline = Timeline::new(trace, order);
    let events = timeline.events().iter().filter_map(|id| trace.event(*id));
    let is_shown = |event: &&Event| event.kind.location().and_then(Location::as_hidden).is_none();
    let missed = |event: &Event| {
        let (newer, buffered) = match timeline.staleness(trace, event)? {
            Staleness::Stale(newer) => (newer, false),
            Staleness::Buffered(newer) => (newer, true),
        };
        Some(Missed { read: event.id, newer, buffered })
    };
    events.filter(is_shown).filter_map(missed).collect()
}

/// The reads that are stale in an execution that a machine ran, each with the newest store that it did not see.
pub fn stale_reads(trace: &Trace) -> Vec<(EventId, EventId)> {
    let missed = missed(trace, Order::Executed).into_iter();
    missed.filter(|missed| !missed.buffered).map(|missed| (missed.read, missed.newer)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{Coherence, LoadOrder, Model, Outcome, Size, StoreOrder, Value};

    const X: Location = Location { address: 8, size: Size::B4 };

    fn trace(model: Model, events: Vec<(u32, EventKind)>, stores: &[u32]) -> Trace {
        let event = |(i, (thread, kind)): (usize, (u32, EventKind))| Event {
            id: EventId(i as u32 + 1),
            thread: ThreadId(thread),
            label: 0,
            kind,
            clock: Vec::new(),
        };
        let stores = stores.iter().map(|store| EventId(*store)).collect();
        Trace {
            model,
            outcome: Outcome::Finished,
            threads: 3,
            events: events.into_iter().enumerate().map(event).collect(),
            coherence: vec![Coherence { address: X.address, bytes: 4, stores }],
            labels: Vec::new(),
            choices: Vec::new(),
        }
    }

    fn store() -> EventKind {
        EventKind::Store { at: X, order: StoreOrder::Relaxed, value: Value::ZERO }
    }

    fn load(from: u32) -> EventKind {
        let (order, value, parts) = (LoadOrder::Relaxed, Value::ZERO, Vec::new());
        EventKind::Load { at: X, order, value, from: EventId(from), parts, failed_rmw: false }
    }

    #[test]
    fn a_read_is_stale_if_a_newer_store_was_there() {
        // Thread 1 stores; thread 2 reads the initial value, then the store.
        let trace = trace(Model::C11, vec![(1, store()), (2, load(0)), (2, load(1))], &[1]);
        let all = needs_until(&trace, Order::Executed, None, None);
        assert_eq!(all, Needs { context_switches: 1, stale_reads: 1, delayed_stores: 0, operations: 3 });
        // Up to the first two events, with thread 1 behind them: it goes on once more.
        let two = needs_until(&trace, Order::Executed, Some(2), Some(ThreadId(1)));
        assert_eq!(stale_reads(&trace), [(EventId(2), EventId(1))]);
        assert_eq!(two, Needs { context_switches: 2, stale_reads: 1, delayed_stores: 0, operations: 2 });
    }

    #[test]
    fn a_store_is_delayed_if_somebody_goes_on_before_it_leaves_its_buffer() {
        let commit = |store| EventKind::Commit { store: EventId(store) };
        // The first store leaves at once, the second behind a load of another thread.
        let events = vec![(1, store()), (1, commit(1)), (1, store()), (2, load(1)), (1, commit(3))];
        let trace = trace(Model::Tso, events, &[1, 3]);
        let all = needs_until(&trace, Order::Executed, None, None);
        assert_eq!(all, Needs { context_switches: 1, stale_reads: 0, delayed_stores: 1, operations: 3 });
    }
}
