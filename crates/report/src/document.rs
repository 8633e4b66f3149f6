//! The result of a command, before it has a form.

use crate::{Command, Describe, Evidence, HuntReport, RunReport, Verdict};
use fencepost_trace::{Finding, Model};

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

    /// The version of Fencepost.
    pub fn version(&self) -> &str {
        match self {
            Report::Run(report) => &report.fencepost,
            Report::Hunt(report) => &report.fencepost,
        }
    }

    /// The subcommand.
    pub fn command(&self) -> Command {
        match self {
            Report::Run(report) => report.command,
            Report::Hunt(report) => report.command,
        }
    }

    /// The target as the user named it.
    pub fn target(&self) -> &str {
        match self {
            Report::Run(report) => &report.target,
            Report::Hunt(report) => &report.target,
        }
    }

    /// The memory model.
    pub fn model(&self) -> Model {
        match self {
            Report::Run(report) => report.model,
            Report::Hunt(report) => report.model,
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        match self {
            Report::Run(report) => report.seed,
            Report::Hunt(report) => report.seed,
        }
    }

    /// How many executions were run.
    pub fn executions(&self) -> u64 {
        match self {
            Report::Run(report) => report.executions,
            Report::Hunt(report) => report.executions,
        }
    }

    /// How long it took.
    pub fn seconds(&self) -> f64 {
        match self {
            Report::Run(report) => report.seconds,
            Report::Hunt(report) => report.seconds,
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
