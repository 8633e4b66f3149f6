//! Under the hardware models: the fewest fences with which a finding was not met any more.
//!
//! The execution that shows it says where fences can be: with them there, it is no execution of the model. The campaign
//! is then run again with the fences in place. If the finding is met all the same, in another way, that execution says
//! where else they have to be, and so on. What is told was tried as stronger orders are under c11.

use super::Program;
use super::again::Again;
use super::examine::{Examined, strategy};
use super::fix::{Tried, no_time, tried};
use super::reason::place;
use crate::event::Log;
use crate::hunt::{Failure, FencePosition, Ordering, weaker};
use crate::orderings::fewest;
use fencepost_mailbox::{Fence, Frame};
use fencepost_native::host::Campaign;
use fencepost_report::Describe;
use fencepost_trace::{Event, EventId, EventKind, FenceOrder, Fix, Location, Model, StoreOrder, ThreadId, Trace};
use std::collections::HashMap;
use std::time::Instant;

/// More ways than this to meet a finding are not looked at, and no more fences than this told.
const WAYS: usize = 8;
const MOST: usize = 4;
/// How many sets of fences are looked at for the fewest.
const SETS: usize = 500;

/// Looks for fences, and tries them, until then at the latest. Says so if there was no time.
pub fn fix(
    program: &Program,
    campaign: &Campaign,
    one: &Examined,
    deadline: Instant,
    log: &mut Log<'_>,
) -> Option<Fix> {
    let mut search = Search::new(campaign.request.model, deadline);
    search.learn(one.again.as_ref()?)?;
    while search.failures.len() <= WAYS {
        let chosen = search.fewest()?;
        let text = search.words(&chosen);
        let mut changed = campaign.clone();
        changed.request.fences.extend(chosen.iter().map(|(position, order)| Fence {
            place: search.points[position.point as usize].frame.clone(),
            before: position.before,
            order: *order,
        }));
        match tried(changed, one, deadline) {
            Tried::Helps(executions) => return Some(Fix { text, executions }),
            Tried::Met(met) => {
                let (mut changed, found) = *met;
                changed.request.details = Some(found.report.sites.clone());
                changed.deadline = campaign.deadline;
                search.learn(&Again::follow(program, &changed, &strategy(&found)).ok()?.0?)?;
            }
            Tried::InVain => return None,
            Tried::NoTime => {
                no_time(&text, log);
                return None;
            }
        }
    }
    None
}

/// A program point that a fence can be before.
struct Point {
    frame: Frame,
    /// `the load at f.c:12`.
    words: String,
    reads: bool,
    /// The place of the store before it that may not be visible there, the last one.
    late: Option<String>,
}

/// What is known of the ways in which the finding is met.
struct Search {
    model: Model,
    deadline: Instant,
    /// Program points, numbered over all executions.
    points: Vec<Point>,
    numbers: HashMap<Frame, u32>,
    failures: Vec<Failure>,
    /// Fences that could prevent them, the least wanted first: full ones, of those the ones before stores, and of those
    /// the ones that come early.
    candidates: Vec<Ordering>,
}

impl Search {
    fn new(model: Model, deadline: Instant) -> Search {
        let (points, numbers, failures, candidates) = Default::default();
        Search { model, deadline, points, numbers, failures, candidates }
    }

