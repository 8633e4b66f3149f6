//! A recorded execution of a native program again.

use super::Program;
use super::again::{Again, reproduced};
use super::campaign::campaign;
use super::symbolizer::Symbolizer;
use crate::error::Error;
use crate::raw_path::RawPath;
use crate::recording::{Native, Recording};
use crate::replay::{Replayed, Rerun, diverged};
use crate::request::ReplayRequest;
use fencepost_native::compiler::Surroundings;
use fencepost_native::gdb;
use fencepost_native::host::{Campaign, Found, Results};
use fencepost_report::Describe;
use fencepost_trace::{FindingKind, FindingLabel};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// How long an execution may take that was too long to be written down.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs the recorded execution again.
pub fn replay(request: &ReplayRequest, recording: &Recording, native: &Native) -> Result<Replayed, Error> {
    let failed = |problem: String| Error::replay(&request.recording, problem);
    let named = native.path.as_ref().map_or_else(|| PathBuf::from(&recording.target), RawPath::to_path);
    let target = request.target.as_deref().unwrap_or(&named);
    let program = load(request, native, target).map_err(failed)?;
    if program.digest != recording.target_digest {
        let name = target.display();
        return Err(failed(format!("{name} has changed since it was recorded, or is compiled otherwise")));
    }
    let mut campaign = campaign(&program, &recording.plan, native.restart, None);
    campaign.directory = directory(native).filter(|directory| directory.is_dir());
    campaign.request.volatile = native.volatile;
    campaign.request.prune = native.prune;
    let (run, symbolizer) = match native.execution {
        Some(execution) => {
            let steps = repeat(&campaign, recording, execution).map_err(failed)?;
            (Rerun::Repeated { steps }, Rc::new(Symbolizer::of(&program)))
        }
        None => follow(request, &program, &campaign, recording)?,
    };
    Ok(Replayed {
        target: recording.target.clone(),
        model: recording.plan.model,
        finding: recording.finding.clone(),
        describe: symbolizer as Rc<dyn Describe>,
        run,
    })
}

/// Where it was recorded.
fn directory(native: &Native) -> Option<PathBuf> {
    native.directory.as_ref().map(RawPath::to_path)
}

/// The program: from where this process is if it is there, otherwise from where it was recorded.
fn load(request: &ReplayRequest, native: &Native, target: &Path) -> Result<Program, String> {
    let there = directory(native).filter(|there| request.target.is_none() && there.join(target).exists());
    let surroundings = Surroundings::recorded(there, &native.environment)?;
    Program::load_in(surroundings, target, &native.arguments).map_err(|error| match target.exists() {
        true => error.to_string(),
        false => format!("{error} (--target names the program elsewhere)"),
    })
}

/// Runs an execution again that was too long to be written down. How many steps it had.
fn repeat(campaign: &Campaign, recording: &Recording, execution: u64) -> Result<u64, String> {
    // It took as long as it took.
    let campaign = Campaign { timeout: LONG, ..campaign.clone() };
    let results = Again::repeat(&campaign, &recording.plan.strategy, execution)
        .map_err(|error| format!("it cannot be run: {error}"))?;
    let kind = recording.finding.as_ref().map(|finding| finding.kind);
    if !results.found.iter().any(|found| Some(found.report.kind) == kind) {
        return Err("the execution diverged from the recorded one: it does not show the finding".to_owned());
    }
    Ok(results.steps)
}

/// Runs an execution again, event for event.
fn follow(
    request: &ReplayRequest,
    program: &Program,
    campaign: &Campaign,
    recording: &Recording,
) -> Result<(Rerun, Rc<Symbolizer>), Error> {
    let failed = |problem: String| Error::replay(&request.recording, problem);
    // Variables on stacks have names only where details are asked for.
    let mut watched = campaign.clone();
    watched.request.details = Some(Vec::new());
    let (again, results) = Again::follow(program, &watched, &recording.plan.strategy)
        .map_err(|error| failed(format!("it cannot be run: {error}")))?;
    let again = again.ok_or_else(|| failed("the execution left no trace".to_owned()))?;
    let same = recording.trace_digest.is_empty() || again.digest() == recording.trace_digest;
    let met = recording.finding.as_ref().is_none_or(|finding| reproduced(finding.kind, &results, &again.trace));
    if !same || !met {
        return Err(failed(diverged(recording)));
    }
    let symbolizer = again.symbolizer.clone();
    let run = match &request.gdb {
        Some(options) => debug(recording, campaign, &results, options).map_err(failed)?,
        None => Rerun::Traced(Box::new(again.shown(found_again(recording, &results)))),
    };
    Ok((run, symbolizer))
}

/// Runs the execution under gdb. `results` is what it gave without.
fn debug(recording: &Recording, campaign: &Campaign, results: &Results, options: &[OsString]) -> Result<Rerun, String> {
    let Some(finding) = &recording.finding else {
        return Err("nothing was found in this execution, so that there is no place to stop at".to_owned());
    };
    // A violation shows in how the program fails, if it does; otherwise in its accesses.
    let violates = finding.kind == FindingKind::ScViolation;
    let shows = found_again(recording, results).or_else(|| results.found.first().filter(|_| violates));
    let stop = match shows {
        Some(found) => gdb::Stop::Finding(found.report.fingerprint),
        None if violates => {
            let place = |label: &FindingLabel| (label.label.file.clone(), label.label.line);
            gdb::Stop::Lines(finding.labels.iter().map(place).collect())
        }
        None => return Err("the finding is not there again".to_owned()),
    };
    let headline = format!("{}: {}", finding.kind, finding.message);
    let strategy = recording.plan.strategy.clone();
    match gdb::debug(campaign, strategy, &stop, &headline, options) {
        Ok(status) if status.success() => Ok(Rerun::Debugged),
        Ok(status) => Err(format!("gdb failed: {status}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no gdb: install it, or name another one with {}", gdb::VARIABLE))
        }
        Err(error) => Err(format!("gdb cannot be started: {error}")),
    }
}

/// The recorded finding among those that the execution gave.
fn found_again<'a>(recording: &Recording, results: &'a Results) -> Option<&'a Found> {
    let finding = recording.finding.as_ref()?;
    let symbolizer = Symbolizer::default();
    let same_places = |found: &&Found| {
        let labels: Vec<_> = found.report.stacks.iter().map(|stack| symbolizer.finding_label(stack)).collect();
        found.report.kind == finding.kind && labels == finding.labels
    };
    let same_kind = |found: &&Found| found.report.kind == finding.kind;
    results.found.iter().find(same_places).or_else(|| results.found.iter().find(same_kind))
}
