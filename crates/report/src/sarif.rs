//! SARIF 2.1.0: what code hosts and editors annotate source lines from.
//!
//! A finding is a result. Both places of a race are there, one as the location and the other as a related one, and the
//! execution is a code flow: a thread flow for each thread, with `executionOrder` for how they interleave.

use crate::text::{Execution, TextStyle, clean, relevant_events};
use crate::{Document, Evidence, ShownExecution, Timeline, step_text};
use fencepost_trace::{Finding, FindingKind, FindingLabel, Label, Severity, ThreadId};
use serde_json::{Map, Value, json};

pub fn render(document: &Document<'_>, _: TextStyle) -> String {
    let mut text = serde_json::to_string_pretty(&log(document)).expect("a report is always JSON");
    text.push('\n');
    text
}

fn log(document: &Document<'_>) -> Value {
    let report = document.report;
    let findings = report.findings();
    let mut kinds: Vec<FindingKind> = findings.iter().map(|finding| finding.kind).collect();
    kinds.sort();
    kinds.dedup();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind)).collect();
    let empty = Evidence::default();
    let results: Vec<Value> = findings
        .iter()
        .enumerate()
        .map(|(i, finding)| result(document, finding, &kinds, document.evidence.get(i).unwrap_or(&empty)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "Fencepost", "version": report.version(), "rules": rules } },
            "invocations": [{ "executionSuccessful": true }],
            "columnKind": "unicodeCodePoints",
            "properties": {
                "command": report.command().to_string(),
                "target": report.target(),
                "model": report.model().name(),
                "seed": report.seed(),
                "verdict": report.verdict().to_string(),
                "executions": report.executions(),
            },
            "results": results,
        }],
    })
}

fn rule(kind: FindingKind) -> Value {
    let (short, full) = about(kind);
    json!({
        "id": kind.to_string(),
        "name": camel(&kind.to_string()),
        "shortDescription": { "text": short },
        "fullDescription": { "text": full },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["concurrency", "memory-model"] },
    })
}

/// `data-race` as `DataRace`.
fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

/// What a kind of finding is.
fn about(kind: FindingKind) -> (&'static str, &'static str) {
    match kind {
        FindingKind::DataRace => (
            "Data race",
            "Two accesses to the same memory, at least one a write and one not atomic, and nothing orders them: \
             undefined behaviour in C, C++ and Rust.",
        ),
        FindingKind::Assertion => ("Assertion failed", "An assertion fails in an execution that the model permits."),
        FindingKind::Abort => ("Abort", "The program aborts in an execution that the model permits."),
        FindingKind::Crash => ("Crash", "The program crashes in an execution that the model permits."),
        FindingKind::Panic => ("Panic", "The program panics in an execution that the model permits."),
        FindingKind::Deadlock => ("Deadlock", "Every thread that is left waits for another."),
        FindingKind::Livelock => ("Livelock", "Every thread that is left goes around a loop that nobody ends."),
        FindingKind::UseAfterFree => ("Use after free", "Memory is used after it was given back."),
        FindingKind::DoubleFree => ("Double free", "Memory is given back twice."),
        FindingKind::HeapOverflow => ("Heap overflow", "An access goes past a block of memory."),
        FindingKind::MutexMisuse => ("Misuse of a lock", "A lock or the like is used in a way that is undefined."),
        FindingKind::UninitialisedRead => ("Uninitialised read", "Memory is read that nobody wrote."),
        FindingKind::Leak => ("Leak", "Memory is not given back."),
        FindingKind::ScViolation => (
            "Violation of sequential consistency",
            "An execution that no interleaving of the threads explains: the accesses named form a cycle.",
        ),
        FindingKind::SpecViolation => (
            "Violation of the specification",
            "The program observes what it never does when each operation takes effect at once.",
        ),
        FindingKind::ExitStatus => ("Exit status", "The program ends with a status other than 0."),
    }
}

fn result(document: &Document<'_>, finding: &Finding, kinds: &[FindingKind], evidence: &Evidence) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".into(), finding.kind.to_string().into());
    result.insert("ruleIndex".into(), kinds.iter().position(|kind| *kind == finding.kind).into());
    let level = if finding.severity == Severity::Harmful { "error" } else { "note" };
    result.insert("level".into(), level.into());
    result.insert("message".into(), json!({ "text": message(finding) }));
    let place = |i: usize, label: &FindingLabel| {
        let words = format!("{} {}", document.describe.thread(label.thread), label.access);
        location(&label.label, Some(words.trim()), Some(i))
    };
    let labels: Vec<Value> = finding.labels.iter().enumerate().map(|(i, label)| place(i, label)).collect();
    let (first, others) = labels.split_at(labels.len().min(1));
    result.insert("locations".into(), first.to_vec().into());
    if !others.is_empty() {
        result.insert("relatedLocations".into(), others.to_vec().into());
    }
    if let Some(execution) = &evidence.execution {
        result.insert("codeFlows".into(), json!([code_flow(execution)]));
    }
    let stacks: Vec<Value> = (finding.stacks.iter())
        .filter(|stack| !stack.frames.is_empty())
        .map(|stack| {
            let frames = stack.frames.iter().map(|frame| json!({ "location": location(frame, None, None) }));
            json!({ "message": { "text": stack.title }, "frames": frames.collect::<Vec<_>>() })
        })
        .collect();
    if !stacks.is_empty() {
        result.insert("stacks".into(), stacks.into());
    }
    if finding.count > 0 {
        result.insert("occurrenceCount".into(), finding.count.into());
    }
    result.insert("partialFingerprints".into(), json!({ "fencepost/v1": fingerprint(finding) }));
    let mut properties = Map::new();
    properties.insert("severity".into(), json!(finding.severity));
    properties.insert("firstExecution".into(), finding.first_execution.into());
    if let Some(replay) = &finding.replay {
        properties.insert("replay".into(), replay.as_str().into());
    }
    result.insert("properties".into(), properties.into());
    result.into()
}

