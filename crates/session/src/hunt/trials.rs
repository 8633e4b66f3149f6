//! Which cycle is tried how, and how often.

use super::candidate::Tally;
use super::lessons::Lessons;
use super::published::{Parts, strategies};
use super::round::Round;
use super::search::Search;
use super::subject::{Exposure, Subject};
use crate::error::Error;
use fencepost_report::HuntMethod;
use fencepost_trace::{Model, Schedule, Severity, StrategySpec};
use std::collections::BTreeMap;

/// How often schedules are solved for, each time with what was learned.
const STAGES: usize = 4;
/// How many trials the published strategies have at a time before it is asked what was learned, and how often.
/// Relaxer's leaves more to chance.
const RELAXER_TRIALS: u64 = 2;
const ORION_TRIALS: u64 = 1;
const REPEATS: usize = 3;
/// How often each of Orion's strategies for a cycle is tried out; how many of those that work best are tried out
/// again, and how often.
const TRIED_OUT: u64 = 4;
const BEST: usize = 4;
const AGAIN: u64 = 12;
/// Executions with more events than this are long.
const USUAL: u64 = 300;

impl<S: Subject> Round<'_, S> {
    /// The trials. Each cycle has schedules, and each schedule is tried once, until a few have worked; then those
    /// share what is left of the trials. Where none works, executions with reordering may give new schedules: threads
    /// that have read what they never read without reordering do new things. They are executions at random, and the
    /// violations of other cycles. Where still none works, the two published strategies have a few trials; if one of
    /// them is successful, its execution gives a schedule for the rest.
    pub fn trials(&mut self, search: &mut Search) -> Result<(), Error> {
        let options = self.options;
        let mut good: Vec<Vec<Schedule>> = vec![Vec::new(); search.cycles.len()];
        let mut is_cut = false;
        if options.methods.solve && !search.settled && self.campaign(search)? && !options.longer {
            // Whatever was predicted and tried: what fails under the model is not to be called harmless.
            search.complete = false;
            search.seen.notes.push(
                "an execution at random fails as none without reordering does, and none of the predicted violations is \
                 in it: fencepost test shows it"
                    .to_owned(),
            );
        }
        if options.methods.solve {
            let mut lessons = Lessons::new(&search.seen.profiles, good.len());
            for stage in 0..STAGES {
                if stage == 1
                    && open(&good, search)
                    && search.cycles.iter().any(|candidate| candidate.settled.is_none())
                {
                    let sampled = self.subject.sample(self.fences)?;
                    search.executions += sampled.executions;
                    search.blocked += sampled.blocked;
                    lessons.add_new(sampled.profiles);
                }
                self.solve(search, &mut lessons, stage <= 2, &mut good)?;
            }
            is_cut |= lessons.cut;
            // What was put aside because something else looked better.
            let is_open = |i: &usize| good[*i].is_empty() && !search.cycles[*i].is_infeasible();
            let open: Vec<usize> = (0..good.len()).filter(is_open).collect();
            let schedules: Vec<Vec<Schedule>> = open.iter().map(|i| std::mem::take(&mut lessons.spare[*i])).collect();
            self.probe(search, &open, schedules, &mut good, &mut lessons.spare)?;
            // A few trials of each published strategy at a time; what they expose gives a schedule for the rest.
            for _ in 0..REPEATS {
                let mut work: BTreeMap<(u64, HuntMethod), Vec<(usize, StrategySpec)>> = BTreeMap::new();
                let is_open = |i: &usize| good[*i].is_empty() && !search.cycles[*i].is_infeasible();
                for i in (0..good.len()).filter(is_open) {
                    let mut left = options.trials.saturating_sub(search.cycles[i].trials);
                    for (method, strategy) in strategies(options, self.subject, &search.cycles[i].cycle) {
                        let share = left.min(if method == HuntMethod::Relaxer { RELAXER_TRIALS } else { ORION_TRIALS });
                        left -= share;
                        work.entry((share, method)).or_default().push((i, strategy));
                    }
                }
                self.work(search, work)?;
                self.solve(search, &mut lessons, false, &mut good)?;
            }
            self.lend(search, &good);
            self.solve(search, &mut lessons, false, &mut good)?;
        }
        if options.methods.solve && !search.settled && !options.longer {
            search.campaign += self.follow(search, &good)?;
        }
        let mut chosen: BTreeMap<usize, Vec<StrategySpec>> = BTreeMap::new();
        if let (false, None, Some(_)) = (options.methods.solve, options.methods.relaxer, options.methods.orion) {
            chosen = self.try_out(search)?;
        }
        // From here on everything depends on the seed. What is left is divided among the schedules that worked, or
        // among the strategies.
        self.seed = options.seed;
        // Schedules were tried out; where one works, the trials are those that follow. Where none does, the execution
        // that showed the cycle is followed.
        let mut tried: Vec<(usize, Tally)> = Vec::new();
        let mut work: BTreeMap<(u64, HuntMethod), Vec<(usize, StrategySpec)>> = BTreeMap::new();
        for (i, schedules) in good.into_iter().enumerate() {
            if search.cycles[i].is_infeasible() {
                continue;
            }
            let mut methods: Vec<(HuntMethod, StrategySpec)> =
                schedules.into_iter().map(|schedule| (HuntMethod::Solved, on_schedule(schedule))).collect();
            if methods.is_empty() && options.methods.solve {
                methods.extend(shown(search, i, options.model).map(|choices| {
                    let method = search.cycles[i].method.unwrap_or(HuntMethod::Random);
                    (method, StrategySpec::Follow { choices })
                }));
            }
            if let Some(strategies) = chosen.remove(&i) {
                methods.extend(strategies.into_iter().map(|strategy| (HuntMethod::Orion, strategy)));
            }
            if !methods.is_empty() {
                tried.push((i, search.cycles[i].start_over()));
            } else if !options.methods.solve || search.cycles[i].exposed > 0 {
                methods = strategies(options, self.subject, &search.cycles[i].cycle);
            }
            let (left, n) = (options.trials.saturating_sub(search.cycles[i].trials), methods.len() as u64);
            for (k, (method, strategy)) in methods.into_iter().enumerate() {
                let share = left / n + u64::from((k as u64) < left % n);
                work.entry((share, method)).or_default().push((i, strategy));
            }
        }
        self.work(search, work)?;
        for (i, tally) in tried {
            let candidate = &mut search.cycles[i];
            if candidate.exposed == 0 || candidate.trials < options.trials {
                candidate.count(tally);
            } else if candidate.harmful == 0 && tally.harmful > 0 {
                // It did harm before.
                let harm = candidate.witness.as_ref().map(|witness| &witness.exposure);
                search.witnesses.extend(harm.map(|exposure| Exposure { attempt: i, ..exposure.clone() }));
            }
        }
        if is_cut && !options.longer && search.cycles.iter().any(|candidate| candidate.outcome() == Severity::Unknown) {
            search.complete = false;
            search.seen.notes.push(format!(
                "executions have more than {} steps before a violation: whether those that were not brought about are \
                 possible is not known",
                fencepost_predict::solve::LONGEST
            ));
        }
        Ok(())
    }

    /// Orion's strategies for each cycle: of several those that work best.
    fn try_out(&mut self, search: &mut Search) -> Result<BTreeMap<usize, Vec<StrategySpec>>, Error> {
        let Some(orion) = self.options.methods.orion else { return Ok(BTreeMap::new()) };
        let mut parts = Parts::new(&search.seen.profiles);
        let mut chosen = BTreeMap::new();
        let mut several: Vec<(usize, StrategySpec)> = Vec::new();
        for (i, candidate) in search.cycles.iter().enumerate() {
            let strategies = parts.strategies(self.options, orion, self.subject, &candidate.cycle);
            if strategies.len() > 1 {
                several.extend(strategies.iter().map(|strategy| (i, strategy.clone())));
            }
            chosen.insert(i, strategies);
        }
        let mut counts = vec![0u32; several.len()];
        for attempt in self.run(search, &several, TRIED_OUT, HuntMethod::Orion)? {
            counts[attempt] += 1;
        }
        let mut of_cycle: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (k, (i, _)) in several.iter().enumerate() {
            of_cycle.entry(*i).or_default().push(k);
        }
        // Few trials say little of what works best: the best of them are tried out more often.
        let better = |counts: &[u32], list: &mut Vec<usize>| list.sort_by_key(|k| std::cmp::Reverse(counts[*k]));
        let mut finalists: Vec<usize> = Vec::new();
        for list in of_cycle.values_mut() {
            better(&counts, list);
            let works = list.iter().copied().filter(|k| counts[*k] > 0).take(BEST);
            finalists.extend(works);
        }
        let again: Vec<(usize, StrategySpec)> = finalists.iter().map(|k| several[*k].clone()).collect();
        for attempt in self.run(search, &again, AGAIN, HuntMethod::Orion)? {
            counts[finalists[attempt]] += 1;
        }
        for (i, list) in &mut of_cycle {
            better(&counts, list);
            // All of them, if none works.
            if counts[list[0]] > 0 {
                chosen.insert(*i, vec![several[list[0]].1.clone()]);
            }
        }
        Ok(chosen)
    }
}

/// The answers that led to an execution of this model with the cycle, if they were kept.
fn shown(search: &Search, cycle: usize, model: Model) -> Option<Vec<u32>> {
    let own = search.cycles[cycle].witness.as_ref().map(|witness| &witness.exposure);
    let met = search.witnesses.iter().filter(|exposure| exposure.attempt == cycle && exposure.with.is_empty());
    let is_kept = |exposure: &&Exposure| exposure.model == model && !exposure.choices.is_empty();
    own.into_iter().chain(met).find(is_kept).map(|exposure| exposure.choices.clone())
}

/// So many executions, fewer if they are long.
pub fn share(subject: &impl Subject, executions: u64) -> u64 {
    executions.saturating_mul(USUAL) / subject.longest().max(USUAL)
}

/// Is there a cycle that has no schedule and may need one?
fn open(good: &[Vec<Schedule>], search: &Search) -> bool {
    good.iter().zip(&search.cycles).any(|(good, candidate)| good.is_empty() && !candidate.is_infeasible())
}

/// On a schedule that was solved for.
pub fn on_schedule(schedule: Schedule) -> StrategySpec {
    StrategySpec::Schedule { seed: 0, schedule }
}
