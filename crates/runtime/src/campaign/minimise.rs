//! From an execution that shows a finding to a smaller one, inside the program's process.
//!
//! The executions are those of any other campaign; what answers their choices is a script
//! ([`Scripted`](fencepost_engine::Scripted)), and what is tried next is decided by
//! [`minimise`](fencepost_explore::minimise). The smallest is run once more from its recorded answers, as a replay
//! would, and only that one is told of.

use crate::campaign::in_place;
use crate::drive::control;
use crate::drive::findings::Found;
use crate::drive::restart;
use crate::platform::global::Global;
use crate::platform::sys;
use crate::results;
use fencepost_engine::Scripted;
use fencepost_explore::minimise::{Attempt, Effort, Ended, Minimised, Tried, longest, minimise};
use fencepost_mailbox::{Record, Request, Restart};
use fencepost_trace::{CampaignSpec, Minimisation, StrategySpec};

/// Has the execution that was tried last shown the finding?
static SHOWS: Global<bool> = Global::new(false);

/// An execution has ended, in which this was found. Was it one to be tried only?
pub fn judge(request: &Request, found: &[Found]) -> bool {
    let CampaignSpec::Minimise(asked) = &request.campaign else { return false };
    *SHOWS.enter() = found.iter().any(|found| found.fingerprint == asked.fingerprint);
    true
}

/// Looks for a smaller execution.
pub fn run(request: &Request, asked: &Minimisation) {
    if request.restart == Restart::Fork {
        // What is learned from an execution is this process's own.
        return;
    }
    let mut number = 0;
    let mut execute = |scripted: Scripted, max_steps: u64| {
        results::begin(number);
        restart::begin(number);
        number += 1;
        control::follow_script(scripted, asked.fingerprint, asked.is_endless);
        in_place(number, &Request { max_steps, ..request.clone() });
        let shows = std::mem::take(&mut *SHOWS.enter());
        let attempt = || {
            let (script, operations) = control::script()?;
            Some(Attempt { script, operations, choices: control::all_choices()? })
        };
        (control::steps(), shows.then(attempt).flatten())
    };
    let (steps, Some(first)) = execute(Scripted::learning(asked.choices.clone()), request.max_steps) else { return };
    // What takes much longer is not smaller.
    let most = longest(steps).min(request.max_steps);
    let effort = Effort { executions: asked.executions, steps: asked.steps };
    let Minimised { best, executions, ended } = minimise(first, effort, |script| {
        if sys::monotonic() >= asked.deadline {
            return Tried::NoTime;
        }
        let (steps, shows) = execute(Scripted::new(script.clone()), most);
        Tried::Ran { steps, shows }
    });
    results::begin(number);
    restart::begin(number);
    let campaign = CampaignSpec::Repeat(StrategySpec::Follow { choices: best.choices });
    in_place(number, &Request { campaign, ..request.clone() });
    results::log(&Record::Minimised { executions, in_time: ended != Ended::Time });
}