/// The message, what memory it is about and why.
fn message(finding: &Finding) -> String {
    let mut text = clean(&finding.message).into_owned();
    if let Some(memory) =
        finding.memory.as_ref().filter(|memory| !text.contains(&memory.name) || memory.name.is_empty())
    {
        text += &format!("; memory: {}", clean(&memory.text));
    }
    finding.reason.iter().for_each(|reason| text += &format!(". {}", clean(reason)));
    text
}

/// What stays the same while lines move: the kind, the functions and what they do.
fn fingerprint(finding: &Finding) -> String {
    let mut parts = vec![finding.kind.to_string()];
    parts.extend(finding.labels.iter().map(|label| format!("{}:{}", label.label.function, label.access)));
    parts.join("|")
}

fn location(label: &Label, message: Option<&str>, id: Option<usize>) -> Value {
    let mut location = Map::new();
    if let Some(id) = id {
        location.insert("id".into(), id.into());
    }
    if !label.file.is_empty() {
        let mut physical = json!({ "artifactLocation": { "uri": uri(&label.file) } });
        if label.line > 0 {
            let mut region = json!({ "startLine": label.line });
            if label.column > 0 {
                region["startColumn"] = label.column.into();
            }
            physical["region"] = region;
        }
        location.insert("physicalLocation".into(), physical);
    }
    if !label.function.is_empty() {
        let function = clean(&label.function);
        location.insert("logicalLocations".into(), json!([{ "name": function, "kind": "function" }]));
    }
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        location.insert("message".into(), json!({ "text": clean(message) }));
    }
    location.into()
}

/// A file as a URI: relative if its name is.
fn uri(file: &str) -> String {
    let (start, path) = match file.starts_with('/') {
        true => ("file://", file),
        false => ("", file.strip_prefix("./").unwrap_or(file)),
    };
    let mut text = start.to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
                text.push(byte as char)
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

/// The execution: what the text report shows of it, a flow for each thread.
fn code_flow(shown: &ShownExecution) -> Value {
    let view = Execution::from(shown);
    let timeline = Timeline::of(&view);
    let kept = relevant_events(&view, &timeline);
    let mut flows: Vec<(ThreadId, Vec<Value>)> = Vec::new();
    let mut add = |thread: ThreadId, step: Value| match flows.iter_mut().find(|(known, _)| *known == thread) {
        Some((_, steps)) => steps.push(step),
        None => flows.push((thread, vec![step])),
    };
    let events = timeline.events().iter().filter_map(|id| view.trace.event(*id));
    let mut order = 0;
    for (position, event) in events.map(Some).chain([None]).enumerate() {
        let here = |after: u32| if event.is_some() { after as usize == position } else { after as usize >= position };
        for mark in view.marks.iter().filter(|mark| here(mark.after)) {
            order += 1;
            add(mark.thread, flow_step(Some(&mark.label), &mark.remark, order, true));
        }
        let Some(event) = event.filter(|event| kept.get(event.id.index() - 1).copied().unwrap_or(false)) else {
            continue;
        };
        order += 1;
        let remarks = step_text::remarks(&view, &timeline, event);
        let mut text = step_text::effect(&view, &timeline, event);
        if text.is_empty() {
            text = step_text::source(&view, &timeline, event);
        }
        remarks.iter().for_each(|remark| text += &format!("; {remark}"));
        let text = format!("#{}: {text}", timeline.number(event.id));
        add(event.thread, flow_step(view.trace.label(event), &text, order, !remarks.is_empty()));
    }
    let flows: Vec<Value> = flows
        .into_iter()
        .map(|(thread, steps)| json!({ "id": view.describe.thread(thread), "locations": steps }))
        .collect();
    json!({ "message": { "text": "the execution that shows it" }, "threadFlows": flows })
}

fn flow_step(label: Option<&Label>, text: &str, order: u64, odd: bool) -> Value {
    let unknown = Label::default();
    json!({
        "location": location(label.unwrap_or(&unknown), Some(text), None),
        "executionOrder": order,
        "importance": if odd { "essential" } else { "important" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_relative_where_they_can_be() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("./a.c"), "a.c");
        assert_eq!(uri("/home/me/a.c"), "file:///home/me/a.c");
        assert_eq!(camel("use-after-free"), "UseAfterFree");
    }
}
