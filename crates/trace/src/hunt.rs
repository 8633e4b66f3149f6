//! What a hunt for violations of sequential consistency hands from one part of the house to another: cycles of
//! program points, and how to bring one about.

use crate::Model;
use serde::{Deserialize, Serialize};

/// A cycle of program points: in each of several threads one access or two, the last of each in conflict with the
/// first of the next.
///
/// Program points are numbers of whoever predicted it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cycle {
    /// What each thread does, in order.
    pub segments: Vec<Segment>,
}

/// One thread's part in a [`Cycle`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The access that comes after one of the thread before.
    pub first: u32,
    /// The access that comes before one of the next thread, later in program order; `None` if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<u32>,
}

impl Segment {
    /// The access that the next thread's conflicts with.
    pub fn last(self) -> u32 {
        self.second.unwrap_or(self.first)
    }
}

impl Cycle {
    /// The cycle in the rotation that comes first: two that are the same up to rotation become equal.
    pub fn canonical(mut self) -> Cycle {
        let n = self.segments.len();
        let turn = |by: usize| (0..n).map(move |i| (i + by) % n);
        let best = (0..n).min_by(|a, b| turn(*a).map(|i| self.segments[i]).cmp(turn(*b).map(|i| self.segments[i])));
        self.segments.rotate_left(best.unwrap_or(0));
        self
    }

    /// The program points in order.
    pub fn labels(&self) -> impl Iterator<Item = u32> + '_ {
        self.segments.iter().flat_map(|segment| std::iter::once(segment.first).chain(segment.second))
    }

    /// How many accesses take part.
    pub fn length(&self) -> usize {
        self.labels().count()
    }
}

/// An order in which threads and store buffers are to take their steps, up to the point where a cycle is complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// For each thread the program points at which it is expected to ask for something, in order.
    pub expected: Vec<Vec<u32>>,
    /// The steps that matter. A thread passes whatever lies before its next step in it.
    pub steps: Vec<ScheduleStep>,
}

/// A step of a [`Schedule`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ScheduleStep {
    /// Whose.
    pub thread: u32,
    /// Which of its expected operations.
    pub index: u32,
    /// Is it the store there that leaves the buffer, rather than the operation itself?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commit: bool,
    /// How many stores that are visible a load reads behind the newest.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub back: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The program points of a cycle that are to come late, and those that are to come early: Relaxer's view of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Points {
    /// `co`: the first of each pair.
    pub late: Vec<u32>,
    /// `ce`: the second.
    pub early: Vec<u32>,
}

impl Points {
    /// Those of `cycle`; `labels` tells where a program point of it is.
    pub fn of(cycle: &Cycle, labels: impl Fn(u32) -> Vec<u32>) -> Points {
        let pairs = || cycle.segments.iter().filter(|segment| segment.second.is_some());
        Points {
            late: pairs().flat_map(|segment| labels(segment.first)).collect(),
            early: pairs().flat_map(|segment| labels(segment.last())).collect(),
        }
    }
}

/// An access of a cycle, as Orion's algorithm needs it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stop {
    /// Where: its program points.
    pub labels: Vec<u32>,
    /// Is it a store that the next access of the cycle, in the same thread, may pass? (`I`)
    pub passable: bool,
    /// Does the next access of the cycle belong to another thread? (`S`)
    pub last: bool,
    /// The threads that were seen in this part of the cycle, if only they may take it; empty: any thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<u32>,
}

/// What is done at a program point of a cycle, and where that is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CyclePoint {
    /// Its labels.
    pub labels: Vec<u32>,
    /// Is memory read?
    pub reads: bool,
    /// Is memory written?
    pub writes: bool,
}

impl Stop {
    /// The accesses of `cycle` in its order; `point` tells of each program point of it what is done there, `threads` of
    /// each part which threads may take it (none: any).
    pub fn of(
        cycle: &Cycle,
        model: Model,
        point: impl Fn(u32) -> CyclePoint,
        mut threads: impl FnMut(Segment) -> Vec<u32>,
    ) -> Vec<Stop> {
        let mut stops = Vec::new();
        for segment in &cycle.segments {
            let (first, last) = (point(segment.first), point(segment.last()));
            let stores = segment.second.is_some() && first.writes && !first.reads;
            // Under tso only loads pass stores.
            let passable = stores && (model != Model::Tso || (last.reads && !last.writes));
            let threads = threads(*segment);
            stops.push(Stop {
                labels: first.labels,
                passable,
                last: segment.second.is_none(),
                threads: threads.clone(),
            });
            if segment.second.is_some() {
                stops.push(Stop { labels: last.labels, passable: false, last: true, threads });
            }
        }
        stops
    }
}

