//! Are the cycles that were brought about what they are taken for?

use super::LONGEST;
use super::options::{Options, is_late};
use super::search::Search;
use super::subject::{Again, Exposure, Subject};
use crate::digest;
use crate::error::Error;
use crate::event::Log;
use fencepost_memory::axioms::{self, Execution, Violation};
use fencepost_predict::confirm::confirm;
use fencepost_predict::private::without_private;
use fencepost_trace::{Cycle, Event, Model, Trace};

/// An execution with more events than this before the cycle is not held against the axioms: that takes the square of
/// their number. That the cycle is there was seen.
const LONGEST_EXAMINED: usize = 5_000;

/// Executions are kept to be shown as long as they have so many events together: a page has to hold them.
const SHOWN: usize = 20_000;

/// Runs the execution of every cycle that was brought about again: it must be the same, the model's axioms must
/// accept it, those of sequential consistency must not, and the cycle must be in it. What fails that is not counted,
/// and said.
pub fn verify(
    subject: &mut impl Subject,
    options: &Options,
    search: &mut Search,
    log: &mut Log<'_>,
) -> Result<(), Error> {
    let exposures: Vec<&Exposure> =
        search.all().filter_map(|candidate| Some(&candidate.witness.as_ref()?.exposure)).collect();
    let again = subject.again(&exposures, &[])?;
    let candidates = search.cycles.iter_mut().chain(&mut search.longer);
    let candidates = candidates.filter(|candidate| candidate.witness.is_some());
    let mut unseen = 0;
    let mut room = SHOWN;
    for (candidate, again) in candidates.zip(again) {
        if is_late(options.end) {
            // That it was there was seen once; there is no time to see it again.
            unseen += 1;
            continue;
        }
        let problem = match again {
            None => Some("its execution left no trace".to_owned()),
            Some(again) if again.cut => {
                log.note("an execution is too long to be looked at again: its violation was seen once".to_owned());
                None
            }
            Some(again) => match examine(&again, &candidate.cycle, options.model) {
                Ok(()) => {
                    if let Some(witness) = &mut candidate.witness {
                        witness.digest = digest::of_trace(&again.trace);
                        let left = room.checked_sub(again.trace.events.len());
                        room = left.unwrap_or(room);
                        witness.trace = left.map(|_| again.trace);
                    }
                    None
                }
                Err(problem) => Some(problem),
            },
        };
        if let Some(problem) = problem {
            log.note(format!("a cycle was not counted: {problem}"));
            (candidate.exposed, candidate.harmful, candidate.witness) = (0, 0, None);
        }
    }
    if unseen > 0 {
        search.complete = false;
        log.note(format!("there was no time to run the executions of {unseen} violations again"));
    }
    Ok(())
}

/// Is it an execution of the model, but not of sequential consistency, with the cycle in it?
fn examine(again: &Again, cycle: &Cycle, model: Model) -> Result<(), String> {
    let point = |event: &Event| again.names[event.id.index() - 1].0;
    let Some(events) = confirm(&again.trace, cycle, point) else {
        return Err("its execution does not repeat".to_owned());
    };
    // The models are closed under prefixes: of a long execution the part up to the end of the cycle is looked at, and
    // of that only what several threads are concerned with.
    let end = events.iter().map(|event| event.index()).max().unwrap_or(0);
    let short = again.trace.events.len() <= LONGEST;
    let trace = if short { again.trace.clone() } else { without_private(&prefix(&again.trace, end)) };
    if trace.events.len() > LONGEST_EXAMINED {
        return Ok(());
    }
    let wrong = |violation: Violation| format!("its execution is not one of {model}: {violation}");
    let execution = Execution::from_trace(&trace).map_err(wrong)?;
    axioms::consistent(&execution, model).map_err(wrong)?;
    match axioms::consistent(&execution, Model::Sc) {
        Ok(()) => Err("its execution is sequentially consistent".to_owned()),
        Err(_) => Ok(()),
    }
}

/// The first events of a trace.
pub fn prefix(trace: &Trace, length: usize) -> Trace {
    let mut trace = trace.clone();
    trace.events.truncate(length);
    for list in &mut trace.coherence {
        list.stores.retain(|store| store.index() <= length);
    }
    trace
}
