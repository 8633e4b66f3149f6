//! Steps of the standard libraries are left out: counts of an `Arc`, what a channel or a lock does inside itself. What
//! is left is what the program does, and what that refers to.

use super::execution::Execution;
use crate::Timeline;
use fencepost_trace::{Event, EventId, EventKind, Hidden, Location};

/// Of the events that are worth showing, those of the program. If there are none, nothing is known of what is the
/// program's, and all of them are shown.
pub(super) fn without_library(shown: &Execution<'_>, timeline: &Timeline, relevant: &[bool]) -> Vec<bool> {
    let trace = shown.trace;
    let own: Vec<bool> = trace
        .events
        .iter()
        .zip(relevant)
        .map(|(event, relevant)| *relevant && !is_inside(shown, timeline, event))
        .collect();
    let is_program = |(event, own): (&Event, &bool)| *own && lifecycle(event).is_none();
    if !trace.events.iter().zip(&own).any(is_program) {
        return relevant.to_vec();
    }
    // What the program has read from inside a library is shown where it was written.
    let mut kept = own.clone();
    for (event, _) in trace.events.iter().zip(&own).filter(|(_, own)| **own) {
        if let EventKind::Load { from, .. } | EventKind::Rmw { from, .. } = event.kind
            && !from.is_init()
            && let Some(kept) = kept.get_mut(from.index() - 1)
        {
            *kept = relevant[from.index() - 1];
        }
    }
    kept
}

/// Is a step inside a library, and of no interest outside?
fn is_inside(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> bool {
    let races = |id: EventId| shown.races.iter().any(|(first, second)| [*first, *second].contains(&id));
    let in_library = match event.kind {
        // A store that leaves its buffer is shown if the store is.
        EventKind::Commit { store } => shown.trace.event(store).and_then(|store| shown.trace.label(store)),
        _ => shown.trace.label(event),
    };
    in_library.is_some_and(|label| shown.describe.is_library(label))
        && lifecycle(event).is_none()
        && !races(event.id)
        && timeline.staleness(shown.trace, event).is_none()
}

/// The beginning or the end of a thread, as its creator or itself sees it.
fn lifecycle(event: &Event) -> Option<Hidden> {
    let (hidden, _) = event.kind.location().and_then(Location::as_hidden)?;
    matches!(hidden, Hidden::ThreadStart | Hidden::ThreadEnd).then_some(hidden)
}