/// The parameters of Relaxer's strategy, in steps of the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RelaxerOptions {
    /// How likely each delay is, in percent.
    pub chance: u32,
    /// How long stores are held back.
    pub store_delay: u64,
    /// How long loads are held back: shorter.
    pub load_delay: u64,
}

impl Default for RelaxerOptions {
    fn default() -> RelaxerOptions {
        // P is the paper's. Its delays are in seconds; these are of the order of the longest critical section of its
        // programs.
        RelaxerOptions { chance: 50, store_delay: 60, load_delay: 30 }
    }
}

/// The parameters of Orion's algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OrionOptions {
    /// How many stores fit a buffer before the oldest must leave; `None`: any number.
    pub buffer: Option<u32>,
    /// How many steps a thread waits for its turn before the algorithm starts over.
    pub patience: u64,
    /// Hold every store of the cycle back that the next access may pass, rather than the first met?
    pub all: bool,
    /// How the program runs before the cycle.
    #[serde(default)]
    pub pace: Pace,
    /// Under pso: are the other stores of a thread that holds one back visible as soon as they can be? Otherwise they
    /// wait in the buffer, as under tso. By chance if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager: Option<bool>,
    /// How likely it is, in percent, that a store with which the cycle could begin is left alone: then the cycle comes
    /// later, as in another round of a loop. The paper's begins with the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u32,
}

/// How a program runs where nothing is enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// A thread goes on for two steps on average, then another.
    Two,
    /// For eight.
    #[default]
    Eight,
    /// For 32: threads that do little are done before others begin.
    Long,
    /// Whoever may begin the cycle goes first.
    First,
    /// All side by side, as on a machine with a core for each.
    Abreast,
    /// A thread goes on for a thousand: one comes to where the cycle begins before others have looked at anything. A
    /// thread that waits in a loop gives way at last.
    Alone,
}

impl Pace {
    /// All of them.
    pub const ALL: [Pace; 6] = [Pace::Alone, Pace::First, Pace::Abreast, Pace::Two, Pace::Eight, Pace::Long];
}

impl Default for OrionOptions {
    fn default() -> OrionOptions {
        OrionOptions { buffer: Some(64), patience: 200, all: false, pace: Pace::default(), eager: None, skip: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Store buffering: in each thread a store, then a load.
    fn store_buffering() -> (Cycle, impl Fn(u32) -> CyclePoint) {
        let pair = |first, second| Segment { first, second: Some(second) };
        let point =
            |n: u32| CyclePoint { labels: vec![10 + n], reads: !n.is_multiple_of(2), writes: n.is_multiple_of(2) };
        (Cycle { segments: vec![pair(0, 1), pair(2, 3)] }, point)
    }

    #[test]
    fn stores_come_late_and_loads_early() {
        let (cycle, point) = store_buffering();
        let points = Points::of(&cycle, |n| point(n).labels);
        assert_eq!(points, Points { late: vec![10, 12], early: vec![11, 13] });
    }

    #[test]
    fn which_stores_may_be_passed_depends_on_the_model() {
        let (cycle, point) = store_buffering();
        let any = |_| Vec::new();
        let stops = Stop::of(&cycle, Model::Tso, &point, any);
        let expected = [(10, true, false), (11, false, true), (12, true, false), (13, false, true)];
        let found: Vec<_> = stops.iter().map(|stop| (stop.labels[0], stop.passable, stop.last)).collect();
        assert_eq!(found, expected);
        // Two stores in each thread: pso reorders them, tso does not.
        let stores = |n: u32| CyclePoint { reads: false, writes: true, ..point(n) };
        assert!(Stop::of(&cycle, Model::Tso, stores, any).iter().all(|stop| !stop.passable));
        assert_eq!(Stop::of(&cycle, Model::Pso, stores, any).iter().filter(|stop| stop.passable).count(), 2);
        // A thread with one access only goes on to the next thread at once.
        let single = Cycle { segments: vec![Segment { first: 0, second: None }] };
        let stop = Stop { labels: vec![10], passable: false, last: true, threads: vec![3] };
        assert_eq!(Stop::of(&single, Model::Pso, &point, |_| vec![3]), [stop]);
    }

    #[test]
    fn rotations_are_one_cycle() {
        let pair = |first, second| Segment { first, second: Some(second) };
        let one = Cycle { segments: vec![pair(1, 2), Segment { first: 9, second: None }, pair(3, 4)] };
        let mut other = one.clone();
        other.segments.rotate_left(2);
        assert_ne!(one, other);
        assert_eq!(one.clone().canonical(), other.canonical());
        assert_eq!(one.length(), 5);
        assert_eq!(one.labels().collect::<Vec<_>>(), [1, 2, 9, 3, 4]);
    }
}
