//! The memory that the host and the runtime inside a program share.
//!
//! One file, mapped by both sides, so that what a worker has written outlives it. Three parts:
//!
//! | part | written by | holds |
//! |---|---|---|
//! | [`Header`] | both | counters that move: the execution at hand, how executions ended, findings and how often |
//! | request | host, before the worker starts | a [`Request`] as JSON |
//! | log | runtime, append-only | [`Record`]s as JSON, one a line |
//!
//! A worker may die at any instruction. A record counts only once [`Header::log_used`] covers it, and the counters
//! are plain atomic words, so that the host always finds a state that makes sense: at most the last execution is
//! missing, and [`Header::current`] says which one that is.

#![forbid(unsafe_code)]

mod instruction;
mod message;
mod record;
mod request;
mod saved;
mod table;

pub use instruction::{Action, HiddenCode, HiddenFunction, HiddenInstruction, MemoryOperand, Source};
pub use message::Message;
pub use record::{
    AccessSite, Activation, AddressKind, Created, Details, Frame, Irreversible, Memory, Record, Report, Stack, death,
};
pub use request::{
    Fence, Hunt, Observations, Point, Pruning, Request, Restart, Save, Stronger, Volatile, Weaker, output_fingerprint,
};
pub use saved::{Rhythm, SAVED, Status, seal, unseal};
pub use table::{Slot, Table};

use fencepost_trace::Coverage;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The environment variable that names the file.
pub const VARIABLE: &str = "FENCEPOST_MAILBOX";

/// With this before it, the variable has the number of a connection instead: the process waits there for requests, and
/// makes a copy of itself for each. A request is the lengths of a path and of an argument, then both; the answer is the
/// copy's process, and, when that has ended, its status. All numbers have 32 bits.
pub const SERVE: &str = "serve:";

/// The first word of the file; it changes when the layout does.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fencep03");

/// Where the request starts.
pub const REQUEST_OFFSET: usize = 1 << 20;

/// Where the log starts.
pub const LOG_OFFSET: usize = 4 << 20;

/// How long the file is. It is sparse: what is not written takes no room.
pub const FILE_SIZE: usize = 256 << 20;

/// How an execution ended, as a position in [`Header::ended`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum End {
    /// `main` returned or `exit` was called; the status is counted in [`Header::statuses`].
    Exit = 0,
    /// A failed `assert`.
    Assertion = 1,
    /// `abort`, or an exception that nobody caught.
    Abort = 2,
    /// A signal that kills.
    Crash = 3,
    /// Every thread waits for another.
    Deadlock = 4,
    /// Cut off by the limit of steps.
    StepLimit = 5,
    /// Cut off by the limit of time.
    Timeout = 6,
    /// Abandoned by the strategy.
    Redundant = 7,
    /// The worker died in it.
    Died = 8,
    /// Every thread that can go on goes around a loop forever.
    Livelock = 9,
    /// `main` has panicked.
    Panic = 10,
}

impl End {
    /// All of them.
    pub const ALL: [End; 11] = [
        End::Exit,
        End::Assertion,
        End::Abort,
        End::Crash,
        End::Deadlock,
        End::StepLimit,
        End::Timeout,
        End::Redundant,
        End::Died,
        End::Livelock,
        End::Panic,
    ];
}

/// The worker's states.
pub mod state {
    /// The program has not reached the runtime yet.
    pub const STARTING: u32 = 0;
    /// Executions are running.
    pub const RUNNING: u32 = 1;
    /// All is done.
    pub const DONE: u32 = 2;
    /// The runtime gave up; the last record says why.
    pub const BROKEN: u32 = 3;
    /// The execution under way is about to do what a restart in place cannot undo: it and those after it are for
    /// children. It does not count.
    pub const MOVED: u32 = 4;
    /// Some execution has left something behind that was not noticed at once: none of this worker's can be trusted.
    pub const TAINTED: u32 = 5;
    /// The execution under way is about to write to a file that executions of other workers write to as well: it does
    /// not count, and one worker has to do all.
    pub const ALONE: u32 = 6;
    /// The first executions were all cut off by a limit: more of them would be, too.
    pub const HOPELESS: u32 = 7;
}

/// Limits behind which an exploration can go on; of several that are reached the last of these counts.
pub mod limit {
    /// None.
    pub const NONE: u32 = 0;
    /// Of time.
    pub const TIME: u32 = 1;
    /// Of executions.
    pub const EXECUTIONS: u32 = 2;
    /// One execution took too long.
    pub const TOO_LONG: u32 = 3;
    /// Somebody wishes it.
    pub const WISH: u32 = 4;
    /// A process has died, and what it had left is only in what was saved before.
    pub const DEATH: u32 = 5;
}

/// The beginning of the file.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// The length of the request in bytes.
    pub request_length: u64,
    /// How much of the log is written.
    pub log_used: AtomicU64,
    /// One of [`state`].
    pub state: AtomicU32,
    /// 1 if executions are run in forked children.
    pub forking: AtomicU32,
    /// The execution under way.
    pub current: AtomicU64,
    /// How many executions have ended.
    pub done: AtomicU64,
    /// In how many of them something was found.
    pub failing: AtomicU64,
    /// How many threads one of them had at most.
    pub threads: AtomicU64,
    /// How many steps they took together.
    pub steps: AtomicU64,
    /// Moves at every execution: a worker that stands still can be told from one that is busy.
    pub pulse: AtomicU64,
    /// One more than the execution in which the program last made way for another one (`exec`).
    pub replaced: AtomicU64,
    /// How executions ended, by [`End`].
    pub ended: [AtomicU64; 16],
    /// Exit statuses, where they ended by exit.
    pub statuses: [AtomicU64; 256],
    /// What the processes of an exploration share.
    pub exploring: Exploring,
    /// Findings and outputs that were met, with their counts.
    pub table: Table,
    /// Which reads read from which stores.
    pub coverage: Coverage,
}

/// An exploration on several cores: a worker and its forked children, each with a part of what is left to explore.
#[repr(C)]
pub struct Exploring {
    /// 1 while one of them writes to the table or the log.
    pub lock: AtomicU32,
    /// How many of them explore.
    pub workers: AtomicU32,
    /// 1 when all are to stop.
    pub stop: AtomicU32,
    /// 1 when all are to hand over what they have left, so that it can be saved.
    pub pause: AtomicU32,
    /// Why all are to stop, if it is a [`limit`]: what is left is left for later.
    pub limit: AtomicU32,
    /// 1 while what is left is put together and saved: that is worth waiting for.
    pub saving: AtomicU32,
    /// 1 if something was left out.
    pub cut: AtomicU32,
    /// 1 if one of them has learnt something with which all has to start over.
    pub again: AtomicU32,
    /// 1 if there was ever more than one of them.
    pub forked: AtomicU32,
    /// Executions that were completed.
    pub executions: AtomicU64,
    /// Executions that were cut off.
    pub blocked: AtomicU64,
    /// How many executions have been given a number.
    pub numbers: AtomicU64,
    /// How much is open.
    pub open: AtomicU64,
    /// How many executions are left, about.
    pub left: AtomicU64,
}

const _: () = assert!(size_of::<Header>() <= REQUEST_OFFSET);
