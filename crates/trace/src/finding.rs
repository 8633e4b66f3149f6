//! What was found.

use crate::{Action, Label, ThreadId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a program fails by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Failure {
    Assertion,
    Abort,
    Crash,
    Panic,
}

/// The kinds of findings, named as in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum FindingKind {
    DataRace,
    Assertion,
    Abort,
    Crash,
    Panic,
    Deadlock,
    Livelock,
    UseAfterFree,
    DoubleFree,
    HeapOverflow,
    MutexMisuse,
    UninitialisedRead,
    Leak,
    ScViolation,
    SpecViolation,
    ExitStatus,
}

impl From<Failure> for FindingKind {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Assertion => FindingKind::Assertion,
            Failure::Abort => FindingKind::Abort,
            Failure::Crash => FindingKind::Crash,
            Failure::Panic => FindingKind::Panic,
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FindingKind::DataRace => "data-race",
            FindingKind::Assertion => "assertion",
            FindingKind::Abort => "abort",
            FindingKind::Crash => "crash",
            FindingKind::Panic => "panic",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Livelock => "livelock",
            FindingKind::UseAfterFree => "use-after-free",
            FindingKind::DoubleFree => "double-free",
            FindingKind::HeapOverflow => "heap-overflow",
            FindingKind::MutexMisuse => "mutex-misuse",
            FindingKind::UninitialisedRead => "uninitialised-read",
            FindingKind::Leak => "leak",
            FindingKind::ScViolation => "sc-violation",
            FindingKind::SpecViolation => "spec-violation",
            FindingKind::ExitStatus => "exit-status",
        })
    }
}

/// Does it hurt?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Severity {
    Harmful,
    Benign,
    Infeasible,
    Unknown,
}

/// A program point that takes part in a finding, and what the thread did there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingLabel {
    /// Where.
    #[serde(flatten)]
    pub label: Label,
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub access: Action,
}

/// A thread at a program point, with the calls that led there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingStack {
    /// What it shows: `write by thread 2`, `thread 2 was created by thread 0` …
    pub title: String,
    /// Who.
    pub thread: ThreadId,
    /// The innermost call first, inlined ones included.
    pub frames: Vec<Label>,
}

/// The memory that a finding is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingMemory {
    /// In words: `8 bytes into a block of 32 bytes that thread 1 allocated`.
    pub text: String,
    /// What it is.
    pub kind: MemoryKind,
    /// The variable, with the member or element if known; empty for anything else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How far into the variable or block.
    #[serde(default)]
    pub offset: i64,
    /// The size of the variable or block; 0 if unknown.
    #[serde(default)]
    pub size: u64,
    /// Who allocated the block, or whose stack it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// Kinds of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum MemoryKind {
    Global,
    Heap,
    Stack,
    Other,
}

/// How much an execution contains that is not done in the plainest way, up to what was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Needs {
    /// How often another thread goes on than the one before.
    pub context_switches: u32,
    /// Reads that do not read the newest store that is visible.
    pub stale_reads: u32,
    /// Stores that wait in a buffer while somebody goes on.
    pub delayed_stores: u32,
    /// How many operations there are in all.
    pub operations: u32,
}

impl Needs {
    /// What of it has to be understood: all but the operations.
    pub fn oddities(&self) -> u32 {
        self.context_switches + self.stale_reads + self.delayed_stores
    }
}

/// The execution in which a finding was met first, where a smaller one is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FirstMet {
    /// What it contains.
    pub needs: Needs,
    /// How many executions were tried to find the smaller one.
    pub tried: u64,
    /// The file that replays it, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// A change of the program with which a finding was not met any more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// In words: `make the store at ring.cpp:23 release`.
    pub text: String,
    /// In how many executions that was tried.
    pub executions: u64,
}

/// One bug, however often it was met.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Its number in this run, from 1.
    pub id: u32,
    /// What kind of bug.
    pub kind: FindingKind,
    /// In words.
    pub message: String,
    /// In how many executions it was met.
    pub count: u64,
    /// The first of them, from 1.
    pub first_execution: u64,
    /// Whether it hurts.
    pub severity: Severity,
    /// The program points that take part.
    pub labels: Vec<FindingLabel>,
    /// Where the threads that take part were, in full: the accesses or waits themselves, then where threads were
    /// created and memory was allocated and freed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<FindingStack>,
    /// The memory that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<FindingMemory>,
    /// Why it could happen: for a race, why nothing orders the accesses. One sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason: Vec<String>,
    /// What would keep it from happening, if something was found and tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// What the execution that is shown needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// The execution in which it was met first, if a smaller one is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_met: Option<FirstMet>,
    /// The file that replays it, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}
