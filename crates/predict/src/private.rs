//! Memory that one thread alone accesses: what is done there orders nothing between threads.

use fencepost_trace::{EventId, EventKind, LoadOrder, Location, StoreOrder, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// Who accesses which memory, byte by byte.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// `None` where several threads do.
    of: FxHashMap<u64, Option<u32>>,
    accesses: FxHashSet<(u32, Location)>,
}

impl Owners {
    /// A thread accesses this.
    pub fn add(&mut self, thread: u32, at: Location) {
        if self.accesses.insert((thread, at)) {
            for byte in at.address..at.end() {
                let owner = self.of.entry(byte).or_insert(Some(thread));
                *owner = owner.filter(|owner| *owner == thread);
            }
        }
    }

    /// All accesses are known. One that has a byte which others access is shared as a whole, and so is whatever
    /// overlaps it: who reads bytes of several stores needs all of them.
    pub fn close(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (_, at) in &self.accesses {
                let shared = |byte: u64| self.of.get(&byte).is_some_and(Option::is_none);
                let is_shared = (at.address..at.end()).filter(|byte| shared(*byte)).count() as u64;
                if is_shared > 0 && is_shared < at.end() - at.address {
                    changed = true;
                    self.of.extend((at.address..at.end()).map(|byte| (byte, None)));
                }
            }
        }
    }

    /// Does one thread alone access this?
    pub fn is_private(&self, at: Location) -> bool {
        (at.address..at.end()).all(|byte| self.of.get(&byte).is_some_and(Option::is_some))
    }
}

/// The same execution without accesses to memory that one thread alone accesses, as long as they are no barriers.
/// Events are numbered anew. Under tso, pso and pslo such an access keeps nothing in order that is not kept without
/// it: what remains is an execution of the model if the whole is, and has the same cycles.
pub fn without_private(trace: &Trace) -> Trace {
    let mut owners = Owners::default();
    for event in &trace.events {
        if let Some(at) = event.kind.location().filter(|at| at.as_hidden().is_none()) {
            owners.add(event.thread.0, at);
        }
    }
    owners.close();
    let is_private = |kind: &EventKind| match *kind {
        EventKind::Load { at, order: LoadOrder::Plain | LoadOrder::Relaxed, failed_rmw: false, .. }
        | EventKind::Store { at, order: StoreOrder::Plain | StoreOrder::Relaxed, .. } => {
            at.as_hidden().is_none() && owners.is_private(at)
        }
        _ => false,
    };
    // The new number of each event; 0 if it is left out.
    let mut numbers = vec![0; trace.events.len() + 1];
    let mut kept = 0;
    for event in &trace.events {
        let is_kept = match event.kind {
            EventKind::Commit { store } => numbers[store.index()] != 0,
            ref kind => !is_private(kind),
        };
        if is_kept {
            kept += 1;
            numbers[event.id.index()] = kept;
        }
    }
    let number = |id: EventId| EventId(numbers[id.index()]);
    let events = trace.events.iter().filter(|event| !number(event.id).is_init()).map(|event| {
        let mut event = event.clone();
        event.id = number(event.id);
        match &mut event.kind {
            EventKind::Load { from, parts, .. } | EventKind::Rmw { from, parts, .. } => {
                *from = number(*from);
                parts.iter_mut().for_each(|part| part.from = number(part.from));
            }
            EventKind::Commit { store } => *store = number(*store),
            EventKind::Store { .. } | EventKind::Fence { .. } => {}
        }
        event
    });
    let coherence = trace.coherence.iter().filter_map(|list| {
        let mut list = list.clone();
        list.stores.iter_mut().for_each(|store| *store = number(*store));
        list.stores.retain(|store| !store.is_init());
        (!list.stores.is_empty()).then_some(list)
    });
    Trace {
        model: trace.model,
        outcome: trace.outcome.clone(),
        threads: trace.threads,
        events: events.collect(),
        coherence: coherence.collect(),
        labels: trace.labels.clone(),
        choices: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::Size;

    fn location(address: u64, size: Size) -> Location {
        Location::new(address, size)
    }

    /// Two words of one block of eight bytes, each of one thread: neither is shared.
    #[test]
    fn neighbours_are_not_shared() {
        let mut owners = Owners::default();
        owners.add(0, location(16, Size::B4));
        owners.add(1, location(20, Size::B4));
        owners.close();
        assert!(owners.is_private(location(16, Size::B4)) && owners.is_private(location(20, Size::B4)));
    }

    /// Whoever reads both words needs the stores to both.
    #[test]
    fn what_overlaps_something_shared_is_shared() {
        let mut owners = Owners::default();
        owners.add(0, location(16, Size::B4));
        owners.add(0, location(16, Size::B8));
        owners.add(1, location(20, Size::B4));
        owners.add(0, location(32, Size::B4));
        owners.close();
        assert!(!owners.is_private(location(16, Size::B4)), "the load of both has a byte that thread 1 writes");
        assert!(owners.is_private(location(32, Size::B4)));
    }
}
