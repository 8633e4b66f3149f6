//! What a litmus test can do: one table, a row for each final state, a column for each model.

use super::TextStyle;
use super::layout::{clean, counted, grouped, width, wrap};
use crate::{LitmusReport, ModelResult, Quantifier, Reached};
use fencepost_trace::FindingLabel;
use std::collections::BTreeMap;

/// Marks the states that satisfy the condition.
const MARK: &str = "*>";
const INDENT: &str = "    ";
/// Columns of counts are as wide as the longest name of a model, so that tables look alike.
const LEAST_COUNT: usize = 4;

/// A row: how often each model reaches the state.
struct Row {
    counts: Vec<Option<u64>>,
    satisfies: bool,
}

/// A test in full: the table of its final states, and what the condition says under each model.
pub fn litmus(report: &LitmusReport, style: TextStyle) -> String {
    let mut text = format!("{}  {}\n", style.bold(&clean(&report.test)), style.dim(&clean(&report.file)));
    if let Some(condition) = &report.condition {
        for line in wrap(&clean(&condition.to_string()), style.width.saturating_sub(INDENT.len())) {
            text += &format!("{INDENT}{line}\n");
        }
    }
    text.push('\n');
    let rows = rows_of(report);
    if !rows.is_empty() {
        let table = table(report, &rows);
        let fits = table.iter().all(|(_, line)| width(line) <= style.width);
        let lines = if fits { table } else { narrow(report, &rows, style.width) };
        for (satisfies, line) in lines {
            text += &if satisfies { style.notable(&line) } else { line };
            text.push('\n');
        }
        text.push('\n');
    }
    text += &verdicts(report, style);
    text
}

/// A test in one line for each model.
pub fn litmus_brief(report: &LitmusReport, style: TextStyle) -> String {
    let mut text = String::new();
    for result in &report.results {
        let verdict = verdict(report, result, style);
        text += &format!("{}  {}  {verdict}\n", style.bold(&clean(&report.test)), result.model);
    }
    text
}

/// What a batch comes to.
pub fn litmus_summary(tests: u64, failed_files: u64, races: u64, incomplete: u64) -> String {
    let mut text = counted(tests, "test");
    let mut add = |number: u64, what: String| {
        if number > 0 {
            text += &format!(", {what}");
        }
    };
    add(races, format!("{} with a data race", grouped(races)));
    add(incomplete, format!("{} not explored completely", grouped(incomplete)));
    add(failed_files, format!("{} could not be run", grouped(failed_files)));
    text.push('\n');
    text
}

fn rows_of(report: &LitmusReport) -> BTreeMap<&[i64], Row> {
    let mut rows = BTreeMap::new();
    for (column, result) in report.results.iter().enumerate() {
        for state in result.states() {
            let row = rows
                .entry(&state.values[..])
                .or_insert_with(|| Row { counts: vec![None; report.results.len()], satisfies: state.satisfies });
            row.counts[column] = Some(state.executions);
        }
    }
    rows
}

/// What stands in the column of a model.
fn cell(result: &ModelResult, count: Option<u64>) -> String {
    match (&result.reached, count) {
        (Reached::Race(_), _) => "race".to_owned(),
        (_, Some(count)) => grouped(count),
        (_, None) => "-".to_owned(),
    }
}

/// A line of the table, not yet aligned.
struct Cells {
    satisfies: bool,
    values: Vec<String>,
    counts: Vec<String>,
}

/// All lines, and whether each satisfies the condition.
fn table(report: &LitmusReport, rows: &BTreeMap<&[i64], Row>) -> Vec<(bool, String)> {
    let mut lines = vec![Cells {
        satisfies: false,
        values: report.vars.iter().map(|var| clean(var).into_owned()).collect(),
        counts: report.results.iter().map(|result| result.model.to_string()).collect(),
    }];
    for (values, row) in rows {
        lines.push(Cells {
            satisfies: row.satisfies,
            values: values.iter().map(i64::to_string).collect(),
            counts: row.counts.iter().zip(&report.results).map(|(count, result)| cell(result, *count)).collect(),
        });
    }
    let of_values = widths(report.vars.len(), lines.iter().map(|line| &line.values));
    let of_counts = widths(report.results.len(), lines.iter().map(|line| &line.counts));
    let render = |cells: &Cells| {
        let mut line = format!(" {:2}", if cells.satisfies { MARK } else { "" });
        for (value, width) in cells.values.iter().zip(&of_values) {
            line += &format!("  {value:>width$}");
        }
        line += "   ";
        for (count, width) in cells.counts.iter().zip(&of_counts) {
            line += &format!("  {count:>0$}", (*width).max(LEAST_COUNT));
        }
        (cells.satisfies, line)
    };
    lines.iter().map(render).collect()
}

