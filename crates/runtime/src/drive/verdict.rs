//! How an execution ended, and which finding that is.

use crate::detect::details;
use crate::drive::debugger;
use crate::drive::findings::Found;
use crate::platform::global;
use crate::platform::modules::stack;
use crate::results::{self, complained, hash};
use crate::threads::fibers;
use fencepost_mailbox::{End, Request};
use fencepost_runtime_core::panics;
use fencepost_trace::{FindingKind, ThreadId};

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// With this status.
    Exit(i32),
    /// A failed assertion, in words.
    Assertion(String),
    /// `main` has panicked, with this stack.
    Panic(Vec<usize>),
    /// `abort`.
    Abort(String),
    /// A signal that kills.
    Crash {
        signal: i32,
        address: usize,
        pc: usize,
    },
    /// These threads wait forever.
    Deadlock(Vec<ThreadId>),
    /// These threads go around loops forever.
    Livelock(Vec<ThreadId>),
    StepLimit,
    Timeout,
    Redundant,
}

impl Verdict {
    /// Its kind.
    pub fn end(&self) -> End {
        match self {
            Verdict::Exit(_) => End::Exit,
            Verdict::Assertion(_) => End::Assertion,
            Verdict::Panic(_) => End::Panic,
            Verdict::Abort(_) => End::Abort,
            Verdict::Crash { .. } => End::Crash,
            Verdict::Deadlock(_) => End::Deadlock,
            Verdict::Livelock(_) => End::Livelock,
            Verdict::StepLimit => End::StepLimit,
            Verdict::Timeout => End::Timeout,
            Verdict::Redundant => End::Redundant,
        }
    }

    /// The name of the finding that this end is, if it is one.
    pub fn fingerprint(&self, request: &Request) -> Option<u64> {
        self.finding(request).map(|found| found.fingerprint)
    }

    /// The finding that this end is, if it is one.
    pub fn finding(&self, request: &Request) -> Option<Found> {
        let me = fibers::current();
        let here = |access: &str| vec![stack(me.0, access, &fibers::stack_of(me))];
        let (kind, message, stacks) = match self {
            Verdict::Exit(0) | Verdict::Redundant | Verdict::StepLimit | Verdict::Timeout => return None,
            Verdict::Exit(status) if request.status_is_finding => {
                (FindingKind::ExitStatus, format!("exit status {status}"), Vec::new())
            }
            Verdict::Exit(_) => return None,
            Verdict::Assertion(message) => (FindingKind::Assertion, message.clone(), here("")),
            Verdict::Panic(calls) => (FindingKind::Panic, panics::message(&complained()), vec![stack(me.0, "", calls)]),
            Verdict::Abort(message) => (FindingKind::Abort, message.clone(), here("")),
            Verdict::Crash { signal, address, .. } => {
                let what = if is_overflow(*signal, *address) { "stack overflow" } else { signal_name(*signal) };
                (FindingKind::Crash, format!("{what} at address {address:#x}"), here(""))
            }
            Verdict::Deadlock(blocked) => {
                let wait = |t: &ThreadId| stack(t.0, "wait", &fibers::stack_of(*t));
                (FindingKind::Deadlock, "every thread waits".to_owned(), blocked.iter().map(wait).collect())
            }
            Verdict::Livelock(spinning) => {
                let spin = |t: &ThreadId| stack(t.0, "spin", &fibers::stack_of(*t));
                let message = match spinning.len() {
                    1 => "a thread goes around a loop forever: nobody is left to end it",
                    _ => "threads go around loops forever: nobody is left to end them",
                };
                (FindingKind::Livelock, message.to_owned(), spinning.iter().map(spin).collect())
            }
        };
        let innermost: Vec<_> = stacks.iter().map(|s| s.frames.first().cloned()).collect();
        let fingerprint = match self {
            Verdict::Exit(status) => hash((kind, status)),
            // Innermost is what all panics have in common.
            Verdict::Panic(_) => hash((kind, &stacks[0].frames)),
            _ => hash((kind, innermost)),
        };
        let threads: Vec<u32> = stacks.iter().map(|s| s.thread).collect();
        let details = details::about(0, &threads);
        Some(Found { fingerprint, kind, message: message.into(), stacks, sites: Vec::new(), details, after: None })
    }
}

/// The running thread is about to end the execution: a debugger may wait for that.
pub fn announce(verdict: &Verdict) {
    if debugger::is_there()
        && let Some(fingerprint) = results::request().and_then(|request| verdict.fingerprint(request))
    {
        debugger::announce(fingerprint);
    }
}

/// Did the running thread come to the end of its stack?
fn is_overflow(signal: i32, address: usize) -> bool {
    /// So large a frame may step over what guards a stack; and where the main thread's ends is known about so well.
    const REACH: usize = 256 << 10;
    matches!(signal, libc::SIGSEGV | libc::SIGBUS)
        && fibers::me().stack.0.abs_diff(address) < REACH
        && global::caller_sp().abs_diff(address) < REACH
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "segmentation fault",
        libc::SIGBUS => "bus error",
        libc::SIGILL => "illegal instruction",
        libc::SIGFPE => "arithmetic error",
        libc::SIGTRAP => "trap",
        _ => "signal",
    }
}
