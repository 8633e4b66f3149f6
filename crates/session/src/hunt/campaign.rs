//! Where not every execution can be explored: a campaign that is the same whatever the seed, and whose size is stated.
//!
//! First executions as `fencepost test` has them: each that is not sequentially consistent is looked through for the
//! cycles that have not been met, and each that fails for what makes it fail. Then each cycle alone, in executions in
//! which only its own stores are late, and in executions on schedules that make it happen: does the program fail then?

use super::candidate::Witness;
use super::options::is_late;
use super::round::Round;
use super::search::Search;
use super::settle::keep_minimal_sets;
use super::subject::{Attempt, BASE_SEED, Exposure, Subject};
use super::trials::{on_schedule, share};
use crate::error::Error;
use fencepost_trace::{Cycle, Points, RelaxerOptions, Schedule, StrategySpec, execution_seed};

/// How many executions are looked through; fewer if they have more events than usual, or fewer trials are asked for.
const LOOKED_THROUGH: u64 = 20_000;
/// So many at a time, so that a limit of time is kept.
const PORTION: u64 = 5_000;
/// How many executions each cycle has alone, and how many all of them together.
const ALONE: u64 = 900;
const ALL_ALONE: u64 = 60_000;
/// The same on schedules.
const FOLLOWED: u64 = 1_500;
const ALL_FOLLOWED: u64 = 60_000;
/// How long its stores are late, in steps.
pub const DELAYS: [u64; 3] = [15, 60, 240];
pub const CHANCE: u32 = 50;
/// The trials that are usually asked for.
const TRIALS: u64 = 30;

