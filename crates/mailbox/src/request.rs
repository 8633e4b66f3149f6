//! What the host asks for.

use crate::{AccessSite, Frame, HiddenCode};
use fencepost_trace::{CampaignSpec, Cycle, FenceOrder, Model, RmwOrder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A piece of a campaign: so many executions of one program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The memory model.
    pub model: Model,
    /// The greatest number of stores in a thread's buffer (tso, pso).
    pub buffer: Option<u32>,
    /// Which executions. Where it searches, `count` is the greatest number of them.
    pub campaign: CampaignSpec,
    /// If it is a hunt: what else has to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunt: Option<Hunt>,
    /// The number of the first execution.
    pub first: u64,
    /// How many executions.
    pub count: u64,
    /// Where an execution is cut off.
    pub max_steps: u64,
    /// Under sc, tso and pso: from so many plain accesses on, those to memory that one thread alone uses are no
    /// operations; they always are if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_private: Option<u64>,
    /// What is forgotten of long executions.
    #[serde(default)]
    pub prune: Pruning,
    /// Under sc: models that executions are watched for: could they leave sc?
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<Model>,
    /// How the program is put back to its beginning.
    pub restart: Restart,
    /// Is an exit status other than 0 a finding?
    pub status_is_finding: bool,
    /// Count the different texts that executions print?
    pub keep_outputs: bool,
    /// Write the trace of every execution to the log? For replays.
    pub keep_traces: bool,
    /// In the trace of a long execution, leave out what one thread alone is concerned with? For predictions.
    #[serde(default)]
    pub shared_only: bool,
    /// Stop after the first execution with a finding?
    pub stop_at_first: bool,
    /// Fences that the program does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fences: Vec<Fence>,
    /// Operations and fences of the program that are to be weaker. In explorations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<Weaker>,
    /// Operations of the program that are to be stronger. In random executions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<Stronger>,
    /// Atomic instructions that the instrumentation does not see: they are to be performed by the engine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenCode>,
    /// What a volatile access is under c11.
    #[serde(default)]
    pub volatile: Volatile,
    /// Findings of these names do not count: they are not logged, and no execution stops for them.
    #[serde(default)]
    pub ignored: Vec<u64>,
    /// Collect what surrounds findings, with the full stacks of these accesses? It takes time: for an execution that
    /// is run again.
    #[serde(default)]
    pub details: Option<Vec<AccessSite>>,
    /// The finding at which a debugger is to stop, by its fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug: Option<u64>,
    /// The outcomes that are allowed, if the program is to be held against them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Vec<Observations>>,
    /// Executions of which a digest of the trace is written to the log.
    #[serde(default)]
    pub digests: Vec<u64>,
    /// Run only those?
    #[serde(default)]
    pub only_digests: bool,
    /// Where an exploration is saved, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<Save>,
    /// Are there other workers at the same time?
    #[serde(default)]
    pub crowded: bool,
}

/// Where an exploration is saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Save {
    /// The file, from the root of all directories.
    pub path: Vec<u8>,
    /// Its first line.
    pub head: String,
    /// Go on from what is there?
    pub resume: bool,
}

/// A fence that the program does not have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fence {
    /// The program point that it is at.
    pub place: Frame,
    /// Before what is done there, or behind it?
    pub before: bool,
    /// Its order.
    pub order: FenceOrder,
}

/// A seq_cst operation or a fence of the program, made weaker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Weaker {
    /// The program point that it is at.
    pub place: Frame,
    /// Its order; see `Access::weakened`.
    pub to: RmwOrder,
}

/// An atomic operation of the program, made stronger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stronger {
    /// The program point that it is at.
    pub place: Frame,
    /// Its order, at least; see `Access::strengthened`.
    pub to: RmwOrder,
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

/// What an execution has observed: a value for each key.
pub type Observations = BTreeMap<String, i64>;

/// What a hunt is held against, and the words of its tasks: labels of strategies are numbers of sites, and cycles name
/// points.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Hunt {
    /// The program points that strategies name.
    pub sites: Vec<Frame>,
    /// The program points that cycles name.
    pub points: Vec<Point>,
    /// Fingerprints of what the program prints without reordering.
    pub outputs: Vec<u64>,
    /// Fingerprints of how it fails without reordering.
    pub failures: Vec<u64>,
    /// In an exploration: the cycles that are looked for in every execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<Cycle>,
    /// In an exploration: write the trace of every execution to the log in which a thread does something new, up to so
    /// many.
    #[serde(default)]
    pub histories: u32,
    /// In an exploration: how often a thread may go around a loop that waits before it is stopped there.
    #[serde(default)]
    pub rounds: u32,
}

/// A program point: places in the code, as numbers of sites, and what is done there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// Where.
    pub sites: Vec<u32>,
    /// Is memory read?
    pub reads: bool,
    /// Is memory written?
    pub writes: bool,
}

/// The fingerprint of a text that was printed (FNV-1a).
pub fn output_fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
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
                .ok_or_else(|| {
                    "expected off, conservative, or aggressive=N for a window of N events, 1 or more".to_owned()
                }),
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
