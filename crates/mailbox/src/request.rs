//! What the host asks for.

use crate::Frame;
use fencepost_trace::{Cycle, FenceOrder, GraphStep, Method, Model};
use serde::{Deserialize, Serialize};

/// A piece of a campaign: so many executions of one program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    /// Fences that the program does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fences: Vec<Fence>,
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

/// Who answers the choices of the executions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "answers", rename_all = "snake_case")]
pub enum Answers {
    /// A generator whose seed is [`execution_seed`].
    Random {
        /// The seed of the campaign.
        seed: u64,
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
    /// Strategies that try to bring cycles about.
    Hunt(Hunt),
}

/// Trials of predicted violations of sequential consistency. The executions are those of the first task, then those of the second, and so on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Hunt {
    /// The seed of the hunt.
    pub seed: u64,
    /// How many executions each task has.
    pub trials: u64,
    /// The program points that courses name.
    pub spots: Vec<Frame>,
    /// The program points that cycles name.
    pub points: Vec<Point>,
    /// What to do.
    pub tasks: Vec<Task>,
    /// Fingerprints of what the program prints without reordering.
    pub outputs: Vec<u64>,
    /// Fingerprints of how it fails without reordering.
    pub failures: Vec<u64>,
}

/// A program point: places in the code, as numbers of spots, and what is done there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// Where.
    pub spots: Vec<u32>,
    /// Is memory read?
    pub reads: bool,
    /// Is memory written?
    pub writes: bool,
}

/// A cycle and how to bring it about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Which number the host knows the cycle by.
    pub id: u32,
    /// The cycle.
    pub cycle: Cycle,
    /// How.
    #[serde(flatten)]
    pub method: Method,
}

/// The fingerprint of a text that was printed (FNV-1a).
pub fn output_fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How the program is put back to its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Memory is compared with a copy and put back.
    InPlace,
    /// Each execution runs in a child process.
    Fork,
}

/// The seed of the execution of this number. It depends on nothing else, so that it does not matter which worker runs it.
///
/// ```
/// use fencepost_mailbox::execution_seed;
/// assert_ne!(execution_seed(1, 0), execution_seed(1, 1));
/// assert_ne!(execution_seed(1, 1), execution_seed(2, 0));
/// ```
pub fn execution_seed(seed: u64, execution: u64) -> u64 {
    // The finaliser of SplitMix64 on both, so that neighbours have nothing in common.
    mix(mix(seed).wrapping_add(execution))
}

fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
