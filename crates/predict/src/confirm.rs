//! Is the cycle there?

use fencepost_trace::{Cycle, Event, EventId, EventKind, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// A location's list, the place of what was read there, and of what was written.
type CoherencePosition = (u32, Option<u32>, Option<u32>);

/// Where each access of a trace stands in the coherence order of its location.
struct Places {
    /// For each event that accesses memory. The initial write is at 0.
    of: Vec<Option<CoherencePosition>>,
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

/// The accesses of a trace, to look for any number of cycles in.
pub struct Accesses<'a> {
    trace: &'a Trace,
    places: Places,
    /// For each program point its accesses, by their index.
    of_class: FxHashMap<u32, Vec<usize>>,
}

impl<'a> Accesses<'a> {
    /// Those of this trace; `class` names the program point of an event.
    pub fn new(trace: &'a Trace, class: impl Fn(&Event) -> u32) -> Accesses<'a> {
        let mut of_class: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (i, event) in trace.events.iter().enumerate() {
            if !matches!(event.kind, EventKind::Commit { .. } | EventKind::Fence { .. }) {
                of_class.entry(class(event)).or_default().push(i);
            }
        }
        Accesses { trace, places: Places::new(trace), of_class }
    }

    /// Is the execution known to have no cycle at all? Quick to tell, where looking for every cycle is not.
    pub fn is_sequential(&self) -> bool {
        let mixes = |event: &Event| match &event.kind {
            EventKind::Load { parts, .. } | EventKind::Rmw { parts, .. } => !parts.is_empty(),
            _ => false,
        };
        if self.trace.events.iter().any(mixes) {
            return false;
        }
        let mut edges = Edges { behind: vec![Vec::new(); self.trace.events.len()], before: Vec::new() };
        edges.before = vec![0; edges.behind.len()];
        // Program order; and at each location a write before what reads it, and both before the next write.
        let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
        let mut writes: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        for (i, place) in self.places.of.iter().enumerate() {
            let Some((list, _, written)) = place else { continue };
            if let Some(before) = last.insert(self.trace.events[i].thread, i) {
                edges.add(before, i);
            }
            written.and_then(|place| writes.insert((*list, place), i));
        }
        for ((list, place), write) in &writes {
            writes.get(&(*list, place + 1)).into_iter().for_each(|next| edges.add(*write, *next));
        }
        for (i, place) in self.places.of.iter().enumerate() {
            let Some((list, Some(read), _)) = place else { continue };
            writes.get(&(*list, *read)).into_iter().for_each(|write| edges.add(*write, i));
            writes.get(&(*list, read + 1)).into_iter().for_each(|next| edges.add(i, *next));
        }
        edges.have_no_cycle()
    }

    /// The events of a happens-before cycle through the program points of this one, in their order.
    pub fn cycle(&self, cycle: &Cycle) -> Option<Vec<EventId>> {
        let mut candidates: Vec<Vec<usize>> = Vec::new();
        for wanted in cycle.labels() {
            candidates.push(self.of_class.get(&wanted)?.clone());
        }
        if candidates.is_empty() {
            return None;
        }
        // Which of the labels is the second of its segment.
        let second: Vec<bool> =
            cycle.segments.iter().flat_map(|s| std::iter::once(false).chain(s.second.map(|_| true))).collect();
        for (list, second) in candidates.iter_mut().zip(&second) {
            drop_alike(self.trace, &self.places, *second, list);
        }
        let (trace, places) = (self.trace, &self.places);
        let mut search = Search { trace, places, candidates, second, chosen: Vec::new(), steps: 0 };
        search.next().then(|| search.chosen.iter().map(|i| trace.events[*i].id).collect())
    }
}

/// What comes directly behind what.
struct Edges {
    behind: Vec<Vec<usize>>,
    /// For each event from how many it comes behind.
    before: Vec<u32>,
}

impl Edges {
    fn add(&mut self, a: usize, b: usize) {
        if a != b {
            self.behind[a].push(b);
            self.before[b] += 1;
        }
    }

    fn have_no_cycle(mut self) -> bool {
        let mut ready: Vec<usize> = (0..self.before.len()).filter(|i| self.before[*i] == 0).collect();
        let mut done = 0;
        while let Some(i) = ready.pop() {
            done += 1;
            for next in std::mem::take(&mut self.behind[i]) {
                self.before[next] -= 1;
                if self.before[next] == 0 {
                    ready.push(next);
                }
            }
        }
        done == self.before.len()
    }
}

/// The events of a happens-before cycle through these program points, in their order: the pairs of each segment in
/// program order, the last access of each segment before the first of the next in conflict order. `class` names the
/// program point of an event.
///
/// Such a cycle is a proof that the execution is not sequentially consistent.
pub fn confirm(trace: &Trace, cycle: &Cycle, class: impl Fn(&Event) -> u32) -> Option<Vec<EventId>> {
    Accesses::new(trace, class).cycle(cycle)
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
    places: &'a Places,
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
