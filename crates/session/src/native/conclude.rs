//! From what a campaign on a native program came to, to its result.

use super::Program;
use super::again::Again;
use super::cut_off::cut_off;
use super::examine::{Examined, Examiner, First, Searched, strategy};
use super::restart;
use super::symbolizer::Symbolizer;
use crate::check::Done;
use crate::event::Log;
use crate::finish::{INTERRUPTED, Item, Summary, finish};
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::request::CampaignRequest;
use fencepost_mailbox::Stack;
use fencepost_native::host::{Campaign, Found};
use fencepost_native::interrupt;
use fencepost_report::{CallStack, Command, Describe, Evidence, Race, RacingAccess, Seen};
use fencepost_trace::{Action, Finding, FindingLabel, FirstMet, Plan, ThreadId};
use std::time::Instant;

/// What differs between the commands.
pub struct Concluded {
    pub command: Command,
    /// For an exploration: was everything explored?
    pub complete: Option<bool>,
    pub executions: u64,
    pub blocked: u64,
    /// How it was explored, if it was.
    pub done: Option<Done>,
    pub begun: Instant,
}

/// Says what is to be said, and makes the result.
pub fn conclude(
    examiner: &Examiner<'_>,
    request: &CampaignRequest,
    campaign: &Campaign,
    plan: &Plan,
    searched: Searched,
    concluded: Concluded,
    log: &mut Log<'_>,
) -> Outcome {
    let Searched { results, examined, suppressed } = searched;
    if interrupt::is_wished() {
        log.note(INTERRUPTED);
    }
    if results.hopeless {
        log.note("every execution so far was cut off by a limit, and so would be the others: no more were tried");
    }
    let (program, symbolizer) = (examiner.program, &examiner.symbolizer);
    cut_off(&results, campaign, symbolizer).into_iter().for_each(|note| log.note(note));
    results.notes.iter().for_each(|note| log.note(symbolizer.note(note)));
    results.warnings.iter().for_each(|warning| log.warning(warning.clone()));
    restart::warning(&results, symbolizer).into_iter().for_each(|warning| log.warning(warning));
    let Concluded { command, complete, executions, blocked, done, begun } = concluded;
    let summary = Summary {
        command,
        complete,
        all_cut_off: blocked == executions,
        executions,
        blocked,
        failing: results.failing,
        suppressed,
        states: None,
        coverage: complete.is_none().then(|| Seen::new(results.pairs.values().copied(), executions)),
        restart: Some(restart::restarted(&results, symbolizer)),
        races: races(&results.races, symbolizer),
        done,
        started: begun,
    };
    let items = examined.into_iter().map(|one| item(one, command, program, campaign, plan, symbolizer)).collect();
    let report = |findings| summary.report(request, findings);
    finish(items, request.out.as_deref(), symbolizer.clone(), log, report)
}

/// Races that are no findings, each pair of program points once.
fn races(met: &[(Stack, Stack)], symbolizer: &Symbolizer) -> Vec<Race> {
    let access = |stack: &Stack| {
        let FindingLabel { label, access, .. } = symbolizer.finding_label(stack);
        RacingAccess { label, access }
    };
    let race = |(first, second): &(Stack, Stack)| {
        let mut accesses = [access(first), access(second)];
        accesses.sort();
        Race { accesses }
    };
    let mut races: Vec<Race> = met.iter().map(race).collect();
    races.sort();
    races.dedup();
    races
}

fn item(
    examined: Examined,
    command: Command,
    program: &Program,
    campaign: &Campaign,
    plan: &Plan,
    symbolizer: &Symbolizer,
) -> Item {
    let Examined { found, mut finding, again, first, .. } = examined;
    // Too long to be written down: how its answers were drawn says which it was, and its number that there is no
    // trace.
    let number = found.report.drawn.map(|_| found.report.execution);
    let recording = (number.is_some() || again.is_some()).then(|| {
        let plan = Plan { strategy: strategy(&found), ..plan.clone() };
        let digest = again.as_ref().map(Again::digest).unwrap_or_default();
        Recording::native(command, program, plan, &campaign.request, number, digest)
    });
    if command == Command::Test {
        finding.needs = again.as_ref().map(|again| again.needs(&found));
    }
    let mut evidence = evidence(&finding, found, again, symbolizer);
    let first = first.map(|First { found, again, tried }| {
        finding.first_met = Some(FirstMet { needs: again.needs(&found), tried, replay: None });
        let plan = Plan { strategy: strategy(&found), ..plan.clone() };
        let recording = Recording::native(command, program, plan, &campaign.request, None, again.digest());
        evidence.first = Some(again.shown(Some(&found)));
        recording
    });
    Item { finding, evidence, recording, first }
}

/// The calls that led to a finding, the execution that shows it, and what that had printed.
fn evidence(finding: &Finding, found: Found, again: Option<Again>, symbolizer: &Symbolizer) -> Evidence {
    let mut stacks = Vec::new();
    // Where more is known, it has been said.
    for stack in found.report.stacks.iter().filter(|_| finding.stacks.is_empty()) {
        let calls = symbolizer.calls(stack);
        // One call is where the finding is, and that has been shown.
        if calls.len() > 1 {
            let access = match &stack.access {
                Action::Unnamed => String::new(),
                action => format!(" ({action})"),
            };
            let thread = symbolizer.thread(ThreadId(stack.thread));
            stacks.push(CallStack { title: format!("{thread}{access}, innermost call first:"), calls });
        }
    }
    let execution = again.map(|again| again.shown(Some(&found)));
    Evidence { stacks, execution, first: None, stdout: found.report.stdout, stderr: found.report.stderr }
}
