//! A hardware model of which only some pairs may be reordered.
//!
//! That a violation of sequential consistency *does harm* is the question whether the program can fail when nothing is
//! reordered but the pairs of that violation. An execution of the model is one of the model so restricted if it is
//! still possible with all other accesses of a thread in program order.

use super::Violation;
use super::execution::Execution;
use super::hardware::{atomicity, performed, uniproc};
use super::relation::Relation;
use super::{pslo, pso, tso};
use fencepost_trace::{EventId, Model};

/// Accesses of one thread, from the first to the last in program order, that may be reordered as the model permits.
pub type Window = (EventId, EventId);

/// Is the execution possible under a hardware model that may reorder nothing outside of these windows?
///
/// A window and not only its two ends: where a load passes a store, it passes what lies between the two, as well.
pub fn check(execution: &Execution, model: Model, windows: &[Window]) -> Result<(), Violation> {
    let preserved = match model {
        Model::Tso => tso::preserved(execution),
        Model::Pso => pso::preserved(execution),
        Model::Pslo => pslo::preserved(execution),
        Model::Sc | Model::C11 => Relation::empty(execution.size()),
    };
    uniproc(execution)?;
    atomicity(execution)?;
    let accesses = execution.accesses();
    let whose = |(from, to): &Window| {
        let node = execution.nodes.iter().find(|node| node.id == *from)?;
        Some((node.thread, *from, *to))
    };
    let windows: Vec<_> = windows.iter().filter_map(whose).collect();
    let inside = |(a, b): &(usize, usize)| {
        let (first, second) = (&execution.nodes[*a], &execution.nodes[*b]);
        // Events of a thread are numbered in program order.
        windows.iter().any(|(thread, from, to)| *thread == first.thread && *from <= first.id && second.id <= *to)
    };
    let po = execution.po.restrict(&accesses, &accesses);
    let kept = Relation::from_pairs(execution.size(), po.pairs().filter(|pair| !inside(pair)));
    performed(execution, "restricted", &preserved.union(&kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::{
        Coherence, Event, EventKind, LoadOrder, Location, Outcome, Size, StoreOrder, ThreadId, Trace, Value,
    };

    /// `x = 1; r = z; r = y` against `y = 1; r = x`, all loads reading 0.
    fn store_buffering() -> Trace {
        let at = |address| Location::new(address, Size::B4);
        let (x, y, z) = (at(16), at(32), at(48));
        let store = |at| EventKind::Store { at, order: StoreOrder::Relaxed, value: Value(1) };
        let load = |at| EventKind::Load {
            at,
            order: LoadOrder::Relaxed,
            value: Value(0),
            from: EventId::INIT,
            parts: Vec::new(),
            failed_rmw: false,
        };
        let kinds = [(0, store(x)), (0, load(z)), (0, load(y)), (1, store(y)), (1, load(x))];
        let events = kinds.into_iter().enumerate().map(|(i, (thread, kind))| Event {
            id: EventId(i as u32 + 1),
            thread: ThreadId(thread),
            label: 0,
            kind,
            clock: Vec::new(),
        });
        let order =
            |at: Location, store: u32| Coherence { address: at.address, bytes: 4, stores: vec![EventId(store)] };
        Trace {
            model: Model::Tso,
            outcome: Outcome::Finished,
            threads: 2,
            events: events.collect(),
            coherence: vec![order(x, 1), order(y, 4)],
            labels: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Both loads read 0 if one of the two pairs is reordered. The first pair takes the load in between with it, so
    /// that the window covers that; a window that ends before the load of `y` does not help.
    #[test]
    fn one_pair_is_enough() {
        let execution = Execution::from_trace(&store_buffering()).expect("it is well formed");
        let allowed = |windows: &[(u32, u32)]| {
            let windows: Vec<Window> = windows.iter().map(|(a, b)| (EventId(*a), EventId(*b))).collect();
            check(&execution, Model::Tso, &windows).is_ok()
        };
        assert!(!allowed(&[]), "nothing is reordered: not sequentially consistent");
        assert!(allowed(&[(1, 3)]) && allowed(&[(4, 5)]) && allowed(&[(1, 3), (4, 5)]));
        assert!(!allowed(&[(1, 2)]) && !allowed(&[(2, 3)]));
    }
}
