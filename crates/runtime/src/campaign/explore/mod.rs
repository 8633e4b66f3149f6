//! Every execution graph of the program, each exactly once.
//!
//! The exploration runs on the campaign's stack and sees the program as it sees any other: it resumes a thread with a
//! reply, and the thread comes back with its next operation. Atomics and synchronisation are its events, and plain
//! accesses to memory that turns out to be shared without synchronisation (see
//! [`shared`](crate::drive::explored::shared)); other plain accesses go to memory and to the race detector, whose
//! clocks come from the graph. How a thread asks, and which of its accesses are events, is below
//! ([`explored`](crate::drive::explored)).
//!
//! What makes this sound, and where it ends:
//!
//! - An execution is cut and run again all the time, so that each thread must do the same when it reads the same: the
//!   heap gives addresses by thread, and plain memory is put back. A program that does otherwise is reported as not
//!   deterministic.
//! - The initial value of a place is what memory holds at its first event. If that differs between executions
//!   although all accesses are events, the exploration says that it is not complete.
//! - A thread that waits in a loop is recognised by its registers and its stack, and by having written nothing: see
//!   [`digest`](crate::drive::digest).
//! - Time is a choice: a wait with a timeout ends either by what it waits for or by its time, wherever both are
//!   possible. So it is an attempt that does not wait, which may come at any time. Each thread has a clock of its
//!   own, which such an end puts forward.
//! - Under a hardware model a block that is freed while nothing orders another thread's access before that: the order
//!   of the two is not explored, and the exploration says that it is not complete.
//!
//! On several cores the process forks: parent and child each keep half of the alternatives that are left. Counts are
//! in memory that they share, and so are the registers of states where executions are told apart by what is read
//! (`common`). Once in a while all hand what they have left to the first process, which saves it (`saved`) and forks
//! again.

mod common;
mod parts;
mod passes;
mod program;
mod races;
mod safety;
mod saved;
mod visitor;
mod workers;

use crate::drive::ending::Verdict;
use crate::drive::explored::{shared, unseen};
use crate::platform::global::{Entered, Global};
use crate::results::unsupported;
use fencepost_explore::Outlook;
use fencepost_mailbox::{Request, Rhythm};
use fencepost_trace::ThreadId;
pub use passes::run;

/// An exploration under way.
struct State {
    request: &'static Request,
    /// How threads have ended the process in the execution at hand: each may be the one that does.
    verdicts: Vec<(ThreadId, Verdict)>,
    /// If each execution is judged: by whom.
    safety: Option<safety::Safety>,
    /// How many executions in a row were cut off.
    cut_off: u32,
    /// How often it was looked whether it is time to stop: after every run, whether the program took part in it or not.
    turns: u64,
    /// The last execution was abandoned, and what it printed is still there.
    open: bool,
    /// Processes that share the work.
    children: Vec<i32>,
    /// This process is one of those.
    is_child: bool,
    /// At how many runs the process forks at the earliest.
    next_fork: u64,
    /// How much is left, and what was said of it.
    outlook: Outlook,
    told: (u64, u64),
    /// When to save, and how long the log was when that was done.
    rhythm: Rhythm,
    saved_log: u64,
}

static STATE: Global<Option<State>> = Global::new(None);

#[track_caller]
fn state() -> Entered<'static, State> {
    STATE.enter().map(|state| state.as_mut().expect("internal error: no exploration"))
}

/// What the host has asked for.
fn request() -> &'static Request {
    state().request
}
