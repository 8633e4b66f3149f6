//! What a hunt came to.

use super::candidate::{Candidate, Witness};
use super::options::Options;
use super::search::Search;
use super::subject::Subject;
use crate::event::{Event, Log};
use crate::finish::{Item, finish};
use crate::outcome::Outcome;
use fencepost_report::{
    Command, Evidence, FenceAdvice, HuntCycle, HuntFinding, HuntReport, Order, Report, ShownExecution, Verdict,
};
use fencepost_trace::{Action, Finding, FindingKind, FindingLabel, Severity, ThreadId};
use std::time::Instant;

/// Makes the result, and writes it if that was asked for.
pub fn report(
    subject: &impl Subject,
    options: &Options,
    mut search: Search,
    fences: Vec<FenceAdvice>,
    started: Instant,
    log: &mut Log<'_>,
) -> Outcome {
    let failures = std::mem::take(&mut search.seen.failures);
    let failure = |finding| Item { finding, evidence: Evidence::default(), recording: None, first: None };
    let mut items: Vec<Item> = failures.into_iter().map(failure).collect();
    let cycles = sorted(subject, &search);
    items.extend(cycles.iter().filter_map(|(cycle, candidate)| violation(subject, cycle, candidate)));
    cycles.iter().for_each(|(cycle, _)| log.emit(Event::Cycle(cycle)));
    let cycles = cycles.into_iter().map(|(cycle, _)| cycle).collect();
    let report = |findings: Vec<Finding>| {
        let harmful = search.all().any(Candidate::is_harmful)
            || findings.iter().any(|finding| finding.severity == Severity::Harmful);
        Report::Hunt(HuntReport {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            command: Command::Hunt,
            target: subject.name(),
            model: options.model,
            seed: options.seed,
            verdict: Verdict::of(harmful, search.complete),
            complete: search.complete,
            settled: search.settled,
            campaign: search.campaign,
            executions: search.executions,
            blocked: search.blocked,
            seconds: started.elapsed().as_secs_f64(),
            prediction_seconds: search.prediction.as_secs_f64(),
            findings: findings.into_iter().map(with_cycle).collect(),
            cycles,
            fences,
        })
    };
    finish(items, options.out.as_deref(), subject.describe(), log, report)
}

/// All cycles: root causes first, then what hurts most often, then what is real, then by program point. Those that are
/// not critical come last.
fn sorted<'a>(subject: &impl Subject, search: &'a Search) -> Vec<(HuntCycle, &'a Candidate)> {
    let described = |candidates: &'a [Candidate], longer: bool| {
        candidates.iter().map(move |candidate| (describe(subject, candidate, longer), candidate))
    };
    let mut cycles: Vec<(HuntCycle, &Candidate)> =
        described(&search.cycles, false).chain(described(&search.longer, true)).collect();
    cycles.sort_by_cached_key(|(cycle, candidate)| {
        let rank = match cycle.outcome {
            Severity::Harmful => 0,
            Severity::Benign => 1,
            Severity::Unknown => 2,
            Severity::Infeasible => 3,
        };
        (
            cycle.longer,
            rank,
            !candidate.root_cause,
            cycle.trials - cycle.harmful,
            cycle.length,
            cycle.labels.iter().map(|label| label.label.clone()).collect::<Vec<_>>(),
        )
    });
    cycles
}

/// A cycle that was brought about, as a finding.
fn violation(subject: &impl Subject, cycle: &HuntCycle, candidate: &Candidate) -> Option<Item> {
    let witness = candidate.witness.as_ref()?;
    let finding = Finding {
        id: 0,
        kind: FindingKind::ScViolation,
        message: message(cycle),
        count: cycle.exposed,
        first_execution: witness.exposure.execution + 1,
        severity: cycle.outcome,
        labels: cycle.labels.clone(),
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: None,
    };
    let recording =
        Some(subject.recording(witness.exposure.model, witness.exposure.strategy()?, witness.digest.clone()));
    let evidence = shown(subject, cycle, witness).map_or_else(Evidence::default, Evidence::from);
    Some(Item { finding, evidence, recording, first: None })
}

/// The execution that shows a violation.
fn shown(subject: &impl Subject, cycle: &HuntCycle, witness: &Witness) -> Option<ShownExecution> {
    Some(ShownExecution {
        trace: witness.trace.clone()?,
        order: if witness.exposure.graph.is_some() { Order::Graph } else { Order::Executed },
        describe: subject.describe(),
        races: Vec::new(),
        state: Vec::new(),
        involved: cycle.labels.iter().map(|label| label.thread).collect(),
        marks: Vec::new(),
    })
}

/// The labels of a violation are its cycle, in order.
fn with_cycle(finding: Finding) -> HuntFinding {
    let labels = if finding.kind == FindingKind::ScViolation { finding.labels.len() as u32 } else { 0 };
    HuntFinding { finding, cycle: (0..labels).collect() }
}

fn message(cycle: &HuntCycle) -> String {
    let lines: Vec<String> = cycle.labels.iter().map(|label| label.label.line.to_string()).collect();
    let harm = cycle.harm.as_ref().map_or_else(String::new, |harm| format!("; {harm}"));
    format!("accesses at lines {} form a happens-before cycle{harm}", lines.join(", "))
}

fn describe(subject: &impl Subject, candidate: &Candidate, longer: bool) -> HuntCycle {
    let points = subject.points();
    let label = |point: u32, thread: u32| {
        let point = &points[point as usize];
        let access = Action::access(point.reads, point.writes);
        FindingLabel { label: point.label.clone(), thread: ThreadId(thread), access }
    };
    let threads = candidate.threads();
    let labels = candidate.cycle.segments.iter().zip(threads).flat_map(|(segment, thread)| {
        std::iter::once(label(segment.first, thread)).chain(segment.second.map(|second| label(second, thread)))
    });
    HuntCycle {
        labels: labels.collect(),
        length: candidate.cycle.length(),
        longer,
        models: candidate.models.clone(),
        trials: candidate.trials,
        exposed: candidate.exposed,
        harmful: candidate.harmful,
        probability: if candidate.trials == 0 { 0.0 } else { candidate.exposed as f64 / candidate.trials as f64 },
        outcome: candidate.outcome(),
        method: candidate.method,
        harm: candidate.witness.as_ref().and_then(|witness| witness.exposure.harm.clone()),
    }
}
