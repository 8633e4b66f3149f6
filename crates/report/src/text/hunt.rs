//! A hunt, in words.

use super::TextStyle;
use super::layout::{clean, counted, folded, grouped, width, wrap};
use crate::{Describe, HuntCycle, HuntReport, Verdict, VerifiedBy};
use fencepost_trace::{FindingKind, FindingLabel, Severity};

/// How many violations that break the program are shown with their accesses, and how many others in a line each.
const SHOWN: usize = 5;
const LISTED: usize = 12;

/// What a hunt found, in the words of the program.
pub fn hunt(report: &HuntReport, describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = String::new();
    for finding in report.findings.iter().filter(|f| f.finding.kind != FindingKind::ScViolation) {
        text += &super::finding(&finding.finding, report.executions, describe, style);
        text.push('\n');
    }
    let replay = |cycle: &HuntCycle| {
        let same = report.findings.iter().find(|f| f.finding.labels == cycle.labels)?;
        same.finding.replay.as_deref()
    };
    let of = |outcome: Severity| report.shortest().filter(move |cycle| cycle.outcome == outcome);
    for cycle in of(Severity::Harmful).take(SHOWN) {
        text += &format!("{}: {}\n", style.bad("violation that breaks the program"), brief(cycle));
        text += &accesses(cycle, describe, style);
        for line in cycle.harm.iter().flat_map(|harm| wrap(&clean(harm), style.width.saturating_sub(2))) {
            text += &format!("  {line}\n");
        }
        text += &style.dim(&format!("  {}", often(cycle)));
        text.push('\n');
        if let Some(path) = replay(cycle) {
            text += &format!("  again: fencepost replay {}\n", clean(path));
        }
        text.push('\n');
    }
    let rest: Vec<&HuntCycle> = of(Severity::Harmful).skip(SHOWN).collect();
    text += &listed("more violations that break the program", &rest, &replay, style);
    let benign: Vec<&HuntCycle> = of(Severity::Benign).collect();
    text += &listed("violations that do no harm", &benign, &replay, style);
    text += &advice(report, style);
    text += &conclusion(report, style);
    text
}

/// How often a cycle came about, and hurt.
fn often(cycle: &HuntCycle) -> String {
    let text = format!("in {} of {}", grouped(cycle.exposed), counted(cycle.trials, "trial"));
    match cycle.outcome {
        Severity::Harmful => format!("{text}, {} of them harmful", grouped(cycle.harmful)),
        _ => text,
    }
}

