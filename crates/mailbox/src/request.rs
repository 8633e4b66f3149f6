//! What the host asks for.

use crate::Spot;
use fencepost_trace::{GraphStep, Model, Sampling};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A piece of a campaign: so many executions of one program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The memory model.
    pub model: Model,
    /// The greatest number of stores in a thread's buffer (tso, pso).
    pub buffer: Option<u32>,
    /// Who answers the choices.
    pub answers: Answers,
    /// The number of the first execution.
    pub first: u64,
    /// How many executions.
    pub count: u64,
    /// Where an execution is cut off.
    pub max_steps: u64,
    /// What is forgotten of long executions.
    #[serde(default)]
    pub prune: Pruning,
    /// How the program is put back to its beginning.
    pub restart: Restart,
    /// Is an exit status other than 0 a finding?
    pub status_is_finding: bool,
    /// Count the different texts that executions print?
    pub keep_outputs: bool,
    /// Write the trace of every execution to the log? For replays.
    pub keep_traces: bool,
    /// Stop after the first execution with a finding?
    pub stop_at_first: bool,
    /// Executions of which a digest of the trace is written to the log.
    #[serde(default)]
    pub digests: Vec<u64>,
    /// What a volatile access is under c11.
    #[serde(default)]
    pub volatile: Volatile,
    /// Findings of these names do not count: they are not logged, and no execution stops for them.
    #[serde(default)]
    pub ignored: Vec<u64>,
    /// Collect what surrounds findings, with the full stacks of these accesses? It takes time: for an execution that is run again.
    #[serde(default)]
    pub details: Option<Vec<Spot>>,
    /// The finding at which a debugger is to stop, by its fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug: Option<u64>,
}

/// What a volatile access is under c11.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Volatile {
    /// A relaxed atomic access.
    #[default]
    Relaxed,
    /// An acquiring load, a releasing store.
    AcqRel,
    /// A plain access.
    Plain,
}

/// Who answers the choices of the executions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "answers", rename_all = "snake_case")]
pub enum Answers {
    /// A generator, as a sampling says.
    Random {
        /// The seed of the campaign; that of an execution is [`execution_seed`](fencepost_trace::execution_seed).
        seed: u64,
        /// How they are drawn.
        #[serde(default)]
        sampling: Sampling,
    },
    /// The same, for one execution of which everything is decided.
    Drawn {
        /// The seed of the execution.
        seed: u64,
        /// How its answers are drawn.
        sampling: Sampling,
    },
    /// Nobody: every execution graph is explored, each once. `count` is then the greatest number of executions.
    Explore,
    /// The execution graph that these steps describe, once.
    Graph {
        /// The steps.
        steps: Vec<GraphStep>,
    },
    /// A list, the same for every execution.
    Follow {
        /// The answers.
        choices: Vec<u32>,
    },
}

/// What is forgotten, under c11, of executions that are long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pruning {
    /// Nothing.
    Off,
    /// Stores that no thread can read any more.
    #[default]
    Conservative,
    /// What is hidden by stores that are older than so many events: memory is bounded, and behaviours are lost.
    Aggressive(u32),
}

impl Pruning {
    /// The window, if behaviours are lost.
    pub fn window(self) -> Option<u32> {
        match self {
            Pruning::Aggressive(window) => Some(window),
            Pruning::Off | Pruning::Conservative => None,
        }
    }
}

impl FromStr for Pruning {
    type Err = String;
    fn from_str(text: &str) -> Result<Pruning, String> {
        match text {
            "off" => Ok(Pruning::Off),
            "conservative" => Ok(Pruning::Conservative),
            _ => text
                .strip_prefix("aggressive=")
                .and_then(|window| window.parse().ok().filter(|window| *window > 0))
                .map(Pruning::Aggressive)
                .ok_or_else(|| "expected off, conservative, or aggressive=N with N events or more".to_owned()),
        }
    }
}

/// How the program is put back to its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// In place, as long as that gives the same.
    Auto,
    /// Memory is compared with a copy and put back.
    InPlace,
    /// Each execution runs in a child process.
    Fork,
}