impl<S: Subject> Round<'_, S> {
    /// Looks for the cycles, and for those that do harm. Says whether some failure contains none of them.
    pub fn campaign(&mut self, search: &mut Search) -> Result<bool, Error> {
        let cycles: Vec<Cycle> = search.cycles.iter().map(|candidate| candidate.cycle.clone()).collect();
        let all = share(self.subject, LOOKED_THROUGH * self.options.trials / TRIALS);
        let (mut exposures, mut fails, mut done, mut looked_through) = (Vec::new(), false, 0, 0);
        while done < all && !is_late(self.options.deadline) {
            let portion = PORTION.min(all - done);
            let Some(looked) = self.subject.look_through(&cycles, done, portion, self.fences)? else {
                return self.test(search, all);
            };
            done += portion;
            // Fewer if time was up.
            looked_through += looked.executions;
            search.executions += looked.executions;
            search.blocked += looked.blocked;
            exposures.extend(looked.exposures);
            fails |= looked.fails;
        }
        // What is known of stronger models comes first.
        search.witnesses.append(&mut exposures);
        keep_minimal_sets(&mut search.witnesses);
        let each = if self.options.longer { 0 } else { self.alone(search)? };
        let unexplained = fails && !search.witnesses.iter().any(|exposure| exposure.harm.is_some());
        search.complete &= !is_late(self.options.deadline);
        search.campaign = looked_through + each;
        Ok(unexplained)
    }

    /// What was met of cycles for which there is no schedule: one may be made from it.
    pub fn lend(&self, search: &mut Search, good: &[Vec<Schedule>]) {
        for exposure in search.witnesses.iter().filter(|exposure| exposure.strategy().is_some()) {
            let candidate = &mut search.cycles[exposure.attempt];
            if good[exposure.attempt].is_empty() && candidate.witness.is_none() {
                candidate.witness = Some(Witness::new(exposure.clone()));
            }
        }
    }

    /// Executions on schedules of cycles that have done no harm so far. How many of each.
    pub fn follow(&mut self, search: &mut Search, good: &[Vec<Schedule>]) -> Result<u64, Error> {
        let harms = |i: &usize| search.witnesses.iter().any(|known| known.attempt == *i && known.harm.is_some());
        let open: Vec<usize> =
            (0..good.len()).filter(|i| !good[*i].is_empty() && search.cycles[*i].harmful == 0 && !harms(i)).collect();
        if open.is_empty() {
            return Ok(0);
        }
        let wanted = FOLLOWED.min(ALL_FOLLOWED / open.len() as u64) * self.options.trials / TRIALS;
        let wanted = share(self.subject, wanted).max(1);
        let mut met: Vec<Exposure> = Vec::new();
        for (part, some) in open.chunks((PORTION / wanted).max(1) as usize).enumerate() {
            if is_late(self.options.deadline) {
                return Ok(0);
            }
            // Each schedule of a cycle has its share.
            let list: Vec<(usize, &Schedule)> =
                some.iter().flat_map(|i| good[*i].iter().map(move |schedule| (*i, schedule))).collect();
            let trials = (wanted * some.len() as u64 / list.len() as u64).max(1);
            let attempt = |(i, schedule): &(usize, &Schedule)| Attempt {
                cycle: search.cycles[*i].cycle.clone(),
                strategy: on_schedule((*schedule).clone()),
            };
            let attempts: Vec<Attempt> = list.iter().map(attempt).collect();
            let seed = execution_seed(!BASE_SEED, part as u64);
            let (blocked, exposures) = self.subject.attempt(&attempts, trials, seed, self.fences)?;
            search.executions += trials * list.len() as u64;
            search.blocked += blocked;
            for mut exposure in exposures.into_iter().filter(|exposure| exposure.harm.is_some()) {
                exposure.attempt = list[exposure.attempt].0;
                let known = met.iter().any(|other| other.attempt == exposure.attempt);
                if !known && exposure.strategy().is_some() {
                    met.push(exposure);
                }
            }
        }
        search.witnesses.append(&mut met);
        Ok(wanted)
    }

    /// Executions in which nothing but the stores of one cycle is late. How many of each.
    fn alone(&mut self, search: &mut Search) -> Result<u64, Error> {
        let is_harmful = |i: &usize| search.witnesses.iter().any(|known| known.attempt == *i && known.harm.is_some());
        let open: Vec<usize> = (0..search.cycles.len()).filter(|i| !is_harmful(i)).collect();
        if open.is_empty() {
            return Ok(0);
        }
        let wanted = ALONE.min(ALL_ALONE / open.len() as u64) * self.options.trials / TRIALS;
        let trials = (share(self.subject, wanted) / DELAYS.len() as u64).max(1);
        let portion = (PORTION / trials).max(1) as usize;
        for (part, some) in open.chunks(portion).enumerate() {
            for (k, delay) in DELAYS.into_iter().enumerate() {
                if is_late(self.options.deadline) {
                    return Ok(0);
                }
                let attempts: Vec<Attempt> = some.iter().map(|i| self.late(&search.cycles[*i].cycle, delay)).collect();
                let seed = execution_seed(BASE_SEED, (part * DELAYS.len() + k) as u64);
                let (blocked, met) = self.subject.attempt(&attempts, trials, seed, self.fences)?;
                search.executions += trials * some.len() as u64;
                search.blocked += blocked;
                for mut exposure in met {
                    exposure.attempt = some[exposure.attempt];
                    let known = |other: &Exposure| {
                        other.attempt == exposure.attempt && (exposure.harm.is_none() || other.harm.is_some())
                    };
                    if !search.witnesses.iter().any(known) && exposure.strategy().is_some() {
                        search.witnesses.push(exposure);
                    }
                }
            }
        }
        Ok(trials * DELAYS.len() as u64)
    }

    /// Only the stores of this cycle are late.
    fn late(&self, cycle: &Cycle, delay: u64) -> Attempt {
        let points = Points::of(cycle, |point| self.subject.point(point).labels);
        let options = RelaxerOptions { chance: CHANCE, store_delay: delay, load_delay: delay / 2 };
        Attempt { cycle: cycle.clone(), strategy: StrategySpec::Relaxer { seed: 0, points, options } }
    }

    /// Where cycles cannot be looked for in every execution, only those that fail are explained.
    fn test(&mut self, search: &mut Search, executions: u64) -> Result<bool, Error> {
        let tested = self.subject.test(0, executions, self.fences)?;
        search.executions += tested.executions;
        search.blocked += tested.blocked;
        self.explain(search, &tested.failing)
    }
}
