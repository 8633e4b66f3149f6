//! Which violations of sequential consistency are in executions of a model, and which of them make the program fail.
//!
//! A violation is a cycle of program points. It is *feasible* if some execution contains it. It *does harm* if the
//! program can fail when nothing but the pairs of this cycle is reordered: some execution fails, contains the cycle,
//! and is one of the model restricted to these pairs ([`restricted`]). Where a failure takes several cycles together,
//! none of which is enough, the fewest of them do harm.
//!
//! If every execution of the model has been looked at, both answers are final, and do not depend on any seed.

use fencepost_memory::axioms::Execution;
use fencepost_memory::axioms::restricted::{self, Window};
use fencepost_predict::confirm::Accesses;
use fencepost_predict::private::without_private;
use fencepost_trace::{Cycle, Event, EventKind, Model, Trace};
use std::borrow::Cow;

/// Executions with more events than this, those aside that one thread alone is concerned with, are not asked whether a
/// cycle alone does harm: relations are quadratic.
pub const LONGEST: usize = 1_000;

/// So many sets of cycles that fail together are told of.
const MOST_SETS: usize = 64;

/// What is known of some cycles.
#[derive(Clone, Debug)]
pub struct Violations {
    model: Model,
    cycles: Vec<Cycle>,
    exposed: Vec<bool>,
    harmful: Vec<bool>,
    /// Sets of cycles that have been told of.
    together: Vec<Vec<usize>>,
    /// Was an execution too long to be asked about harm?
    cut: bool,
}

/// What an execution has shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// What is new.
    pub news: Vec<News>,
    /// Cycles that together, but none of them alone, are enough for this execution, which fails.
    pub together: Vec<usize>,
}

/// Something new about a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct News {
    /// Its number.
    pub cycle: usize,
    /// Does it do harm? Otherwise, it is feasible.
    pub harmful: bool,
}

impl Violations {
    /// Nothing is known of these cycles yet.
    pub fn new(model: Model, cycles: Vec<Cycle>) -> Violations {
        let n = cycles.len();
        Violations { model, cycles, exposed: vec![false; n], harmful: vec![false; n], together: Vec::new(), cut: false }
    }

    /// Which of them are feasible, as far as was seen?
    pub fn exposed(&self) -> &[bool] {
        &self.exposed
    }

    /// Which of them do harm, as far as was seen?
    pub fn harmful(&self) -> &[bool] {
        &self.harmful
    }

    /// Has an execution failed that was too long to be asked which cycle alone does that harm? Then what is not harmful
    /// may be.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Does it pay to look at an execution that did not fail?
    pub fn wants_more(&self) -> bool {
        self.exposed.contains(&false)
    }

    /// Looks at an execution of the model: what is new? `class` names the program point of an event, `fails` says
    /// whether the program fails as it never does without reordering.
    pub fn look(&mut self, trace: &Trace, class: impl Fn(&Event) -> u32 + Copy, fails: bool) -> Shown {
        let wanted = |i: &usize| fails || !self.exposed[*i];
        let accesses = Accesses::new(trace, class);
        if accesses.is_sequential() {
            return Shown::default();
        }
        let is_there = |i: &usize| accesses.cycle(&self.cycles[*i]).is_some();
        let there: Vec<usize> = (0..self.cycles.len()).filter(wanted).filter(is_there).collect();
        let mut news = Vec::new();
        for i in &there {
            if !std::mem::replace(&mut self.exposed[*i], true) {
                news.push(News { cycle: *i, harmful: false });
            }
        }
        let mut together = Vec::new();
        if fails && !there.is_empty() {
            let (alone, causes) = self.causes(trace, class, &there);
            if alone {
                for i in causes {
                    if !std::mem::replace(&mut self.harmful[i], true) {
                        news.push(News { cycle: i, harmful: true });
                    }
                }
            } else if self.together.len() < MOST_SETS && !self.together.contains(&causes) {
                self.together.push(causes.clone());
                together = causes;
            }
        }
        Shown { news, together }
    }

    /// Which of the cycles in an execution are enough for it: each alone, which is said, or else the fewest together.
    fn causes(&mut self, trace: &Trace, class: impl Fn(&Event) -> u32 + Copy, there: &[usize]) -> (bool, Vec<usize>) {
        if there.iter().all(|i| self.harmful[*i]) {
            return (true, Vec::new());
        }
        let trace = &*short(trace);
        if trace.events.len() > LONGEST {
            self.cut = true;
            return (true, Vec::new());
        }
        let Ok(execution) = Execution::from_trace(trace) else { return (true, Vec::new()) };
        let windows: Vec<Vec<Window>> = there.iter().map(|i| windows(trace, &self.cycles[*i], class)).collect();
        let enough = |some: &[usize]| {
            let all: Vec<Window> = some.iter().flat_map(|k| windows[*k].iter().copied()).collect();
            restricted::check(&execution, self.model, &all).is_ok()
        };
        let alone: Vec<usize> = (0..there.len()).filter(|k| enough(&[*k])).collect();
        let is_alone = !alone.is_empty();
        // Where one of them is known to be enough elsewhere, the others need not be asked about.
        let known = there.iter().any(|i| self.harmful[*i]);
        let chosen = match (is_alone, known) {
            (true, _) => alone,
            (false, true) => return (true, Vec::new()),
            (false, false) => fewest((0..there.len()).collect(), enough),
        };
        (is_alone, chosen.into_iter().map(|k| there[k]).collect())
    }
}

/// Is this execution, which contains the cycle, one of `model` in which nothing but the pairs of the cycle is
/// reordered? `None` if it is too long to tell.
pub fn is_alone(model: Model, trace: &Trace, class: impl Fn(&Event) -> u32 + Copy, cycle: &Cycle) -> Option<bool> {
    let trace = &*short(trace);
    if trace.events.len() > LONGEST {
        return None;
    }
    let execution = Execution::from_trace(trace).ok()?;
    Some(restricted::check(&execution, model, &windows(trace, cycle, class)).is_ok())
}

/// A trace that can be asked; of a long one what one thread alone is concerned with is left out.
fn short(trace: &Trace) -> Cow<'_, Trace> {
    if trace.events.len() <= LONGEST { Cow::Borrowed(trace) } else { Cow::Owned(without_private(trace)) }
}

/// Leaves out, one after the other, what is not needed; nothing if all together are not enough.
fn fewest(mut all: Vec<usize>, enough: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    if !enough(&all) {
        return Vec::new();
    }
    let mut i = 0;
    while i < all.len() {
        let mut rest = all.clone();
        rest.remove(i);
        if enough(&rest) {
            all = rest;
        } else {
            i += 1;
        }
    }
    all
}

/// Where the pairs of a cycle are in an execution: from each first access to the last second one behind it.
fn windows(trace: &Trace, cycle: &Cycle, class: impl Fn(&Event) -> u32) -> Vec<Window> {
    let mut windows = Vec::new();
    for segment in &cycle.segments {
        let Some(second) = segment.second else { continue };
        let is_access = |event: &Event| !matches!(event.kind, EventKind::Fence { .. } | EventKind::Commit { .. });
        let is = |event: &Event, point: u32| is_access(event) && class(event) == point;
        for first in trace.events.iter().filter(|event| is(event, segment.first)) {
            let behind = |event: &&Event| event.thread == first.thread && event.id > first.id && is(event, second);
            if let Some(last) = trace.events.iter().rfind(behind) {
                windows.push((first.id, last.id));
            }
        }
    }
    windows
}
