//! Which harmful cycles explain the failures.

use super::options::{Options, is_late};
use super::search::Search;
use super::subject::{Again, Exposure, Fences, Subject};
use crate::error::Error;
use fencepost_predict::confirm::confirm;
use fencepost_trace::Event;

/// How many harmful cycles are asked which of them are root causes.
const EXPLAINED: usize = 200;

/// Says which harmful cycles are root causes. An execution that fails may contain several, of which one would have been
/// enough: so the fewest are looked for that leave no failure unexplained: first those that explain most, then those
/// that take the least to prevent, then those that hurt most reliably.
pub fn find_root_causes(
    subject: &mut impl Subject,
    options: &Options,
    search: &mut Search,
    fences: &Fences,
) -> Result<(), Error> {
    let harmful: Vec<usize> =
        (0..search.cycles.len()).filter(|i| search.cycles[*i].is_harmful()).take(EXPLAINED).collect();
    let harm = |i: &usize| Some(&search.cycles[*i].witness.as_ref()?.exposure);
    let (witnessed, exposures): (Vec<usize>, Vec<&Exposure>) =
        harmful.iter().filter_map(|i| Some((*i, harm(i)?))).unzip();
    let again = match is_late(options.end) {
        true => exposures.iter().map(|_| None).collect(),
        false => subject.again(&exposures, fences)?,
    };
    let point = |again: &Again, event: &Event| again.names[event.id.index() - 1].0;
    // For each failure the cycles that are in it.
    let mut unexplained: Vec<Vec<usize>> = Vec::new();
    for (own, again) in witnessed.iter().zip(&again) {
        let is_in = |i: &usize| {
            i == own
                || !is_late(options.end)
                    && again.as_ref().is_some_and(|again| {
                        confirm(&again.trace, &search.cycles[*i].cycle, |event| point(again, event)).is_some()
                    })
        };
        unexplained.push(harmful.iter().copied().filter(is_in).collect());
    }
    while !unexplained.is_empty() {
        let rate = |i: &usize| {
            let candidate = &search.cycles[*i];
            let explains = unexplained.iter().filter(|cycles| cycles.contains(i)).count();
            (
                explains,
                std::cmp::Reverse(candidate.full_fences()),
                100 * candidate.harmful / candidate.trials.max(1),
                std::cmp::Reverse((candidate.cycle.length(), *i)),
            )
        };
        let Some(best) = harmful.iter().copied().max_by_key(rate) else { break };
        search.cycles[best].root_cause = true;
        unexplained.retain(|cycles| !cycles.contains(&best));
    }
    Ok(())
}
