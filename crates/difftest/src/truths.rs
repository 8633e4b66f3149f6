//! What a program can do, from three sources: exploration (`check`), every choice of the machine, random executions
//! (`test`).

use crate::units::Unit;
use fencepost_mailbox::{Message, Restart};
use fencepost_native::host::{Campaign, Results, monotonic_after, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Method, Model};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much is done at most.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Random executions, unless everything has been seen.
    pub executions: u64,
    /// All of them, whatever has been seen?
    pub thorough: bool,
    /// Executions of the machine.
    pub enumerations: u64,
    /// Are executions left out that differ only in the order of steps that commute?
    pub sleep_sets: bool,
    /// Is nothing compared but what `safe` says?
    pub safe: bool,
    /// How long a source may take.
    pub time: Duration,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            executions: 20_000,
            thorough: false,
            enumerations: 5_000,
            sleep_sets: true,
            safe: false,
            time: Duration::from_secs(4),
        }
    }
}

/// How long one execution may take: a hundred thousand times as long as it does, on a machine that is busy with others.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long random executions may take: ten times as long as they do. Those of a loop without an end take far longer.
const SAMPLING: Duration = Duration::from_secs(3);

/// An execution of more steps is in a loop.
const STEPS: u64 = 1_000;

/// The limit of events that `check` has.
const EVENTS: u64 = 10_000;

/// The ways in which executions end: what they print, and the kinds of findings, with an exclamation mark.
pub type Outcomes = BTreeSet<String>;

/// One program of a unit, under one model.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The executable.
    pub unit: &'a Unit,
    /// Which of its programs.
    pub number: usize,
    /// The model.
    pub model: Model,
}

/// What a source says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// The ways in which executions ended.
    pub outcomes: Outcomes,
    /// How many executions there were; of an exploration, different ones.
    pub executions: u64,
    /// Of an exploration: how many were cut off.
    pub blocked: u64,
    /// Why that is not all, if it is not.
    pub incomplete: Option<String>,
}

/// How long the sources took together, in nanoseconds: to compile, exploration, every choice, random executions.
#[derive(Debug, Default)]
pub struct Spent(pub [AtomicU64; 4]);

/// Of all programs.
pub static SPENT: Spent = Spent([const { AtomicU64::new(0) }; 4]);

impl Spent {
    /// Does something on account of one of them.
    pub fn on<T>(&self, which: usize, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.0[which].fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [compiling, exploring, enumerating, testing] =
            self.0.each_ref().map(|spent| spent.load(Ordering::Relaxed) as f64 / 1e9);
        write!(
            f,
            "compiling {compiling:.1} s, exploring {exploring:.1} s, enumerating {enumerating:.1} s, testing \
             {testing:.1} s"
        )
    }
}

fn outcomes(results: &Results) -> Outcomes {
    // An execution that was cut short has printed nothing; what cut it short is a finding, or a limit.
    let mut outcomes: Outcomes = results.outputs.keys().filter_map(|text| line_of_end(text)).collect();
    outcomes.extend(results.found.iter().map(|found| format!("!{}", found.report.kind)));
    outcomes
}

/// What the thread has printed that ended the process. Others may have printed before or after it, and then come too
/// late; the status says who it was: without one, the main thread.
pub fn line_of_end(text: &str) -> Option<String> {
    let last = text.lines().last()?;
    let who = last.strip_prefix("exit status ").and_then(|status| status.parse::<u8>().ok()).map(char::from);
    let line = match who {
        Some(who) => text.lines().find(|line| line.starts_with(who))?,
        None => text.lines().find(|line| line.starts_with('=')).unwrap_or(last),
    };
    Some(line.trim_end().to_owned())
}

