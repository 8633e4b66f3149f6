//! Trials, made and counted.

use super::candidate::Candidate;
use super::lessons::Lessons;
use super::options::{Options, is_late};
use super::search::Search;
use super::subject::{Attempt, BASE_SEED, Exposure, Fences, Subject};
use super::trials::on_schedule;
use crate::error::Error;
use fencepost_predict::Profile;
use fencepost_report::HuntMethod;
use fencepost_trace::{Schedule, StrategySpec, execution_seed};
use std::collections::BTreeMap;

/// So many that work are enough, and so many that do not: then something else may be better.
const GOOD: usize = 5;
const FAILED: usize = 2;
/// From how many violations is learned at a time.
const LESSONS: usize = 200;
/// So many executions at a time, so that a limit of time is kept.
const PORTION: u64 = 4_000;

/// Trials under way.
pub struct Round<'a, S> {
    pub subject: &'a mut S,
    pub options: &'a Options,
    pub fences: &'a Fences,
    /// What the next trials draw from: at first the same whatever seed was asked for.
    pub seed: u64,
    number: u64,
}

impl<'a, S: Subject> Round<'a, S> {
    /// None so far.
    pub fn new(subject: &'a mut S, options: &'a Options, fences: &'a Fences) -> Round<'a, S> {
        Round { subject, options, fences, seed: BASE_SEED, number: 0 }
    }

    /// Solves for the cycles that have no schedule yet, with what was learned, and tries the schedules.
    pub fn solve(
        &mut self,
        search: &mut Search,
        lessons: &mut Lessons,
        mixed: bool,
        good: &mut [Vec<Schedule>],
    ) -> Result<(), Error> {
        let open: Vec<usize> =
            (0..good.len()).filter(|i| good[*i].is_empty() && !search.cycles[*i].is_infeasible()).collect();
        if open.is_empty() {
            return Ok(());
        }
        lessons.add(self.learn(search)?);
        let cycles: Vec<&Candidate> = open.iter().map(|i| &search.cycles[*i]).collect();
        let schedules = lessons.solve(&cycles, mixed, self.options);
        self.probe(search, &open, schedules, good, &mut lessons.spare)
    }

    /// Tries the schedules of some cycles, each once, until a few have worked or some have failed.
    pub fn probe(
        &mut self,
        search: &mut Search,
        cycles: &[usize],
        schedules: Vec<Vec<Schedule>>,
        good: &mut [Vec<Schedule>],
        spare: &mut [Vec<Schedule>],
    ) -> Result<(), Error> {
        for k in 0..schedules.iter().map(Vec::len).max().unwrap_or(0) {
            let mut attempts: Vec<(usize, StrategySpec)> = Vec::new();
            for (i, schedules) in cycles.iter().zip(&schedules) {
                let Some(schedule) = schedules.get(k) else { continue };
                let enough = good[*i].len() >= GOOD || k.saturating_sub(good[*i].len()) >= FAILED;
                if enough || search.cycles[*i].trials >= self.options.trials {
                    spare[*i].push(schedule.clone());
                } else {
                    attempts.push((*i, on_schedule(schedule.clone())));
                }
            }
            for attempt in self.run(search, &attempts, 1, HuntMethod::Solved)? {
                let (i, strategy) = &attempts[attempt];
                if let StrategySpec::Schedule { schedule, .. } = strategy {
                    good[*i].push(schedule.clone());
                }
            }
        }
        Ok(())
    }

    /// The executions of violations that nothing has been learned from.
    fn learn(&mut self, search: &mut Search) -> Result<Vec<Profile>, Error> {
        let new = search.cycles.iter_mut().filter(|candidate| candidate.witness.is_some() && !candidate.learned);
        let mut exposures: Vec<&Exposure> = Vec::new();
        for candidate in new.take(LESSONS) {
            candidate.learned = true;
            exposures.extend(candidate.witness.as_ref().map(|witness| &witness.exposure));
        }
        if exposures.is_empty() {
            return Ok(Vec::new());
        }
        let again = self.subject.again(&exposures, self.fences)?.into_iter().flatten();
        Ok(again.map(|again| Profile::new(&again.trace, |event| again.names[event.id.index() - 1])).collect())
    }

    /// Many attempts, by how often each is made and by what.
    pub fn work(
        &mut self,
        search: &mut Search,
        work: BTreeMap<(u64, HuntMethod), Vec<(usize, StrategySpec)>>,
    ) -> Result<(), Error> {
        for ((trials, name), attempts) in work {
            if trials > 0 {
                self.run(search, &attempts, trials, name)?;
            }
        }
        Ok(())
    }

    /// Looks for cycles in executions that fail. Where one of them is known to be harmful, it is the cause; otherwise
    /// each of them may be. Says whether some execution has none.
    pub fn explain(&mut self, search: &mut Search, failing: &[Vec<u32>]) -> Result<bool, Error> {
        let mut unexplained = false;
        for (number, choices) in failing.iter().enumerate() {
            if is_late(self.options.deadline) {
                search.complete = false;
                break;
            }
            if choices.is_empty() {
                unexplained = true;
                continue;
            }
            let follow = |candidate: &Candidate| Attempt {
                cycle: candidate.cycle.clone(),
                strategy: StrategySpec::Follow { choices: choices.clone() },
            };
            let attempts: Vec<Attempt> = search.cycles.iter().map(follow).collect();
            let (_, exposures) = self.subject.attempt(&attempts, 1, number as u64, self.fences)?;
            search.executions += attempts.len() as u64;
            if exposures.iter().any(|exposure| search.cycles[exposure.attempt].is_harmful()) {
                continue;
            }
            unexplained |= exposures.iter().all(|exposure| exposure.harm.is_none());
            for mut exposure in exposures {
                let candidate = &mut search.cycles[exposure.attempt];
                // Every cycle of one execution is met in the same one.
                exposure.choices.clone_from(choices);
                candidate.trials += 1;
                candidate.note(exposure, HuntMethod::Random);
            }
        }
        Ok(unexplained)
    }

    /// Makes attempts, each so often. Those that were successful, each as often as it was.
    pub fn run(
        &mut self,
        search: &mut Search,
        attempts: &[(usize, StrategySpec)],
        trials: u64,
        name: HuntMethod,
    ) -> Result<Vec<usize>, Error> {
        self.number += 1;
        let mut good = Vec::new();
        let portion = (PORTION / trials).max(100) as usize;
        for (part, list) in attempts.chunks(portion).enumerate() {
            if is_late(self.options.deadline) {
                search.complete = false;
                return Ok(good);
            }
            let asked: Vec<Attempt> = list
                .iter()
                .map(|(i, strategy)| Attempt { cycle: search.cycles[*i].cycle.clone(), strategy: strategy.clone() })
                .collect();
            let seed = execution_seed(self.seed, self.number << 20 | part as u64);
            let (blocked, exposures) = self.subject.attempt(&asked, trials, seed, self.fences)?;
            search.complete &= !is_late(self.options.deadline);
            search.blocked += blocked;
            search.executions += trials * list.len() as u64;
            list.iter().for_each(|(i, _)| search.cycles[*i].trials += trials);
            for exposure in exposures {
                let attempt = exposure.attempt;
                good.push(portion * part + attempt);
                search.cycles[list[attempt].0].note(exposure, name);
            }
        }
        good.sort_unstable();
        Ok(good)
    }
}
