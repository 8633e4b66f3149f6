//! A smaller execution of a native program that shows the same.

use crate::event::{Event, Log};
use fencepost_native::host::{self, Campaign, Found, monotonic_after};
use fencepost_trace::{FindingKind, Minimisation};
use std::time::{Duration, Instant};

/// How many executions are tried for all findings together, and for each at least.
const EXECUTIONS: u64 = 3_000;
const LEAST: u64 = 100;

/// How many steps these may take together, for each finding.
const STEPS: u64 = 10_000_000;

/// How long all of it may take: a safety net, since work that depends on time is not the same twice.
const NET: Duration = Duration::from_secs(6);

/// Looks for smaller executions of several findings.
pub struct Minimiser {
    deadline: Instant,
    findings: usize,
    done: usize,
    is_late: bool,
}

impl Minimiser {
    pub fn new(findings: usize) -> Minimiser {
        Minimiser { deadline: Instant::now() + NET, findings, done: 0, is_late: false }
    }

    /// The same finding in a smaller execution, and how many were tried for it.
    pub fn smaller(&mut self, campaign: &Campaign, found: &Found, log: &mut Log<'_>) -> Option<(Found, u64)> {
        self.done += 1;
        let report = &found.report;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.say(log);
        }
        // Answers that nobody wrote down cannot be left out.
        let unknown = report.drawn.is_some() || !report.steps.is_empty() || report.stacks.is_empty();
        if unknown || left.is_zero() {
            return None;
        }
        log.emit(Event::Minimising { finding: self.done as u64, of: self.findings as u64 });
        let asked = Minimisation {
            choices: report.choices.clone(),
            fingerprint: report.fingerprint,
            is_endless: report.kind == FindingKind::Livelock,
            executions: (EXECUTIONS / self.findings.max(1) as u64).max(LEAST),
            steps: STEPS,
            deadline: monotonic_after(left),
        };
        let mut campaign = campaign.clone();
        // One execution that is under way, and the last one, may end.
        campaign.deadline = Some(self.deadline + campaign.timeout);
        campaign.interruptible = true;
        campaign.request.details = None;
        campaign.request.ignored.clear();
        let results = host::minimise(&campaign, asked).ok()?;
        let (tried, in_time) = results.minimised?;
        if !in_time {
            self.say(log);
        }
        let smaller = results.found.into_iter().find(|other| other.report.fingerprint == report.fingerprint)?.report;
        Some((Found { report: smaller, ..*found }, tried))
    }

    /// Says, once, that there was no time.
    fn say(&mut self, log: &mut Log<'_>) {
        if !std::mem::replace(&mut self.is_late, true) {
            let seconds = NET.as_secs();
            log.note(format!(
                "minimising took more than {seconds} seconds: executions that are shown may be longer than need be"
            ));
        }
    }
}
