//! The result of a command, before it has a form.

use crate::{Describe, Evidence, HuntReport, RunReport, Verdict};
use fencepost_trace::Finding;

/// What a command found: the data of every report format.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// Of `test` and `check`.
    Run(RunReport),
    /// Of `hunt`.
    Hunt(HuntReport),
}

impl Report {
    /// What it says in the end.
    pub fn verdict(&self) -> Verdict {
        match self {
            Report::Run(report) => report.verdict,
            Report::Hunt(report) => report.verdict,
        }
    }

    /// What was found.
    pub fn findings(&self) -> Vec<&Finding> {
        match self {
            Report::Run(report) => report.findings.iter().collect(),
            Report::Hunt(report) => report.findings.iter().map(|found| &found.finding).collect(),
        }
    }

    /// The JSON document, with a newline at the end.
    pub fn to_json(&self) -> String {
        match self {
            Report::Run(report) => report.to_json(),
            Report::Hunt(report) => report.to_json(),
        }
    }
}

/// A report with all that a format can make use of.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// What was found.
    pub report: &'a Report,
    /// For each finding what it was seen by, as far as there is something.
    pub evidence: &'a [Evidence],
    /// The names of the program.
    pub describe: &'a dyn Describe,
}
