//! How to check.

use fencepost_trace::Model;
use std::fmt;
use std::time::Duration;

/// Which executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Every execution graph, each exactly once.
    Graph,
    /// So many, drawn at random.
    Random {
        /// How many.
        executions: u64,
        /// The same seed gives the same executions.
        seed: u64,
    },
}

/// How to check. The default explores every behaviour under C/C++20 on one core.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) model: Model,
    pub(super) method: Method,
    pub(super) jobs: usize,
    pub(super) max_executions: Option<u64>,
    pub(super) max_time: Option<Duration>,
    pub(super) max_events: usize,
    pub(super) spurious_wakeups: bool,
    pub(super) spurious_failures: bool,
    pub(super) thread_panics: bool,
    pub(super) spin_detection: bool,
    pub(super) leaks: bool,
    pub(super) progress: Option<Duration>,
    pub(super) preemption_bound: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

impl Config {
    /// The default.
    pub fn new() -> Config {
        Config {
            model: Model::C11,
            method: Method::Graph,
            jobs: 1,
            max_executions: None,
            max_time: None,
            max_events: 20_000,
            spurious_wakeups: false,
            spurious_failures: true,
            thread_panics: false,
            spin_detection: true,
            leaks: true,
            progress: None,
            preemption_bound: None,
        }
    }

    /// The memory model: C/C++20, or SC, TSO or PSO, where orders mean what they compile to.
    pub fn model(mut self, model: Model) -> Config {
        self.model = model;
        self
    }

    /// So many executions, drawn at random, instead of all.
    pub fn random(mut self, executions: u64) -> Config {
        self.method = Method::Random { executions, seed: 1 };
        self
    }

    /// The seed of random executions.
    pub fn seed(mut self, new: u64) -> Config {
        if let Method::Random { seed, .. } = &mut self.method {
            *seed = new;
        }
        self
    }

    /// On how many cores. The same executions are explored on any number of them.
    pub fn jobs(mut self, jobs: usize) -> Config {
        self.jobs = jobs.max(1);
        self
    }

    /// Stops after so many executions; the summary then says that it is not complete.
    pub fn max_executions(mut self, executions: u64) -> Config {
        self.max_executions = Some(executions);
        self
    }

    /// Stops after this time; the summary then says that it is not complete.
    pub fn max_time(mut self, time: Duration) -> Config {
        self.max_time = Some(time);
        self
    }

    /// The greatest number of events in one execution; one that has more fails.
    pub fn max_events(mut self, events: usize) -> Config {
        self.max_events = events;
        self
    }

    /// May condition variables wake and `park` return without a reason? Off by default: it multiplies executions.
    pub fn spurious_wakeups(mut self, may: bool) -> Config {
        self.spurious_wakeups = may;
        self
    }

    /// May `compare_exchange_weak` fail without a reason? On by default.
    pub fn spurious_failures(mut self, may: bool) -> Config {
        self.spurious_failures = may;
        self
    }

    /// May threads panic? Then `join` returns the error, as std's does. Otherwise a panic in any thread is a failure.
    pub fn thread_panics(mut self, may: bool) -> Config {
        self.thread_panics = may;
        self
    }

    /// Are loops that wait recognised by themselves? On by default. A loop that comes back to where it was, with the
    /// same stack, no write to a cell and nothing changed on the heap, is taken for one. The heap is seen through the
    /// allocator: with the feature `own-allocator` it is not, and a loop that counts its rounds there wants this off.
    pub fn spin_detection(mut self, on: bool) -> Config {
        self.spin_detection = on;
        self
    }

    /// Is what is not gone in the end (`Arc`, `alloc`) a failure? On by default.
    pub fn leaks(mut self, on: bool) -> Config {
        self.leaks = on;
        self
    }

    /// Leaves out executions that need more than `most` preemptions. A preemption is that a thread loses its turn where
    /// it could go on; waiting for a lock, a join, a yield and a loop that waits are none. An execution counts by the
    /// order of its steps that has the fewest; which of the values that the model permits a load reads does not count.
    ///
    /// The summary then says `complete up to … preemptions`, unless nothing was left out. What fails is reported
    /// however many preemptions it takes. Not for random executions.
    ///
    /// ```
    /// # #[cfg(any(feature = "model", fencepost))] {
    /// use fencepost::sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}};
    /// let summary = fencepost::check_with(fencepost::Config::new().preemption_bound(1), || {
    ///     let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    ///     let other = Arc::clone(&shared);
    ///     let thread = fencepost::thread::spawn(move || {
    ///         for _ in 0..2 {
    ///             other.1.store(other.0.load(Relaxed) + 1, Relaxed);
    ///         }
    ///     });
    ///     for _ in 0..2 {
    ///         shared.0.store(shared.1.load(Relaxed) + 1, Relaxed);
    ///     }
    ///     thread.join().unwrap();
    /// });
    /// assert!(summary.to_string().starts_with("complete up to 1 preemption: "));
    /// # }
    /// ```
    pub fn preemption_bound(mut self, most: u32) -> Config {
        self.preemption_bound = Some(most);
        self
    }

    /// Says on stderr how far it is, this often.
    pub fn progress(mut self, every: Duration) -> Config {
        self.progress = Some(every);
        self
    }
}

/// What a check that did not fail has done.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// How many executions were completed.
    pub executions: u64,
    /// How many more were left because they lead to nothing new.
    pub blocked: u64,
    /// Was everything explored?
    pub complete: bool,
    /// If not: was everything explored that needs no more preemptions than this?
    pub complete_up_to: Option<u32>,
    /// If it was stopped: about how many executions are left, where that can be told (on one core).
    pub left: Option<u64>,
    /// How long it took.
    pub seconds: f64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.complete, self.complete_up_to) {
            (true, _) => write!(f, "complete:")?,
            (false, Some(1)) => write!(f, "complete up to 1 preemption:")?,
            (false, Some(most)) => write!(f, "complete up to {most} preemptions:")?,
            (false, None) => write!(f, "nothing found, not complete: stopped after")?,
        }
        write!(f, " {} executions, {:.2} s", self.executions, self.seconds)?;
        match self.left {
            Some(left) if left > 0 => write!(f, "; {} % estimated", 100 * self.executions / (self.executions + left)),
            _ => Ok(()),
        }
    }
}
