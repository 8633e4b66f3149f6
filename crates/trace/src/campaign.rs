//! Which executions a campaign consists of.

use crate::{Coverage, Cycle, Sampling, StrategySpec, execution_seed};
use serde::{Deserialize, Serialize};

/// How an exploration tells executions apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// One execution for each execution graph: what was read from where, and coherence order.
    #[default]
    Graph,
    /// One execution for each way in which reads read from writes.
    Rf,
    /// One execution for each set of values that threads read.
    Causal,
}

impl Method {
    /// The name that the command line and JSON use.
    pub fn name(self) -> &'static str {
        match self {
            Method::Graph => "graph",
            Method::Rf => "rf",
            Method::Causal => "causal",
        }
    }
}

/// What an exploration by reads has cost: how many questions of order it had to answer and how they were answered, what
/// it remembers, and what came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Answers {
    /// By saturation, or by the execution at hand as it is.
    pub saturation: u64,
    /// By the solver.
    pub solver: u64,
    /// How many histories of threads, and states, are remembered.
    #[serde(default)]
    pub remembered: u64,
    /// Runs of the program that came to nothing: whatever they led to was known.
    #[serde(default)]
    pub in_vain: u64,
}

impl Answers {
    /// Both together, but for what is remembered: that is not added up.
    pub fn absorb(&mut self, other: Answers) {
        self.saturation += other.saturation;
        self.solver += other.solver;
        self.in_vain += other.in_vain;
    }
}

/// Which executions a campaign consists of: the one description of that, for every kind.
///
/// Where executions do not depend on one another but through what a [`Coverage`] has seen,
/// [`strategy`](Self::strategy) gives that of each: an execution is a function of the program and its plan, whether it
/// is sampled, repeated or a trial of a hunt. The others are searches that find their executions one by one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "campaign", rename_all = "snake_case")]
pub enum CampaignSpec {
    /// Random executions, as a sampling says.
    Sample {
        /// The seed of the campaign; that of an execution is [`execution_seed`].
        seed: u64,
        /// How their choices are drawn.
        #[serde(default)]
        sampling: Sampling,
    },
    /// Executions of which everything is decided, each like the others.
    Repeat(StrategySpec),
    /// Trials of predicted violations of sequential consistency.
    Hunt(Trials),
    /// Every execution graph, each once.
    Explore {
        /// On how many cores.
        jobs: u32,
        /// Until when at the latest, in nanoseconds of the system's monotonic clock.
        deadline: Option<u64>,
        /// How long one execution may take, in nanoseconds.
        timeout: u64,
        /// How many different findings are enough.
        findings: u64,
        /// Which executions are the same.
        #[serde(default)]
        method: Method,
        /// How many states may be remembered, where they are ([`Method::Rf`], [`Method::Causal`]).
        #[serde(default)]
        remember: Option<u64>,
    },
    /// Every choice of the model's machine, one execution after the other: slow, and simple.
    Enumerate {
        /// Leave out executions that differ from others only in the order of steps that commute?
        sleep_sets: bool,
        /// How often a thread comes back to the same yield before it is taken to wait there.
        rounds: u32,
    },
    /// Every choice of the operation that comes next, where operations are atomic.
    Atomic,
    /// Smaller executions that show the same finding as a given one.
    Minimise(Minimisation),
}

/// Which execution is to become smaller, and what it has to show.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Minimisation {
    /// The answers of the execution.
    pub choices: Vec<u32>,
    /// The finding, by its fingerprint.
    pub fingerprint: u64,
    /// Is it about threads that go around loops forever?
    pub is_endless: bool,
    /// How many executions may be tried.
    pub executions: u64,
    /// How many steps these may take together.
    pub steps: u64,
    /// Until when at the latest, in nanoseconds of the system's monotonic clock: a safety net, not what ends it.
    pub deadline: u64,
}

/// Trials: the executions of the first task, then those of the second, and so on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Trials {
    /// The seed of the hunt.
    pub seed: u64,
    /// How many executions each task has.
    pub each: u64,
    /// What to do.
    pub tasks: Vec<Task>,
}

