//! What the exploration of every execution says of cycles, where a program is small enough for one.
//!
//! Then nothing is left to chance: a cycle that is in no execution is infeasible, and one does harm if the program can
//! fail when nothing but its pairs is reordered (see `fencepost_explore::violations`).
//!
//! *Loops that wait.* An exploration leaves executions out in which a thread goes around a loop without effect: their
//! twins without the round stand for them. A cycle has at most two accesses of a thread; those of a round that has no
//! effect are reads, and of two reads in one thread a model keeps the order, pslo aside. So whatever execution contains
//! a cycle, all rounds can be taken out of it but one of each thread, and the cycle stays: an exploration that goes one
//! round has them all. Under pslo reads of two rounds can be reordered: two rounds of each thread remain. A
//! read-modify-write of such a round is performed at once and keeps its order like a read. One
//! case is not covered by this argument: a round that ends with a plain store which restores what was there (a lock
//! made of an exchange and a store, taken and released in vain); its store can be late for more than one round.

use super::candidate::{Candidate, Settled, Witness};
use super::options::{Options, is_late};
use super::search::{Search, fails_at_random};
use super::subject::{Exposure, Fences, Seen, Subject};
use crate::error::Error;
use fencepost_report::HuntMethod;
use fencepost_trace::{Cycle, Label, Model, Severity};

/// Where cycles are left unknown, an exploration may take so many times as long.
const PATIENCE: u64 = 10;

/// How many rounds of a loop that waits are enough to contain every cycle.
fn enough_rounds(model: Model) -> u32 {
    if model == Model::Pslo { 2 } else { 1 }
}

/// Explores the program without reordering: is it small enough for that?
pub fn is_small(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    seen: &mut Seen,
) -> Result<bool, Error> {
    if !options.methods.solve || options.buffer.is_some() {
        return Ok(false);
    }
    let baseline = subject.baseline(fences)?;
    seen.executions += baseline.executions;
    seen.failures.extend(baseline.failures);
    Ok(baseline.complete)
}

/// Explores the program under the model, if it is small enough: the executions that were seen are then replaced by ones
/// that show all that threads can do. How many rounds of loops that wait were gone; `None` if it was too large.
pub fn histories(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    seen: &mut Seen,
) -> Result<Option<u32>, Error> {
    for rounds in [enough_rounds(options.model), 0] {
        let explored = subject.explore(&[], rounds, fences)?;
        seen.executions += explored.executions;
        if explored.complete {
            seen.profiles = explored.profiles;
            return Ok(Some(rounds));
        }
    }
    Ok(None)
}

/// Looks for the cycles in every execution.
pub fn settle(
    subject: &mut impl Subject,
    model: Model,
    rounds: u32,
    fences: &Fences,
    search: &mut Search,
) -> Result<(), Error> {
    // In the order of the source, so that nothing depends on the order in which program points were met.
    let points = subject.points();
    let name = |cycle: &Cycle| -> Vec<(Label, bool, bool)> {
        let point = |point: u32| {
            let point = &points[point as usize];
            (point.label.clone(), point.reads, point.writes)
        };
        cycle.labels().map(point).collect()
    };
    let mut order: Vec<usize> = (0..search.cycles.len()).collect();
    order.sort_by_cached_key(|i| name(&search.cycles[*i].cycle));
    let cycles: Vec<Cycle> = order.iter().map(|i| search.cycles[*i].cycle.clone()).collect();
    let mut explored = subject.explore(&cycles, rounds, fences)?;
    search.executions += explored.executions;
    explored.exposures.iter_mut().for_each(|exposure| exposure.attempt = order[exposure.attempt]);
    explored.exposures.iter_mut().for_each(|exposure| exposure.with.iter_mut().for_each(|i| *i = order[*i]));
    keep_minimal_sets(&mut explored.exposures);
    search.settled = explored.complete;
    if explored.complete {
        // Without a round, a cycle that needs one may have been left out.
        let all = rounds >= enough_rounds(model);
        search.cycles.iter_mut().for_each(|candidate| candidate.settled = all.then_some(Settled::Infeasible));
        for exposure in &explored.exposures {
            let candidate = &mut search.cycles[exposure.attempt];
            let harmful = exposure.harm.is_some() || candidate.settled == Some(Settled::Harmful);
            candidate.settled = Some(if harmful { Settled::Harmful } else { Settled::Benign });
        }
    }
    search.fails = explored.fails.is_some();
    search.witnesses = explored.exposures;
    Ok(())
}

