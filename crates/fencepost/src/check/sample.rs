//! Executions drawn at random.

use super::config::Config;
use super::explore::{Explored, Found, judge};
use super::failure::Shown;
use super::worker::{self, RunsOn};
use crate::rt::Program;
use fencepost_engine::{Execution, Monitor, Next, Planned, RaceDetector, Sampler, Strategy, Threads};
use fencepost_memory::{Machine, MachineOptions, with_machine};
use fencepost_trace::{FindingKind, Limits, Location, Outcome, Plan, Sampling, StrategySpec, execution_seed};
use std::time::Instant;

fn limits(config: &Config) -> Limits {
    Limits { max_steps: config.max_events as u64 * 4 }
}

/// Runs `executions` of them.
pub(super) fn sample(
    config: &Config,
    program: &Program,
    (executions, seed): (u64, u64),
    runs_on: &mut RunsOn,
) -> Result<Explored, String> {
    let (config, program) = (config.clone(), program.clone());
    worker::run(runs_on, move || {
        let mut program = program.clone();
        let options = MachineOptions::with_buffer(None);
        Ok(with_machine!(config.model, &options, machine => {
            campaign(&config, &mut program, machine, executions, seed)
        }))
    })
}

fn campaign<M: Machine>(config: &Config, program: &mut Program, machine: M, executions: u64, seed: u64) -> Explored {
    let started = Instant::now();
    let mut told = started;
    let mut execution = Execution::with_monitor(machine, ());
    execution.set_recording(false);
    execution.set_unseen(true);
    let mut explored = Explored::default();
    // One for all executions: it keeps its allocations.
    let mut sampler = Sampler::new(config.model, seed, &Sampling::default(), None);
    for number in 0..executions.min(config.max_executions.unwrap_or(u64::MAX)) {
        let (seed, sampling) = (execution_seed(seed, number), Sampling::default().of_execution(number));
        sampler.begin(seed, &sampling);
        let outcome = run(&mut execution, program, &mut sampler, limits(config));
        if Program::context().must_move() {
            break;
        }
        let plan = || Plan::new(config.model, StrategySpec::Random { seed, sampling }, limits(config));
        explored.executions += 1;
        let found = match &outcome {
            Outcome::Finished if config.leaks => Found::leak(plan),
            Outcome::Finished => None,
            Outcome::Failed { thread, .. } => Some(Found::of_thread(*thread, plan())),
            Outcome::Deadlock { blocked } if !is_timed(blocked) => {
                Some(Found::stuck(FindingKind::Deadlock, blocked, plan()))
            }
            Outcome::Livelock { spinning } if !is_timed(spinning) => {
                Some(Found::stuck(FindingKind::Livelock, spinning, plan()))
            }
            _ => {
                explored.blocked += 1;
                None
            }
        };
        if found.is_some() {
            explored.found = found;
            break;
        }
        if number % 256 == 255 {
            if config.max_time.is_some_and(|most| started.elapsed() >= most) {
                break;
            }
            if config.progress.is_some_and(|every| told.elapsed() >= every) {
                told = Instant::now();
                eprintln!("fencepost: {} executions in {:.0} s", number + 1, started.elapsed().as_secs_f64());
            }
        }
    }
    explored.observed = Program::context().arcs_observed.get();
    explored
}

fn is_timed(threads: &[fencepost_trace::ThreadId]) -> bool {
    let context = Program::context();
    let states = context.threads.borrow();
    threads.iter().any(|thread| states.get(thread.index()).is_some_and(|state| state.timed))
}

/// One execution: as [`fencepost_engine::run`], but the program learns what happens before what it does.
fn run<M: Machine, W: Monitor>(
    execution: &mut Execution<M, W>,
    program: &mut Program,
    strategy: &mut impl Strategy,
    limits: Limits,
) -> Outcome {
    execution.begin(program.start(), limits);
    loop {
        match execution.advance(strategy, &mut |at: Location| program.initial(at)) {
            Next::Resume(thread, reply) => {
                if let Some(known) = execution.clock(thread) {
                    program.set_clock(thread, known.slots());
                } else {
                    program.forget_clock(thread);
                }
                execution.submit_with(thread, |op| {
                    program.resume_into(thread, reply, op);
                    program.label(thread)
                });
            }
            Next::TimePasses => unreachable!("internal error: these programs wait for no time"),
            Next::End(outcome) => return outcome,
        }
    }
}

/// The execution of a plan, with all that it takes to show it.
pub(super) fn again(config: &Config, program: &Program, plan: &Plan) -> (Option<Shown>, Option<Found>) {
    let mut program = program.clone();
    let options = MachineOptions::with_buffer(plan.buffer);
    let Some(mut strategy) = Planned::new(plan.model, plan.strategy.clone(), None) else { return (None, None) };
    with_machine!(plan.model, &options, machine => {
        let mut execution = Execution::with_monitor(machine, RaceDetector::default());
        run(&mut execution, &mut program, &mut strategy, limits(config));
        let trace = execution.trace(|label| program.describe(label));
        let races: Vec<_> = execution.races().iter().map(|race| (race.first, race.second)).collect();
        let mut plan = plan.clone();
        if !matches!(plan.strategy, StrategySpec::Follow { .. }) {
            plan.strategy = StrategySpec::Follow { choices: trace.choices.clone() };
        }
        let found = judge(config, &trace, !races.is_empty(), &plan);
        (Some(Shown::new(trace, races, false, found.as_ref())), found)
    })
}
