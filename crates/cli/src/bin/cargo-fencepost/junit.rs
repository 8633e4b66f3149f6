//! JUnit XML: a suite for each target, a case for each test.

use crate::runner::{Outcome, Verdict};
use fencepost_report::xml::{attribute, escaped};
use std::collections::BTreeMap;

pub fn render(outcomes: &[Outcome]) -> String {
    let mut suites: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    outcomes.iter().for_each(|outcome| suites.entry(&outcome.of).or_default().push(outcome));
    let suites: String = suites.iter().map(|(name, cases)| suite(name, cases)).collect();
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let head = format!("{}{}", attribute("name", "fencepost"), counts(&all));
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{head}>\n{suites}</testsuites>\n")
}

fn counts(outcomes: &[&Outcome]) -> String {
    let count = |verdict: Verdict| outcomes.iter().filter(|outcome| outcome.verdict == verdict).count().to_string();
    let seconds: f64 = outcomes.iter().map(|outcome| outcome.seconds).sum();
    [
        attribute("tests", &outcomes.len().to_string()),
        attribute("failures", &count(Verdict::Fail)),
        attribute("errors", &count(Verdict::Broken)),
        attribute("time", &format!("{seconds:.3}")),
    ]
    .concat()
}

fn suite(name: &str, cases: &[&Outcome]) -> String {
    let skipped = cases.iter().filter(|outcome| outcome.verdict == Verdict::Incomplete).count().to_string();
    let head = [attribute("name", name), counts(cases), attribute("skipped", &skipped)].concat();
    let cases: String = cases.iter().map(|outcome| case(outcome)).collect();
    format!("  <testsuite{head}>\n{cases}  </testsuite>\n")
}

fn case(outcome: &Outcome) -> String {
    let Outcome { of, name, verdict, executions, seconds, kinds, text } = outcome;
    let time = attribute("time", &format!("{seconds:.3}"));
    let head = format!("    <testcase{}{}{time}", attribute("name", name), attribute("classname", of));
    let kinds = attribute("type", &kinds.join(" "));
    match verdict {
        Verdict::Pass => format!("{head}/>\n"),
        Verdict::Fail => format!("{head}>\n      <failure{kinds}>{}</failure>\n    </testcase>\n", escaped(text)),
        Verdict::Broken => format!("{head}>\n      <error>{}</error>\n    </testcase>\n", escaped(text)),
        Verdict::Incomplete => {
            let why = attribute("message", &format!("not everything was covered after {executions} executions"));
            format!("{head}>\n      <skipped{why}/>\n    </testcase>\n")
        }
    }
}
