//! Is the cycle there?

use fencepost_trace::{Cycle, Event, EventId, EventKind, Trace};
use rustc_hash::FxHashSet;

/// A location's list, the place of what was read there, and of what was written.
type Place = (u32, Option<u32>, Option<u32>);

/// Where each access of a trace stands in the coherence order of its location.
struct Places {
    /// For each event that accesses memory. The initial write is at 0.
    of: Vec<Option<Place>>,
}

impl Places {
    fn new(trace: &Trace) -> Places {
        let mut written = vec![None; trace.events.len() + 1];
        for (list, coherence) in trace.coherence.iter().enumerate() {
            for (place, store) in coherence.stores.iter().enumerate() {
                written[store.index()] = Some((list as u32, place as u32 + 1));
            }
        }
        let list_at = |address: u64| {
            let i = trace.coherence.partition_point(|list| list.address <= address).checked_sub(1)?;
            (address < trace.coherence[i].address + trace.coherence[i].bytes).then_some(i as u32)
        };
        let of = trace.events.iter().map(|event| {
            let at = event.kind.location()?;
            let list = list_at(at.address)?;
            let read = match event.kind {
                EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => {
                    Some(written[from.index()].map_or(0, |(_, place)| place))
                }
                _ => None,
            };
            Some((list, read, written[event.id.index()].map(|(_, place)| place)))
        });
        Places { of: of.collect() }
    }

    /// Does the first come before the second in conflict order: mo, rf, rb, or mo followed by rf?
    fn before(&self, trace: &Trace, a: usize, b: usize) -> bool {
        let (Some((list, read, written)), Some((other, their_read, their_written))) = (self.of[a], self.of[b]) else {
            return false;
        };
        let at = |i: usize| trace.events[i].kind.location();
        if list != other || !at(a).zip(at(b)).is_some_and(|(a, b)| a.overlaps(b)) {
            return false;
        }
        let first = match (read, written) {
            (Some(read), None) => return their_written.is_some_and(|written| read < written),
            (Some(read), Some(written)) => {
                // An RMW is one event: what comes behind its read comes behind its write too.
                debug_assert!(read < written);
                written
            }
            (None, Some(written)) => written,
            (None, None) => return false,
        };
        their_read.is_some_and(|read| first <= read) || their_written.is_some_and(|written| first < written)
    }
}

/// The events of a happens-before cycle through these program points, in their order: the pairs of each segment in
/// program order, the last access of each segment before the first of the next in conflict order. `class` names the
/// program point of an event.
///
/// Such a cycle is a proof that the execution is not sequentially consistent.
pub fn confirm(trace: &Trace, cycle: &Cycle, class: impl Fn(&Event) -> u32) -> Option<Vec<EventId>> {
    let wanted: Vec<u32> = cycle.labels().collect();
    let mut candidates: Vec<Vec<usize>> = vec![Vec::new(); wanted.len()];
    for (i, event) in trace.events.iter().enumerate() {
        if matches!(event.kind, EventKind::Commit { .. } | EventKind::Fence { .. }) {
            continue;
        }
        let class = class(event);
        for (list, wanted) in candidates.iter_mut().zip(&wanted) {
            if *wanted == class {
                list.push(i);
            }
        }
    }
    if candidates.is_empty() || candidates.iter().any(Vec::is_empty) {
        return None;
    }
    // Which of the labels is the second of its segment.
    let second: Vec<bool> =
        cycle.segments.iter().flat_map(|s| std::iter::once(false).chain(s.second.map(|_| true))).collect();
    let places = Places::new(trace);
    for (list, second) in candidates.iter_mut().zip(&second) {
        drop_alike(trace, &places, *second, list);
    }
    let mut search = Search { trace, places, candidates, second, chosen: Vec::new(), steps: 0 };
    search.next().then(|| search.chosen.iter().map(|i| trace.events[*i].id).collect())
}

/// Of the loads of one thread that read the same store, as a loop that waits has many, one is enough: conflicts are
/// the same for all of them, and the first has most behind it in program order, the last most before it.
fn drop_alike(trace: &Trace, places: &Places, last: bool, list: &mut Vec<usize>) {
    let mut met = FxHashSet::default();
    let mut is_new = |event: &usize| match places.of[*event] {
        Some((_, Some(read), None)) => {
            met.insert((trace.events[*event].thread, trace.events[*event].kind.location(), read))
        }
        _ => true,
    };
    if last {
        list.reverse();
    }
    list.retain(&mut is_new);
    if last {
        list.reverse();
    }
}

/// No trace needs more than this; a loop with thousands of rounds might.
const MOST_STEPS: u64 = 1_000_000;

struct Search<'a> {
    trace: &'a Trace,
    places: Places,
    candidates: Vec<Vec<usize>>,
    second: Vec<bool>,
    chosen: Vec<usize>,
    steps: u64,
}

impl Search<'_> {
    fn next(&mut self) -> bool {
        let k = self.chosen.len();
        if k == self.candidates.len() {
            return self.linked(self.chosen[k - 1], self.chosen[0]);
        }
        for c in 0..self.candidates[k].len() {
            let event = self.candidates[k][c];
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return false;
            }
            let fits = match self.chosen.last() {
                None => true,
                Some(last) if self.second[k] => {
                    let thread = |i: usize| self.trace.events[i].thread;
                    thread(*last) == thread(event) && *last < event
                }
                Some(last) => self.linked(*last, event),
            };
            if fits {
                self.chosen.push(event);
                if self.next() {
                    return true;
                }
                self.chosen.pop();
            }
        }
        false
    }

    fn linked(&self, a: usize, b: usize) -> bool {
        let thread = |i: usize| self.trace.events[i].thread;
        thread(a) != thread(b) && self.places.before(self.trace, a, b)
    }
}
