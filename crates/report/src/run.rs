//! What a campaign found: the JSON document of `test` and `check`.

use fencepost_trace::{Finding, Model};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a campaign says in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was found.
    Pass,
    /// Something was found.
    Fail,
    /// Nothing was found, but a limit stopped the work before it was complete.
    Incomplete,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Incomplete => "incomplete",
        })
    }
}

/// A campaign and its findings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// The version of Fencepost.
    pub fencepost: String,
    /// The subcommand.
    pub command: String,
    /// The target as the user named it.
    pub target: String,
    /// The memory model.
    pub model: Model,
    /// The seed of the campaign.
    pub seed: u64,
    /// What it says.
    pub verdict: Verdict,
    /// Was everything explored? Never for random campaigns.
    pub complete: bool,
    /// How many executions were run.
    pub executions: u64,
    /// How many were cut off by a limit or in an endless loop.
    pub blocked: u64,
    /// How many different final states were seen.
    pub states: u64,
    /// How long it took.
    pub seconds: f64,
    /// How a native program was put back to its beginning.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restarted>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// How executions of a native program began anew.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restarted {
    /// `in-place`, or `fork` if executions had processes of their own.
    #[serde(rename = "restart")]
    pub how: String,
    /// Why not in place, where nobody asked for it.
    #[serde(rename = "restart_reason", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RunReport {
    /// The JSON document, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is always JSON");
        text.push('\n');
        text
    }
}
