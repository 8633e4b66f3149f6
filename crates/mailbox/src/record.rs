//! What the runtime writes to the log.

use fencepost_trace::{FindingKind, GraphStep, Trace};
use serde::{Deserialize, Serialize};

/// One line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// Something was found for the first time by this worker. How often it was met is in the header's table.
    Finding(Report),
    /// An execution printed something that none before had printed.
    Output {
        /// Its name in the table.
        fingerprint: u64,
        /// Which execution.
        execution: u64,
        /// What it printed to stdout.
        text: String,
        /// The answers that led there.
        choices: Vec<u32>,
    },
    /// The trace of an execution.
    Trace {
        /// Which execution.
        execution: u64,
        /// Its trace. Its labels are empty: where they are is in `places`.
        trace: Trace,
        /// For each of the trace's labels where it is.
        places: Vec<Frame>,
    },
    /// A trial of a hunt brought its cycle about.
    Exposed {
        /// The number of the task.
        task: u32,
        /// Which execution.
        execution: u64,
        /// How the program suffered, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        harm: Option<String>,
        /// How it failed, and which thread.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failures: Vec<(FindingKind, Option<u32>)>,
        /// The answers that led there; left out if an earlier trial of the task had the same result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<u32>,
    },
    /// An exploration has ended.
    Explored {
        /// Was every execution graph visited?
        complete: bool,
        /// How many executions there are.
        executions: u64,
        /// How many were cut off.
        blocked: u64,
    },
    /// Something the user should know: a call that breaks control, a mode that was changed.
    Note {
        /// In words.
        text: String,
    },
}

/// A finding, with what is needed to show and to replay it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its name in the table: the same kind at the same places has the same name in every worker.
    pub fingerprint: u64,
    /// What kind of bug.
    pub kind: FindingKind,
    /// In words.
    pub message: String,
    /// Which execution.
    pub execution: u64,
    /// Where: for a race both accesses, the later one first; otherwise the failing thread, or all that wait.
    pub stacks: Vec<Stack>,
    /// The answers that led there.
    pub choices: Vec<u32>,
    /// Or, from an exploration, the steps of its execution graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<GraphStep>,
    /// What the execution had printed.
    pub stdout: String,
    /// The same for stderr.
    pub stderr: String,
}

/// A thread at a program point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stack {
    /// Which thread.
    pub thread: u32,
    /// `read`, `write`, `rmw`, `wait` …
    pub access: String,
    /// Where, innermost first.
    pub frames: Vec<Frame>,
}

/// A program point: for a call, an address inside the call instruction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The file that is mapped there; empty if none is.
    pub module: String,
    /// The address, counted from the module's lowest mapping.
    pub offset: u64,
}
