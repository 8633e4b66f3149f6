//! The paper's definitions, by the axioms: to be held beside section 2 of *Memory Model Safety of Programs*.
//!
//! A memory trace is `E = (I, R, W, src, X)`. Here it is a [`Trace`] without its order of execution: `I` are its
//! events, named by their thread and their number in it, `R` and `W` those that read and write, `src` is `from`, and
//! `X` is what else the models speak of: locations, memory orders and the coherence order of each location.
//!
//! Nothing here is fast. It says what the monitor must answer.

use fencepost_memory::axioms::{self, Execution};
use fencepost_trace::{Event, EventId, EventKind, Model, ThreadId, Trace};
use std::collections::BTreeMap;

/// The name of an instruction, `(p, n)`: the n-th of its thread, from 1.
pub type Id = (ThreadId, u32);

/// Is the trace one of `T^Y`: may it come about under the model? That the program can do what its threads do is the
/// business of whoever has run it.
pub fn is_member(trace: &Trace, model: Model) -> bool {
    Execution::from_trace(trace).is_ok_and(|execution| axioms::consistent(&execution, model).is_ok())
}

/// The instructions by their names.
fn instructions(trace: &Trace) -> BTreeMap<EventId, Id> {
    let mut counts: BTreeMap<ThreadId, u32> = BTreeMap::new();
    let named = trace.events.iter().filter(|event| !is_commit(event)).map(|event| {
        let count = counts.entry(event.thread).or_default();
        *count += 1;
        (event.id, (event.thread, *count))
    });
    named.collect()
}

fn is_commit(event: &Event) -> bool {
    matches!(event.kind, EventKind::Commit { .. })
}

/// What an instruction is, and what it reads from, in names that do not depend on the order of execution.
fn content(event: &Event, names: &BTreeMap<EventId, Id>) -> (EventKind, Vec<Option<Id>>) {
    let mut kind = event.kind.clone();
    let mut sources = Vec::new();
    if let EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } = &mut kind {
        sources.push(names.get(from).copied());
        sources.extend(parts.iter().map(|part| names.get(&part.from).copied()));
        *from = EventId::INIT;
        parts.iter_mut().for_each(|part| part.from = EventId::INIT);
    }
    (kind, sources)
}

/// `E ⊑ E'`: E' has all instructions of E, doing and reading the same, in the same coherence order.
pub fn is_prefix(shorter: &Trace, longer: &Trace) -> bool {
    let (few, many) = (instructions(shorter), instructions(longer));
    let all = |trace: &Trace, names: &BTreeMap<EventId, Id>| -> BTreeMap<Id, (EventKind, Vec<Option<Id>>)> {
        trace.events.iter().filter(|e| !is_commit(e)).map(|e| (names[&e.id], content(e, names))).collect()
    };
    let (here, there) = (all(shorter, &few), all(longer, &many));
    let same = here.iter().all(|(id, content)| there.get(id).is_some_and(|other| other == content));
    let orders = |trace: &Trace, names: &BTreeMap<EventId, Id>| -> BTreeMap<u64, Vec<Id>> {
        let list = |stores: &[EventId]| stores.iter().map(|s| names[s]).filter(|id| here.contains_key(id)).collect();
        let lists = trace.coherence.iter().map(|c| (c.address, list(&c.stores)));
        lists.filter(|(_, stores): &(u64, Vec<Id>)| !stores.is_empty()).collect()
    };
    same && orders(shorter, &few) == orders(longer, &many)
}

/// Is E' a successor of E: has it exactly one instruction more?
pub fn is_successor(trace: &Trace, successor: &Trace) -> bool {
    instructions(successor).len() == instructions(trace).len() + 1 && is_prefix(trace, successor)
}

/// The predecessors of a trace: each without the last instruction of one thread. A store that is read cannot be
/// removed.
pub fn predecessors(trace: &Trace) -> Vec<Trace> {
    let mut last: BTreeMap<ThreadId, EventId> = BTreeMap::new();
    trace.events.iter().filter(|e| !is_commit(e)).for_each(|e| {
        last.insert(e.thread, e.id);
    });
    let is_read = |id: &EventId| {
        trace.events.iter().any(|event| match &event.kind {
            EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } => {
                event.id != *id && (from == id || parts.iter().any(|part| part.from == *id))
            }
            _ => false,
        })
    };
    last.into_values().filter(|id| !is_read(id)).map(|id| without(trace, id)).collect()
}

/// The trace without one of its events, which nobody reads.
fn without(trace: &Trace, gone: EventId) -> Trace {
    let rename = |id: EventId| if id.0 > gone.0 { EventId(id.0 - 1) } else { id };
    let mut rest = trace.clone();
    rest.events.retain(|event| event.id != gone);
    for event in &mut rest.events {
        event.id = rename(event.id);
        event.clock.clear();
        if let EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } = &mut event.kind {
            *from = rename(*from);
            parts.iter_mut().for_each(|part| part.from = rename(part.from));
        }
    }
    for list in &mut rest.coherence {
        list.stores.retain(|id| *id != gone);
        list.stores.iter_mut().for_each(|id| *id = rename(*id));
    }
    rest
}

/// A borderline trace, and the successor that leaves SC.
#[derive(Clone, Debug)]
pub struct Borderline {
    /// E, which is SC.
    pub trace: Trace,
    /// E', which the model permits and SC does not.
    pub successor: Trace,
}

/// The induction behind theorem 1: from a trace that the model permits and SC does not, one instruction after the other
/// is removed, so that the model still permits what is left, until that is SC. `None` if the trace is not in
/// `T^Y \ T^SC`, or the model is not inductive.
pub fn borderline(trace: &Trace, model: Model) -> Option<Borderline> {
    if !is_member(trace, model) || is_member(trace, Model::Sc) {
        return None;
    }
    let mut successor = trace.clone();
    loop {
        let shorter = predecessors(&successor).into_iter().find(|shorter| is_member(shorter, model))?;
        if is_member(&shorter, Model::Sc) {
            return Some(Borderline { trace: shorter, successor });
        }
        successor = shorter;
    }
}
