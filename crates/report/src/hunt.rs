//! What a hunt for violations of sequential consistency found: the JSON document of `hunt`.

use crate::{Command, FenceKind, HuntMethod, Verdict};
use fencepost_trace::{Finding, FindingLabel, Model, Severity};
use serde::{Deserialize, Serialize};

/// A hunt and what came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HuntReport {
    /// The version of Fencepost.
    pub fencepost: String,
    /// The subcommand.
    pub command: Command,
    /// The target as the user named it.
    pub target: String,
    /// The memory model.
    pub model: Model,
    /// The seed of the hunt.
    pub seed: u64,
    /// What it says: a failure if a violation is harmful.
    pub verdict: Verdict,
    /// Was every cycle enumerated and tried?
    pub complete: bool,
    /// If not every execution was explored: how many of each cycle looked for harm.
    #[serde(default)]
    pub campaign: u64,
    /// Was every execution explored? Then what is said of the cycles is proved.
    #[serde(default)]
    pub settled: bool,
    /// How many executions were run, those without reordering included.
    pub executions: u64,
    /// How many were cut off.
    pub blocked: u64,
    /// How long it took.
    pub seconds: f64,
    /// How long the prediction alone took.
    pub prediction_seconds: f64,
    /// The violations that were brought about, and failures without any.
    pub findings: Vec<HuntFinding>,
    /// Every predicted cycle.
    pub cycles: Vec<HuntCycle>,
    /// Where orderings prevent all harmful violations; empty if there are none, or if that is not known.
    pub fences: Vec<FenceAdvice>,
}

/// A finding; for a violation with its cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HuntFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// The cycle: its labels in order, by their position in the finding's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<u32>,
}

/// A predicted cycle and what became of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HuntCycle {
    /// The accesses in order: two of each thread that are in program order, or one.
    pub labels: Vec<FindingLabel>,
    /// How many there are.
    pub length: usize,
    /// Is a shorter violation in it, or one of fewer locations, that is listed as well? Then it says nothing new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub longer: bool,
    /// The models that can reorder any of its pairs.
    pub models: Vec<Model>,
    /// How many executions tried to bring it about.
    pub trials: u64,
    /// How many did.
    pub exposed: u64,
    /// How many of those hurt the program.
    pub harmful: u64,
    /// How likely a trial was to bring it about.
    pub probability: f64,
    /// What it is.
    pub outcome: Severity,
    /// What brought it about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<HuntMethod>,
    /// How it hurts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<String>,
}

/// An ordering that is needed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FenceAdvice {
    /// What to do, in words.
    pub advice: String,
    /// The file.
    pub file: String,
    /// The line that the ordering is at.
    pub line: u32,
    /// Before that line, or behind it?
    pub before: bool,
    /// What it has to order.
    pub order: FenceKind,
    /// The pairs of lines that it keeps in order.
    pub pairs: Vec<(u32, u32)>,
    /// Was the program run with it, and no harmful violation found any more?
    pub verified: bool,
    /// How that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<VerifiedBy>,
    /// The statement as it would read with it, where that is easily said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
}

/// How it is known that orderings are enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifiedBy {
    /// With them in force, every execution was explored.
    Explored,
    /// With them in force, so many executions were run as `test` does.
    Tested(u64),
}

impl HuntReport {
    /// The JSON document, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is always JSON");
        text.push('\n');
        text
    }

    /// The cycles that no other one is in.
    pub fn shortest(&self) -> impl Iterator<Item = &HuntCycle> {
        self.cycles.iter().filter(|cycle| !cycle.longer)
    }

    /// How many of them have that outcome.
    pub fn count(&self, outcome: Severity) -> usize {
        self.shortest().filter(|cycle| cycle.outcome == outcome).count()
    }
}
