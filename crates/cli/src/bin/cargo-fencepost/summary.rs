//! What people see: a line a test, then what was found, then how it all ended.

use crate::runner::{Outcome, Verdict};
use std::io::IsTerminal;

/// Is the terminal told of colours?
fn paint(code: &str, text: &str) -> String {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

fn word(verdict: Verdict) -> String {
    let (code, word) = match verdict {
        Verdict::Pass => ("32", "PASS"),
        Verdict::Fail => ("1;31", "FAIL"),
        Verdict::Incomplete => ("33", "LIMIT"),
        Verdict::Broken => ("1;31", "ERROR"),
    };
    paint(code, &format!("{word:>10}"))
}

/// A test has come to its end.
pub fn show(outcome: &Outcome) {
    let Outcome { of, name, verdict, executions, seconds, kinds, .. } = outcome;
    let found = if kinds.is_empty() { String::new() } else { format!("  ({})", kinds.join(", ")) };
    let rate = *executions as f64 / seconds.max(1e-9);
    eprintln!("{} [{seconds:8.3}s] {executions:>8} at {rate:>7.0}/s  {of} {name}{found}", word(*verdict));
}

/// All have: what was found goes to standard output. The exit status.
pub fn conclude(outcomes: &[Outcome], ignored: usize, filtered: usize) -> u8 {
    let count = |verdict: Verdict| outcomes.iter().filter(|outcome| outcome.verdict == verdict).count();
    for outcome in outcomes.iter().filter(|outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Broken)) {
        println!("\n--- {} {}\n\n{}", outcome.of, outcome.name, outcome.text.trim_end());
    }
    let executions: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let (passed, failed, limited, broken) =
        (count(Verdict::Pass), count(Verdict::Fail), count(Verdict::Incomplete), count(Verdict::Broken));
    let mut rest = String::new();
    let others =
        [(limited, "incomplete"), (broken, "could not be run"), (ignored, "ignored"), (filtered, "filtered out")];
    others.iter().filter(|(n, _)| *n > 0).for_each(|(n, what)| rest += &format!(", {n} {what}"));
    let tests = if outcomes.len() == 1 { "test" } else { "tests" };
    println!("\n{} {tests}, {executions} executions: {passed} passed, {failed} failed{rest}", outcomes.len());
    match (failed, broken, limited) {
        (0, 0, 0) => 0,
        (0, 0, _) => 3,
        (0, _, _) => 2,
        _ => 1,
    }
}
