//! What the host asks for.

use fencepost_trace::{GraphStep, Model};
use serde::{Deserialize, Serialize};

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
}

/// Who answers the choices of the executions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "answers", rename_all = "snake_case")]
pub enum Answers {
    /// A generator whose seed is [`execution_seed`].
    Random {
        /// The seed of the campaign.
        seed: u64,
    },
    /// Nobody: every execution graph is explored, each once. `count` is then the greatest number of executions.
    Explore {
        /// On how many cores.
        jobs: u32,
        /// Until when at the latest, in nanoseconds of the system's monotonic clock.
        deadline: Option<u64>,
        /// How long one execution may take, in nanoseconds.
        timeout: u64,
        /// How many different findings are enough.
        findings: u64,
    },
    /// The execution graph that these steps describe, once.
    Graph {
        /// The steps.
        steps: Vec<GraphStep>,
        /// Memory whose plain accesses are among them: addresses of eight bytes each, and which of these.
        shared: Vec<(u64, u8)>,
    },
    /// A list, the same for every execution.
    Follow {
        /// The answers.
        choices: Vec<u32>,
    },
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
