//! One execution, threads side by side.
//!
//! A row is a step; its number stands in the margin and is what reads-from refers to. Where threads are too many for
//! the terminal they share one column, and each row names its own.

use super::TextStyle;
use super::layout::{clean, counted, cut, width, wrap};
use super::library::without_library;
use super::relevant::relevant;
use crate::step_text::{effect, remarks, source, statement};
use crate::{Describe, Order, ShownExecution, Timeline};
use fencepost_trace::{Event, EventId, EventKind, Label, Outcome, ThreadId, Trace};
use std::collections::HashMap;

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
    /// The threads that take part in what was found: of a long execution, what matters to them is shown.
    pub involved: &'a [ThreadId],
    /// What happened between the events.
    pub marks: &'a [Mark],
}

impl<'a> From<&'a ShownExecution> for Execution<'a> {
    fn from(shown: &'a ShownExecution) -> Execution<'a> {
        Execution {
            trace: &shown.trace,
            order: shown.order,
            describe: &*shown.describe,
            races: &shown.races,
            state: &shown.state,
            involved: &shown.involved,
            marks: &shown.marks,
        }
    }
}

/// For each event of an execution whether it is worth showing.
pub(crate) fn relevant_events(shown: &Execution<'_>, timeline: &Timeline) -> Vec<bool> {
    let after = shown.marks.iter().map(|mark| mark.after).max();
    let mut kept = relevant(shown.trace, timeline, shown.involved, after);
    // What comes behind a race means nothing any more.
    let raced = shown.races.iter().map(|(one, other)| timeline.number(*one).max(timeline.number(*other))).min();
    let end = after.or(raced).unwrap_or(u32::MAX);
    for (i, kept) in kept.iter_mut().enumerate() {
        *kept &= timeline.number(EventId(i as u32 + 1)) <= end;
    }
    kept
}

/// Something that is no event but worth a row, such as a plain access that races.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// How many events came before.
    pub after: u32,
    /// Whose.
    pub thread: ThreadId,
    /// Where.
    pub label: Label,
    /// What is to be said.
    pub remark: String,
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
    /// The threads that have one, in order.
    threads: Vec<ThreadId>,
}

/// The execution as text.
pub fn execution(shown: &Execution<'_>, style: TextStyle) -> String {
    let timeline = Timeline::of(shown);
    let relevant = relevant_events(shown, &timeline);
    let kept = if style.whole { relevant.clone() } else { without_library(shown, &timeline, &relevant) };
    let is_shown = |id: EventId| kept.get(id.index() - 1).copied().unwrap_or(false);
    let visible = timeline.events().iter().filter(|id| is_shown(**id)).filter_map(|id| shown.trace.event(*id));
    let mut threads: Vec<ThreadId> =
        visible.map(|event| event.thread).chain(shown.marks.iter().map(|mark| mark.thread)).collect();
    threads.sort();
    threads.dedup();
    let margin = timeline.events().len().to_string().len() + 3;
    let each = style.width.saturating_sub(margin) / threads.len().max(1);
    let apart = each > LEAST_COLUMN;
    let column = if apart { each.saturating_sub(1).min(64) } else { style.width.saturating_sub(margin) };
    let columns = Columns { apart, column, margin, threads };
    let visible = timeline.events().iter().filter(|id| is_shown(**id)).filter_map(|id| shown.trace.event(*id));
    let repeated = repeated(visible, shown.marks);
    let mut text = String::new();
    if apart && !columns.threads.is_empty() {
        text += &header(shown, &columns, style);
    }
    let mut skipped = 0;
    for (position, id) in timeline.events().iter().enumerate() {
        for mark in shown.marks.iter().filter(|mark| mark.after as usize == position) {
            text += &elision(std::mem::take(&mut skipped), &columns, style);
            text += &marked(shown, &timeline, mark, &columns, style);
        }
        let Some(event) = shown.trace.event(*id) else { continue };
        if !is_shown(*id) {
            skipped += 1;
            continue;
        }
        if repeated.get(&event.id).is_some_and(|times| *times == 0) {
            continue;
        }
        text += &elision(std::mem::take(&mut skipped), &columns, style);
        let mut lines = cell(shown, &timeline, event);
        if let (Some(times), Some(Line::Effect(effect))) = (repeated.get(&event.id), lines.get_mut(1)) {
            *effect += &format!(", ×{times}");
        }
        columns.name(&mut lines, event.thread, shown);
        text += &row(&format!("#{}", timeline.number(*id)), event.thread, &lines, &columns, style);
    }
    text += &elision(skipped, &columns, style);
    for mark in shown.marks.iter().filter(|mark| mark.after as usize >= timeline.events().len()) {
        text += &marked(shown, &timeline, mark, &columns, style);
    }
    if kept != relevant {
        let line = format!("{:1$}(steps of the standard library are left out: -v shows them)", "", columns.margin);
        text += &format!("{}\n", style.dim(&line));
    }
    text += &ending(shown, style);
    text
}

