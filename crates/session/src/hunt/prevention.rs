//! What would have prevented an execution that fails.
//!
//! Orderings are looked for that leave no failure. An execution that has failed says what they have to be: with one of
//! them in its place, it is no execution of the model. So each place is tried: fences are put into the execution where
//! the program would have them, and the axioms are asked.

use super::LONGEST;
use super::subject::{Again, FencePosition};
use super::verify::prefix;
use fencepost_memory::axioms::{self, Execution};
use fencepost_predict::private::without_private;
use fencepost_trace::{Event, EventId, EventKind, FenceOrder, Model, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// An ordering: where, and which.
pub type Ordering = (FencePosition, FenceOrder);

/// The orderings each of which alone prevents this execution. None if nothing was reordered, if it takes several
/// together, or if it is too long to tell.
pub fn preventing(again: &Again, model: Model) -> Vec<Ordering> {
    let key = |event: &Event| (event.label, reads_writes(&event.kind));
    let points: FxHashMap<_, u32> =
        again.trace.events.iter().zip(&again.names).map(|(event, (point, _))| (key(event), *point)).collect();
    let point = |event: &Event| points.get(&key(event)).copied().filter(|_| is_access(event));
    // Once all stores are visible threads only read what is there, as in a loop that nobody ends.
    let count = |is: fn(&Event) -> bool| again.trace.events.iter().filter(|event| is(event)).count();
    let stores = count(|event| matches!(event.kind, EventKind::Store { .. }));
    let visible = stores == count(|event| matches!(event.kind, EventKind::Commit { .. }));
    let is_store = |event: &Event| !matches!(event.kind, EventKind::Load { .. } | EventKind::Fence { .. });
    let last = again.trace.events.iter().rposition(is_store).filter(|_| visible && model != Model::Pslo);
    let mut trace = prefix(&again.trace, last.map_or(again.trace.events.len(), |last| last + 1));
    if trace.events.len() > LONGEST {
        trace = without_private(&trace);
    }
    if trace.events.len() > LONGEST || !is_possible(&trace, model) {
        return Vec::new();
    }
    let weaker = weaker(model);
    let mut preventing = Vec::new();
    let met: BTreeSet<u32> = trace.events.iter().filter_map(point).collect();
    for (own, before) in met.into_iter().flat_map(|point| [(point, true), (point, false)]) {
        let place = FencePosition { point: own, before };
        let prevents = |order: &FenceOrder| {
            let fenced = with_fences(&trace, |event| point(event) == Some(own), before, *order);
            !is_possible(&fenced, model)
        };
        if prevents(&FenceOrder::SeqCst) {
            preventing.push((place, FenceOrder::SeqCst));
            preventing.extend(weaker.iter().filter(|order| prevents(order)).map(|order| (place, *order)));
        }
    }
    preventing
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

/// The same execution with a fence before or behind each of these accesses. Events are numbered anew.
fn with_fences(trace: &Trace, is_there: impl Fn(&Event) -> bool, before: bool, order: FenceOrder) -> Trace {
    let mut numbers = vec![0; trace.events.len() + 1];
    let mut next = 0;
    for event in &trace.events {
        let fence = u32::from(is_there(event));
        next += 1 + fence;
        numbers[event.id.index()] = if before { next } else { next - fence };
    }
    let number = |id: EventId| EventId(numbers[id.index()]);
    let mut events: Vec<Event> = Vec::with_capacity(next as usize);
    for event in &trace.events {
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
        let fence = is_there(event).then(|| Event {
            id: EventId(if before { moved.id.0 - 1 } else { moved.id.0 + 1 }),
            kind: EventKind::Fence { order },
            clock: Vec::new(),
            ..moved.clone()
        });
        let (first, last) = if before { (fence, Some(moved)) } else { (Some(moved), fence) };
        events.extend(first.into_iter().chain(last));
    }
    let mut coherence = trace.coherence.clone();
    for list in &mut coherence {
        list.stores.iter_mut().for_each(|store| *store = number(*store));
    }
    Trace { events, coherence, choices: Vec::new(), ..trace.clone() }
}