/// The width of each column.
fn widths<'a>(columns: usize, lines: impl Iterator<Item = &'a Vec<String>>) -> Vec<usize> {
    lines.fold(vec![0; columns], |widest, line| {
        widest.iter().zip(line).map(|(most, cell)| width(cell).max(*most)).collect()
    })
}

/// The same for states that are wider than the terminal.
fn narrow(report: &LitmusReport, rows: &BTreeMap<&[i64], Row>, most: usize) -> Vec<(bool, String)> {
    let mut lines = Vec::new();
    for (values, row) in rows {
        let state = report.vars.iter().zip(*values).map(|(var, value)| format!("{}={value}", clean(var)));
        let state = state.collect::<Vec<_>>().join(" ");
        for (i, part) in wrap(&state, most.saturating_sub(5)).into_iter().enumerate() {
            let mark = if i == 0 && row.satisfies { MARK } else { "" };
            lines.push((row.satisfies, format!(" {mark:2}  {part}")));
        }
        let counts = row.counts.iter().zip(&report.results);
        let counts = counts.map(|(count, result)| format!("{} {}", result.model, cell(result, *count)));
        for part in wrap(&counts.collect::<Vec<_>>().join(", "), most.saturating_sub(7)) {
            lines.push((false, format!("       {part}")));
        }
    }
    lines
}

/// One line for all models that say the same.
fn verdicts(report: &LitmusReport, style: TextStyle) -> String {
    let mut groups: Vec<(String, String)> = Vec::new();
    for result in &report.results {
        let verdict = verdict(report, result, style);
        match groups.iter_mut().find(|(_, known)| *known == verdict) {
            Some((models, _)) => *models += &format!(", {}", result.model),
            None => groups.push((result.model.to_string(), verdict)),
        }
    }
    let widest = groups.iter().map(|(models, _)| width(models)).max().unwrap_or(0);
    groups.iter().map(|(models, verdict)| format!("{INDENT}{models:widest$}   {verdict}\n")).collect()
}

fn verdict(report: &LitmusReport, result: &ModelResult, style: TextStyle) -> String {
    let (witnesses, all) = (result.witnesses(), result.finished());
    let mut text = match (&result.reached, report.condition.as_ref().map(|condition| condition.quantifier)) {
        (Reached::Race(labels), _) => style.bad(&race(labels)),
        (_, None) => format!("{} in {}", counted(result.states().len() as u64, "state"), executions(all)),
        (_, Some(quantifier)) => {
            let words = answer(quantifier, witnesses, all);
            // A reachable `exists` is an answer; a broken promise is a complaint.
            match quantifier {
                Quantifier::Exists if witnesses > 0 => style.notable(&words),
                Quantifier::Exists => words,
                _ if quantifier.holds(witnesses, all) => style.good(&words),
                _ => style.bad(&words),
            }
        }
    };
    if result.failed > 0 {
        text += &style.bad(&format!("; {} failed", executions(result.failed)));
    }
    if result.blocked > 0 {
        text += &format!("; {} blocked", grouped(result.blocked));
    }
    if !result.complete && matches!(result.reached, Reached::States(_)) {
        text += &style.notable("; stopped by a limit: there may be more");
    }
    text
}

fn answer(quantifier: Quantifier, witnesses: u64, all: u64) -> String {
    let of_all = format!("of {}", executions(all));
    match quantifier {
        Quantifier::Exists if witnesses > 0 => format!("exists: yes, {} {of_all}", grouped(witnesses)),
        Quantifier::Exists => format!("exists: never, 0 {of_all}"),
        Quantifier::NotExists if witnesses == 0 => format!("~exists: holds, 0 {of_all}"),
        Quantifier::NotExists => format!("~exists: violated, {} {of_all}", grouped(witnesses)),
        Quantifier::Forall if witnesses == all => format!("forall: holds, all {}", executions(all)),
        Quantifier::Forall => format!("forall: violated, {} {of_all}", grouped(all - witnesses)),
    }
}

fn executions(number: u64) -> String {
    counted(number, "execution")
}

fn race(labels: &[FindingLabel]) -> String {
    let end = |label: &FindingLabel| {
        format!("{} in {}, line {}", label.access, clean(&label.label.function), label.label.line)
    };
    let ends: Vec<String> = labels.iter().map(end).collect();
    format!("data race: {}: undefined behaviour", ends.join(" and "))
}