/// A cycle and how to bring it about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Which number the cycle is known by.
    pub id: u32,
    /// The cycle.
    pub cycle: Cycle,
    /// How. Its seed does not count: each trial has its own.
    #[serde(flatten)]
    pub strategy: StrategySpec,
}

impl Trials {
    /// The number of the task that an execution belongs to; that of no task behind the last.
    pub fn task(&self, execution: u64) -> usize {
        (execution / self.each.max(1)) as usize
    }

    /// The strategy of an execution. Behind the last task they are random.
    pub fn strategy(&self, execution: u64) -> StrategySpec {
        let seed = execution_seed(self.seed, execution);
        match self.tasks.get(self.task(execution)) {
            Some(task) => task.strategy.clone().with_seed(seed),
            None => StrategySpec::Random { seed, sampling: Sampling::default() },
        }
    }
}

impl CampaignSpec {
    /// The strategy of the execution of this number; `None` if this is a search, whose executions depend on the ones
    /// before.
    pub fn strategy(&self, execution: u64, coverage: &Coverage) -> Option<StrategySpec> {
        match self {
            CampaignSpec::Sample { seed, sampling } => Some(sampling.strategy(*seed, execution, coverage)),
            CampaignSpec::Repeat(strategy) => Some(strategy.clone()),
            CampaignSpec::Hunt(trials) => Some(trials.strategy(execution)),
            CampaignSpec::Explore { .. }
            | CampaignSpec::Enumerate { .. }
            | CampaignSpec::Atomic
            | CampaignSpec::Minimise(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pair, RelaxerOptions, Schedule, Scheduler};

    #[test]
    fn what_is_sampled_depends_on_the_number_and_on_the_block() {
        let campaign = CampaignSpec::Sample { seed: 4, sampling: Sampling::with(Scheduler::Pos) };
        let coverage = Coverage::new();
        let drawn = |execution| match campaign.strategy(execution, &coverage) {
            Some(StrategySpec::Random { seed, sampling }) => (seed, sampling),
            other => panic!("{other:?}"),
        };
        assert_eq!(drawn(0), (execution_seed(4, 0), Sampling::with(Scheduler::Pos)));
        // A pair that was possible and not taken is the goal of every third execution, and the length of the
        // execution before is known.
        let missed = Pair { store: 1, load: 2, own: false };
        coverage.offered(missed);
        coverage.end(17);
        let (one, two) = (drawn(1).1, drawn(2).1);
        assert_eq!((one.goal, one.length), (None, 17));
        assert_eq!(two.goal, Some(missed));
    }

    #[test]
    fn trials_take_their_tasks_one_after_the_other_each_with_its_seed() {
        let cycle = Cycle { segments: Vec::new() };
        let strategies = [
            StrategySpec::Schedule { seed: 0, schedule: Schedule::default() },
            StrategySpec::Relaxer { seed: 0, points: Default::default(), options: RelaxerOptions::default() },
        ];
        let tasks = strategies.iter().map(|strategy| Task { id: 7, cycle: cycle.clone(), strategy: strategy.clone() });
        let trials = Trials { seed: 3, each: 2, tasks: tasks.collect() };
        for execution in 0..4 {
            let expected = strategies[execution as usize / 2].clone().with_seed(execution_seed(3, execution));
            assert_eq!(trials.strategy(execution), expected);
        }
        assert!(matches!(trials.strategy(4), StrategySpec::Random { .. }));
        let campaign = CampaignSpec::Hunt(trials);
        let written = serde_json::to_string(&campaign).expect("a campaign is JSON");
        assert_eq!(serde_json::from_str::<CampaignSpec>(&written).expect("and back"), campaign);
    }

    #[test]
    fn a_search_has_no_strategy_of_its_own() {
        let coverage = Coverage::new();
        assert_eq!(CampaignSpec::Atomic.strategy(0, &coverage), None);
        assert_eq!(CampaignSpec::Enumerate { sleep_sets: true, rounds: 2 }.strategy(0, &coverage), None);
        let follow = StrategySpec::Follow { choices: vec![1] };
        assert_eq!(CampaignSpec::Repeat(follow.clone()).strategy(5, &coverage), Some(follow));
    }
}
