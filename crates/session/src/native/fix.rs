//! A change of the program that keeps a finding from happening: stronger memory orders, or under the hardware models
//! fences, tried before they are told of.
//!
//! Where a value went from one thread to another and the two did not synchronise, the store can release and the load
//! can acquire. Which ones these are the execution says; whether it helps is found out by running the campaign again
//! with these orders in place of the program's own. A change that was not tried, or did not help, is not told.

use super::Program;
use super::examine::Examined;
use super::fences;
use super::reason::{WeakLink, place, weak_links};
use crate::event::Log;
use fencepost_mailbox::{Frame, Stronger};
use fencepost_native::host::{self, Campaign, Found};
use fencepost_report::stale_reads;
use fencepost_trace::{Event, EventKind, FindingKind, Fix, Model, RmwOrder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// With a change it is tried in so many executions at least, and in so many times those that it took to be met.
const LEAST: u64 = 1_000;
const TIMES: u64 = 10;
/// In no more than this: what takes longer to be met is not verified.
const MOST: u64 = 20_000;
/// How long that may take for all findings; what is not done by then is not told.
pub const TIME: Duration = Duration::from_secs(4);

/// Looks for a change, and tries it, until then at the latest. Says so if there was no time.
pub fn fix(
    program: &Program,
    campaign: &Campaign,
    one: &Examined,
    deadline: Instant,
    log: &mut Log<'_>,
) -> Option<Fix> {
    match campaign.request.model {
        Model::C11 => stronger(campaign, one, deadline, log),
        Model::Sc => None,
        Model::Tso | Model::Pso | Model::Pslo => fences::fix(program, campaign, one, deadline, log),
    }
}

/// Stronger orders, for c11.
fn stronger(campaign: &Campaign, one: &Examined, deadline: Instant, log: &mut Log<'_>) -> Option<Fix> {
    let again = one.again.as_ref()?;
    let links = links(one)?;
    let mut changes: Vec<Change> = Vec::new();
    for WeakLink { write, read, releases, acquires } in &links {
        let ends = [(write, *releases, RmwOrder::Release), (read, *acquires, RmwOrder::Acquire)];
        for (event, is_enough, to) in ends {
            let event = again.trace.event(*event)?;
            if is_enough {
                continue;
            }
            let frame = again.places.get(event.label as usize)?.clone();
            let change = Change { words: words(event, &place(again.trace.label(event)?), to)?, frame, to };
            match changes.iter_mut().find(|known| known.frame == change.frame) {
                Some(known) if known.to != to => {
                    known.to = RmwOrder::AcqRel;
                    known.words = words(event, &place(again.trace.label(event)?), RmwOrder::AcqRel)?;
                }
                Some(_) => {}
                None => changes.push(change),
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    let words: Vec<&str> = changes.iter().map(|change| &change.words[..]).collect();
    let text = format!("make {}", words.join(" and "));
    match helps(campaign, one, &changes, deadline) {
        Tried::Helps(executions) => Some(Fix { text, executions }),
        Tried::InVain | Tried::Met(_) => None,
        Tried::NoTime => {
            no_time(&text, log);
            None
        }
    }
}

/// Says what there was no time for.
pub fn no_time(text: &str, log: &mut Log<'_>) {
    log.note(format!("there was no time to see whether this is a fix: {text}"));
}

/// A program point whose operations are to be stronger.
struct Change {
    words: String,
    frame: Frame,
    to: RmwOrder,
}

/// Where values went that should have brought an order with them.
fn links(one: &Examined) -> Option<Vec<WeakLink>> {
    let again = one.again.as_ref()?;
    let report = &one.found.report;
    if let (FindingKind::DataRace, [later, earlier]) = (report.kind, &report.sites[..]) {
        let atomic = |i: usize| report.stacks.get(i).is_some_and(|stack| stack.access.is_atomic());
        return weak_links(&again.trace, (*earlier, atomic(1)), (*later, atomic(0)));
    }
    // Of other findings: what a stale read should have known of.
    let until = report.after.map_or(usize::MAX, |after| after as usize);
    let mut links = Vec::new();
    for (read, newer) in stale_reads(&again.trace) {
        if read.index() <= until {
            links.extend(super::reason::weak_links_between(&again.trace, newer, read)?);
        }
    }
    Some(links)
}

/// `the store at f.c:12 release`.
fn words(event: &Event, at: &str, to: RmwOrder) -> Option<String> {
    let order = match to {
        RmwOrder::Acquire => "acquire",
        RmwOrder::Release => "release",
        _ => "acq_rel",
    };
    let what = match event.kind {
        EventKind::Load { failed_rmw: false, .. } => "load",
        EventKind::Store { .. } => "store",
        EventKind::Rmw { .. } | EventKind::Load { .. } => "read-modify-write",
        EventKind::Fence { .. } | EventKind::Commit { .. } => return None,
    };
    Some(format!("the {what} at {at} {order}"))
}

/// What came of a change.
pub enum Tried {
    /// The finding was not met in so many executions.
    Helps(u64),
    /// It was, in this execution of the campaign with the change.
    Met(Box<(Campaign, Found)>),
    /// Nobody can tell.
    InVain,
    NoTime,
}

/// Is the finding not met any more?
fn helps(campaign: &Campaign, one: &Examined, changes: &[Change], deadline: Instant) -> Tried {
    let stronger = |change: &Change| Stronger { place: change.frame.clone(), to: change.to };
    let mut changed = campaign.clone();
    changed.request.stronger = changes.iter().map(stronger).collect();
    tried(changed, one, deadline)
}

/// Runs the campaign, changed as it is, for as long as a change has to be tried.
pub fn tried(mut changed: Campaign, one: &Examined, deadline: Instant) -> Tried {
    let executions = (one.found.first_execution + 1).saturating_mul(TIMES).max(LEAST);
    if executions > MOST {
        return Tried::InVain;
    }
    (changed.request.first, changed.request.count) = (0, executions);
    changed.request.stop_at_first = false;
    changed.request.ignored.clear();
    changed.deadline = Some(deadline);
    changed.interruptible = true;
    changed.checked = false;
    changed.progress = Arc::default();
    let Ok(results) = host::run_campaign(&changed) else { return Tried::InVain };
    if let Some(met) = results.found.into_iter().find(|found| one.is_named(found.report.fingerprint)) {
        return Tried::Met(Box::new((changed, met)));
    }
    if results.executions == executions { Tried::Helps(executions) } else { Tried::NoTime }
}
