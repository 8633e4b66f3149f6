//! How a model is explored.

use fencepost::Config;
use std::path::PathBuf;
use std::time::Duration;

/// Options. Those of loom's limits that are not needed here are accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not a limit here.
    pub max_threads: usize,
    /// Not a limit here.
    pub max_branches: usize,
    /// Stops after so many executions.
    pub max_permutations: Option<usize>,
    /// Stops after this time.
    pub max_duration: Option<Duration>,
    /// Leaves out executions that need more preemptions.
    pub preemption_bound: Option<usize>,
    /// Not written.
    pub checkpoint_file: Option<PathBuf>,
    /// Not used.
    pub checkpoint_interval: usize,
    /// Not needed here: everything is explored.
    pub expect_explicit_explore: bool,
    /// Locations are always known.
    pub location: bool,
    /// Says how far it is.
    pub log: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

/// The number in an environment variable of loom's.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not '{text}'")))
}

impl Builder {
    /// What the environment says (`LOOM_MAX_DURATION`, `LOOM_MAX_PERMUTATIONS`, `LOOM_MAX_PREEMPTIONS`, …).
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: number("LOOM_MAX_BRANCHES").unwrap_or(1_000) as usize,
            max_permutations: number("LOOM_MAX_PERMUTATIONS").map(|n| n as usize),
            max_duration: number("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: number("LOOM_MAX_PREEMPTIONS").map(|n| n as usize),
            checkpoint_file: std::env::var_os("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: number("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000) as usize,
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Where loom would write how far it is.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks `f`. Panics with a report if it fails.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let mut config = Config::new();
        config = self.max_permutations.into_iter().fold(config, |c, n| c.max_executions(n as u64));
        config = self.max_duration.into_iter().fold(config, Config::max_time);
        let bound = self.preemption_bound.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        config = bound.into_iter().fold(config, Config::preemption_bound);
        if self.log {
            config = config.progress(Duration::from_secs(1));
        }
        let summary = fencepost::check_with(config, f);
        if self.log {
            eprintln!("{summary}");
        }
    }
}

/// Checks `f`. Panics with a report if it fails.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}
