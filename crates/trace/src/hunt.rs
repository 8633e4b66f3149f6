//! What a hunt for violations of sequential consistency hands from one part of the house to another: cycles of
//! program points, and how to bring one about.

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
pub struct Course {
    /// For each thread the program points at which it is expected to ask for something, in order.
    pub expected: Vec<Vec<u32>>,
    /// The steps that matter. A thread passes whatever lies before its next step in it.
    pub steps: Vec<CourseStep>,
}

/// A step of a [`Course`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CourseStep {
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

/// How to bring a cycle about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Method {
    /// Follow a course.
    Course(Course),
    /// Relaxer's biased strategy (figures 7 to 9): stores and loads of the cycle are held back by chance.
    Biased(Bias),
    /// Orion's algorithm 1: one store of the cycle is held back while the others follow in their order.
    Exact(Exact),
    /// These answers.
    Follow {
        /// The answers.
        choices: Vec<u32>,
    },
}

/// The parameters of Relaxer's strategy, in steps of the execution.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bias {
    /// How likely each delay is, in percent.
    pub chance: u32,
    /// How long stores are held back.
    pub store_delay: u64,
    /// How long loads are held back: shorter.
    pub load_delay: u64,
}

impl Default for Bias {
    fn default() -> Bias {
        // P is the paper's. Its delays are in seconds; these are of the order of the longest critical section of its
        // programs.
        Bias { chance: 50, store_delay: 60, load_delay: 30 }
    }
}

/// The parameters of Orion's algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exact {
    /// How many stores fit a buffer before the oldest must leave; `None`: any number.
    pub buffer: Option<u32>,
    /// How many steps a thread waits for its turn before the algorithm starts over.
    pub patience: u64,
    /// Hold every store of the cycle back that the next access may pass, rather than the first met?
    pub all: bool,
}

impl Default for Exact {
    fn default() -> Exact {
        Exact { buffer: Some(64), patience: 200, all: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
