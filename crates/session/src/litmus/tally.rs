//! What some executions came to: final states, counts, findings.
//!
//! Tallies of parts of a campaign add up to that of the whole, in whatever order they are added.

use super::case::State;
use fencepost_trace::{Answers, FindingKind, FindingLabel, Method, Pair, Plan};
use rustc_hash::FxHashMap;

/// What makes two findings the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub kind: FindingKind,
    pub labels: Vec<FindingLabel>,
    /// The final state that a condition complains about.
    pub state: State,
}

/// A finding, and how to see it again.
#[derive(Clone, Debug)]
pub struct Found {
    pub key: Key,
    pub message: String,
    /// In how many executions.
    pub count: u64,
    /// The first of them, from 1.
    pub first: u64,
    /// The first of them again.
    pub plan: Plan,
}

/// The sum of some executions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Those that ended, whether well or not.
    pub executions: u64,
    /// Those that were cut off, or spin in a loop forever.
    pub blocked: u64,
    /// Of `executions`, those in which the program failed.
    pub failed: u64,
    /// Of both, those in which something was found.
    pub failing: u64,
    /// Did a limit keep some from being explored?
    pub limited: bool,
    /// How many end in each final state.
    pub states: FxHashMap<State, u64>,
    pub findings: Vec<Found>,
    /// Which reads read from which stores, each with the first execution in which it was seen, counted from 0.
    pub pairs: FxHashMap<Pair, u64>,
    /// How executions were told apart, with how many questions, and why so.
    pub method: Method,
    pub answers: Option<Answers>,
    pub reason: Option<String>,
}

impl Tally {
    /// Adds another part of the same campaign.
    pub fn absorb(&mut self, other: Tally) {
        self.executions += other.executions;
        self.blocked += other.blocked;
        self.failed += other.failed;
        self.failing += other.failing;
        self.limited |= other.limited;
        for (state, count) in other.states {
            *self.states.entry(state).or_default() += count;
        }
        for (pair, first) in other.pairs {
            self.pairs.entry(pair).and_modify(|known| *known = first.min(*known)).or_insert(first);
        }
        for found in other.findings {
            match self.findings.iter_mut().find(|known| known.key == found.key) {
                None => self.findings.push(found),
                Some(known) => {
                    known.count += found.count;
                    if found.first < known.first {
                        known.first = found.first;
                        known.plan = found.plan;
                    }
                }
            }
        }
    }
}