/// Violations in a line each: the same fences prevent most, or nothing has to be done about them.
fn listed<'a>(
    title: &str,
    cycles: &[&'a HuntCycle],
    replay: &dyn Fn(&'a HuntCycle) -> Option<&'a str>,
    style: TextStyle,
) -> String {
    if cycles.is_empty() {
        return String::new();
    }
    let mut text = format!("{} ({})\n", style.bold(title), grouped(cycles.len() as u64));
    for cycle in cycles.iter().take(LISTED) {
        let path = replay(cycle).map_or_else(String::new, |path| format!(" ({})", clean(path)));
        let (lines, often) = (brief(cycle), format!("{}{path}", often(cycle)));
        // On a narrow terminal the rest has a line of its own.
        let fits = style.width >= TextStyle::PLAIN.width || width(&lines) + width(&often) + 3 <= style.width;
        text += &format!("  {lines}{}{}\n", if fits { " " } else { "\n    " }, style.dim(&often));
    }
    if cycles.len() > LISTED {
        text += &format!("  and {} (run.json has them all)\n", counted((cycles.len() - LISTED) as u64, "other"));
    }
    text.push('\n');
    text
}

/// The lines of a cycle, as the papers name them.
fn brief(cycle: &HuntCycle) -> String {
    let lines: Vec<String> = cycle.labels.iter().map(|label| label.label.line.to_string()).collect();
    let mut files: Vec<&str> = cycle.labels.iter().map(|label| label.label.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    match files[..] {
        [file] => format!("lines ({}) of {}", lines.join(", "), clean(file)),
        _ => format!("lines ({})", lines.join(", ")),
    }
}

fn accesses(cycle: &HuntCycle, describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = String::new();
    let mut before = None;
    let place = |label: &FindingLabel| format!("{}:{}", clean(&label.label.function), label.label.line);
    let width = cycle.labels.iter().map(|label| place(label).chars().count()).max().unwrap_or(0);
    for label in &cycle.labels {
        let thread = match before == Some(label.thread) {
            true => String::new(),
            false => format!("thread {}", label.thread),
        };
        before = Some(label.thread);
        let place = place(label);
        let statement =
            describe.statement(&label.label).map(|statement| clean(&statement).into_owned()).unwrap_or_default();
        text += &format!("    {thread:9} {:5}  {place:width$}  {}\n", label.access, style.dim(&statement));
    }
    text
}

fn advice(report: &HuntReport, style: TextStyle) -> String {
    if report.fences.is_empty() {
        return String::new();
    }
    let mut text = style.bold("what prevents all that break the program");
    text.push('\n');
    for fence in &report.fences {
        text += &format!("  {}\n", folded(&clean(&fence.advice), 2, 4, style));
    }
    let known = match report.fences[0].by {
        Some(VerifiedBy::Explored) => "every execution was explored, and none breaks".to_owned(),
        Some(VerifiedBy::Tested(n)) => format!("{} at random were run, and none breaks", counted(n, "execution")),
        None => "that this is enough could not be shown".to_owned(),
    };
    text += &format!("  {}\n\n", folded(&format!("(with these orderings in force: {known})"), 2, 4, style));
    text
}

/// What is known of the possible violations that are not real, and how.
fn rest(report: &HuntReport) -> String {
    let (infeasible, unknown) = (report.count(Severity::Infeasible), report.count(Severity::Unknown));
    let mut text = String::new();
    match infeasible {
        0 => {}
        1 => text += "; 1 is proved infeasible",
        n => text += &format!("; {n} are proved infeasible"),
    }
    match unknown {
        0 => {}
        1 => text += "; of 1 it is not known whether it can happen",
        n => text += &format!("; of {n} it is not known whether they can happen"),
    }
    match report.cycles.len() - report.shortest().count() {
        0 => {}
        1 => text += "\n  1 more is real that contains one of these (run.json has it)",
        n => text += &format!("\n  {n} more are real that contain one of these (run.json has them)"),
    }
    if report.settled {
        text += "\n  every execution was explored: which are real, and which break the program, is proved";
    } else if report.campaign > 0 {
        text += &format!(
            "\n  not all executions could be explored: what each does alone was looked for in {}",
            counted(report.campaign, "execution")
        );
    }
    text
}

fn conclusion(report: &HuntReport, style: TextStyle) -> String {
    let name = report.model.name().to_uppercase();
    let total = report.shortest().count();
    let (harmful, benign) = (report.count(Severity::Harmful), report.count(Severity::Benign));
    let sentence = match (total, harmful + benign) {
        (0, _) if !report.complete => {
            format!(
                "no possible violation of sequential consistency on {name} was seen in {}: there may be some",
                counted(report.executions, "execution")
            )
        }
        (0, _) => format!("this program has no possible violation of sequential consistency on {name}"),
        (_, 0) => {
            let none = if report.settled { "none is real" } else { "none could be brought about" };
            format!(
                "this program has {} of sequential consistency on {name}: {none}",
                counted(total as u64, "possible violation")
            )
        }
        (_, 1) => format!(
            "this program has {} of sequential consistency on {name}: 1 is real, and it {}",
            counted(total as u64, "possible violation"),
            if harmful == 1 { "breaks the program" } else { "does no harm" },
        ),
        (_, real) => format!(
            "this program has {} of sequential consistency on {name}: {real} are real, {harmful} of them {} it",
            counted(total as u64, "possible violation"),
            if harmful == 1 { "breaks" } else { "break" },
        ),
    };
    let sentence = sentence + &rest(report);
    let lines: Vec<String> = (sentence.lines())
        .map(|line| match line.strip_prefix("  ") {
            Some(line) => format!("  {}", folded(line, 2, 4, style)),
            None => folded(line, 0, 2, style),
        })
        .collect();
    let sentence = lines.join("\n");
    let verdict = match report.verdict {
        Verdict::Pass => style.good("pass"),
        Verdict::Fail => style.bad("fail"),
        Verdict::Incomplete => style.notable("incomplete: nothing harmful found, but not everything was covered"),
    };
    let mut done = counted(report.executions, "execution");
    if report.blocked > 0 {
        done += &format!(", {} blocked", grouped(report.blocked));
    }
    format!(
        "{sentence}\n{verdict}\n  hunt {} under {}: {done}; {:.2} s\n",
        clean(&report.target),
        report.model,
        report.seconds
    )
}
