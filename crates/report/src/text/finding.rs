//! What was found, in words.

use super::TextStyle;
use super::layout::{clean, counted, folded, grouped, wrap};
use super::source;
use crate::{Command, Describe, Document, Evidence, Race, RacingAccess, Report, RunReport, Safety, Seen, Verdict};
use fencepost_trace::{Finding, Label, Model, Needs};

/// A whole report.
pub fn render(document: &Document<'_>, style: TextStyle) -> String {
    match document.report {
        Report::Run(report) => run(report, document.evidence, document.describe, style),
        Report::Hunt(report) => super::hunt(report, document.describe, style),
    }
}

/// A campaign: what was done, and what came of it. `evidence` has, for each finding, what belongs to it.
pub fn run(report: &RunReport, evidence: &[Evidence], describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = String::new();
    for (i, item) in report.findings.iter().enumerate() {
        text += &finding(item, report.executions, describe, style);
        text.push('\n');
        if let Some(evidence) = evidence.get(i) {
            text += &super::evidence(evidence, style);
            text.push('\n');
        }
    }
    text += &conclusion(report, style);
    text += &report.safety.as_ref().map_or_else(String::new, |answer| safety(answer, report.model));
    text + &restart(report)
}

/// Whether a program is safe, and what makes it so.
fn safety(safety: &Safety, model: Model) -> String {
    let trace_safe = match safety.trace_safe {
        Some(true) => format!("yes: every execution under {model} is sequentially consistent"),
        Some(false) => format!("no: under {model} there are executions that are not sequentially consistent"),
        None => "not known".to_owned(),
    };
    let state_safe = match safety.state_safe {
        Some(true) => format!("yes: it ends under {model} as it ends under sc"),
        Some(false) => format!("no: under {model} it can end as it cannot under sc"),
        None => "not known".to_owned(),
    };
    let mut text = format!("  trace-safe (robust): {trace_safe}\n  state-safe: {state_safe}\n");
    for fence in &safety.orderings {
        text += &format!("  ordering: {}\n", clean(&fence.advice));
    }
    text += match (safety.orderings.is_empty(), safety.minimal) {
        (true, _) => "",
        (false, Some(true)) => "  with these the program is safe, and without any one of them it is not (proved)\n",
        (false, _) => "  with these the program is safe (proved); there was no time to see whether all are needed\n",
    };
    for place in &safety.superfluous {
        text += &format!("  not needed for that under {model}: {}\n", clean(place));
    }
    text
}

/// A line about executions that were not restarted as one would expect.
fn restart(report: &RunReport) -> String {
    match report.restart.as_ref().and_then(|restart| restart.reason.as_ref()) {
        Some(reason) => format!("  restart: by fork, because {}\n", clean(reason)),
        None => String::new(),
    }
}

/// One finding of so many executions.
pub fn finding(finding: &Finding, executions: u64, describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = what(finding, describe, style);
    text += &style.dim(&format!(
        "  in {} of {}, first in execution {}",
        grouped(finding.count),
        counted(executions, "execution"),
        grouped(finding.first_execution)
    ));
    text.push('\n');
    text += &needs(finding, style);
    if let Some(replay) = &finding.replay {
        text += &format!("  again: fencepost replay {}\n", clean(replay));
    }
    if let Some(replay) = finding.first_met.as_ref().and_then(|first| first.replay.as_ref()) {
        text += &format!("  as it was met first: fencepost replay {}\n", clean(replay));
    }
    text
}

