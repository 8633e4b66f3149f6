//! Memory-model safety: of one target with all details, or of many, a line each.

use crate::error::Error;
use crate::event::{Event, Log, Sink};
use crate::litmus::{SafeJudged, SafeTotals};
use crate::outcome::Outcome;
use crate::request::SafeRequest;
use crate::target::Target;
use crate::{litmus, native};
use fencepost_report::Report;
use fencepost_trace::{FindingKind, Model};
use std::path::Path;

/// Can the program leave sequential consistency under the model? Of the first target, under the first model.
pub fn safe(request: &SafeRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    let campaign = request.campaign();
    refuse(campaign.model)?;
    let mut log = Log::new(sink);
    match Target::load(&campaign.target, &campaign.arguments)? {
        Target::Litmus(test) => litmus::safe(&test, request, &campaign, &mut log),
        Target::Native(program) => native::safe(&program, request, &campaign, &mut log),
    }
}

/// Judges targets under models, and tells of each in the order in which they were named: litmus tests, directories of
/// them, and programs. Nothing is written.
pub fn safe_batch(request: &SafeRequest, sink: &mut dyn Sink) -> Result<SafeTotals, Error> {
    request.models.iter().try_for_each(|model| refuse(*model))?;
    let mut totals = SafeTotals::default();
    // Litmus tests that come one after the other are shared out among the workers.
    for group in request.targets.chunk_by(|a, b| is_litmus(a) && is_litmus(b)) {
        if is_litmus(&group[0]) {
            let these = SafeRequest { targets: group.to_vec(), ..request.clone() };
            totals.add(litmus::safe_batch(&these, sink)?);
            continue;
        }
        for model in &request.models {
            let one = SafeRequest { targets: group.to_vec(), models: vec![*model], out: None, ..request.clone() };
            match safe(&one, &mut Quiet(sink)) {
                Ok(outcome) => {
                    let line = line(&group[0], *model, &outcome);
                    totals.count(line.safety.trace_safe);
                    sink.event(Event::Safe(&line));
                }
                Err(error) => {
                    totals.failed += 1;
                    sink.event(Event::LitmusFailed { error: &error, model: Some(*model) });
                }
            }
        }
        if sink.is_closed() {
            break;
        }
    }
    Ok(totals)
}

fn is_litmus(target: &Path) -> bool {
    target.is_dir() || target.as_os_str() == "-" || target.extension().is_some_and(|extension| extension == "litmus")
}

/// What was found out about a program, as a line.
fn line(target: &Path, model: Model, outcome: &Outcome) -> SafeJudged {
    let file = target.display().to_string();
    let test = target.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
    let Report::Run(run) = &outcome.report else { unreachable!("`safe` reports a run") };
    SafeJudged {
        test,
        file,
        model,
        executions: run.executions,
        complete: run.complete,
        race: run.findings.iter().any(|finding| finding.kind == FindingKind::DataRace),
        safety: run.safety.clone().unwrap_or_default(),
    }
}

/// Hears only what the user should know.
struct Quiet<'a>(&'a mut dyn Sink);

impl Sink for Quiet<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Remark(_) = event {
            self.0.event(event);
        }
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Under SC everything is SC.
pub(crate) fn refuse(model: Model) -> Result<(), Error> {
    match model {
        Model::Sc => {
            let problem = "every program is sc-safe: ask about tso, pso, pslo or c11 with --model".to_owned();
            Err(Error::Usage(problem))
        }
        _ => Ok(()),
    }
}