/// Reads that say the same as the one before them in the text: each such row has 0, and the row before the first of
/// them how often the read is there.
fn repeated<'a>(visible: impl Iterator<Item = &'a Event>, marks: &[Mark]) -> HashMap<EventId, usize> {
    let mut repeated = HashMap::new();
    let mut before: Option<&Event> = None;
    let mut leader = None;
    for event in visible {
        let is_marked = marks.iter().any(|mark| mark.after as usize == event.id.index() - 1);
        let same = before.is_some_and(|before| {
            let is_load = matches!(event.kind, EventKind::Load { .. });
            is_load
                && !is_marked
                && (before.thread, before.label, &before.kind) == (event.thread, event.label, &event.kind)
        });
        match leader.filter(|_| same) {
            Some(leader) => {
                *repeated.entry(leader).or_insert(1) += 1;
                repeated.insert(event.id, 0);
            }
            None => leader = Some(event.id),
        }
        before = Some(event);
    }
    repeated
}

impl Columns {
    /// Names the thread in a row that does not show it.
    fn name(&self, lines: &mut [Line], thread: ThreadId, shown: &Execution<'_>) {
        if !self.apart
            && let Some(Line::Source(source)) = lines.first_mut()
        {
            *source = format!("{}  {source}", shown.describe.thread(thread));
        }
    }

    fn position(&self, thread: ThreadId) -> usize {
        self.threads.iter().position(|known| *known == thread).unwrap_or(0)
    }
}

fn elision(steps: usize, columns: &Columns, style: TextStyle) -> String {
    match steps {
        0 => String::new(),
        steps => {
            let line = format!("{:1$}… {2} …", "", columns.margin, counted(steps as u64, "step"));
            style.dim(&line) + "\n"
        }
    }
}

fn marked(shown: &Execution<'_>, timeline: &Timeline, mark: &Mark, columns: &Columns, style: TextStyle) -> String {
    let mut lines = vec![Line::Source(statement(shown, timeline, &mark.label)), Line::Remark(mark.remark.clone())];
    columns.name(&mut lines, mark.thread, shown);
    row(">", mark.thread, &lines, columns, style)
}

fn header(shown: &Execution<'_>, columns: &Columns, style: TextStyle) -> String {
    let mut line = " ".repeat(columns.margin);
    for thread in &columns.threads {
        let name = clean(&shown.describe.thread(*thread)).into_owned();
        line += &format!("{:1$} ", cut(&name, columns.column), columns.column);
    }
    style.bold(line.trim_end()) + "\n"
}

fn row(name: &str, thread: ThreadId, lines: &[Line], columns: &Columns, style: TextStyle) -> String {
    let indent = if columns.apart { columns.position(thread) * (columns.column + 1) } else { 0 };
    let mut text = String::new();
    let mut first = true;
    let mut push = |content: String| {
        let margin = if std::mem::take(&mut first) { name } else { "" };
        let before = columns.margin - 2;
        text += format!("{margin:>before$}  {}{content}", " ".repeat(indent)).trim_end();
        text.push('\n');
    };
    for line in lines {
        match line {
            Line::Source(source) => push(fit_source(source, columns.column)),
            Line::Effect(effect) => {
                wrap(effect, columns.column - 2).iter().for_each(|part| push(format!("  {}", style.dim(part))));
            }
            Line::Remark(remark) => {
                wrap(remark, columns.column - 2).iter().for_each(|part| push(format!("  {}", style.notable(part))));
            }
        }
    }
    text
}

/// Source text in a column: what every memory order and every explicit function has in its name goes first, then the
/// end.
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
    let effect = effect(shown, timeline, event);
    if !effect.is_empty() {
        lines.push(Line::Effect(effect));
    }
    lines.extend(remarks(shown, timeline, event).into_iter().map(Line::Remark));
    lines
}

fn ending(shown: &Execution<'_>, style: TextStyle) -> String {
    let names = |threads: &[ThreadId]| {
        threads.iter().map(|thread| shown.describe.thread(*thread)).collect::<Vec<_>>().join(", ")
    };
    let end = match &shown.trace.outcome {
        Outcome::Finished => String::new(),
        Outcome::Failed { thread, failure } => {
            format!("{} fails: {}", shown.describe.thread(*thread), fencepost_trace::FindingKind::from(*failure))
        }
        Outcome::Deadlock { blocked } => format!("deadlock: forever waiting: {}", names(blocked)),
        Outcome::Livelock { spinning } => format!("livelock: forever in a loop: {}", names(spinning)),
        Outcome::StepLimit => "cut off by the limit of steps".to_owned(),
        Outcome::Redundant => "cut off: goes on as another execution does".to_owned(),
    };
    let mut text = String::new();
    if !end.is_empty() {
        text += &format!("{}\n", style.bad(&end));
    }
    if !shown.state.is_empty() && shown.trace.outcome == Outcome::Finished {
        let state: Vec<String> = shown.state.iter().map(|(name, value)| format!("{}={value}", clean(name))).collect();
        for (i, line) in wrap(&state.join(" "), style.width.saturating_sub(13)).iter().enumerate() {
            text += &format!("{:11}  {}\n", if i == 0 { "final state" } else { "" }, style.bold(line));
        }
    }
    text
}
