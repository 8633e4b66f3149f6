//! Who answers the choices of one execution: the one description of that, for every kind of campaign.

use crate::{OrionOptions, Points, RelaxerOptions, Sampling, Schedule, Stop};
use serde::{Deserialize, Serialize};

/// Who answers the choices of an execution. With the program it says everything: the same strategy gives the same
/// execution.
///
/// Those that bring a cycle about name program points by labels. Labels are numbers of whoever runs the program; where
/// a strategy comes from elsewhere, [`relabelled`](Self::relabelled) translates it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case")]
pub enum StrategySpec {
    /// Answers at random, from a scheduler and a bias of loads.
    Random {
        /// The seed of this one execution.
        seed: u64,
        /// How they are drawn.
        #[serde(default)]
        sampling: Sampling,
    },
    /// Answers that are all equally likely, and nothing else.
    Uniform {
        /// The seed of this one execution.
        seed: u64,
    },
    /// These answers, one after the other; 0 when they have run out.
    Follow {
        /// The answers.
        choices: Vec<u32>,
    },
    /// Not the machine of a model but its axioms: the execution graph that these steps describe.
    Graph {
        /// The steps in an order in which every thread can take them.
        steps: Vec<GraphStep>,
        /// Of a native program: memory whose plain accesses are among the steps, as addresses of eight bytes each and
        /// which of these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shared: Vec<(u64, u8)>,
    },
    /// A given order up to the point where a cycle is complete, and sequential consistency from there on.
    Schedule {
        /// For what the schedule leaves open.
        seed: u64,
        /// The order.
        schedule: Schedule,
    },
    /// Relaxer's biased strategy (figures 7 to 9): stores and loads of a cycle are held back by chance.
    Relaxer {
        /// For chance.
        seed: u64,
        /// The cycle.
        points: Points,
        /// Its parameters.
        options: RelaxerOptions,
    },
    /// Orion's algorithm 1: one store of a cycle is held back while the others follow in their order.
    Orion {
        /// For what the algorithm leaves open.
        seed: u64,
        /// The cycle.
        stops: Vec<Stop>,
        /// Its parameters.
        options: OrionOptions,
    },
}

impl StrategySpec {
    /// The same with another seed, if it draws at all.
    pub fn with_seed(mut self, new: u64) -> StrategySpec {
        match &mut self {
            StrategySpec::Random { seed, .. }
            | StrategySpec::Uniform { seed }
            | StrategySpec::Schedule { seed, .. }
            | StrategySpec::Relaxer { seed, .. }
            | StrategySpec::Orion { seed, .. } => *seed = new,
            StrategySpec::Follow { .. } | StrategySpec::Graph { .. } => {}
        }
        self
    }

    /// The same, with program points named otherwise.
    pub fn relabelled(mut self, label: impl Fn(u32) -> u32) -> StrategySpec {
        let all = |labels: &mut Vec<u32>| labels.iter_mut().for_each(|l| *l = label(*l));
        match &mut self {
            StrategySpec::Schedule { schedule, .. } => schedule.expected.iter_mut().for_each(all),
            StrategySpec::Relaxer { points, .. } => [&mut points.late, &mut points.early].into_iter().for_each(all),
            StrategySpec::Orion { stops, .. } => stops.iter_mut().map(|stop| &mut stop.labels).for_each(all),
            StrategySpec::Random { .. }
            | StrategySpec::Uniform { .. }
            | StrategySpec::Follow { .. }
            | StrategySpec::Graph { .. } => {}
        }
        self
    }
}

/// One step of an execution graph. Events are numbered from 1 in the order of the steps; 0 is the initial write. An
/// RMW is two steps, its read and its write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GraphStep {
    /// Who takes it.
    pub thread: u32,
    /// Which event a read reads from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u32>,
    /// Which of several results a read has (a weak compare-exchange that fails for no reason: 1).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub variant: u32,
    /// A write's place in the coherence order of its location, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// No event, and only at the end of the list: the thread ends the process here (true), or could have and does not
    /// come to that (false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<bool>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_takes_another_seed_and_other_labels() {
        let stops = vec![Stop { labels: vec![1, 2], passable: true, ..Stop::default() }];
        let orion = StrategySpec::Orion { seed: 1, stops, options: OrionOptions::default() };
        let other = orion.clone().with_seed(9).relabelled(|label| label + 100);
        let StrategySpec::Orion { seed: 9, stops, .. } = &other else { panic!("{other:?}") };
        assert_eq!(stops[0].labels, [101, 102]);
        // What is followed draws nothing and names no program point.
        let follow = StrategySpec::Follow { choices: vec![1, 2] };
        assert_eq!(follow.clone().with_seed(9).relabelled(|_| 0), follow);
        let written = serde_json::to_string(&other).expect("a strategy is JSON");
        assert_eq!(serde_json::from_str::<StrategySpec>(&written).expect("and back"), other);
    }
}
