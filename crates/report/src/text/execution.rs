//! One execution, threads side by side.
//!
//! A row is a step; its number stands in the margin and is what reads-from refers to. Where threads are too many for the
//! terminal they share one column, and each row names its own.

use super::Look;
use super::layout::{clean, cut, width, wrap};
use crate::order::Staleness;
use crate::{Describe, Order, Timeline};
use fencepost_trace::{
    Event, EventId, EventKind, FenceOrder, Hidden, LoadOrder, Location, Outcome, RmwOrder, StoreOrder, Trace,
};

/// Narrower columns than this are not worth reading.
const LEAST_COLUMN: usize = 22;

/// What is shown.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// What happened.
    pub trace: &'a Trace,
    /// In which order.
    pub order: Order,
    /// The words for it.
    pub describe: &'a dyn Describe,
    /// The accesses that race.
    pub races: &'a [(EventId, EventId)],
    /// The final state, as names and values.
    pub state: &'a [(String, String)],
}

/// A line of a cell.
enum Line {
    Source(String),
    Effect(String),
    Remark(String),
}

struct Columns {
    /// Does each thread have its own?
    apart: bool,
    column: usize,
    margin: usize,
}

/// The execution as text.
pub fn execution(shown: &Execution<'_>, look: Look) -> String {
    let timeline = Timeline::new(shown.trace, shown.order);
    let threads = shown.trace.threads as usize;
    let margin = timeline.events().len().to_string().len() + 3;
    let each = look.width.saturating_sub(margin) / threads.max(1);
    let apart = each > LEAST_COLUMN;
    let column = if apart { each.saturating_sub(1).min(64) } else { look.width.saturating_sub(margin) };
    let columns = Columns { apart, column, margin };
    let mut text = String::new();
    if apart {
        text += &header(shown, &columns, look);
    }
    for id in timeline.events() {
        let Some(event) = shown.trace.event(*id) else { continue };
        let mut lines = cell(shown, &timeline, event);
        if !apart && let Some(Line::Source(source)) = lines.first_mut() {
            *source = format!("{}  {source}", shown.describe.thread(event.thread));
        }
        text += &row(timeline.number(*id), event, &lines, &columns, look);
    }
    text += &ending(shown, look);
    text
}

fn header(shown: &Execution<'_>, columns: &Columns, look: Look) -> String {
    let mut line = " ".repeat(columns.margin);
    for thread in 0..shown.trace.threads {
        let name = clean(&shown.describe.thread(fencepost_trace::ThreadId(thread))).into_owned();
        line += &format!("{:1$} ", cut(&name, columns.column), columns.column);
    }
    look.bold(line.trim_end()) + "\n"
}

fn row(number: u32, event: &Event, lines: &[Line], columns: &Columns, look: Look) -> String {
    let indent = if columns.apart { event.thread.index() * (columns.column + 1) } else { 0 };
    let mut text = String::new();
    let mut first = true;
    let mut push = |content: String| {
        let margin = if std::mem::take(&mut first) { format!("#{number}") } else { String::new() };
        let before = columns.margin - 2;
        text += format!("{margin:>before$}  {}{content}", " ".repeat(indent)).trim_end();
        text.push('\n');
    };
    for line in lines {
        match line {
            Line::Source(source) => push(fit_source(source, columns.column)),
            Line::Effect(effect) => {
                wrap(effect, columns.column - 2).iter().for_each(|part| push(format!("  {}", look.dim(part))));
            }
            Line::Remark(remark) => {
                wrap(remark, columns.column - 2).iter().for_each(|part| push(format!("  {}", look.notable(part))));
            }
        }
    }
    text
}

/// Source text in a column: what every memory order and every explicit function has in its name goes first, then the end.
fn fit_source(source: &str, most: usize) -> String {
    let mut source = source.to_owned();
    for dispensable in ["memory_order_", "_explicit"] {
        if width(&source) > most {
            source = source.replace(dispensable, "");
        }
    }
    cut(&source, most)
}

/// What a step did: its statement, its effect, and what is odd about it.
fn cell(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> Vec<Line> {
    let mut lines = vec![Line::Source(source(shown, timeline, event))];
    let named = |at| clean(&shown.describe.location(at)).into_owned();
    let from = |store: EventId| match store.is_init() {
        true => "the initial value".to_owned(),
        false if timeline.reads_own_buffer(event.id, store) => format!("#{} in its own buffer", timeline.number(store)),
        false => format!("#{}", timeline.number(store)),
    };
    let effect = match &event.kind {
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
    };
    if !effect.is_empty() {
        lines.push(Line::Effect(effect));
    }
    lines.extend(remarks(shown, timeline, event).into_iter().map(Line::Remark));
    lines
}

fn source(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> String {
    if let EventKind::Commit { store } = event.kind {
        return format!("#{} ({}) leaves the buffer", timeline.number(store), wrote(shown, store));
    }
    // These two are nobody's statements.
    match (event.kind.location().and_then(Location::as_hidden), event.kind.is_read()) {
        (Some((Hidden::ThreadStart, _)), true) => return "starts".to_owned(),
        (Some((Hidden::ThreadEnd, _)), false) => return "ends".to_owned(),
        _ => {}
    }
    let Some(label) = shown.trace.label(event) else { return String::new() };
    let statement = shown.describe.statement(label).unwrap_or_else(|| label.function.clone());
    let line = if label.line == 0 { String::new() } else { format!("{}: ", label.line) };
    format!("{line}{}", clean(&statement))
}

/// What an access of a hidden location means to the program, and the object, if it has a name. Empty if the source says it all.
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
        _ => return None,
    };
    Some((words.to_owned(), Some(at)))
}

fn wrote(shown: &Execution<'_>, store: EventId) -> String {
    let Some(kind) = shown.trace.event(store).map(|event| &event.kind) else { return String::new() };
    let (Some(at), Some(value)) = (kind.location(), kind.written()) else { return String::new() };
    format!("{} = {}", clean(&shown.describe.location(at)), shown.describe.value(at, value))
}

fn remarks(shown: &Execution<'_>, timeline: &Timeline, event: &Event) -> Vec<String> {
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

fn ending(shown: &Execution<'_>, look: Look) -> String {
    let names = |threads: &[fencepost_trace::ThreadId]| {
        threads.iter().map(|thread| shown.describe.thread(*thread)).collect::<Vec<_>>().join(", ")
    };
    let end = match &shown.trace.outcome {
        Outcome::Finished => String::new(),
        Outcome::Failed { thread, failure } => {
            format!("{} fails: {}", shown.describe.thread(*thread), fencepost_trace::FindingKind::from(*failure))
        }
        Outcome::Deadlock { blocked } => format!("deadlock: for ever waiting: {}", names(blocked)),
        Outcome::Livelock { spinning } => format!("livelock: for ever in a loop: {}", names(spinning)),
        Outcome::StepLimit => "cut off by the limit of steps".to_owned(),
        Outcome::Redundant => "cut off: goes on as another execution does".to_owned(),
    };
    let mut text = String::new();
    if !end.is_empty() {
        text += &format!("{}\n", look.bad(&end));
    }
    if !shown.state.is_empty() && shown.trace.outcome == Outcome::Finished {
        let state: Vec<String> = shown.state.iter().map(|(name, value)| format!("{}={value}", clean(name))).collect();
        for (i, line) in wrap(&state.join(" "), look.width.saturating_sub(13)).iter().enumerate() {
            text += &format!("{:11}  {}\n", if i == 0 { "final state" } else { "" }, look.bold(line));
        }
    }
    text
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
