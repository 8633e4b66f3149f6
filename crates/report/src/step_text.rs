//! One step of an execution in words: the same for every format.

use crate::Timeline;
use crate::order::Staleness;
use crate::text::{Execution, clean};
use fencepost_trace::{
    Event, EventId, EventKind, FenceOrder, Hidden, Label, LoadOrder, Location, RmwOrder, StoreOrder, Value,
};

/// What it did; empty if its statement says it all.
pub(crate) fn effect(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> String {
    let named = |at| clean(&shown.describe.location(at)).into_owned();
    let from = |store: EventId| match store.is_init() {
        true => "the initial value".to_owned(),
        false if timeline.reads_own_buffer(event.id, store) => format!("#{} in its own buffer", timeline.number(store)),
        false => format!("#{}", timeline.number(store)),
    };
    match &event.kind {
        kind if synchronisation(kind).is_some() => {
            synchronisation(kind).map_or_else(String::new, |(what, at)| match at {
                Some(at) => format!("{what} {}", named(at)),
                None => what,
            })
        }
        EventKind::Load { at, order, value, from: store, failed_rmw, .. } => {
            let how = if *failed_rmw { "fails: reads" } else { "reads" };
            let value = shown.describe.value(*at, *value);
            format!("{how} {} = {value} from {} ({})", named(*at), from(*store), load_order(*order))
        }
        EventKind::Store { at, order, value } => {
            let value = shown.describe.value(*at, *value);
            let buffered = if timeline.is_buffered(event.id) { " into its buffer" } else { "" };
            format!("writes {} = {value}{buffered} ({})", named(*at), store_order(*order))
        }
        EventKind::Rmw { at, order, read, written, from: store, .. } => {
            let (read, written) = (shown.describe.value(*at, *read), shown.describe.value(*at, *written));
            format!("{} from {read} to {written}, read from {} ({})", named(*at), from(*store), rmw_order(*order))
        }
        EventKind::Fence { order } => format!("fence ({})", fence_order(*order)),
        EventKind::Commit { .. } => String::new(),
    }
}

/// Its statement, with the line.
pub(crate) fn source(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> String {
    if let EventKind::Commit { store } = event.kind {
        return format!("#{} ({}) leaves the buffer", timeline.number(store), wrote(shown, store));
    }
    // These two are nobody's statements.
    match (event.kind.location().and_then(Location::as_hidden), event.kind.is_read()) {
        (Some((Hidden::ThreadStart, _)), true) => return "starts".to_owned(),
        (Some((Hidden::ThreadEnd, _)), false) => return "ends".to_owned(),
        _ => {}
    }
    shown.trace.label(event).map_or_else(String::new, |label| statement(shown, timeline, label))
}

/// The statement at a program point, with the line; and the file, if it is another than that of most steps.
pub(crate) fn statement(shown: &Execution<'_>, timeline: &Timeline, label: &Label) -> String {
    let statement = shown.describe.statement(label).unwrap_or_else(|| label.function.clone());
    let name = label.file.rsplit('/').next().unwrap_or_default();
    let line = match label.line {
        0 => String::new(),
        line if name.is_empty() || timeline.is_usual_file(&label.file) => format!("{line}: "),
        line => format!("{}:{line}: ", clean(name)),
    };
    format!("{line}{}", clean(&statement))
}

/// What an access of a hidden location means to the program, and the object, if it has a name. Empty if the source
/// says it all.
fn synchronisation(kind: &EventKind) -> Option<(String, Option<Location>)> {
    let at = kind.location()?;
    let (hidden, key) = at.as_hidden()?;
    let written = kind.written().map(|value| value.0);
    let words = match (hidden, kind.is_read(), written) {
        (Hidden::ThreadStart, true, _) | (Hidden::ThreadEnd, false, _) => return Some((String::new(), None)),
        (Hidden::ThreadStart, ..) => return Some((format!("creates thread {key}"), None)),
        (Hidden::ThreadEnd, ..) => return Some((format!("joins thread {key}"), None)),
        (Hidden::Mutex | Hidden::RwLock, true, None) => "does not get",
        (Hidden::Mutex | Hidden::RwLock, true, Some(_)) => "takes",
        (Hidden::Mutex | Hidden::RwLock, false, _) => "releases",
        // Who waits is a number that means nothing to anybody, but for nobody.
        (Hidden::Condvar, ..) => match kind {
            EventKind::Rmw { read: Value::ZERO, written: Value::ZERO, .. } => "finds nobody waiting at",
            EventKind::Rmw { read: Value::ZERO, .. } => "begins to wait at",
            EventKind::Rmw { written: Value::ZERO, .. } => "no longer waits at",
            _ => "changes who waits at",
        },
        (Hidden::File, ..) => match kind {
            EventKind::Rmw { order: RmwOrder::Release, .. } => "writes to",
            _ => "has read from",
        },
        _ => return None,
    };
    Some((words.to_owned(), Some(at)))
}

/// What a store wrote: `x = 1`.
pub(crate) fn wrote(shown: &Execution<'_>, store: EventId) -> String {
    let Some(kind) = shown.trace.event(store).map(|event| &event.kind) else { return String::new() };
    let (Some(at), Some(value)) = (kind.location(), kind.written()) else { return String::new() };
    format!("{} = {}", clean(&shown.describe.location(at)), shown.describe.value(at, value))
}

/// What is odd about it.
pub(crate) fn remarks(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> Vec<String> {
    let mut remarks = Vec::new();
    match timeline.staleness(shown.trace, event) {
        Some(Staleness::Stale(newer)) => {
            remarks.push(format!("stale: #{} wrote {} before", timeline.number(newer), wrote(shown, newer)));
        }
        Some(Staleness::Buffered(newer)) => {
            let owner = shown.trace.event(newer).map_or_else(String::new, |e| shown.describe.thread(e.thread));
            let number = timeline.number(newer);
            remarks.push(format!("does not see #{number} ({}), still in the buffer of {owner}", wrote(shown, newer)));
        }
        None => {}
    }
    for (first, second) in shown.races {
        let other = match event.id {
            id if id == *first => *second,
            id if id == *second => *first,
            _ => continue,
        };
        remarks.push(format!("races with #{}", timeline.number(other)));
    }
    remarks
}

fn load_order(order: LoadOrder) -> &'static str {
    match order {
        LoadOrder::Plain => "plain",
        LoadOrder::Relaxed => "relaxed",
        LoadOrder::Acquire => "acquire",
        LoadOrder::SeqCst => "seq_cst",
    }
}

fn store_order(order: StoreOrder) -> &'static str {
    match order {
        StoreOrder::Plain => "plain",
        StoreOrder::Relaxed => "relaxed",
        StoreOrder::Release => "release",
        StoreOrder::SeqCst => "seq_cst",
    }
}

fn rmw_order(order: RmwOrder) -> &'static str {
    match order {
        RmwOrder::Relaxed => "relaxed",
        RmwOrder::Acquire => "acquire",
        RmwOrder::Release => "release",
        RmwOrder::AcqRel => "acq_rel",
        RmwOrder::SeqCst => "seq_cst",
    }
}

fn fence_order(order: FenceOrder) -> &'static str {
    match order {
        FenceOrder::Acquire => "acquire",
        FenceOrder::Release => "release",
        FenceOrder::AcqRel => "acq_rel",
        FenceOrder::SeqCst => "seq_cst",
    }
}
