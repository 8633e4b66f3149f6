//! Every choice of the model's machine, one execution after the other: what exploration is held against.
//!
//! It is slow and has nothing to get wrong: the executions are those of any other campaign, their choices are answered
//! by the tree of all answers (see [`Tree`](fencepost_explore::enumerate::Tree)), depth first, until there are no
//! others.

use crate::drive::{control, ending};
use crate::results;
use fencepost_mailbox::{End, Record, Request, Restart};
use std::sync::atomic::Ordering;

/// Runs all executions; `execute` runs the one whose turn it is.
pub fn run(request: &Request, mut execute: impl FnMut(u64)) {
    if request.restart == Restart::Fork {
        // The tree is this process's own: what a child learns would be lost.
        ending::give_up("every choice can only be tried where executions restart in place");
    }
    let ended = |end: End| results::header().map_or(0, |header| header.ended[end as usize].load(Ordering::Relaxed));
    let is_cut = || [End::StepLimit, End::Timeout, End::Died].into_iter().any(|end| ended(end) > 0);
    let mut executions = 0;
    let problem = loop {
        if executions == request.count {
            break Some("there are too many executions");
        }
        results::begin(executions);
        execute(executions);
        executions += 1;
        if is_cut() {
            break Some("an execution did not end within the limits");
        }
        if !control::next_leaf() {
            break None;
        }
    };
    results::log(&Record::Collected { executions, problem: problem.map(str::to_owned) });
}
