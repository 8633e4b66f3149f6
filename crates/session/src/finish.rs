//! From findings to a result: the same way for every command and every kind of program.

use crate::check::Done;
use crate::error::Error;
use crate::event::{Event, Log};
use crate::outcome::Outcome;
use crate::recording::{FIRST, Recording, clear, clear_saved, try_out, write_whole};
use crate::request::CampaignRequest;
use fencepost_report::{Command, Describe, Evidence, Race, Report, Restarted, RunReport, Seen, Verdict, html};
use fencepost_trace::Finding;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// A finding on its way into the result.
pub struct Item {
    pub finding: Finding,
    pub evidence: Evidence,
    /// How to see it again, if that is known.
    pub recording: Option<Recording>,
    /// The same for the execution in which it was met first, if a smaller one is shown.
    pub first: Option<Recording>,
}

/// What `fencepost report` makes a page of, beside the report.
pub const PAGE: &str = "page.json";

/// What is said of work that a signal has ended.
pub const INTERRUPTED: &str = "interrupted: this is what there was by then";

/// Before the work: can its results be written? What an earlier run left there is removed.
pub fn prepare(out: Option<&Path>) -> Result<(), Error> {
    let Some(out) = out else { return Ok(()) };
    try_out(out)?;
    clear(out, 0);
    clear_saved(out);
    Ok(())
}

/// Numbers the findings and writes their executions, then the report that `report` makes of them.
pub fn finish(
    items: Vec<Item>,
    out: Option<&Path>,
    describe: Rc<dyn Describe>,
    log: &mut Log<'_>,
    report: impl FnOnce(Vec<Finding>) -> Report,
) -> Outcome {
    let (mut findings, mut evidence, mut unwritten) = (Vec::new(), Vec::new(), None);
    for (i, mut item) in items.into_iter().enumerate() {
        item.finding.id = i as u32 + 1;
        if let (Some(out), Some(recording)) = (out, item.recording.take())
            && let Err(error) = record(&mut item, recording, out)
        {
            unwritten = unwritten.or(Some(error));
        }
        log.emit(Event::Finding(&item.finding));
        findings.push(item.finding);
        evidence.push(item.evidence);
    }
    // What was written while the work went on, and is no finding of its own.
    out.inspect(|out| clear(out, findings.len()));
    let report = report(findings);
    log.emit(Event::Done(report.verdict()));
    let mut outcome = Outcome { report, evidence, describe, remarks: Vec::new(), unwritten };
    if let Some(out) = out.filter(|_| outcome.unwritten.is_none()) {
        outcome.unwritten = write_report(&outcome, out, log);
    }
    outcome.remarks = std::mem::take(&mut log.remarks);
    outcome
}

/// Writes the finding's execution, and notes where.
fn record(item: &mut Item, mut recording: Recording, out: &Path) -> Result<(), Error> {
    let name = format!("finding-{}", item.finding.id);
    item.finding.replay = Some(out.join(format!("{name}.json")).display().to_string());
    if let (Some(first), Some(_)) = (&mut item.finding.first_met, &item.first) {
        first.replay = Some(out.join(format!("{name}{FIRST}.json")).display().to_string());
    }
    recording.finding = Some(item.finding.clone());
    let trace = item.evidence.execution.as_ref().map(|execution| &execution.trace);
    let written = recording.write(out, &name, trace).and_then(|_| record_first(item, out));
    if written.is_err() {
        item.finding.replay = None;
    }
    written
}

/// Writes the execution in which the finding was met first beside the smaller one.
fn record_first(item: &mut Item, out: &Path) -> Result<(), Error> {
    let (Some(mut recording), Some(first)) = (item.first.take(), &item.finding.first_met) else { return Ok(()) };
    let name = format!("finding-{}{FIRST}", item.finding.id);
    let (needs, replay) = (Some(first.needs), first.replay.clone());
    recording.finding = Some(Finding { needs, replay, first_met: None, ..item.finding.clone() });
    let trace = item.evidence.first.as_ref().map(|execution| &execution.trace);
    recording.write(out, &name, trace).map(|_| ())
}

/// Writes the report beside its findings. Only with findings it is an error if that cannot be done.
fn write_report(outcome: &Outcome, out: &Path, log: &mut Log<'_>) -> Option<Error> {
    let report = write_whole(&out.join("run.json"), outcome.report.to_json().as_bytes());
    // Where nothing was found, the report says all there is to say.
    let is_empty = matches!(&outcome.report, Report::Run(run) if run.findings.is_empty());
    let page = || match is_empty {
        true => Ok(()),
        false => write_whole(&out.join(PAGE), html::data(&outcome.document()).to_string().as_bytes()),
    };
    let error = report.and_then(|()| page()).err()?;
    if outcome.verdict() == Verdict::Fail {
        return Some(error);
    }
    log.warning(error.to_string());
    None
}

/// What a campaign amounts to besides its findings.
pub struct Summary {
    pub command: Command,
    /// Was everything explored, if the command explores?
    pub complete: Option<bool>,
    /// Did a limit end every execution?
    pub all_cut_off: bool,
    pub executions: u64,
    pub blocked: u64,
    /// In how many executions something was found.
    pub failing: u64,
    pub suppressed: u64,
    /// How many final states there are.
    pub states: Option<u64>,
    pub coverage: Option<Seen>,
    pub restart: Option<Restarted>,
    /// Races that are no findings.
    pub races: Vec<Race>,
    /// How it was explored, if it was.
    pub done: Option<Done>,
    pub started: Instant,
}

impl Summary {
    /// The report of `test` and `check`.
    pub fn report(self, request: &CampaignRequest, findings: Vec<Finding>) -> Report {
        Report::Run(RunReport {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command,
            target: request.target.display().to_string(),
            model: request.model,
            seed: request.seed,
            verdict: Verdict::of(!findings.is_empty(), self.complete.unwrap_or(!self.all_cut_off)),
            complete: self.complete.unwrap_or(false),
            executions: self.executions,
            blocked: self.blocked,
            failing_executions: self.failing,
            states: self.states,
            coverage: self.coverage,
            seconds: self.started.elapsed().as_secs_f64(),
            safety: None,
            restart: self.restart,
            method: self.done.map(|done| done.method),
            answers: self.done.and_then(|done| done.answers),
            findings,
            races: self.races,
            suppressed: self.suppressed,
        })
    }
}
