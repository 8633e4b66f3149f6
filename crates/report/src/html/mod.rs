//! HTML: one self-contained page with the execution of each finding to step through.
//!
//! The page is data (`data`) in a frame (`page`): what the script shows is what stands in the data, and nothing else.
//! It needs no network and no other file.

use crate::relations::{Relation, cycle, edges};
use crate::text::{Execution, Mark, TextStyle, relevant_events};
use crate::{Document, Evidence, LitmusReport, Reached, Report, ShownExecution, StateCount, Timeline, step_text, text};
use fencepost_trace::{Event, EventKind, Finding, FindingKind, Label, Location, Needs, Severity};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// So many lines of source around each place are part of the page.
const AROUND: u32 = 4;

/// The whole page.
pub fn render(document: &Document<'_>, _: TextStyle) -> String {
    page(&data(document))
}

/// A page that shows this data.
pub fn page(data: &Value) -> String {
    // A script ends at the first `</script>`, wherever it stands.
    let text = data.to_string().replace('<', "\\u003c");
    let title = data["target"].as_str().unwrap_or("report").replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – Fencepost</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main id=\"page\"></main>\n<script type=\"application/json\" id=\"data\">{text}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// What a litmus test can do under each model, as part of the data of a page: see [`litmus_page`].
///
/// `executions` has for each model, and each of its states, an execution that ends in it, as far as there is one.
pub fn litmus(report: &LitmusReport, executions: &[Vec<Option<ShownExecution>>]) -> Value {
    let mut sources = Sources::default();
    let models = report.results.iter().enumerate().map(|(i, result)| {
        let mut shown =
            |k: usize| -> Option<Value> { Some(execution(executions.get(i)?.get(k)?.as_ref()?, true, &mut sources)) };
        let (race, states) = match &result.reached {
            Reached::Race(_) => (true, vec![json!({ "values": [], "executions": 0, "execution": shown(0) })]),
            Reached::States(states) => {
                let state = |(k, state): (usize, &StateCount)| {
                    json!({ "values": state.values, "executions": state.executions, "satisfies": state.satisfies,
                            "execution": shown(k) })
                };
                (false, states.iter().enumerate().map(state).collect())
            }
        };
        json!({ "model": result.model.name(), "executions": result.executions, "complete": result.complete,
                "race": race, "states": states })
    });
    let models: Vec<Value> = models.collect();
    let condition = report.condition.as_ref().map(ToString::to_string);
    json!({ "test": report.test, "file": report.file, "vars": report.vars, "condition": condition, "models": models,
            "sources": sources.0 })
}

/// A page of litmus tests, each as [`litmus`] has it.
pub fn litmus_page(tests: &[Value]) -> String {
    let files: Vec<&str> = tests.iter().filter_map(|test| test["file"].as_str()).collect();
    let target = match files[..] {
        [file] => file.to_owned(),
        _ => format!("{} litmus tests", files.len()),
    };
    page(&json!({ "version": env!("CARGO_PKG_VERSION"), "command": "litmus", "target": target, "tests": tests }))
}

/// What the page shows.
pub fn data(document: &Document<'_>) -> Value {
    let report = document.report;
    let nothing = Evidence::default();
    let findings: Vec<Value> = (report.findings().iter().enumerate())
        .map(|(i, finding)| shown(document, finding, document.evidence.get(i).unwrap_or(&nothing)))
        .collect();
    let mut data = json!({
        "version": report.version(),
        "command": report.command().to_string(),
        "target": report.target(),
        "model": report.model().name(),
        "seed": report.seed(),
        "verdict": report.verdict().to_string(),
        "executions": report.executions(),
        "seconds": report.seconds(),
        "findings": findings,
    });
    if let Report::Run(run) = report
        && let Some(seen) = &run.coverage
    {
        data["growth"] = json!(seen.growth);
        data["failing"] = run.failing_executions.into();
    }
    if let Report::Hunt(hunt) = report {
        data["cycles"] = (hunt.cycles.iter())
            .map(|cycle| {
                let labels: Vec<Value> = cycle.labels.iter().map(|label| place(document, label)).collect();
                let (trials, exposed, harmful) = (cycle.trials, cycle.exposed, cycle.harmful);
                json!({ "labels": labels, "outcome": severity(cycle.outcome), "trials": trials, "exposed": exposed,
                        "harmful": harmful })
            })
            .collect();
    }
    data
}

fn severity(severity: Severity) -> Value {
    json!(severity)
}

fn place(document: &Document<'_>, label: &fencepost_trace::FindingLabel) -> Value {
    json!({
        "thread": document.describe.thread(label.thread),
        "access": label.access.to_string(),
        "file": label.label.file, "line": label.label.line, "function": label.label.function,
    })
}

fn shown(document: &Document<'_>, finding: &Finding, evidence: &Evidence) -> Value {
    let mut sources = Sources::default();
    for label in &finding.labels {
        sources.add(document.describe.source(&label.label), &label.label);
    }
    let frame = |function: &str, file: &str, line: u32| json!({ "function": function, "file": file, "line": line });
    let own = finding.stacks.iter().map(|stack| {
        let frames: Vec<Value> = stack.frames.iter().map(|f| frame(&f.function, &f.file, f.line)).collect();
        json!({ "title": stack.title, "frames": frames })
    });
    let others = evidence.stacks.iter().map(|stack| {
        let frames: Vec<Value> =
            stack.calls.iter().map(|c| frame(&c.label.function, &c.label.file, c.label.line)).collect();
        json!({ "title": stack.title, "frames": frames })
    });
    let stacks: Vec<Value> = own.chain(others).collect();
    let labels: Vec<Value> = finding.labels.iter().map(|label| place(document, label)).collect();
    let with_cycle = finding.kind == FindingKind::ScViolation;
    let minimised = evidence.execution.as_ref().map(|e| execution(e, with_cycle, &mut sources));
    let first = evidence.first.as_ref().map(|e| execution(e, with_cycle, &mut sources));
    json!({
        "id": finding.id,
        "kind": finding.kind.to_string(),
        "severity": severity(finding.severity),
        "message": finding.message,
        "reason": finding.reason,
        "fix": finding.fix.as_ref().map(|fix| {
            format!("{} (verified: so run, it is not met in {})", fix.text, text::counted(fix.executions, "execution"))
        }),
        "memory": finding.memory.as_ref().map(|memory| memory.text.clone()),
        "count": finding.count,
        "first": finding.first_execution,
        "replay": finding.replay,
        "labels": labels,
        "stacks": stacks,
        "stdout": evidence.stdout,
        "stderr": evidence.stderr,
        "execution": minimised,
        "first_execution": first,
        "needs": finding.needs.as_ref().map(needs_text),
        "first_needs": finding.first_met.as_ref().map(|first| needs_text(&first.needs)),
        "first_replay": finding.first_met.as_ref().and_then(|first| first.replay.clone()),
        "sources": sources.0,
    })
}

/// `1 stale read and 2 context switches, in 12 operations`.
fn needs_text(needs: &Needs) -> String {
    format!("{}, in {}", text::oddities(needs), text::counted(needs.operations.into(), "operation"))
}

/// By file: lines of source with their numbers.
#[derive(Default)]
struct Sources(BTreeMap<String, BTreeMap<u32, String>>);

impl Sources {
    /// Is a place there already?
    fn has(&self, label: &Label) -> bool {
        self.0.get(&label.file).is_some_and(|lines| lines.contains_key(&label.line))
    }

    fn add(&mut self, text: Option<String>, label: &Label) {
        let Some(text) = text.filter(|_| label.line != 0) else { return };
        let lines = self.0.entry(label.file.clone()).or_default();
        let first = label.line.saturating_sub(AROUND).max(1);
        for (line, text) in (1u32..).zip(text.lines()).skip(first as usize - 1).take(2 * AROUND as usize + 1) {
            lines.insert(line, text.to_owned());
        }
    }
}

fn execution(shown: &ShownExecution, with_cycle: bool, sources: &mut Sources) -> Value {
    let view = Execution::from(shown);
    let timeline = Timeline::of(&view);
    let kept = relevant_events(&view, &timeline);
    let mut around = BTreeSet::new();
    let mut steps: Vec<Value> = Vec::new();
    let marks_after = |position: usize| view.marks.iter().filter(move |mark| mark.after as usize == position);
    for (position, id) in timeline.events().iter().enumerate() {
        steps.extend(marks_after(position).map(|mark| marked(&view, &timeline, mark)));
        let Some(event) = view.trace.event(*id) else { continue };
        if let Some(label) = view.trace.label(event)
            && around.insert(event.label)
            && !sources.has(label)
        {
            sources.add(view.describe.source(label), label);
        }
        let is_kept = kept.get(id.index() - 1).copied().unwrap_or(false);
        steps.push(step(&view, &timeline, event, is_kept));
    }
    let end = timeline.events().len();
    let late = view.marks.iter().filter(|mark| mark.after as usize >= end);
    steps.extend(late.map(|mark| marked(&view, &timeline, mark)));
    let all = edges(view.trace);
    let number = |id| timeline.number(id);
    let cycle: Vec<u32> =
        if with_cycle { cycle(view.trace, &all).into_iter().map(number).collect() } else { Vec::new() };
    // Program order is the order in a lane: the page draws it by itself.
    let drawn = all.iter().filter(|(relation, ..)| *relation != Relation::Program);
    let edges: Vec<Value> =
        drawn.map(|(relation, from, to)| json!([relation.name(), number(*from), number(*to)])).collect();
    let coherence: Vec<Value> = (view.trace.coherence.iter())
        .filter_map(|list| {
            let first = list.stores.iter().find_map(|store| view.trace.event(*store)?.kind.location())?;
            let stores: Vec<u32> = list.stores.iter().map(|store| number(*store)).collect();
            first.as_hidden().is_none().then(|| json!([view.describe.location(first), stores]))
        })
        .collect();
    let threads: Vec<String> =
        (0..view.trace.threads).map(|thread| view.describe.thread(fencepost_trace::ThreadId(thread))).collect();
    json!({ "threads": threads, "steps": steps, "edges": edges, "cycle": cycle, "coherence": coherence,
            "state": view.state, "model": view.trace.model.name() })
}

/// One step. Names are short, since there may be many of them.
fn step(view: &Execution<'_>, timeline: &Timeline, event: &Event, is_kept: bool) -> Value {
    let mut step = Map::new();
    step.insert("n".into(), timeline.number(event.id).into());
    step.insert("t".into(), event.thread.0.into());
    let kind = match &event.kind {
        kind if kind.location().and_then(Location::as_hidden).is_some() => "sync",
        EventKind::Load { .. } => "load",
        EventKind::Store { .. } => "store",
        EventKind::Rmw { .. } => "rmw",
        EventKind::Fence { .. } => "fence",
        EventKind::Commit { .. } => "commit",
    };
    step.insert("k".into(), kind.into());
    step.insert("s".into(), step_text::source(view, timeline, event).into());
    step.insert("e".into(), step_text::effect(view, timeline, event).into());
    let remarks = step_text::remarks(view, timeline, event);
    if !remarks.is_empty() {
        step.insert("r".into(), remarks.into());
    }
    if let Some(label) = view.trace.label(event).filter(|label| label.line != 0) {
        step.insert("file".into(), label.file.as_str().into());
        step.insert("line".into(), label.line.into());
        step.insert("fn".into(), label.function.as_str().into());
    }
    match event.kind {
        EventKind::Commit { store } => drop(step.insert("of".into(), timeline.number(store).into())),
        EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => {
            step.insert("from".into(), timeline.number(from).into());
        }
        _ => {}
    }
    if let Some(at) = event.kind.location().filter(|at| at.as_hidden().is_none()) {
        step.insert("at".into(), view.describe.location(at).into());
        let read = match event.kind {
            EventKind::Load { value, .. } => Some(value),
            EventKind::Rmw { read, .. } => Some(read),
            _ => None,
        };
        read.map(|value| step.insert("read".into(), view.describe.value(at, value).into()));
        event.kind.written().map(|value| step.insert("wrote".into(), view.describe.value(at, value).into()));
    }
    if timeline.is_buffered(event.id) {
        step.insert("buffered".into(), true.into());
    }
    if !event.clock.is_empty() {
        step.insert("clock".into(), event.clock.clone().into());
    }
    if is_kept {
        step.insert("main".into(), true.into());
    }
    step.into()
}

/// What is no event, but worth a row.
fn marked(view: &Execution<'_>, timeline: &Timeline, mark: &Mark) -> Value {
    let source = step_text::statement(view, timeline, &mark.label);
    json!({ "t": mark.thread.0, "k": "mark", "s": source, "e": "", "r": [mark.remark],
            "file": mark.label.file, "line": mark.label.line, "fn": mark.label.function, "main": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_program_does_not_end_the_script() {
        let data = json!({ "target": "<b>&.c", "findings": [{ "stdout": "</script><script>alert(1)</script>" }] });
        let page = page(&data);
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        assert!(page.contains("<title>&lt;b>&amp;.c"), "{page}");
        let start = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
        let text = &page[start..][..page[start..].find("</script>").expect("its end")];
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), data);
    }

    #[test]
    fn lines_around_a_place_are_kept_once() {
        let mut sources = Sources::default();
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let label = |line| Label { file: "a.c".into(), line, ..Label::default() };
        sources.add(Some(text.clone()), &label(2));
        sources.add(Some(text), &label(5));
        let lines: Vec<u32> = sources.0["a.c"].keys().copied().collect();
        assert_eq!(lines, (1..=9).collect::<Vec<_>>());
        assert!(sources.has(&label(9)) && !sources.has(&label(10)));
    }
}
