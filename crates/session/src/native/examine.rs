//! What executions have found: told apart, looked at again, held against the suppressions.

use super::Program;
use super::again::{Again, reproduced};
use super::finding::{add_details, finding, race_key};
use super::suppressions::Suppressions;
use super::symbolizer::Symbolizer;
use crate::error::Error;
use crate::event::Log;
use fencepost_native::host::{Campaign, Found, Results};
use fencepost_native::interrupt;
use fencepost_trace::{CampaignSpec, Finding, FindingKind, Label, StrategySpec};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long findings are looked at again if there is no time left.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// The same after an interrupt.
const AFTER_INTERRUPT: Duration = Duration::from_secs(2);

/// A trace of a longer execution would take too much memory.
const LONGEST_TRACED: u64 = 2_000_000;

/// What a campaign came to.
pub struct Searched {
    /// As the host gives them.
    pub results: Results,
    /// What is to be reported.
    pub examined: Vec<Examined>,
    /// How many findings are not.
    pub suppressed: u64,
}

/// A finding, and the execution that shows it.
pub struct Examined {
    /// As it was first met.
    pub found: Found,
    pub finding: Finding,
    pub again: Option<Again>,
    /// All names of it: the same two places may race in several ways.
    fingerprints: Vec<u64>,
}

/// Looks at what executions have found.
pub struct Examiner<'a> {
    pub program: &'a Program,
    suppressions: &'a Suppressions,
    pub symbolizer: Rc<Symbolizer>,
}

impl<'a> Examiner<'a> {
    pub fn new(program: &'a Program, suppressions: &'a Suppressions) -> Examiner<'a> {
        Examiner { program, suppressions, symbolizer: Rc::new(Symbolizer::of(program)) }
    }

    /// Runs the campaign until something is found that is not suppressed, or nothing is left.
    pub fn search(
        &self,
        campaign: &mut Campaign,
        keep_going: bool,
        log: &mut Log<'_>,
        mut run: impl FnMut(&mut Campaign, &mut Log<'_>) -> std::io::Result<Results>,
    ) -> Result<Searched, Error> {
        let mut suppressed = 0;
        loop {
            let results = run(campaign, log).map_err(|error| Error::target(&self.program.name, error.to_string()))?;
            let (examined, covered) = self.examine(campaign, &results, log);
            suppressed += covered.len() as u64;
            if covered.is_empty() || !examined.is_empty() || keep_going {
                return Ok(Searched { results, examined, suppressed });
            }
            // All that stopped it is suppressed: once more without it, random executions from where it was met.
            if let CampaignSpec::Sample { .. } = campaign.request.campaign {
                campaign.request.first = covered.iter().map(|one| one.found.first_execution).min().unwrap_or(0);
            }
            campaign.request.ignored.extend(covered.iter().flat_map(|one| one.fingerprints.iter().copied()));
        }
    }

    /// All findings with their details: those to report, and those that are suppressed.
    fn examine(&self, campaign: &Campaign, results: &Results, log: &mut Log<'_>) -> (Vec<Examined>, Vec<Examined>) {
        let mut all: Vec<Examined> = Vec::new();
        for found in &results.found {
            let finding = finding(0, found, &self.symbolizer);
            // Different instructions of one place are one race to the user.
            let same = race_key(&finding)
                .and_then(|key| all.iter_mut().find(|one| race_key(&one.finding).as_ref() == Some(&key)));
            match same {
                Some(known) => {
                    known.finding.count = known.finding.count.max(found.count);
                    known.fingerprints.push(found.report.fingerprint);
                }
                None => {
                    let fingerprints = vec![found.report.fingerprint];
                    all.push(Examined { found: found.clone(), finding, again: None, fingerprints });
                }
            }
        }
        let mut campaign = campaign.clone();
        // A finding needs its execution: that has a little time in any case.
        campaign.deadline = campaign.deadline.map(|deadline| deadline.max(Instant::now() + LAST_LOOK));
        if interrupt::is_wished() {
            // Whoever has no time for that either says so again.
            campaign.deadline = Some(Instant::now() + AFTER_INTERRUPT);
        }
        campaign.interruptible = false;
        for one in &mut all {
            self.look_again(&campaign, one, log);
        }
        let covered = all.extract_if(.., |one| self.is_suppressed(&one.found, &one.finding)).collect();
        (all, covered)
    }

    /// Is the finding one that nobody wants to hear of?
    pub fn is_suppressed(&self, found: &Found, finding: &Finding) -> bool {
        let stacks: Vec<Vec<(Label, String)>> = (found.report.stacks.iter())
            .map(|stack| stack.frames.iter().flat_map(|frame| self.symbolizer.frames(frame)).collect())
            .collect();
        self.suppressions.cover(finding, &stacks)
    }

    /// Runs the execution again, for its trace and for what is not kept the first time.
    fn look_again(&self, campaign: &Campaign, one: &mut Examined, log: &mut Log<'_>) {
        let report = &one.found.report;
        // An execution outside of our control has left no answers behind.
        let lost = report.stacks.is_empty() && report.choices.is_empty() && report.steps.is_empty();
        let too_long = report.drawn.is_some() && campaign.request.max_steps > LONGEST_TRACED;
        // A way out of sc that no exploration could follow.
        let cut = report.kind == FindingKind::ScViolation && report.steps.is_empty() && report.choices.is_empty();
        if lost || cut || too_long {
            return;
        }
        let mut campaign = campaign.clone();
        campaign.request.details = Some(report.sites.clone());
        campaign.request.ignored.clear();
        let Ok((again, results)) = Again::follow(self.program, &campaign, &strategy(&one.found)) else { return };
        let same = |found: &&Found| found.report.fingerprint == report.fingerprint;
        match (&again, results.found.iter().find(same)) {
            (Some(again), Some(seen)) => {
                let halves = !report.steps.is_empty();
                add_details(&mut one.finding, &seen.report, &again.trace, halves, &again.symbolizer);
                one.found.report.stacks.clone_from(&seen.report.stacks);
            }
            (Some(again), None) if reproduced(report.kind, &results, &again.trace) => {}
            (_, None) => log.warning(format!(
                "the {} does not show again when its execution is run again in a fresh process: it depends on \
                 something besides scheduling and memory, such as files, or on executions before it (--restart fork)",
                report.kind
            )),
            (None, Some(_)) => {}
        }
        one.again = again;
    }
}

/// What leads to the finding again.
pub fn strategy(found: &Found) -> StrategySpec {
    if let Some((seed, sampling)) = found.report.drawn {
        return StrategySpec::Random { seed, sampling };
    }
    match &found.report.steps[..] {
        [] => StrategySpec::Follow { choices: found.report.choices.clone() },
        steps => StrategySpec::Graph { steps: steps.to_vec(), shared: found.report.shared.clone() },
    }
}
