//! What would have prevented an execution that fails.
//!
//! Orderings are looked for that leave no failure. An execution that has failed says what they have to be: with one of
//! them in its place, it is no execution of the model. So each place is tried: fences are put into the execution where
//! the program would have them, and the axioms are asked.

use super::LONGEST;
use super::subject::{Again, FencePosition, Fences};
use super::verify::prefix;
use fencepost_memory::axioms::{self, Execution};
use fencepost_predict::private::without_private;
use fencepost_trace::{Event, EventId, EventKind, FenceOrder, Hidden, Location, Model, ThreadId, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// An ordering: where, and which.
pub type Ordering = (FencePosition, FenceOrder);

/// An execution that has failed, as far as its failure goes.
pub struct Failure {
    trace: Trace,
    /// For each event that accesses memory its program point.
    points: Vec<Option<u32>>,
    /// For each event whether others come before it and behind it that are the same step of the program.
    within: Vec<(bool, bool)>,
}

impl Failure {
    /// `None` if it is too long to tell anything.
    pub fn new(again: &Again, model: Model) -> Option<Failure> {
        Failure::of(&again.trace, |event| again.names[event.id.index() - 1].0, model)
    }

    /// The same of a trace whose events are at these program points.
    pub fn of(trace: &Trace, point: impl Fn(&Event) -> u32, model: Model) -> Option<Failure> {
        let points: FxHashMap<_, u32> = trace.events.iter().map(|event| (key(event), point(event))).collect();
        // Once all stores are visible threads only read what is there, as in a loop that nobody ends.
        let count = |is: fn(&Event) -> bool| trace.events.iter().filter(|event| is(event)).count();
        let stores = count(|event| matches!(event.kind, EventKind::Store { .. }));
        let visible = stores == count(|event| matches!(event.kind, EventKind::Commit { .. }));
        let is_store = |event: &Event| !matches!(event.kind, EventKind::Load { .. } | EventKind::Fence { .. });
        let last = trace.events.iter().rposition(is_store).filter(|_| visible && model != Model::Pslo);
        let mut trace = prefix(trace, last.map_or(trace.events.len(), |last| last + 1));
        if trace.events.len() > LONGEST {
            trace = without_private(&trace);
        }
        let point = |event: &Event| points.get(&key(event)).copied().filter(|_| is_access(event));
        let points = trace.events.iter().map(point).collect();
        let within = steps(&trace.events);
        (trace.events.len() <= LONGEST).then_some(Failure { trace, points, within })
    }

    /// The orderings each of which alone prevents this execution. None if nothing was reordered, or if it takes several
    /// together.
    pub fn preventing(&self, model: Model) -> Vec<Ordering> {
        if !self.is_possible(model) {
            return Vec::new();
        }
        let weaker = weaker(model);
        let mut preventing = Vec::new();
        let met: BTreeSet<u32> = self.points.iter().flatten().copied().collect();
        for (point, before) in met.into_iter().flat_map(|point| [(point, true), (point, false)]) {
            let place = FencePosition { point, before };
            let prevents = |order: &FenceOrder| self.prevents((place, *order), model);
            if prevents(&FenceOrder::SeqCst) {
                preventing.push((place, FenceOrder::SeqCst));
                preventing.extend(weaker.iter().filter(|order| prevents(order)).map(|order| (place, *order)));
            }
        }
        preventing
    }

    /// Is it an execution of the model? If not, it says nothing of orderings.
    pub fn is_possible(&self, model: Model) -> bool {
        is_possible(&self.trace, model)
    }

    /// Does an ordering alone prevent it?
    fn prevents(&self, ordering: Ordering, model: Model) -> bool {
        !is_possible(&with_fences(&self.trace, &self.sides(&[ordering])), model)
    }

    /// Do these orderings together prevent it, and those that were in force not?
    pub fn is_prevented(&self, fences: &Fences, model: Model) -> bool {
        let mut sides = self.sides(fences);
        // A fence that was added has the label of an access.
        let accesses: BTreeSet<u32> =
            self.trace.events.iter().filter(|event| is_access(event)).map(|event| event.label).collect();
        for (event, side) in self.trace.events.iter().zip(&mut sides) {
            side.left_out = matches!(event.kind, EventKind::Fence { .. }) && accesses.contains(&event.label);
        }
        !is_possible(&with_fences(&self.trace, &sides), model)
    }

    /// For each event the fences around it. Where several are one step, there are none in between, and its program
    /// points are one place.
    fn sides(&self, fences: &Fences) -> Vec<Sides> {
        let points = |label: u32| {
            let of = move |(event, point): (&Event, &Option<u32>)| point.filter(|_| event.label == label);
            self.trace.events.iter().zip(&self.points).filter_map(of)
        };
        let of = |i: usize| {
            let (begun, goes_on) = self.within[i];
            let is_there = |point: u32| match begun || goes_on {
                true => points(self.trace.events[i].label).any(|other| other == point),
                false => self.points[i] == Some(point),
            };
            let here = |before: bool, inside: bool| {
                let is_here = |(place, _): &&Ordering| !inside && place.before == before && is_there(place.point);
                fences.iter().filter(is_here).map(|(_, order)| *order).collect()
            };
            Sides { before: here(true, begun), behind: here(false, goes_on), left_out: false }
        };
        (0..self.points.len()).map(of).collect()
    }
}

/// Which events have others before them, and behind them, that are the same step of the program: those of an exchange
/// of two words, which begins with a look at a location that nobody else has.
fn steps(events: &[Event]) -> Vec<(bool, bool)> {
    let mut within = vec![(false, false); events.len()];
    // For each thread its last event, if that is of such a step.
    let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for (i, event) in events.iter().enumerate() {
        if matches!(event.kind, EventKind::Commit { .. }) {
            continue;
        }
        let own = Location::hidden(Hidden::Park, Location::OTHER_KEY | u64::from(event.thread.0));
        let begins = matches!(event.kind, EventKind::Load { at, .. } if at == own);
        let before = last.remove(&event.thread).filter(|k| !begins && events[*k].label == event.label);
        if !is_access(event) {
            continue;
        }
        if let Some(before) = before {
            within[before].1 = true;
            within[i].0 = true;
        }
        if begins || before.is_some() {
            last.insert(event.thread, i);
        }
    }
    within
}

/// What is around an event, and whether it stays.
struct Sides {
    before: Vec<FenceOrder>,
    behind: Vec<FenceOrder>,
    left_out: bool,
}

fn key(event: &Event) -> (u32, (bool, bool)) {
    (event.label, reads_writes(&event.kind))
}

/// What is weaker than a full fence, and keeps something in order that the model does not.
pub fn weaker(model: Model) -> &'static [FenceOrder] {
    match model {
        Model::Pso => &[FenceOrder::Release],
        Model::Pslo => &[FenceOrder::Release, FenceOrder::Acquire],
        _ => &[],
    }
}

