//! What a campaign found: the JSON document of `test` and `check`.

use crate::{Command, RestartKind, Safety};
use fencepost_trace::{Action, Answers, Finding, Label, Method, Model};
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

impl Verdict {
    /// Of work in which something was found or not, and which was complete or not.
    pub fn of(found: bool, complete: bool) -> Verdict {
        match (found, complete) {
            (true, _) => Verdict::Fail,
            (false, true) => Verdict::Pass,
            (false, false) => Verdict::Incomplete,
        }
    }
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

/// How much of what a program can do has been seen: pairs of a store and a read from it, by program points.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// How many pairs.
    pub pairs: u64,
    /// How many of them were new in the last [`recent`](Self::recent) executions.
    pub new: u64,
    /// How many executions are the last ones.
    pub recent: u64,
    /// The last execution that showed a new one, counted from 1; 0 if there was none.
    pub last_new_execution: u64,
    /// How it grew: after so many executions so many pairs, at a few of the executions that showed new ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<(u64, u64)>,
}

/// So many points of the growth are kept at most.
const POINTS: usize = 100;

impl Seen {
    /// From the first execution of each pair, counted from 0.
    ///
    /// ```
    /// let seen = fencepost_report::Seen::new([0, 0, 90, 8_500], 10_000);
    /// assert_eq!((seen.pairs, seen.new, seen.recent, seen.last_new_execution), (4, 1, 2_000, 8_501));
    /// assert_eq!(seen.growth, [(1, 2), (91, 3), (8_501, 4)]);
    /// ```
    pub fn new(firsts: impl IntoIterator<Item = u64>, executions: u64) -> Seen {
        let recent = (executions / 5).min(2_000);
        let mut firsts: Vec<u64> = firsts.into_iter().collect();
        firsts.sort_unstable();
        let mut growth: Vec<(u64, u64)> = Vec::new();
        for (first, pairs) in firsts.iter().zip(1..) {
            match growth.last_mut() {
                Some((execution, before)) if *execution == first + 1 => *before = pairs,
                _ => growth.push((first + 1, pairs)),
            }
        }
        let step = growth.len().div_ceil(POINTS).max(1);
        let last = growth.len().saturating_sub(1);
        let growth = growth.into_iter().enumerate().filter(|(i, _)| i.is_multiple_of(step) || *i == last);
        Seen {
            pairs: firsts.len() as u64,
            new: firsts.iter().filter(|first| **first + recent >= executions).count() as u64,
            recent,
            last_new_execution: firsts.last().map_or(0, |first| first + 1),
            growth: growth.map(|(_, point)| point).collect(),
        }
    }
}

/// A campaign and its findings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// The version of Fencepost.
    pub fencepost: String,
    /// The subcommand.
    pub command: Command,
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
    /// In how many something was found.
    pub failing_executions: u64,
    /// How many different final states were seen, if the program has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<u64>,
    /// Which reads read from which stores, of a random campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Seen>,
    /// How long it took.
    pub seconds: f64,
    /// Of `safe`: is it?
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub safety: Option<Safety>,
    /// How a native program was put back to its beginning.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restarted>,
    /// How an exploration told executions apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// How many questions of order it answered, and how (rf, causal).
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Data races that an exploration has met under a model to which they are no errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub races: Vec<Race>,
    /// How many findings more there were that the user did not want to hear of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: u64,
}

/// Two accesses that race: those at these program points do so in some execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Race {
    /// Both.
    pub accesses: [RacingAccess; 2],
}

/// One of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct RacingAccess {
    /// Where.
    #[serde(flatten)]
    pub label: Label,
    /// What it does.
    pub access: Action,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How executions of a native program began anew.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restarted {
    /// In place, or in processes of their own.
    #[serde(rename = "restart")]
    pub how: RestartKind,
    /// Why not in place, where nobody asked for it.
    #[serde(rename = "restart_reason", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RunReport {
    /// Did a limit cut off all executions of a random campaign?
    pub fn is_all_cut_off(&self) -> bool {
        self.command == Command::Test && self.blocked > 0 && self.blocked == self.executions
    }

    /// The JSON document, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is always JSON");
        text.push('\n');
        text
    }
}