impl Subject<'_> {
    fn campaign(&self, executions: u64, time: Duration) -> Campaign {
        let mut campaign = Campaign::new(&self.unit.executable, &self.unit.runtime, self.model, executions);
        campaign.arguments = vec![self.number.to_string()];
        campaign.request.keep_outputs = true;
        campaign.request.status_is_finding = false;
        campaign.request.max_steps = STEPS;
        campaign.timeout = TIMEOUT;
        campaign.deadline = Some(Instant::now() + time);
        campaign.checked = false;
        campaign.server = Some(self.unit.server.clone());
        campaign
    }

    /// What exploration says, by this method.
    pub fn check(&self, method: Method, jobs: u32, effort: &Effort) -> io::Result<Said> {
        let mut campaign = self.campaign(u64::MAX, effort.time);
        let deadline = Some(monotonic_after(effort.time));
        let timeout = TIMEOUT.as_nanos() as u64;
        campaign.request.restart = Restart::InPlace;
        campaign.request.max_steps = EVENTS;
        campaign.request.campaign =
            CampaignSpec::Explore { jobs, deadline, timeout, findings: u64::MAX, method, remember: None };
        let results = SPENT.on(1, || run_campaign(&campaign))?;
        let (executions, blocked) = results.explored.map_or((0, 0), |explored| (explored.executions, explored.blocked));
        let incomplete = match results.explored {
            Some(explored) if explored.complete => None,
            _ if results.notes.is_empty() => Some("it does not say why".to_owned()),
            _ => Some(told(&results.notes)),
        };
        Ok(Said { outcomes: outcomes(&results), executions, blocked, incomplete })
    }

    /// Can the program leave sc under the model, as `safe` sees it? `None` if it does not know.
    pub fn leaves_sc(&self, jobs: u32, effort: &Effort) -> io::Result<Option<bool>> {
        let mut campaign = self.campaign(u64::MAX, effort.time);
        let (deadline, timeout) = (Some(monotonic_after(effort.time)), TIMEOUT.as_nanos() as u64);
        campaign.request.model = Model::Sc;
        campaign.request.watch = vec![self.model];
        campaign.request.restart = Restart::InPlace;
        campaign.request.max_steps = EVENTS;
        campaign.request.campaign = CampaignSpec::Explore {
            jobs,
            deadline,
            timeout,
            findings: u64::MAX,
            method: Method::Graph,
            remember: None,
        };
        let results = SPENT.on(1, || run_campaign(&campaign))?;
        let leaves = |kind| matches!(kind, FindingKind::ScViolation | FindingKind::DataRace);
        Ok(match results.found.iter().any(|found| leaves(found.report.kind)) {
            true => Some(true),
            false => results.explored.filter(|explored| explored.complete).map(|_| false),
        })
    }

    /// What every choice of the machine gives.
    pub fn enumerate(&self, effort: &Effort) -> io::Result<Said> {
        let mut campaign = self.campaign(effort.enumerations, effort.time);
        campaign.request.restart = Restart::InPlace;
        let rounds = self.unit.rounds;
        campaign.request.campaign = CampaignSpec::Enumerate { sleep_sets: effort.sleep_sets, rounds };
        let results = SPENT.on(2, || run_campaign(&campaign))?;
        let incomplete = match &results.collected {
            Some(collected) => collected.problem.clone(),
            None => Some(format!("it did not end; {}", told(&results.notes))),
        };
        let executions = results.collected.as_ref().map_or(0, |collected| collected.executions);
        Ok(Said { outcomes: outcomes(&results), executions, blocked: 0, incomplete })
    }

    /// What random executions show. From how many plain accesses on are those to private memory no operations?
    pub fn test(&self, first: u64, count: u64, restart: Restart, skip_private: Option<u64>) -> io::Result<Said> {
        let mut campaign = self.campaign(count, SAMPLING);
        campaign.request.first = first;
        campaign.request.restart = restart;
        campaign.request.skip_private = skip_private;
        let results = SPENT.on(3, || run_campaign(&campaign))?;
        let executions = results.executions;
        Ok(Said { outcomes: outcomes(&results), executions, blocked: 0, incomplete: None })
    }
}

/// Notes in one line.
fn told(notes: &[Message]) -> String {
    notes.iter().map(Message::to_string).collect::<Vec<_>>().join("; ")
}
