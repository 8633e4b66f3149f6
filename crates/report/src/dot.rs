//! Graphviz dot: the execution of each finding as a graph, threads as columns.
//!
//! `dot -Tsvg -O FILE` makes a picture of each. Several findings are several graphs in one file.

use crate::relations::{Relation, cycle, edges};
use crate::text::{Execution, TextStyle, relevant_events};
use crate::{Document, ShownExecution, Timeline, step_text};
use fencepost_trace::{EventId, FindingKind, ThreadId};
use std::collections::BTreeMap;

pub fn render(document: &Document<'_>, _: TextStyle) -> String {
    let findings = document.report.findings();
    let shown = findings.iter().zip(document.evidence).filter_map(|(f, e)| Some((f, e.execution.as_ref()?)));
    let graphs: Vec<String> = shown
        .map(|(finding, execution)| {
            let name = format!("finding {}: {}", finding.id, finding.message);
            graph(&name, execution, finding.kind == FindingKind::ScViolation)
        })
        .collect();
    if graphs.is_empty() { "digraph \"nothing was found\" {\n}\n".to_owned() } else { graphs.join("\n") }
}

/// An execution as a graph; of a long one, what the text shows.
pub fn graph(name: &str, shown: &ShownExecution, with_cycle: bool) -> String {
    let view = Execution::from(shown);
    let timeline = Timeline::of(&view);
    let kept = relevant_events(&view, &timeline);
    let is_kept = |id: EventId| !id.is_init() && kept.get(id.index() - 1).copied().unwrap_or(false);
    let edges = edges(view.trace);
    let cycle = if with_cycle { cycle(view.trace, &edges) } else { Vec::new() };
    let mut threads: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    for id in timeline.events().iter().filter(|id| is_kept(**id)) {
        if let Some(event) = view.trace.event(*id) {
            threads.entry(event.thread).or_default().push(*id);
        }
    }
    let mut text = format!("digraph {} {{\n", quoted(name));
    text += "  graph [rankdir=TB, newrank=true, fontname=\"sans-serif\", labelloc=t, label=";
    text += &format!("{}];\n", quoted(name));
    text += "  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n";
    text += "  edge [fontname=\"sans-serif\", fontsize=9];\n";
    for (thread, events) in &threads {
        text += &format!("  subgraph \"cluster_{thread}\" {{\n    label={};\n", quoted(&view.describe.thread(*thread)));
        for event in events.iter().filter_map(|id| view.trace.event(*id)) {
            let mut label = format!("#{}  {}", timeline.number(event.id), step_text::source(&view, &timeline, event));
            let more = [step_text::effect(&view, &timeline, event)]
                .into_iter()
                .chain(step_text::remarks(&view, &timeline, event));
            more.filter(|line| !line.is_empty()).for_each(|line| label += &format!("\n{line}"));
            let mark = if cycle.contains(&event.id) { ", color=red, penwidth=2" } else { "" };
            text += &format!("    e{} [label={}{mark}];\n", timeline.number(event.id), quoted(&label));
        }
        // Program order, over what is left out.
        for pair in events.windows(2) {
            text += &format!("    e{} -> e{} [weight=9];\n", timeline.number(pair[0]), timeline.number(pair[1]));
        }
        text += "  }\n";
    }
    let drawn =
        edges.iter().filter(|(relation, from, to)| *relation != Relation::Program && is_kept(*from) && is_kept(*to));
    for (relation, from, to) in drawn {
        let (colour, style) = match relation {
            Relation::Program => continue,
            Relation::ReadsFrom => ("darkgreen", "solid"),
            Relation::Modification => ("blue", "dotted"),
            Relation::FromRead => ("red", "dashed"),
            Relation::Synchronises => ("purple", "bold"),
        };
        let (name, from, to) = (relation.name(), timeline.number(*from), timeline.number(*to));
        let look = format!("color={colour}, fontcolor={colour}, style={style}, constraint=false");
        text += &format!("  e{from} -> e{to} [label=\"{name}\", {look}];\n");
    }
    text + "}\n"
}

/// A string as dot has it, lines aligned to the left.
fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        (text.lines()).map(|line| crate::text::clean(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    match &lines[..] {
        [one] => format!("\"{one}\""),
        lines => format!("\"{}\\l\"", lines.join("\\l")),
    }
}