    /// Takes in an execution in which the finding is met. `None` if it says nothing of fences.
    fn learn(&mut self, again: &Again) -> Option<()> {
        let trace = &again.trace;
        let late = late_stores(trace);
        let mut numbers = HashMap::new();
        for event in &trace.events {
            let Some(words) = words(event) else { continue };
            let frame = again.places.get(event.label as usize)?;
            let next = self.points.len() as u32;
            let number = *self.numbers.entry(frame.clone()).or_insert(next);
            numbers.insert(event.label, number);
            let label = trace.label(event).filter(|label| label.line > 0 && !again.symbolizer.is_library(label));
            if number == next {
                let words = label.map_or_else(String::new, |label| format!("{words} at {}", place(label)));
                self.points.push(Point { frame: frame.clone(), words, reads: event.kind.is_read(), late: None });
            }
            let before = late.get(&event.id).and_then(|store| trace.event(*store));
            if label.is_none() || before.is_none() && self.model != Model::Pslo {
                continue;
            }
            let point = &mut self.points[number as usize];
            let store = before.and_then(|store| trace.label(store)).filter(|label| label.line > 0).map(place);
            point.late = point.late.take().or(store);
            let position = FencePosition { point: number, before: true };
            // A release fence is told before what is to be visible later, an acquire fence before what is read later.
            let suits = |order: &&FenceOrder| match order {
                FenceOrder::Release => event.kind.written().is_some(),
                FenceOrder::Acquire => event.kind.is_read(),
                _ => true,
            };
            let orders = [FenceOrder::SeqCst].iter().chain(weaker(self.model)).filter(suits);
            for ordering in orders.map(|order| (position, *order)) {
                self.candidates.retain(|other| *other != ordering);
                self.candidates.push(ordering);
            }
        }
        let points = &self.points;
        self.candidates
            .sort_by_key(|(position, order)| (*order != FenceOrder::SeqCst, points[position.point as usize].reads));
        let failure = Failure::of(trace, |event| numbers.get(&event.label).copied().unwrap_or(u32::MAX), self.model)?;
        let is_one = failure.is_possible(self.model);
        self.failures.push(failure);
        is_one.then_some(())
    }

    /// The fewest fences that prevent all that is known. `None` if there are none, too many, or no time to tell.
    fn fewest(&self) -> Option<Vec<Ordering>> {
        let enough = |set: &[Ordering]| match Instant::now() < self.deadline {
            true => Ok(self.failures.iter().all(|failure| failure.is_prevented(set, self.model))),
            false => Err(()),
        };
        let chosen = fewest(&self.candidates, SETS, enough).ok()??;
        (1..=MOST).contains(&chosen.len()).then_some(chosen)
    }

    /// `put a seq_cst fence right before the load at f.c:12, so that the store at f.c:11 is visible first`.
    fn words(&self, chosen: &[Ordering]) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (position, order) in chosen {
            let point = &self.points[position.point as usize];
            let late = (point.late.as_ref()).map(|store| format!(", so that the store at {store} is visible first"));
            let name = match order {
                FenceOrder::SeqCst => "a seq_cst",
                FenceOrder::Release => "a release",
                FenceOrder::Acquire => "an acquire",
                FenceOrder::AcqRel => "an acq_rel",
            };
            let part = format!("{name} fence right before {}{}", point.words, late.unwrap_or_default());
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        format!("put {}", parts.join(", and "))
    }
}

/// What an access is called; `None` for what is no access.
fn words(event: &Event) -> Option<&'static str> {
    match event.kind {
        EventKind::Load { failed_rmw: false, .. } => Some("the load"),
        EventKind::Store { .. } => Some("the store"),
        EventKind::Rmw { .. } | EventKind::Load { .. } => Some("the read-modify-write"),
        EventKind::Fence { .. } | EventKind::Commit { .. } => None,
    }
}

/// For each event before which its thread has stored something: the last store that is in its buffer, or the last that
/// was.
fn late_stores(trace: &Trace) -> HashMap<EventId, EventId> {
    #[derive(Default)]
    struct Stores {
        buffer: Vec<EventId>,
        last: Option<EventId>,
    }
    let mut threads: HashMap<ThreadId, Stores> = HashMap::new();
    let mut late = HashMap::new();
    for event in &trace.events {
        let own = threads.entry(event.thread).or_default();
        if let EventKind::Commit { store } = event.kind {
            // It is the thread of the store that a commit belongs to.
            own.buffer.retain(|other| *other != store);
            continue;
        }
        if let Some(store) = own.buffer.last().copied().or(own.last) {
            late.insert(event.id, store);
        }
        // A seq_cst store goes to memory at once, and so does what only the engine knows of.
        let is_buffered = |at: Location, order| order != StoreOrder::SeqCst && at.as_hidden().is_none();
        if matches!(event.kind, EventKind::Store { at, order, .. } if is_buffered(at, order)) {
            own.buffer.push(event.id);
            own.last = Some(event.id);
        }
    }
    late
}
