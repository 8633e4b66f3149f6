//! What a failed check says.

use super::explore::{Found, weight};
use super::names::Names;
use fencepost_report::text::{self, Mark, TextStyle};
use fencepost_report::{Order, Timeline};
use fencepost_trace::{EventId, FindingKind, Label, ThreadId, Trace};
use std::fmt;

/// Why a check failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What was found; `None` if the test cannot be checked.
    pub kind: Option<FindingKind>,
    /// What is to be said of it.
    pub message: String,
    /// The program points that take part, with what their threads did there.
    pub places: Vec<(Label, u32, &'static str)>,
    /// In which execution it was found.
    pub execution: u64,
    /// What replays it: the value of `FENCEPOST_REPLAY`, and of [`replay`](crate::replay).
    pub replay: String,
    /// The execution, threads side by side.
    pub shown: String,
    test: String,
}

/// An execution as it is shown.
pub(super) struct Shown {
    text: String,
}

impl Shown {
    pub(super) fn new(trace: Trace, races: Vec<(EventId, EventId)>, graph: bool, found: Option<&Found>) -> Shown {
        let threads = found.map(|found| found.threads.clone()).unwrap_or_default();
        let names = Names::new(&trace, threads);
        let order = if graph { Order::Graph } else { Order::Executed };
        let timeline = Timeline::new(&trace, order);
        let places = found.map(|found| found.places.as_slice()).unwrap_or_default();
        let is_mark = found.is_some_and(|found| found.kind == FindingKind::DataRace);
        let mark = |(thread, after, label, what): &(ThreadId, u32, Label, &'static str)| {
            (is_mark && *after != u32::MAX).then(|| Mark {
                after: position(&trace, &timeline, *thread, *after, graph),
                thread: *thread,
                label: label.clone(),
                remark: format!("races: {what}"),
            })
        };
        let marks: Vec<Mark> = places.iter().filter_map(mark).collect();
        let shown = text::Execution {
            trace: &trace,
            order,
            describe: &names,
            races: &races,
            state: &[],
            involved: &[],
            marks: &marks,
        };
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
        Shown { text: text::execution(&shown, TextStyle { width, ..TextStyle::PLAIN }) }
    }
}

/// The number of events before what `thread` does after `after` of its own.
fn position(trace: &Trace, timeline: &Timeline, thread: ThreadId, after: u32, graph: bool) -> u32 {
    let mut seen = 0;
    let mut last = 0;
    for (i, id) in timeline.events().iter().enumerate() {
        let Some(event) = trace.event(*id).filter(|event| event.thread == thread) else { continue };
        seen += weight(&event.kind, graph);
        if seen <= after {
            last = i as u32 + 1;
        }
    }
    last
}

impl Failure {
    pub(super) fn new(found: Found, shown: Option<Shown>, execution: u64, replay: String, test: &str) -> Failure {
        let places = found.places.into_iter().map(|(thread, _, label, what)| (label, thread.0, what)).collect();
        Failure {
            kind: Some(found.kind),
            message: found.message,
            places,
            execution,
            replay,
            shown: shown.map(|shown| shown.text).unwrap_or_default(),
            test: test.to_owned(),
        }
    }

    /// The test cannot be checked.
    pub(super) fn unusable(message: &str) -> Box<Failure> {
        Box::new(Failure {
            kind: None,
            message: message.to_owned(),
            places: Vec::new(),
            execution: 0,
            replay: String::new(),
            shown: String::new(),
            test: String::new(),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(kind) = self.kind else { return write!(f, "fencepost: {}", self.message) };
        writeln!(f, "fencepost: {kind} in execution {}: {}", self.execution, self.message)?;
        for (label, thread, what) in &self.places {
            writeln!(f, "  thread {thread} {what}: {}:{}:{}", label.file, label.line, label.column)?;
        }
        if !self.shown.is_empty() {
            write!(f, "\n{}", self.shown)?;
        }
        if !self.replay.is_empty() {
            write!(f, "\nto replay it: FENCEPOST_REPLAY='{}' cargo test -- --exact {}", self.replay, self.test)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
