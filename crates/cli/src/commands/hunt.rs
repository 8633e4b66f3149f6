//! `fencepost hunt`: predicted violations of sequential consistency, brought about one by one.

use crate::args::{Spec, duration, positive};
use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_session::{HuntMethods, HuntRequest, hunt};
use fencepost_trace::{Model, OrionOptions, RelaxerOptions};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Predict violations of sequential consistency, force each one to happen, and tell those that break the program from
/// those that do not.
///
/// First the program is run without any reordering, at random. From these executions follow all cycles of conflicting
/// accesses that the model could make real. Then the program is run again for each of them: in an order solved for,
/// with Relaxer's biased scheduler, with Orion's exact one. A violation is harmful if the program then fails, or
/// prints what it never prints without reordering, or breaks its specification (--spec). For harmful ones the
/// orderings that prevent them are named, and tried.
///
/// Exit status 1 means that a violation is harmful (or that the program fails without any); 0 that none is.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost hunt queue.c --model tso           # which reorderings are real, and which do harm\n\
    \x20 fencepost hunt ./queue --model pso --time 1m")]
pub struct Args {
    /// An executable built with -fsanitize=thread or `fencepost cc`, a .c, .cc, .cpp or .rs file, or a .litmus file
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Arguments for the target
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
    /// The memory model: tso, pso, pslo
    #[arg(long, value_name = "MODEL", default_value = "tso", value_parser = Model::from_str)]
    model: Model,
    /// How many executions without reordering the prediction is made from
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive, help_heading = "Work and limits")]
    executions: u64,
    /// How often each cycle is tried
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = positive, help_heading = "Work and limits")]
    trials: u64,
    /// The greatest number of accesses in a cycle; 0: any number
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Work and limits")]
    cycle_length: usize,
    /// How cycles are brought about: both (a solved order first, then relaxer, then orion), solve, relaxer, orion
    #[arg(long, value_enum, default_value_t = Method::Both, value_name = "METHOD", hide_possible_values = true)]
    method: Method,
    /// How many stores fit a store buffer (tso, pso) [default: any number; for orion's method 64]
    #[arg(long, value_name = "N", value_parser = positive)]
    buffer: Option<u64>,
    /// Relaxer's P: how likely it is, in percent, that an access of the cycle is delayed
    #[arg(long, value_name = "PERCENT", default_value_t = RelaxerOptions::default().chance, help_heading = "Methods")]
    chance: u32,
    /// Relaxer's delayS: for how many steps a store is delayed
    #[arg(long, value_name = "STEPS", default_value_t = RelaxerOptions::default().store_delay)]
    #[arg(help_heading = "Methods")]
    store_delay: u64,
    /// Relaxer's delayL: for how many steps a load is delayed; less than --store-delay
    #[arg(long, value_name = "STEPS", default_value_t = RelaxerOptions::default().load_delay, help_heading = "Methods")]
    load_delay: u64,
    /// Orion: reorder every pair of the cycle that the model can, not one
    #[arg(long, help_heading = "Methods")]
    all_reorderings: bool,
    /// Orion: for how many steps a thread waits for its turn
    #[arg(long, value_name = "STEPS", default_value_t = OrionOptions::default().patience, help_heading = "Methods")]
    patience: u64,
    /// Hold what the program observes (fencepost.h) against a specification: atomic (a violation is harmful too if
    /// its outcome is none that the program has when each operation takes effect at once)
    #[arg(long, value_enum, value_name = "SPEC", hide_possible_values = true)]
    spec: Option<Spec>,
    /// Do not look for the orderings that prevent harmful violations
    #[arg(long)]
    no_fences: bool,
    /// Stop after so long: 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Work and limits")]
    time: Option<Duration>,
    /// Use so many cores [default: all]
    #[arg(long, short, value_name = "N", value_parser = positive, help_heading = "Work and limits")]
    jobs: Option<u64>,
    /// Cut an execution off after so many steps [default: 2000 for litmus tests; for programs 100000]
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Work and limits")]
    max_steps: Option<u64>,
    /// Give an execution of a native program up after so long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", help_heading = "Work and limits")]
    timeout: Duration,
    /// The seed of the trials: the same seed gives the same executions and findings, whatever --jobs is; which
    /// violations there are is the same at every seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Failures of a native program that do no harm: a file of rules as ThreadSanitizer's (race:PATTERN, race_top:,
    /// deadlock:, called_from_lib:) [default: what TSAN_OPTIONS says]
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// Where findings and their executions are written, if there are any
    #[arg(long, value_name = "DIR", default_value = "fencepost-out")]
    out: PathBuf,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Both,
    Solve,
    Relaxer,
    Orion,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    if args.load_delay >= args.store_delay {
        return Err(Error::usage("--load-delay must be less than --store-delay"));
    }
    let methods = args.methods();
    let usual = HuntRequest::new(args.target);
    let request = HuntRequest {
        arguments: args.arguments,
        model: args.model,
        executions: args.executions,
        trials: args.trials,
        length: (args.cycle_length > 0).then_some(args.cycle_length),
        methods,
        buffer: args.buffer.map(|n| n as u32),
        spec: args.spec.map(Into::into),
        fences: !args.no_fences,
        time: args.time,
        jobs: args.jobs.map_or(usual.jobs, |n| n as usize),
        max_steps: args.max_steps,
        timeout: args.timeout,
        seed: args.seed,
        out: Some(args.out),
        suppressions: args.suppressions,
        ..usual
    };
    let outcome = hunt(&request, screen)?;
    screen.conclude(outcome)
}

impl Args {
    /// What brings cycles about.
    fn methods(&self) -> HuntMethods {
        let has = |method| self.method == Method::Both || self.method == method;
        HuntMethods {
            solve: has(Method::Solve),
            relaxer: has(Method::Relaxer).then_some(RelaxerOptions {
                chance: self.chance,
                store_delay: self.store_delay,
                load_delay: self.load_delay,
            }),
            orion: has(Method::Orion).then_some(OrionOptions {
                buffer: Some(self.buffer.map_or(HuntMethods::ORION_BUFFER, |n| n as u32)),
                patience: self.patience,
                all: self.all_reorderings,
                ..OrionOptions::default()
            }),
        }
    }
}
