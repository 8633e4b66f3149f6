//! The end of a long trace: what happened last, and the stores that it read.
//!
//! The beginning of a long execution tells nobody anything; what led to a finding is close to it. What is kept is
//! numbered anew, so that the result is a trace like any other.

use fencepost_trace::{EventId, EventKind, ThreadId, Trace};

/// How events of the whole trace are called in the end that was kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renumbering {
    /// For each thread, in ascending order, which of its events were kept, counted from 0.
    kept: Vec<Vec<u32>>,
    /// The same for all events together.
    all: Vec<u32>,
    /// For each thread how many of its events come before those that were all kept.
    whole: Vec<u32>,
    /// The first event from which on all are kept, counted from 0.
    tail: u32,
}

impl Renumbering {
    /// How many of the first `count` events of a thread were kept.
    pub fn of_thread(&self, thread: ThreadId, count: u32) -> u32 {
        self.kept.get(thread.index()).map_or(count, |kept| kept.partition_point(|event| *event < count) as u32)
    }

    /// How many of the first `count` events were kept.
    pub fn of_all(&self, count: u32) -> u32 {
        self.all.partition_point(|event| *event < count) as u32
    }

    /// Was all of a thread kept from its event of this number on, counted from 1? For an event that never came: all
    /// that came before it.
    pub fn has(&self, thread: ThreadId, number: u32) -> bool {
        let whole = self.whole.get(thread.index()).copied().unwrap_or(0);
        number > whole
    }

    /// How many events of the beginning were cut off, but for a few that what follows has read.
    pub fn cut(&self) -> u32 {
        self.tail
    }

    fn id(&self, id: EventId) -> EventId {
        match id.0.checked_sub(1).and_then(|index| self.all.binary_search(&index).ok()) {
            Some(position) => EventId(position as u32 + 1),
            None => EventId::INIT,
        }
    }
}

/// Cuts off what comes before the event of index `tail`, but for the stores that are read later on. Nothing happens if
/// that is the first event.
pub fn keep_end(trace: &mut Trace, tail: usize) -> Option<Renumbering> {
    if tail == 0 || tail >= trace.events.len() {
        return None;
    }
    let mut keep = vec![false; trace.events.len()];
    for (i, event) in trace.events.iter().enumerate().skip(tail) {
        keep[i] = true;
        let mut source = |id: EventId| {
            if let Some(index) = id.index().checked_sub(1) {
                keep[index] = true;
            }
        };
        match &event.kind {
            EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } => {
                source(*from);
                parts.iter().for_each(|part| source(part.from));
            }
            EventKind::Commit { store } => source(*store),
            EventKind::Store { .. } | EventKind::Fence { .. } => {}
        }
    }
    let mut numbers = Renumbering { kept: Vec::new(), all: Vec::new(), whole: Vec::new(), tail: tail as u32 };
    let mut counts: Vec<u32> = Vec::new();
    for (i, event) in trace.events.iter().enumerate() {
        let thread = event.thread.index();
        if counts.len() <= thread {
            counts.resize(thread + 1, 0);
            numbers.kept.resize_with(thread + 1, Vec::new);
            numbers.whole.resize(thread + 1, 0);
        }
        if keep[i] {
            numbers.kept[thread].push(counts[thread]);
            numbers.all.push(i as u32);
        }
        counts[thread] += 1;
        if i < tail {
            numbers.whole[thread] = counts[thread];
        }
    }
    let mut index = 0;
    trace.events.retain(|_| {
        index += 1;
        keep[index - 1]
    });
    for (i, event) in trace.events.iter_mut().enumerate() {
        event.id = EventId(i as u32 + 1);
        for (thread, count) in event.clock.iter_mut().enumerate() {
            *count = numbers.of_thread(ThreadId(thread as u32), *count);
        }
        match &mut event.kind {
            EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } => {
                *from = numbers.id(*from);
                parts.iter_mut().for_each(|part| part.from = numbers.id(part.from));
            }
            EventKind::Commit { store } => *store = numbers.id(*store),
            EventKind::Store { .. } | EventKind::Fence { .. } => {}
        }
    }
    for list in &mut trace.coherence {
        list.stores.iter_mut().for_each(|store| *store = numbers.id(*store));
        list.stores.retain(|store| !store.is_init());
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{Coherence, Event, LoadOrder, Location, Model, Outcome, Size, StoreOrder, Value};

    const X: Location = Location { address: 8, size: Size::B4 };

    fn event(id: u32, thread: u32, clock: [u32; 2], kind: EventKind) -> Event {
        Event { id: EventId(id), thread: ThreadId(thread), label: 0, kind, clock: clock.to_vec() }
    }

    fn store(value: u128) -> EventKind {
        EventKind::Store { at: X, order: StoreOrder::Relaxed, value: Value(value) }
    }

    fn load(from: u32, value: u128) -> EventKind {
        let (at, order) = (X, LoadOrder::Acquire);
        EventKind::Load { at, order, value: Value(value), from: EventId(from), parts: Vec::new(), failed_rmw: false }
    }

    /// Thread 0 stores 1, 2, 3; thread 1 reads 2, then 3, and 2 happens before what it does then.
    fn trace() -> Trace {
        Trace {
            model: Model::C11,
            outcome: Outcome::Finished,
            threads: 2,
            events: vec![
                event(1, 0, [1, 0], store(1)),
                event(2, 0, [2, 0], store(2)),
                event(3, 0, [3, 0], store(3)),
                event(4, 1, [2, 1], load(2, 2)),
                event(5, 1, [3, 2], load(3, 3)),
            ],
            coherence: vec![Coherence { address: 8, bytes: 4, stores: vec![EventId(1), EventId(2), EventId(3)] }],
            labels: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Of the first three events only the second one is read by what is kept.
    #[test]
    fn what_is_read_stays_and_is_called_by_its_new_name() {
        let mut cut = trace();
        cut.events.truncate(4);
        let numbers = keep_end(&mut cut, 3).expect("something is cut off");
        assert_eq!(cut.events, [event(1, 0, [1, 0], store(2)), event(2, 1, [1, 1], load(1, 2))]);
        assert_eq!(cut.coherence[0].stores, [EventId(1)]);
        assert_eq!(numbers.of_thread(ThreadId(0), 3), 1);
        assert_eq!(numbers.of_thread(ThreadId(1), 1), 1);
        assert!(numbers.has(ThreadId(0), 4) && !numbers.has(ThreadId(0), 3) && numbers.has(ThreadId(1), 1));
        assert_eq!((numbers.of_all(4), numbers.of_all(1), numbers.cut()), (2, 0, 3));
    }

    #[test]
    fn nothing_is_cut_off_a_trace_that_is_kept_whole() {
        let mut whole = trace();
        assert_eq!(keep_end(&mut whole, 0), None);
        assert_eq!(whole, trace());
        assert_eq!(keep_end(&mut whole, 5), None, "an end without events is none");
    }
}
