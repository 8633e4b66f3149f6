//! How the choices of an execution are drawn at random.

use crate::{Coverage, StrategySpec};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The schedulers, each with its name, what it was called before, and a few words for the command line. There is no
/// other list of them.
macro_rules! schedulers {
    ($($(#[$attribute:meta])* $variant:ident = $name:literal $(formerly $former:literal)?, $summary:literal;)*) => {
        /// Who goes next.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        pub enum Scheduler {
            $($(#[$attribute])* #[serde(rename = $name $(, alias = $former)?)] $variant,)*
        }

        impl Scheduler {
            /// All of them, the default first.
            pub const ALL: [Scheduler; [$($name),*].len()] = [$(Scheduler::$variant),*];

            /// The name on the command line and in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(Scheduler::$variant => $name,)*
                }
            }

            /// What it was called in earlier versions, and may still be called.
            pub fn former_name(self) -> Option<&'static str> {
                match self {
                    $(Scheduler::$variant => [$($former)?].first().copied(),)*
                }
            }

            /// A few words on it.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Scheduler::$variant => $summary,)*
                }
            }
        }
    };
}

schedulers! {
    /// The others in turns: the number of the execution decides which.
    #[default]
    Mix = "mix", "the others in turns";
    /// Everybody equally likely, at every step (C11Tester's).
    Random = "random", "everybody equally likely";
    /// Threads have priorities, which change at a few points (Burckhardt and others: A Randomized Scheduler with
    /// Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
    Pct = "pct", "threads with priorities that change at a few points";
    /// Operations have priorities, and draw new ones when they meet a conflicting one (Yuan, Yang, Gu: Partial Order
    /// Aware Concurrency Sampling, CAV 2018).
    Pos = "pos", "operations with priorities";
    /// Threads wait for each other before operations that conflict (after Sen: Race Directed Random Testing of
    /// Concurrent Programs, PLDI 2008).
    Rendezvous = "rendezvous" formerly "meet", "threads wait for each other before operations that conflict";
}

impl Scheduler {
    /// All of them with a few words on each, as one line.
    pub fn summaries() -> String {
        let list: Vec<String> = Scheduler::ALL.iter().map(|s| format!("{} ({})", s.name(), s.summary())).collect();
        list.join(", ")
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scheduler {
    type Err = String;
    fn from_str(name: &str) -> Result<Scheduler, String> {
        let known = Scheduler::ALL.into_iter().find(|s| s.name() == name || s.former_name() == Some(name));
        known.ok_or_else(|| {
            let names: Vec<&str> = Scheduler::ALL.iter().map(|s| s.name()).collect();
            let (last, others) = names.split_last().expect("there are some");
            format!("unknown strategy '{name}': expected {} or {last}", others.join(", "))
        })
    }
}

/// What loads prefer to read where they may read several stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// All are equally likely.
    Any,
    /// Mostly what is old; a buffered store mostly stays where it is.
    Old,
    /// Mostly what is newest.
    New,
}

/// How threads that are created one after the other begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// As it comes: the first is ahead of the others more often than not.
    Free,
    /// Together.
    Together,
    /// Together, and then those that were created first go first, for as many steps as [`Sampling::ordered`] says.
    Oldest,
    /// Together, and then those that were created last go first, for so many steps.
    Newest,
    /// Together, and then nobody goes twice in a row, for so many steps.
    Turns,
}

/// A read that takes its value from a store, by program points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// The store's label plus 1; 0 for the initial value.
    pub store: u32,
    /// The read's label.
    pub load: u32,
    /// Is the store of the thread that reads?
    pub own: bool,
}

/// How choices are drawn. With a seed it says everything: the same seed and sampling give the same execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Who goes next.
    pub scheduler: Scheduler,
    /// pct: the number of ordering constraints that a bug may need; priorities change at one point less.
    pub depth: u32,
    /// In how many of 100 choices something old is preferred: a load reads an old store, a buffered store stays where
    /// it is. If absent, executions differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<u32>,
    /// What loads prefer. If absent, and `stale` too, executions and phases of long ones differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
    /// How threads begin. If absent, executions differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beginning: Option<Beginning>,
    /// For how many steps an order holds that threads begin with.
    #[serde(skip_serializing_if = "is_zero")]
    pub ordered: u32,
    /// pct: how long the execution is thought to be, in steps; 0 if nobody knows.
    #[serde(skip_serializing_if = "is_zero")]
    pub length: u64,
    /// What this execution is to show: a read from a store that it has not been seen to read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Pair>,
}

fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

impl Sampling {
    /// The depth if nobody says.
    pub const DEPTH: u32 = 3;
    /// The greatest depth.
    pub const MOST_DEPTH: u32 = 64;

    /// With this scheduler, and all else as usual.
    pub fn with(scheduler: Scheduler) -> Sampling {
        Sampling {
            scheduler,
            depth: Sampling::DEPTH,
            stale: None,
            reads: None,
            beginning: None,
            ordered: 0,
            length: 0,
            goal: None,
        }
    }

    /// For the execution of this number: what is mixed is decided.
    pub fn of_execution(mut self, execution: u64) -> Sampling {
        use Scheduler::{Pct, Pos, Random, Rendezvous};
        const TURNS: [Scheduler; 8] = [Rendezvous, Pct, Pos, Random, Rendezvous, Pct, Rendezvous, Pos];
        if self.scheduler == Scheduler::Mix {
            self.scheduler = TURNS[(execution % TURNS.len() as u64) as usize];
        }
        self
    }

    /// The strategy of the execution of this number in a campaign with this seed: what it shall be like follows from
    /// its number, from what `coverage` has seen in its block and, if it is of a mix, has learnt in its season.
    pub fn strategy(&self, campaign: u64, execution: u64, coverage: &Coverage) -> StrategySpec {
        coverage.begin(execution);
        let seed = execution_seed(campaign, execution);
        let mut sampling = self.of_execution(execution);
        if self.scheduler == Scheduler::Mix {
            coverage.decide(seed, &mut sampling);
        }
        sampling.length = coverage.length();
        // The others are left to chance alone, so that a goal that cannot be reached costs little.
        if execution % 3 == 2 {
            sampling.goal = coverage.wanted();
        }
        StrategySpec::Random { seed, sampling }
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling::with(Scheduler::default())
    }
}

/// The seed of the execution of this number in a campaign with this seed. It depends on nothing else, so that it does
/// not matter who runs which.
///
/// ```
/// use fencepost_trace::execution_seed;
/// assert_ne!(execution_seed(1, 0), execution_seed(1, 1));
/// assert_ne!(execution_seed(1, 1), execution_seed(2, 0));
/// ```
pub fn execution_seed(seed: u64, execution: u64) -> u64 {
    // Twice, so that neighbouring campaigns have nothing in common either.
    scramble(scramble(seed).wrapping_add(execution))
}

/// One step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) from this
/// state: a number that has nothing to do with it.
#[inline]
pub fn scramble(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scheduler in Scheduler::ALL {
            assert_eq!(scheduler.name().parse(), Ok(scheduler));
            let json = format!("\"{scheduler}\"");
            assert_eq!(serde_json::to_string(&scheduler).expect("a name is JSON"), json);
            assert!(Scheduler::summaries().contains(scheduler.name()));
        }
        let unknown = "chess".parse::<Scheduler>().expect_err("there is none of this name");
        assert!(unknown.starts_with("unknown strategy 'chess': expected mix, random, pct"), "{unknown}");
        assert!(unknown.contains(" or "), "{unknown}");
    }

    #[test]
    fn a_former_name_still_stands_for_its_scheduler() {
        // Scripts and replay files of earlier versions have it.
        assert_eq!("meet".parse(), Ok(Scheduler::Rendezvous));
        assert_eq!(serde_json::from_str::<Scheduler>("\"meet\"").expect("a name"), Scheduler::Rendezvous);
    }

    #[test]
    fn a_mix_is_decided_by_the_number_of_the_execution() {
        let turns: Vec<Scheduler> = (0..16).map(|n| Sampling::default().of_execution(n).scheduler).collect();
        assert!(!turns.contains(&Scheduler::Mix));
        assert_eq!(turns[..8], turns[8..]);
        // These, and no others: to add one changes what seeds mean.
        let mixed = [Scheduler::Random, Scheduler::Pct, Scheduler::Pos, Scheduler::Rendezvous];
        assert!(mixed.iter().all(|s| turns.contains(s)) && turns.iter().all(|s| mixed.contains(s)));
        assert_eq!(Sampling::with(Scheduler::Pos).of_execution(1).scheduler, Scheduler::Pos);
    }
}
