//! What some executions came to: final states, counts, findings.
//!
//! Tallies of parts of a campaign add up to that of the whole, in whatever order they are added.

use super::case::State;
use fencepost_trace::{Answers, FindingKind, FindingLabel, Method, Pair, Plan};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What makes two findings the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Key {
    pub kind: FindingKind,
    pub labels: Vec<FindingLabel>,
    /// The final state that a condition complains about.
    pub state: State,
}

/// A finding, and how to see it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// The sum of some executions. What is saved of an exploration has no pairs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Was it one on all of them, behind which they can go on?
    #[serde(skip)]
    pub limited_by_budget: bool,
    /// How many end in each final state.
    #[serde(with = "list")]
    pub states: FxHashMap<State, u64>,
    pub findings: Vec<Found>,
    /// Which reads read from which stores, each with the first execution in which it was seen, counted from 0.
    #[serde(skip)]
    pub pairs: FxHashMap<Pair, u64>,
    /// How executions were told apart, with how many questions, and why so.
    pub method: Method,
    pub answers: Option<Answers>,
    pub reason: Option<String>,
}

impl Tally {
    /// A limit on all executions ends it: does it keep any from being explored?
    pub fn limit(&mut self, limited: bool) {
        self.limited |= limited;
        self.limited_by_budget |= limited;
    }

    /// Adds another part of the same campaign.
    pub fn absorb(&mut self, other: Tally) {
        self.executions += other.executions;
        self.blocked += other.blocked;
        self.failed += other.failed;
        self.failing += other.failing;
        self.limited |= other.limited;
        self.limited_by_budget |= other.limited_by_budget;
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

/// A map whose keys are no text, as a list in order.
mod list {
    use super::State;
    use rustc_hash::FxHashMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(map: &FxHashMap<State, u64>, s: S) -> Result<S::Ok, S::Error> {
        let mut list: Vec<_> = map.iter().collect();
        list.sort_unstable();
        list.serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<FxHashMap<State, u64>, D::Error> {
        Vec::<(State, u64)>::deserialize(d).map(|list| list.into_iter().collect())
    }
}
