//! What the program observes, held against what it may.

use super::Program;
use crate::error::Error;
use crate::event::{Event, Log};
use crate::request::Spec;
use fencepost_native::host::{Campaign, SCHEDULES, collect_outcomes};

/// Has the permitted outcomes collected, and puts them into the campaign's request. Says whether they are all there: if
/// not, no outcome can be called wrong, and the campaign looks for other findings only.
pub fn specify(
    program: &Program,
    spec: Option<Spec>,
    campaign: &mut Campaign,
    log: &mut Log<'_>,
) -> Result<bool, Error> {
    let Some(Spec::Atomic) = spec else { return Ok(true) };
    log.emit(Event::Collecting { schedules: SCHEDULES });
    let collected = collect_outcomes(campaign).map_err(|error| Error::target(&program.name, error.to_string()))?;
    if let Some(problem) = &collected.problem {
        log.note(format!("the outcomes of atomic operations are not all known ({problem}): no outcome is judged"));
        return Ok(false);
    }
    if collected.outcomes.iter().all(|outcome| outcome.is_empty()) {
        let problem = "observes nothing, so that --spec has nothing to judge: call fencepost_observe from fencepost.h, \
                       and link by `fencepost cc` or position-independently";
        return Err(Error::target(&program.name, problem));
    }
    log.emit(Event::Collected { outcomes: collected.outcomes.len() as u64, schedules: collected.executions });
    campaign.request.spec = Some(collected.outcomes);
    Ok(true)
}