/// What the execution that is shown needs.
fn needs(finding: &Finding, style: TextStyle) -> String {
    let Some(needs) = &finding.needs else { return String::new() };
    let operations = counted(needs.operations.into(), "operation");
    let first = finding.first_met.as_ref().map_or_else(String::new, |first| {
        format!(" (met first: {}, {})", oddities(&first.needs), counted(first.needs.operations.into(), "operation"))
    });
    let text = format!("needs {}, in {operations}{first}", oddities(needs));
    let lines = wrap(&text, style.width.saturating_sub(2));
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// `1 stale read and 2 context switches`.
pub(crate) fn oddities(needs: &Needs) -> String {
    let kinds =
        [(needs.stale_reads, "stale read"), (needs.delayed_stores, "delayed store"), (needs.context_switches, "")];
    let words = |(number, name): (u32, &str)| match (number, name) {
        (0, _) => None,
        (1, "") => Some("1 context switch".to_owned()),
        (number, "") => Some(format!("{} context switches", grouped(number.into()))),
        (number, name) => Some(counted(number.into(), name)),
    };
    let parts: Vec<String> = kinds.into_iter().filter_map(words).collect();
    match &parts[..] {
        [] => "no context switch".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => match rest.split_last() {
            Some((last, [])) => format!("{first} and {last}"),
            Some((last, middle)) => format!("{first}, {} and {last}", middle.join(", ")),
            None => first.clone(),
        },
    }
}

/// A finding that was met again.
pub fn reproduced(finding: &Finding, describe: &dyn Describe, style: TextStyle) -> String {
    what(finding, describe, style)
}

fn what(finding: &Finding, describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = format!("finding {}: {}\n", finding.id, style.bad(&finding.kind.to_string()));
    for line in wrap(&clean(&finding.message), style.width.saturating_sub(2)) {
        text += &format!("  {line}\n");
    }
    text += &source::places(finding, describe, style);
    if let Some(memory) = &finding.memory {
        text += &format!("  memory: {}\n", folded(&clean(&memory.text), 10, 10, style));
    }
    text + &reason(finding, style) + &fix(finding, style) + &stacks(finding, describe, style)
}

fn reason(finding: &Finding, style: TextStyle) -> String {
    let mut text = String::new();
    for (i, sentence) in finding.reason.iter().enumerate() {
        let start = if i == 0 { "  why: " } else { "       " };
        for (j, line) in wrap(&clean(sentence), style.width.saturating_sub(7)).iter().enumerate() {
            text += &format!("{}{line}\n", if j == 0 { start } else { "       " });
        }
    }
    text
}

/// What would keep it from happening, and how that is known.
fn fix(finding: &Finding, style: TextStyle) -> String {
    let Some(fix) = &finding.fix else { return String::new() };
    let tried = counted(fix.executions, "execution");
    let text = format!("{} (verified: so run, it is not met in {tried})", clean(&fix.text));
    let lines = wrap(&text, style.width.saturating_sub(7));
    lines
        .iter()
        .enumerate()
        .map(|(i, line)| format!("{}{line}\n", if i == 0 { "  fix: " } else { "       " }))
        .collect()
}

fn stacks(finding: &Finding, describe: &dyn Describe, style: TextStyle) -> String {
    let mut text = String::new();
    let mut left_out = false;
    for stack in &finding.stacks {
        text += &format!("  {}\n", clean(&stack.title));
        // The program's own functions; where there is none, where the thread stands.
        let is_own = |frame: &Label| !describe.is_library(frame);
        let none = !stack.frames.iter().any(is_own);
        for (i, frame) in stack.frames.iter().enumerate() {
            let is_shown = style.whole || is_own(frame) || none && i == 0;
            if !is_shown {
                left_out = true;
                continue;
            }
            let at = if frame.line > 0 { format!("  {}:{}", clean(&frame.file), frame.line) } else { String::new() };
            text += &format!("    {}{at}\n", clean(&frame.function));
        }
    }
    if left_out {
        text += &format!("  {}\n", style.dim("(calls in the standard libraries are left out: -v shows them)"));
    }
    text
}

fn conclusion(report: &RunReport, style: TextStyle) -> String {
    let found = counted(report.findings.len() as u64, "finding");
    let verdict = match report.verdict {
        Verdict::Pass => style.good("pass"),
        Verdict::Fail => style.bad(&format!("fail: {found}")),
        Verdict::Incomplete if report.is_all_cut_off() => {
            style.notable("incomplete: nothing found, but a limit cut every execution off before its end")
        }
        Verdict::Incomplete if matches!(report.command, Command::Check | Command::Safe) => {
            style.notable("incomplete: nothing found, but not everything was explored")
        }
        Verdict::Incomplete => style.notable("incomplete: nothing found, but not everything was covered"),
    };
    let mut done = counted(report.executions, "execution");
    if report.blocked > 0 {
        done += &format!(", {} blocked", grouped(report.blocked));
    }
    if report.suppressed > 0 {
        done += &format!(", {} suppressed", counted(report.suppressed, "finding"));
    }
    if report.complete {
        done += ": all there are";
    }
    let seen = report.coverage.as_ref().filter(|seen| seen.recent >= 20);
    let news = seen.map_or_else(String::new, news);
    let states = report.states.map_or_else(String::new, |states| format!("; {}", counted(states, "final state")));
    let mut text = format!(
        "{verdict}\n  {} {} under {}: {done}{states}; {:.2} s\n",
        report.command,
        clean(&report.target),
        report.model,
        report.seconds
    );
    // Of an exploration most of these are no loss: they go on as others do.
    if report.blocked > 0 && report.command == Command::Test {
        let blocked =
            "blocked: cut off before the end, or forever in a loop; --max-steps and --timeout let them go further";
        text += &format!("  {}\n", folded(blocked, 2, 4, style));
    }
    text + &news + &races(report, style)
}

/// Races that are no findings.
fn races(report: &RunReport, style: TextStyle) -> String {
    if report.races.is_empty() {
        return String::new();
    }
    let mut text = format!("  {}, no error under {}:\n", counted(report.races.len() as u64, "data race"), report.model);
    for Race { accesses } in &report.races {
        let [first, second] = accesses.each_ref().map(|RacingAccess { label, access }| {
            let at = if label.line > 0 { format!("{}:{}", clean(&label.file), label.line) } else { "?".to_owned() };
            format!("{access} in {} at {at}", clean(&label.function))
        });
        text += &format!("    {}\n", folded(&format!("{first}, and {second}"), 4, 6, style));
    }
    text
}

/// How much was still new in the end.
fn news(seen: &Seen) -> String {
    let last = format!("the last {} executions", grouped(seen.recent));
    let pairs = counted(seen.pairs, "reads-from pair");
    match seen.new {
        0 => format!("  {last} showed nothing new ({pairs} seen)\n"),
        new => format!("  {} in {last} ({pairs} seen)\n", counted(new, "new reads-from pair")),
    }
}
