//! What the runtime writes to the log.

use crate::{Message, Observations};
use fencepost_trace::{Access, Action, Answers, FindingKind, GraphStep, Sampling, Trace};
use serde::{Deserialize, Serialize};

/// One line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
// There is never more than one at a time.
#[allow(clippy::large_enum_variant)]
pub enum Record {
    /// Something was found for the first time by this worker. How often it was met is in the header's table.
    Finding(Box<Report>),
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
        /// How many events the execution had: some may be left out.
        length: u64,
    },
    /// A trial of a hunt brought its cycle about.
    Exposed {
        /// The number of the task; where cycles are looked for in every execution, that of the cycle.
        task: u32,
        /// Which execution.
        execution: u64,
        /// How the program suffered, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        harm: Option<Message>,
        /// How it failed, and which thread.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failures: Vec<(FindingKind, Option<u32>)>,
        /// The answers that led there; left out if an earlier trial of the task had the same result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<u32>,
        /// In an exploration: the graph instead of answers, and the memory whose plain accesses are in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<GraphStep>,
        /// See `steps`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shared: Vec<(u64, u8)>,
        /// Cycles that made the program fail together.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<u32>,
    },
    /// With a trace: where threads had the variables on their stacks that they shared.
    Locals {
        /// Addresses, and the function that has a variable there.
        list: Vec<(u64, Activation)>,
    },
    /// An execution was cut off by a limit: the first of this worker's at these places.
    CutOff {
        /// Which execution.
        execution: u64,
        /// By the limit of time? Otherwise by that of steps.
        late: bool,
        /// Where its threads were.
        stacks: Vec<Stack>,
    },
    /// An exploration has ended.
    Explored {
        /// Was every execution graph visited?
        complete: bool,
        /// How many executions there are.
        executions: u64,
        /// How many were cut off.
        blocked: u64,
        /// How many questions of order were answered, and how (not for execution graphs).
        #[serde(default)]
        answers: Option<Answers>,
    },
    /// In an exploration that is watched: the program makes an access or has a fence there.
    Access {
        /// Where.
        place: Frame,
        /// What it did when it was first met.
        access: Access,
    },
    /// Under a hardware model, where that is no error: two accesses race. The first of this worker's at these places.
    Race {
        /// One of them, and where it is.
        first: Stack,
        /// The other.
        second: Stack,
    },
    /// Atomic operations can have this outcome.
    Outcome {
        /// What was observed.
        outcome: Observations,
    },
    /// The outcomes of atomic operations have been collected, or every choice of the machine was tried.
    Collected {
        /// How many executions it took.
        executions: u64,
        /// Why there may be others, if there may.
        problem: Option<String>,
    },
    /// A smaller execution was looked for: the finding before this is that of the smallest.
    Minimised {
        /// How many executions were tried.
        executions: u64,
        /// False if time ran out first.
        in_time: bool,
    },
    /// The program did, or is about to do, what a restart in place cannot undo.
    Irreversible(Irreversible),
    /// A digest of the trace of an execution that was to be compared.
    Digest {
        /// Which execution.
        execution: u64,
        /// Its digest.
        digest: u64,
        /// The seed of the execution.
        seed: u64,
        /// How its answers were drawn.
        sampling: Sampling,
    },
    /// Something the user should know: a call that breaks control, a mode that was changed.
    Note(Message),
}

/// A finding, with what is needed to show and to replay it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its name in the table: the same kind at the same places has the same name in every worker.
    pub fingerprint: u64,
    /// What kind of bug.
    pub kind: FindingKind,
    /// In words.
    pub message: Message,
    /// Which execution.
    pub execution: u64,
    /// Where: for a race both accesses, the later one first; otherwise the failing thread, or all that wait.
    pub stacks: Vec<Stack>,
    /// How many events there had been by then, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// The answers that led there.
    pub choices: Vec<u32>,
    /// Of an execution with more answers than are kept: the seed and the sampling that drew them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<(u64, Sampling)>,
    /// Or, from an exploration, the steps of its execution graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<GraphStep>,
    /// Memory whose plain accesses are among these steps: addresses of eight bytes each, and which of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<(u64, u8)>,
    /// What the execution had printed.
    pub stdout: String,
    /// The same for stderr.
    pub stderr: String,
    /// The accesses that take part, for an execution that is run again to look at them more closely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<AccessSite>,
    /// What only an execution that is run again for it collects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

impl Report {
    /// Of a process that died: nothing is left but how.
    pub fn of_death(fingerprint: u64, kind: FindingKind, message: String, execution: u64) -> Report {
        Report {
            fingerprint,
            kind,
            message: message.into(),
            execution,
            stacks: Vec::new(),
            after: None,
            choices: Vec::new(),
            drawn: None,
            steps: Vec::new(),
            shared: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
            sites: Vec::new(),
            details: None,
        }
    }
}

/// An access of one execution: enough to know it when it comes again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccessSite {
    /// Some byte that it touches.
    pub address: u64,
    /// Whose it is.
    pub thread: u32,
    /// Under c11, the number of its thread's next event (from 1) for a plain access, its own for an atomic one.
    pub time: u32,
    /// The return address of the call that announced it.
    pub pc: u64,
}

/// What surrounds a finding.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Details {
    /// Where the threads that take part were created.
    pub created: Vec<Created>,
    /// The memory that it is about.
    pub memory: Option<Memory>,
}

/// Where a thread was created.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Created {
    /// Which thread.
    pub thread: u32,
    /// By whom and where.
    pub by: Stack,
}

/// What an address belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// The address.
    pub address: u64,
    /// What lies there.
    pub place: AddressKind,
}

/// What lies at an address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum AddressKind {
    /// A block of the heap, or what is close to one.
    Block {
        /// How far behind its beginning the address is; negative if it is before it.
        offset: i64,
        /// How many bytes were asked for.
        size: u64,
        /// Who allocated it, and where.
        allocated: Stack,
        /// Who freed it, if that was done.
        freed: Option<Stack>,
    },
    /// The stack of a thread.
    Stack {
        /// Whose.
        thread: u32,
        /// The function that has a variable there, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        activation: Option<Activation>,
    },
    /// Something else: a variable with static storage, or mapped memory.
    Other,
}

/// A call of a function that has not returned yet: enough to find its variables.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Activation {
    /// A place in the function at which its thread was.
    pub at: Frame,
    /// Where it was called from what it called last, if that came later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Frame>,
    /// The stack pointer there.
    pub sp: u64,
    /// The register that some functions keep the beginning of their variables in (rbp).
    pub bp: u64,
}

/// What a restart in place cannot undo.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Irreversible {
    /// The execution that did it, or after which it was noticed.
    pub execution: u64,
    /// In words: what the program did.
    pub action: String,
    /// Where, if that is known.
    pub stack: Option<Stack>,
}

/// What is said of an execution that ended without a word, by the status that `wait` gives: a name for the table, and
/// a message.
pub fn death(status: i32) -> (u64, String) {
    let how = match status & 0x7f {
        0 => format!("status {}", status >> 8 & 0xff),
        signal => format!("signal {signal}"),
    };
    let message = format!("the process ended outside of Fencepost's control: {how}");
    (0xdead_0000_0000_0000 | status as u64 & 0xffff, message)
}

/// A thread at a program point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stack {
    /// Which thread.
    pub thread: u32,
    /// What it does there.
    pub access: Action,
    /// Where, innermost first.
    pub frames: Vec<Frame>,
}

/// A program point: for a call, an address inside the call instruction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The file that is mapped there; empty if none is.
    pub module: String,
    /// The address, as the file has it: without what was added when it was mapped.
    pub offset: u64,
}