fn is_possible(trace: &Trace, model: Model) -> bool {
    Execution::from_trace(trace).is_ok_and(|execution| axioms::consistent(&execution, model).is_ok())
}

fn reads_writes(kind: &EventKind) -> (bool, bool) {
    match kind {
        EventKind::Load { .. } => (true, false),
        EventKind::Store { .. } => (false, true),
        EventKind::Rmw { .. } => (true, true),
        EventKind::Fence { .. } | EventKind::Commit { .. } => (false, false),
    }
}

fn is_access(event: &Event) -> bool {
    reads_writes(&event.kind) != (false, false)
}

/// The same execution with fences around its events, and without some of its own. Events are numbered anew.
fn with_fences(trace: &Trace, sides: &[Sides]) -> Trace {
    let mut numbers = vec![0; trace.events.len() + 1];
    let mut next = 0;
    for (event, sides) in trace.events.iter().zip(sides) {
        next += sides.before.len() as u32 + u32::from(!sides.left_out);
        numbers[event.id.index()] = next;
        next += sides.behind.len() as u32;
    }
    let number = |id: EventId| EventId(numbers[id.index()]);
    let mut events: Vec<Event> = Vec::with_capacity(next as usize);
    for (event, sides) in trace.events.iter().zip(sides) {
        let mut moved = event.clone();
        moved.id = number(event.id);
        match &mut moved.kind {
            EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } => {
                *from = number(*from);
                parts.iter_mut().for_each(|part| part.from = number(part.from));
            }
            EventKind::Commit { store } => *store = number(*store),
            EventKind::Store { .. } | EventKind::Fence { .. } => {}
        }
        let fence = |(id, order): (u32, &FenceOrder)| Event {
            id: EventId(id),
            kind: EventKind::Fence { order: *order },
            clock: Vec::new(),
            ..event.clone()
        };
        events.extend((events.len() as u32 + 1..).zip(&sides.before).map(fence));
        events.extend((!sides.left_out).then_some(moved));
        events.extend((events.len() as u32 + 1..).zip(&sides.behind).map(fence));
    }
    let mut coherence = trace.coherence.clone();
    for list in &mut coherence {
        list.stores.iter_mut().for_each(|store| *store = number(*store));
    }
    Trace { events, coherence, choices: Vec::new(), ..trace.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{LoadOrder, RmwOrder, Size, Value};

    /// A thread looks, exchanges two words, looks again and reads one that is another; a loop reads the same word
    /// twice without a look, which is two steps.
    #[test]
    fn an_exchange_of_two_words_is_one_step() {
        let thread = |t: u32| Location::hidden(Hidden::Park, Location::OTHER_KEY | u64::from(t));
        let word = |x: u64| Location::new(0x1000 + 8 * x, Size::B8);
        let load = |at| {
            let (order, value, from) = (LoadOrder::Relaxed, Value::ZERO, EventId(0));
            EventKind::Load { at, order, value, from, parts: Vec::new(), failed_rmw: false }
        };
        let rmw = |at| {
            let (order, read, written, from) = (RmwOrder::Relaxed, Value::ZERO, Value(1), EventId(0));
            EventKind::Rmw { at, order, read, written, from, parts: Vec::new() }
        };
        let exchange = [load(thread(1)), rmw(word(0)), rmw(word(1)), load(thread(1)), load(word(0))];
        let done = exchange.into_iter().map(|kind| (1, 3, kind)).chain([(1, 4, load(word(0)))]);
        let looped = [(2, 3, load(word(0))), (2, 3, load(word(0)))];
        let events: Vec<Event> = (1..)
            .zip(done.chain(looped))
            .map(|(id, (t, label, kind))| Event {
                id: EventId(id),
                thread: ThreadId(t),
                label,
                kind,
                clock: Vec::new(),
            })
            .collect();
        let (first, middle, last, alone) = ((false, true), (true, true), (true, false), (false, false));
        assert_eq!(steps(&events), [first, middle, last, first, last, alone, alone, alone]);
    }
}