/// If cycles are left that nobody has seen and nothing excludes: explores for longer. What was known stays known if
/// that does not come to its end either.
pub fn settle_unknown(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    search: &mut Search,
) -> Result<(), Error> {
    let seen: Vec<usize> = search.witnesses.iter().map(|exposure| exposure.attempt).collect();
    let is_unknown =
        |(i, candidate): (usize, &Candidate)| candidate.outcome() == Severity::Unknown && !seen.contains(&i);
    if !search.cycles.iter().enumerate().any(is_unknown) || is_late(options.deadline) {
        return Ok(());
    }
    let known: Vec<Option<Settled>> = search.cycles.iter().map(|candidate| candidate.settled).collect();
    let (settled, fails) = (search.settled, search.fails);
    let witnesses = std::mem::take(&mut search.witnesses);
    subject.set_patience(PATIENCE);
    settle(subject, options.model, enough_rounds(options.model), fences, search)?;
    subject.set_patience(1);
    // As for every exploration: it must not be without a failure that random executions have.
    let fails_otherwise = |search: &mut Search, subject| -> Result<bool, Error> {
        Ok(search.cycles.iter().any(|candidate| candidate.harmful > 0) || fails_at_random(subject, fences, search)?)
    };
    if search.settled && !search.fails && fails_otherwise(search, subject)? {
        search.settled = false;
        search.witnesses.clear();
    }
    if search.settled {
        search.campaign = 0;
    } else {
        (search.settled, search.fails) = (settled, fails);
        search.cycles.iter_mut().zip(known).for_each(|(candidate, known)| candidate.settled = known);
    }
    search.witnesses.extend(witnesses);
    Ok(())
}

/// What is real, and what does harm, under a stronger model is so under this one: it has the same executions.
pub fn inherit(search: &mut Search, stronger: Search) {
    search.executions += stronger.executions;
    search.blocked += stronger.blocked;
    for Candidate { cycle, instances, models, witness, .. } in stronger.cycles {
        let Some(Witness { exposure, .. }) = witness else { continue };
        let known = search.cycles.iter().position(|candidate| candidate.cycle == cycle);
        let attempt = known.unwrap_or_else(|| {
            search.cycles.push(Candidate { models, ..Candidate::new(cycle, instances) });
            search.cycles.len() - 1
        });
        let settled = &mut search.cycles[attempt].settled;
        match exposure.harm {
            Some(_) if settled.is_some() => *settled = Some(Settled::Harmful),
            None if *settled == Some(Settled::Infeasible) => *settled = Some(Settled::Benign),
            _ => {}
        }
        search.witnesses.push(Exposure { attempt, with: Vec::new(), ..exposure });
    }
}

/// Where cycles make the program fail together: of these sets those count that have no cycle which is enough alone, and
/// no smaller set in them. Each cycle of one gets an exposure of its own.
pub fn keep_minimal_sets(exposures: &mut Vec<Exposure>) {
    let (sets, mut rest): (Vec<Exposure>, Vec<Exposure>) =
        std::mem::take(exposures).into_iter().partition(|exposure| !exposure.with.is_empty());
    let alone: Vec<usize> = rest.iter().filter(|exposure| exposure.harm.is_some()).map(|e| e.attempt).collect();
    let sets: Vec<Exposure> =
        sets.into_iter().filter(|set| !set.with.iter().any(|cycle| alone.contains(cycle))).collect();
    for set in &sets {
        let contains = |other: &Exposure| {
            other.with.len() < set.with.len() && other.with.iter().all(|cycle| set.with.contains(cycle))
        };
        if !sets.iter().any(contains) {
            rest.extend(set.with.iter().map(|cycle| Exposure { attempt: *cycle, with: Vec::new(), ..set.clone() }));
        }
    }
    *exposures = rest;
}

/// After the trials: what they brought about by chance gives way to what is known.
pub fn conclude(search: &mut Search) {
    for exposure in std::mem::take(&mut search.witnesses) {
        let candidate = &mut search.cycles[exposure.attempt];
        let harmful = exposure.harm.is_some();
        let lacks = candidate.exposed == 0 || harmful && candidate.harmful == 0;
        let shown = candidate.witness.as_ref().is_some_and(|witness| !harmful || witness.exposure.harm.is_some());
        if lacks {
            // The execution that the exploration met counts as one more trial.
            candidate.trials += 1;
            candidate.exposed += 1;
            candidate.harmful += u64::from(harmful);
            let method = if search.settled { HuntMethod::Explored } else { HuntMethod::Random };
            candidate.method = candidate.method.or(Some(method));
        }
        if !shown {
            candidate.witness = Some(Witness::new(exposure));
        }
    }
    search.cycles.iter_mut().filter(|candidate| candidate.settled == Some(Settled::Benign)).for_each(absolve);
}

/// The program failed while the cycle was there, but not because of it.
fn absolve(candidate: &mut Candidate) {
    candidate.harmful = 0;
    if let Some(witness) = &mut candidate.witness {
        witness.exposure.harm = None;
    }
}
