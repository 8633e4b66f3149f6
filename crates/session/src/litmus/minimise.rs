//! A smaller execution of a litmus test that shows the same.

use super::case::LitmusCase;
use super::collector::{Collector, Stop, Watch};
use super::tally::Found;
use super::witness::Witness;
use crate::limits::Budget;
use crate::progress::Progress;
use fencepost_explore::Executed;
use fencepost_explore::graph::ExploreError;
use fencepost_explore::minimise::{Effort, minimise_execution};
use fencepost_litmus::LitmusProgram;
use fencepost_trace::{EventKind, Plan, StrategySpec};

/// How many executions are tried for all findings together, and for each at least.
const EXECUTIONS: u64 = 3_000;
const LEAST: u64 = 100;
/// How many steps these may take together, for each finding.
const STEPS: u64 = 2_000_000;

/// The same finding in a smaller execution, and how many were tried; `None` if the first is as small to the reader.
/// There are so many findings.
pub fn smaller_witness(
    case: &LitmusCase,
    found: &Found,
    first: &Witness,
    findings: usize,
) -> Result<Option<(Witness, u64)>, ExploreError> {
    let StrategySpec::Follow { choices } = &found.plan.strategy else { return Ok(None) };
    let effort = Effort { executions: (EXECUTIONS / findings.max(1) as u64).max(LEAST), steps: STEPS };
    let shows = |program: &LitmusProgram, executed: &Executed| {
        // What was found in it is told by whoever tells it of all others.
        let progress = Progress::default();
        let Plan { model, buffer, limits, .. } = found.plan;
        let watch = Watch { model, buffer, limits, condition: true, stop: Stop::Never, progress: &progress };
        let mut collector = Collector::new(case, watch, Budget::new(None, None));
        let _ = collector.machine(program, executed);
        let is_there = collector.tally.findings.iter().any(|other| other.key == found.key);
        let raced = executed.races.iter().map(|(one, other)| one.index().max(other.index())).min();
        let events = executed.trace.events.iter().take(raced.unwrap_or(usize::MAX));
        is_there.then(|| events.filter(|event| !matches!(event.kind, EventKind::Commit { .. })).count() as u64)
    };
    let minimised = minimise_execution(&mut case.test.program(), &found.plan, choices.clone(), effort, shows);
    let Some(minimised) = minimised else { return Ok(None) };
    let strategy = StrategySpec::Follow { choices: minimised.best.choices };
    let smaller = Witness::new(case, Plan { strategy, ..found.plan.clone() })?;
    let (now, then) = (smaller.needs(), first.needs());
    let is_smaller = (now.oddities(), now.operations) < (then.oddities(), then.operations);
    Ok((is_smaller && now.operations <= then.operations).then_some((smaller, minimised.executions)))
}
