//! `fencepost replay` of a native program's execution.

use super::Program;
use super::campaign::{Again, campaign, reproduced};
use super::words::Words;
use crate::error::{Error, Status};
use crate::recording::{Native, Recording};
use crate::screen::Screen;
use fencepost_native::gdb;
use fencepost_native::host::{Campaign, Found, Results};
use fencepost_report::text;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long an execution may take that was too long to be written down.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs an execution again that was too long to be written down.
fn repeat(
    file: &Path,
    program: &Program,
    campaign: &Campaign,
    recording: &Recording,
    execution: u64,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let diverged = |problem: String| Error::replay(file, problem);
    // It took as long as it took.
    let campaign = Campaign { timeout: LONG, ..campaign.clone() };
    let results = Again::repeat(&campaign, &recording.plan.strategy, execution)
        .map_err(|error| diverged(format!("it cannot be run: {error}")))?;
    let kind = recording.finding.as_ref().map(|finding| finding.kind);
    if !results.found.iter().any(|found| Some(found.report.kind) == kind) {
        return Err(diverged("the execution diverged from the recorded one: it does not show the finding".to_owned()));
    }
    if let (false, Some(finding)) = (screen.json() || screen.quiet, &recording.finding) {
        screen.print(&text::reproduced(finding, &Words::of(program), screen.look))?;
    }
    let name = text::clean(&recording.target).to_string();
    screen.print(&format!(
        "the finding is there again: {name} under {}, {} steps (too many for a trace)\n",
        recording.plan.model, results.steps
    ))?;
    Ok(Status::Found)
}

/// Runs the recorded execution again.
pub fn replay(
    file: &Path,
    target: &Path,
    recording: &Recording,
    native: &Native,
    gdb: Option<&[OsString]>,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let diverged = |problem: String| Error::replay(file, problem);
    let program = Program::load(target, &native.arguments).map_err(|error| diverged(error.to_string()))?;
    if program.digest != recording.target_digest {
        return Err(diverged(format!(
            "{} has changed since it was recorded, or is compiled otherwise",
            target.display()
        )));
    }
    let mut campaign = campaign(&program, &recording.plan, native.restart, None);
    campaign.request.volatile = native.volatile;
    campaign.request.prune = native.prune;
    if let Some(execution) = native.execution {
        return repeat(file, &program, &campaign, recording, execution, screen);
    }
    // Variables on stacks have names only where details are asked for.
    let mut watched = campaign.clone();
    watched.request.details = Some(Vec::new());
    let (again, results) = Again::follow(&program, &watched, &recording.plan.strategy)
        .map_err(|error| diverged(format!("it cannot be run: {error}")))?;
    let again = again.ok_or_else(|| diverged("the execution left no trace".to_owned()))?;
    let same = again.digest() == recording.trace_digest;
    let met = recording.finding.as_ref().is_none_or(|finding| reproduced(finding.kind, &results, &again.trace));
    if !same || !met {
        return Err(diverged(format!(
            "the execution diverged from the recorded one, which version {} made",
            recording.fencepost
        )));
    }
    if let Some(options) = gdb {
        return debug(file, recording, &campaign, &results, options);
    }
    if screen.json() {
        let trace = serde_json::to_string(&again.trace).expect("a trace is always JSON");
        screen.print(&format!("{trace}\n"))?;
    } else {
        let mut shown = String::new();
        if !screen.quiet {
            shown += &again.text(found_again(recording, &results), screen.look);
            shown.push('\n');
            if let Some(finding) = &recording.finding {
                shown += &text::reproduced(finding, again.words(), screen.look);
            }
        }
        shown +=
            &format!("same execution as recorded: {} under {}\n", text::clean(&recording.target), recording.plan.model);
        screen.print(&shown)?;
    }
    Ok(if recording.finding.is_some() { Status::Found } else { Status::Clean })
}

/// Runs the execution under gdb. `results` is what it gave without.
fn debug(
    file: &Path,
    recording: &Recording,
    campaign: &Campaign,
    results: &Results,
    options: &[OsString],
) -> Result<Status, Error> {
    let Some(finding) = &recording.finding else {
        return Err(Error::replay(file, "nothing was found in this execution, so that there is no place to stop at"));
    };
    let found = found_again(recording, results);
    let found = found.ok_or_else(|| Error::replay(file, "the finding is not there again"))?;
    let headline = format!("{}: {}", finding.kind, finding.message);
    let strategy = recording.plan.strategy.clone();
    match gdb::debug(campaign, strategy, found.report.fingerprint, &headline, options) {
        Ok(status) if status.success() => Ok(Status::Found),
        Ok(status) => Err(Error::replay(file, format!("gdb failed: {status}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::replay(file, format!("there is no gdb: install it, or name another one with {}", gdb::VARIABLE)))
        }
        Err(error) => Err(Error::replay(file, format!("gdb cannot be started: {error}"))),
    }
}

/// The recorded finding among those that the execution gave.
fn found_again<'a>(recording: &Recording, results: &'a Results) -> Option<&'a Found> {
    let finding = recording.finding.as_ref()?;
    let words = Words::default();
    let same_places = |found: &&Found| {
        let labels: Vec<_> = found.report.stacks.iter().map(|stack| words.finding_label(stack)).collect();
        found.report.kind == finding.kind && labels == finding.labels
    };
    let same_kind = |found: &&Found| found.report.kind == finding.kind;
    results.found.iter().find(same_places).or_else(|| results.found.iter().find(same_kind))
}
