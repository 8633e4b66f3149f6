//! What executions have found: told apart, looked at again, held against the suppressions.

use super::Program;
use super::again::{Again, reproduced};
use super::finding::{add_details, finding, race_key};
use super::fix;
use super::minimise::Minimiser;
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
    /// The execution in which it was met first, if a smaller one is shown.
    pub first: Option<First>,
    /// All names of it: the same two places may race in several ways.
    fingerprints: Vec<u64>,
}

impl Examined {
    /// Is this one of its names?
    pub fn is_named(&self, fingerprint: u64) -> bool {
        self.fingerprints.contains(&fingerprint)
    }
}

/// The execution in which a finding was met first.
pub struct First {
    pub found: Found,
    pub again: Again,
    /// How many were tried to find a smaller one.
    pub tried: u64,
}

/// Looks at what executions have found.
pub struct Examiner<'a> {
    pub program: &'a Program,
    suppressions: &'a Suppressions,
    pub symbolizer: Rc<Symbolizer>,
    /// Are smaller executions looked for?
    pub minimises: bool,
}

impl<'a> Examiner<'a> {
    pub fn new(program: &'a Program, suppressions: &'a Suppressions) -> Examiner<'a> {
        let symbolizer = Rc::new(Symbolizer::of(program));
        Examiner { program, suppressions, symbolizer, minimises: false }
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
                    all.push(Examined { found: found.clone(), finding, again: None, first: None, fingerprints });
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
        let mut minimiser = (self.minimises && !interrupt::is_wished()).then(|| Minimiser::new(all.len()));
        for one in &mut all {
            // What nobody wants to hear of needs no smaller execution.
            let wanted = minimiser.as_mut().filter(|_| !self.is_suppressed(&one.found, &one.finding));
            self.look_again(&campaign, one, wanted, log);
        }
        if self.minimises && !interrupt::is_wished() {
            // The campaign that is run again is the one that met them.
            let deadline = Instant::now() + fix::TIME;
            for one in all.iter_mut().filter(|one| !self.is_suppressed(&one.found, &one.finding)) {
                one.finding.fix = fix::fix(self.program, &campaign, one, deadline, log);
            }
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
    fn look_again(
        &self,
        campaign: &Campaign,
        one: &mut Examined,
        minimiser: Option<&mut Minimiser>,
        log: &mut Log<'_>,
    ) {
        let report = &one.found.report;
        // An execution outside of our control has left no answers behind.
        let lost = report.stacks.is_empty() && report.choices.is_empty() && report.steps.is_empty();
        let too_long = report.drawn.is_some() && campaign.request.max_steps > LONGEST_TRACED;
        // A way out of sc that no exploration could follow.
        let cut = report.kind == FindingKind::ScViolation && report.steps.is_empty() && report.choices.is_empty();
        if lost || cut || too_long {
            return;
        }
        let smaller = minimiser.and_then(|minimiser| minimiser.smaller(campaign, &one.found, log));
        if let Some(smaller) = smaller.and_then(|smaller| self.show_smaller(campaign, one, smaller)) {
            return *one = smaller;
        }
        let report = &one.found.report;
        let Ok((again, results)) = self.watch_again(campaign, &one.found) else { return };
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

    fn watch_again(&self, campaign: &Campaign, found: &Found) -> std::io::Result<(Option<Again>, Results)> {
        let mut campaign = campaign.clone();
        campaign.request.details = Some(found.report.sites.clone());
        campaign.request.ignored.clear();
        Again::follow(self.program, &campaign, &strategy(found))
    }

    /// The finding as a smaller execution shows it; `None` if it does not, or is no smaller to the reader.
    fn show_smaller(&self, campaign: &Campaign, one: &Examined, smaller: (Found, u64)) -> Option<Examined> {
        let (found, tried) = smaller;
        let (again, results) = self.watch_again(campaign, &found).ok()?;
        let again = again?;
        let same = |other: &&Found| other.report.fingerprint == found.report.fingerprint;
        let seen = results.found.iter().find(same)?;
        let mut finding = Finding { message: self.symbolizer.named(&found.report.message), ..one.finding.clone() };
        add_details(&mut finding, &seen.report, &again.trace, false, &again.symbolizer);
        let mut found = found;
        found.report.stacks.clone_from(&seen.report.stacks);
        let (first, _) = self.watch_again(campaign, &one.found).ok()?;
        let first = First { found: one.found.clone(), again: first?, tried };
        let (now, then) = (again.needs(&found), first.again.needs(&first.found));
        let is_smaller = (now.oddities(), now.operations) < (then.oddities(), then.operations);
        let examined =
            Examined { found, finding, again: Some(again), first: Some(first), fingerprints: one.fingerprints.clone() };
        (is_smaller && now.operations <= then.operations).then_some(examined)
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
