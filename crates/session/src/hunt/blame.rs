//! Which reorderings an execution that fails cannot do without.
//!
//! Orderings are looked for that leave no failure. Where one is left, its execution says what is missing: the pairs of
//! accesses that were reordered in it and without which it is not possible. An ordering between the two accesses of one
//! of them prevents it.

use super::LONGEST;
use super::subject::Again;
use super::verify::prefix;
use fencepost_memory::axioms::Execution;
use fencepost_memory::axioms::restricted::{self, Window};
use fencepost_predict::private::without_private;
use fencepost_predict::{Profile, passing};
use fencepost_trace::{Event, EventId, EventKind, Model, Trace};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Two program points, in program order, whose accesses were reordered.
pub type Pair = (u32, u32);

/// Pairs without any of which this execution is not possible, as far as can be told; none if nothing was reordered.
pub fn blame(again: &Again, model: Model) -> Vec<Pair> {
    let key = |event: &Event| (event.label, reads_writes(&event.kind));
    let classes: FxHashMap<_, u32> =
        again.trace.events.iter().zip(&again.names).map(|(event, (class, _))| (key(event), *class)).collect();
    let class = |event: &Event| classes.get(&key(event)).copied().unwrap_or(u32::MAX);
    // Behind the last store threads only read what is there, as in a loop that nobody ends.
    let is_store = |event: &Event| !matches!(event.kind, EventKind::Load { .. } | EventKind::Fence { .. });
    let end = again.trace.events.iter().rposition(is_store).map_or(0, |last| last + 1);
    let mut trace = prefix(&again.trace, end);
    if trace.events.len() > LONGEST {
        trace = without_private(&trace);
    }
    let pairs = reordered(&trace, model, class);
    let Some(execution) = (trace.events.len() <= LONGEST).then(|| Execution::from_trace(&trace).ok()).flatten() else {
        return pairs.into_keys().collect();
    };
    let possible = |some: &[&Vec<Window>]| {
        let windows: Vec<Window> = some.iter().flat_map(|windows| widest(windows)).collect();
        restricted::check(&execution, model, &windows).is_ok()
    };
    let mut rest: Vec<(Pair, &Vec<Window>)> = pairs.iter().map(|(pair, windows)| (*pair, windows)).collect();
    if !possible(&rest.iter().map(|(_, windows)| *windows).collect::<Vec<_>>()) {
        return rest.into_iter().map(|(pair, _)| pair).collect();
    }
    // The wider ones are left out first: what remains says best where an ordering is missing.
    let width = |windows: &[Window]| windows.iter().map(|(from, to)| to.0 - from.0).max();
    rest.sort_by_key(|(_, windows)| std::cmp::Reverse(width(windows)));
    let mut i = 0;
    while i < rest.len() {
        let others: Vec<&Vec<Window>> =
            rest.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, (_, windows))| *windows).collect();
        if possible(&others) {
            rest.remove(i);
        } else {
            i += 1;
        }
    }
    rest.into_iter().map(|(pair, _)| pair).collect()
}

fn reads_writes(kind: &EventKind) -> (bool, bool) {
    match kind {
        EventKind::Load { .. } => (true, false),
        EventKind::Store { .. } => (false, true),
        EventKind::Rmw { .. } => (true, true),
        EventKind::Fence { .. } | EventKind::Commit { .. } => (false, false),
    }
}

/// The pairs that may have been reordered, and where.
fn reordered(trace: &Trace, model: Model, class: impl Fn(&Event) -> u32) -> BTreeMap<Pair, Vec<Window>> {
    let profile = Profile::new(trace, |event| {
        let class = class(event);
        (class, class)
    });
    let mut possible: BTreeSet<Pair> = BTreeSet::new();
    for thread in &profile.threads {
        let names: Vec<Option<u32>> = thread.iter().map(|item| item.is_visible().then_some(item.class)).collect();
        passing(model, thread, &names, |first, second| _ = possible.insert((first, second)));
    }
    // When a store became visible; all else happens when it is done. Loads of pslo may have happened before.
    let mut when: FxHashMap<EventId, usize> = FxHashMap::default();
    for (i, event) in trace.events.iter().enumerate() {
        match event.kind {
            EventKind::Commit { store } => _ = when.insert(store, i),
            EventKind::Store { .. } => {}
            _ => _ = when.insert(event.id, i),
        }
    }
    let never = trace.events.len();
    let is_access = |event: &&Event| reads_writes(&event.kind) != (false, false);
    let mut pairs: BTreeMap<Pair, Vec<Window>> = BTreeMap::new();
    for thread in 0..trace.threads {
        let own: Vec<&Event> = trace.events.iter().filter(|event| event.thread.0 == thread).filter(is_access).collect();
        for (i, first) in own.iter().enumerate() {
            let mut last: BTreeMap<u32, EventId> = BTreeMap::new();
            let seen = when.get(&first.id).copied().unwrap_or(never);
            for second in &own[i + 1..] {
                let passes = model == Model::Pslo || when.get(&second.id).is_some_and(|at| *at < seen);
                if passes && possible.contains(&(class(first), class(second))) {
                    last.insert(class(second), second.id);
                }
            }
            for (second, id) in last {
                pairs.entry((class(first), second)).or_default().push((first.id, id));
            }
        }
    }
    pairs
}

/// The windows without those that lie in another.
fn widest(windows: &[Window]) -> Vec<Window> {
    let inside = |a: &Window, b: &Window| a != b && b.0 <= a.0 && a.1 <= b.1;
    windows.iter().filter(|window| !windows.iter().any(|other| inside(window, other))).copied().collect()
}
