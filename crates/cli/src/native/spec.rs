//! `--spec`: what the program observes, held against what it may.

use super::Program;
use crate::args::Spec;
use crate::error::Error;
use crate::screen::Screen;
use fencepost_native::host::{Campaign, SCHEDULES, collect_outcomes};
use std::io::IsTerminal;

/// Has the allowed outcomes collected, and puts them into the campaign's request. Says whether they are all there: if
/// not, no outcome can be called wrong, and the campaign looks for other findings only.
pub fn specify(program: &Program, spec: Option<Spec>, campaign: &mut Campaign, screen: &Screen) -> Result<bool, Error> {
    let Some(Spec::Atomic) = spec else { return Ok(true) };
    if !screen.quiet && std::io::stderr().is_terminal() {
        eprintln!("note: collecting the outcomes of atomic operations, from {SCHEDULES} schedules at most");
    }
    let collected = collect_outcomes(campaign).map_err(|error| Error::target(&program.name, error.to_string()))?;
    if let Some(problem) = &collected.problem {
        eprintln!("note: the outcomes of atomic operations are not all known ({problem}): no outcome is judged");
        return Ok(false);
    }
    if collected.outcomes.iter().all(|outcome| outcome.is_empty()) {
        let problem = "observes nothing, so that --spec has nothing to judge: call fencepost_observe from fencepost.h, and link \
                       by `fencepost cc` or position-independently";
        return Err(Error::target(&program.name, problem));
    }
    if !screen.quiet {
        let (outcomes, schedules) = (collected.outcomes.len(), collected.executions);
        eprintln!("note: atomic operations have {outcomes} outcomes, from {schedules} schedules");
    }
    campaign.request.spec = Some(collected.outcomes);
    Ok(true)
}
