//! Checks: what to explore, and what comes of it.

mod config;
mod explore;
mod failure;
mod names;
mod plan;
mod sample;
mod worker;

pub use config::{Config, Method, Summary};
pub use failure::Failure;

use crate::rt::{self, Program, Settings};
use explore::Found;
use fencepost_trace::{FindingKind, Plan};
use std::sync::Arc;
use worker::RunsOn;

/// Checks every behaviour of `test` under C/C++20. Panics with a report if one fails.
///
/// The test must not borrow: if a thread of it panics, or with several jobs, it is run on threads of its own.
#[track_caller]
pub fn check(test: impl Fn() + Send + Sync + 'static) -> Summary {
    check_with(Config::default(), test)
}

/// Checks `test` as `config` says. Panics with a report if it fails.
#[track_caller]
pub fn check_with(config: Config, test: impl Fn() + Send + Sync + 'static) -> Summary {
    match config.run(test) {
        Ok(summary) => {
            if !summary.complete {
                eprintln!("fencepost: {summary}");
            }
            summary
        }
        Err(failure) => panic!("{failure}"),
    }
}

/// Checks `executions` behaviours of `test`, drawn at random. Panics with a report if one fails.
#[track_caller]
pub fn random(executions: u64, test: impl Fn() + Send + Sync + 'static) -> Summary {
    check_with(Config::new().random(executions), test)
}

/// Runs one execution of `test` again: `recording` is what a report says behind `FENCEPOST_REPLAY=`. Panics with the
/// report if it fails, as it did.
#[track_caller]
pub fn replay(recording: &str, test: impl Fn() + Send + Sync + 'static) {
    match Config::new().replay(recording, test) {
        Ok(()) => {}
        Err(failure) => panic!("{failure}"),
    }
}

/// A test that is being checked cannot check another.
#[track_caller]
fn refuse_inside() {
    assert!(
        rt::current().is_none(),
        "fencepost: a check inside of a check: a test that is being checked cannot check another"
    );
}

impl Config {
    /// Checks `test`: the summary, or the failure as a value.
    pub fn run(&self, test: impl Fn() + Send + Sync + 'static) -> Result<Summary, Box<Failure>> {
        refuse_inside();
        let test: Arc<dyn Fn() + Send + Sync> = Arc::new(test);
        let name = std::thread::current().name().unwrap_or("main").to_owned();
        if let Ok(recording) = std::env::var("FENCEPOST_REPLAY")
            && let Some(plan) = plan::for_test(&recording, &name)
        {
            let (plan, exact) = plan.map_err(|message| Failure::unusable(&message))?;
            return match self.again(&test, &plan, exact, &name) {
                Some(failure) => Err(failure),
                None => Ok(Summary {
                    executions: 1,
                    blocked: 0,
                    complete: false,
                    complete_up_to: None,
                    left: None,
                    seconds: 0.0,
                }),
            };
        }
        if self.preemption_bound.is_some() && self.method != Method::Graph {
            let message = "a preemption bound is for the exploration of everything, not for random executions";
            return Err(Failure::unusable(message));
        }
        let started = std::time::Instant::now();
        // Counts of `Arc`s are left out until somebody looks at them, or something fails; what threads change on the
        // heap is left out until a loop seems to wait.
        let mut settings = Settings { watches_heap: false, loops: 0, ..self.settings(self.jobs > 1) };
        let mut runs_on = if self.thread_panics { RunsOn::Worker } else { RunsOn::Caller };
        loop {
            let program = Program::new(Arc::clone(&test), settings);
            let outcome = match self.method {
                Method::Graph => explore::explore(self, &program, &mut runs_on),
                Method::Random { executions, seed } => sample::sample(self, &program, (executions, seed), &mut runs_on),
            };
            let mut outcome = outcome.map_err(|error| Failure::unusable(&error))?;
            if outcome.suspects {
                settings = Settings { watches_heap: true, loops: outcome.loops, ..settings };
                continue;
            }
            if !settings.exact_arcs && (outcome.found.is_some() || outcome.observed) {
                settings.exact_arcs = true;
                continue;
            }
            let exact = settings.exact_arcs;
            return match outcome.found.take() {
                Some(found) => {
                    let failure = self.failure(&test, found, exact, &name, outcome.executions);
                    if failure.kind == Some(FindingKind::Abort) {
                        // Rust was about to abort, and holds its panic hook since: this process cannot go on for long.
                        eprintln!("{failure}");
                        std::process::abort();
                    }
                    Err(failure)
                }
                None => Ok(Summary {
                    executions: outcome.executions,
                    blocked: outcome.blocked,
                    complete: outcome.complete && !outcome.left_out,
                    complete_up_to: self.preemption_bound.filter(|_| outcome.complete),
                    left: outcome.left,
                    seconds: started.elapsed().as_secs_f64(),
                }),
            };
        }
    }

    /// Runs one recorded execution of `test`; the failure, if it fails again.
    pub fn replay(&self, recording: &str, test: impl Fn() + Send + Sync + 'static) -> Result<(), Box<Failure>> {
        refuse_inside();
        let test: Arc<dyn Fn() + Send + Sync> = Arc::new(test);
        let (_, recorded) = recording.split_once('/').unwrap_or(("", recording));
        let (plan, exact) = plan::parse(recorded).map_err(|message| Failure::unusable(&message))?;
        let name = std::thread::current().name().unwrap_or("main").to_owned();
        self.again(&test, &plan, exact, &name).map_or(Ok(()), Err)
    }

    fn settings(&self, exact_arcs: bool) -> Settings {
        Settings {
            spurious_wakeups: self.spurious_wakeups,
            thread_panics: self.thread_panics,
            spins: self.spin_detection,
            exact_arcs,
            watches_heap: true,
            loops: u64::MAX,
        }
    }

    fn again(&self, test: &Arc<dyn Fn() + Send + Sync>, plan: &Plan, exact: bool, name: &str) -> Option<Box<Failure>> {
        let program = Program::new(Arc::clone(test), self.settings(exact));
        let (shown, found) = explore::again(self, &program, plan);
        let found = found?;
        Some(Box::new(Failure::new(found, shown, 1, plan::recording(name, plan, exact), name)))
    }

    fn failure(
        &self,
        test: &Arc<dyn Fn() + Send + Sync>,
        found: Found,
        exact: bool,
        name: &str,
        executions: u64,
    ) -> Box<Failure> {
        let program = Program::new(Arc::clone(test), self.settings(exact));
        let plan = found.plan.clone();
        let (shown, again) = explore::again(self, &program, &plan);
        // What the first run said counts; the second is for the picture.
        let shown = again.filter(|again| again.kind == found.kind).and(shown);
        Box::new(Failure::new(found, shown, executions, plan::recording(name, &plan, exact), name))
    }
}
