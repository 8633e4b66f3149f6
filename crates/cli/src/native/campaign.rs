//! `fencepost test` on a native program.

use super::Program;
use super::finding::{add_details, finding, race_key};
use super::restart;
use super::spec::specify;
use super::words::Words;
use crate::args::CampaignArgs;
use crate::commands::write_run;
use crate::error::{Error, Status};
use crate::limits::Budget;
use crate::progress::Line;
use crate::recording::{Recording, clear};
use crate::screen::Screen;
use crate::suppressions::Suppressions;
use fencepost_mailbox::{Pruning, Record, Restart, Stack};
use fencepost_memory::axioms;
use fencepost_native::host::{self, Campaign, Explored, Found, Results};
use fencepost_report::text::{self, Look, Mark};
use fencepost_report::{Describe, Order, Restarted, RunReport, Seen, Verdict};
use fencepost_trace::{
    BLOCK, CampaignSpec, Failure, Finding, FindingKind, Label, Limits, Model, Outcome, Pair, Plan, Sampling,
    StrategySpec, ThreadId, Trace,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How many executions there are if nobody says.
const EXECUTIONS: u64 = 10_000;
/// With a limit of time alone, the work is given out in pieces of so many.
const PIECE: u64 = 157 * BLOCK;
/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 1_000_000;
/// Where an explored execution is cut off if nobody says.
const EXPLORED_EVENTS: u64 = 10_000;
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the host needs to run `program`.
pub fn campaign(program: &Program, plan: &Plan, restart: Restart, timeout: Option<Duration>) -> Campaign {
    let mut campaign = Campaign::new(&program.executable, &program.runtime, plan.model, 1);
    campaign.arguments.clone_from(&program.arguments);
    campaign.request.buffer = plan.buffer;
    campaign.request.max_steps = plan.limits.max_steps;
    campaign.request.restart = restart;
    campaign.timeout = timeout.unwrap_or(TIMEOUT);
    campaign
}

/// How long findings are looked at again if there is no time left.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// Many executions, at random.
pub fn test(
    program: &Program,
    args: &CampaignArgs,
    sampling: Sampling,
    buffer: Option<u32>,
    restart: Restart,
    prune: Pruning,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let started = Instant::now();
    let deadline = args.work.time.and_then(|time| started.checked_add(time));
    program.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let limits = Limits { max_steps: args.work.max_steps.unwrap_or(MAX_STEPS) };
    let strategy = StrategySpec::Random { seed: args.seed, sampling };
    let plan = Plan { model: args.model, buffer, strategy, limits };
    let mut campaign = campaign(program, &plan, restart, args.timeout);
    campaign.request.volatile = args.volatile.unwrap_or_default();
    campaign.deadline = deadline;
    campaign.request.campaign = CampaignSpec::Sample { seed: args.seed, sampling };
    campaign.request.prune = prune;
    campaign.request.stop_at_first = !args.keep_going;
    campaign.jobs = args.work.jobs();
    let specified = specify(program, args.spec, &mut campaign, screen)?;
    let suppressions = Suppressions::find(args.suppressions.as_deref(), &program.executable)?;
    let line = watched(&campaign, args, args.work.time.is_none().then_some(EXECUTIONS), screen);
    let mut search = Search::new(program, &suppressions);
    let mut suppressed = 0;
    let (results, examined) = loop {
        let mut results = run(&campaign, args).map_err(|error| Error::target(&program.name, error.to_string()))?;
        results.executions += campaign.request.first;
        if results.forked {
            campaign.request.restart = Restart::Fork;
        }
        results.notes.iter().for_each(|note| eprintln!("note: {note}"));
        if !args.keep_going {
            stop_at_first(&mut results);
        }
        let (left, covered) = search.examine(&campaign, &results);
        suppressed += covered.len() as u64;
        if covered.is_empty() || !left.is_empty() || args.keep_going {
            break (results, left);
        }
        // All that stopped it is suppressed: on from there, without it.
        campaign.request.first = covered.iter().map(|one| one.found.first_execution).min().unwrap_or(0);
        campaign.request.ignored.extend(covered.iter().flat_map(|one| one.fingerprints.iter().copied()));
    };
    drop(line);
    cut_off(&results, &campaign, &search.words).iter().for_each(|note| eprintln!("note: {note}"));
    let restarted = restarted(&results, &search.words);
    let outcome = Campaigned {
        restarted,
        command: "test",
        complete: (!specified).then_some(false),
        executions: results.executions,
        blocked: blocked(&results),
        suppressed,
        failing: results.failing,
        pairs: results.pairs,
    };
    finish(&search, args, &campaign, &plan, outcome, examined, started, screen)
}

/// Every execution graph.
pub fn check(program: &Program, args: &CampaignArgs, screen: &mut Screen) -> Result<Status, Error> {
    if args.model == Model::Pslo {
        let problem = "pslo has no axioms to explore by: check a native program under sc, tso, pso or c11".to_owned();
        return Err(Error::Usage(problem));
    }
    let started = Instant::now();
    let deadline = args.work.time.and_then(|time| started.checked_add(time));
    program.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let limits = Limits { max_steps: args.work.max_steps.unwrap_or(EXPLORED_EVENTS) };
    let strategy = StrategySpec::Follow { choices: Vec::new() };
    let plan = Plan { model: args.model, buffer: None, strategy, limits };
    let mut campaign = campaign(program, &plan, Restart::InPlace, args.timeout);
    campaign.request.volatile = args.volatile.unwrap_or_default();
    campaign.deadline = deadline;
    campaign.request.count = args.work.executions.unwrap_or(u64::MAX);
    campaign.request.stop_at_first = !args.keep_going;
    let specified = specify(program, args.spec, &mut campaign, screen)?;
    let suppressions = Suppressions::find(args.suppressions.as_deref(), &program.executable)?;
    let line = watched(&campaign, args, None, screen);
    let mut search = Search::new(program, &suppressions);
    let mut suppressed = 0;
    let (results, examined) = loop {
        let results = explore(&mut campaign, args).map_err(|error| Error::target(&program.name, error.to_string()))?;
        let (left, covered) = search.examine(&campaign, &results);
        suppressed += covered.len() as u64;
        if covered.is_empty() || !left.is_empty() || args.keep_going {
            break (results, left);
        }
        // The exploration stopped for what is suppressed: once more, without it.
        campaign.request.ignored.extend(covered.iter().flat_map(|one| one.fingerprints.iter().copied()));
    };
    drop(line);
    cut_off(&results, &campaign, &search.words).iter().for_each(|note| eprintln!("note: {note}"));
    results.notes.iter().for_each(|note| eprintln!("note: {}", search.words.note(note)));
    let explored = results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0 });
    let restarted = restarted(&results, &search.words);
    let outcome = Campaigned {
        restarted,
        command: "check",
        complete: Some(explored.complete && specified),
        executions: explored.executions,
        blocked: explored.blocked,
        suppressed,
        failing: results.failing,
        pairs: BTreeMap::new(),
    };
    finish(&search, args, &campaign, &plan, outcome, examined, started, screen)
}

/// The line that says how far the campaign is; `usual` is how many executions there are if nobody says.
fn watched(campaign: &Campaign, args: &CampaignArgs, usual: Option<u64>, screen: &Screen) -> Line {
    let progress = campaign.progress.clone();
    Line::start(screen, Budget::new(args.work.executions.or(usual), args.work.time), move || {
        (progress.executions.load(Ordering::Relaxed), progress.findings.load(Ordering::Relaxed))
    })
}

/// Explores on as many cores as there are to be. What comes first only one worker can tell, so that one looks again
/// if many have found something: until it has met everything that they found.
fn explore(campaign: &mut Campaign, args: &CampaignArgs) -> std::io::Result<Results> {
    // Which executions a limit on their number cuts off is only certain if one worker explores.
    let jobs = if args.work.executions.is_some() { 1 } else { args.work.jobs() as u32 };
    let left = campaign.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let deadline = left.map(host::monotonic_after);
    let timeout = campaign.timeout.as_nanos().try_into().unwrap_or(u64::MAX);
    campaign.request.campaign = CampaignSpec::Explore { jobs, deadline, timeout, findings: u64::MAX };
    let mut results = host::run_campaign(campaign)?;
    if jobs > 1 && results.shared_out && !results.found.is_empty() {
        let findings = results.found.len() as u64;
        campaign.request.campaign = CampaignSpec::Explore { jobs: 1, deadline, timeout, findings };
        let alone = host::run_campaign(campaign)?;
        if alone.found.is_empty() {
            // There was no time for that.
            return Ok(results);
        }
        if campaign.request.stop_at_first {
            return Ok(alone);
        }
        for found in &mut results.found {
            if let Some(same) = alone.found.iter().find(|f| f.report.fingerprint == found.report.fingerprint) {
                (found.first_execution, found.report) = (same.first_execution, same.report.clone());
            }
        }
        results.found.sort_by_key(|found| found.first_execution);
    }
    Ok(results)
}

/// What a campaign amounts to.
struct Campaigned {
    command: &'static str,
    restarted: Restarted,
    /// For an exploration: was everything explored?
    complete: Option<bool>,
    executions: u64,
    blocked: u64,
    suppressed: u64,
    /// In how many executions something was found.
    failing: u64,
    /// The reads-from pairs that were seen, with the first execution of each.
    pairs: BTreeMap<Pair, u64>,
}

/// A finding, and the execution that shows it.
struct Examined {
    /// As it was first met.
    found: Found,
    finding: Finding,
    again: Option<Again>,
    /// All names of it: the same two places may race in several ways.
    fingerprints: Vec<u64>,
}

/// Looks at what executions have found.
struct Search<'a> {
    program: &'a Program,
    suppressions: &'a Suppressions,
    words: Words,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, suppressions: &'a Suppressions) -> Search<'a> {
        Search { program, suppressions, words: Words::of(program) }
    }

    /// All findings with their details: those to report, and those that are suppressed.
    fn examine(&mut self, campaign: &Campaign, results: &Results) -> (Vec<Examined>, Vec<Examined>) {
        let mut all: Vec<Examined> = Vec::new();
        for found in &results.found {
            let finding = finding(0, found, &self.words);
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
        for one in &mut all {
            self.look_again(&campaign, one);
        }
        let covered = |one: &mut Examined| {
            let stacks: Vec<Vec<(Label, String)>> = (one.found.report.stacks.iter())
                .map(|stack| stack.frames.iter().flat_map(|frame| self.words.frames(frame)).collect())
                .collect();
            self.suppressions.cover(&one.finding, &stacks)
        };
        let covered = all.extract_if(.., covered).collect();
        (all, covered)
    }

    /// Runs the execution again, for its trace and for what is not kept the first time.
    fn look_again(&self, campaign: &Campaign, one: &mut Examined) {
        let report = &one.found.report;
        // An execution outside of our control has left no answers behind.
        // One that is too long leaves no trace.
        let lost = report.stacks.is_empty() && report.choices.is_empty() && report.steps.is_empty();
        if lost || report.drawn.is_some() {
            return;
        }
        let mut campaign = campaign.clone();
        campaign.request.details = Some(report.spots.clone());
        campaign.request.ignored.clear();
        let Ok((again, results)) = Again::follow(self.program, &campaign, &strategy(&one.found)) else { return };
        let same = |found: &&Found| found.report.fingerprint == report.fingerprint;
        match (&again, results.found.iter().find(same)) {
            (Some(again), Some(seen)) => {
                let halves = !report.steps.is_empty();
                add_details(&mut one.finding, &seen.report, &again.trace, halves, &again.words);
                one.found.report.stacks.clone_from(&seen.report.stacks);
            }
            (_, None) => eprintln!(
                "warning: the {} does not show again when its execution is run again in a fresh process: it depends on \
                 something besides scheduling and memory, such as files, or on executions before it (--restart fork)",
                report.kind
            ),
            (None, Some(_)) => {}
        }
        one.again = again;
    }
}

/// How executions began anew, after saying what is wrong with it.
fn restarted(results: &Results, words: &Words) -> Restarted {
    results.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    restart::warning(results, words).iter().for_each(|warning| eprintln!("warning: {warning}"));
    restart::restarted(results, words)
}

/// The executions that were cut off.
fn blocked(results: &Results) -> u64 {
    ["step-limit", "timeout"].iter().filter_map(|end| results.ended.get(end)).sum()
}

/// Runs as many executions as the limits say.
fn run(campaign: &Campaign, args: &CampaignArgs) -> std::io::Result<Results> {
    let mut campaign = campaign.clone();
    let Some(deadline) = campaign.deadline else {
        let most = args.work.executions.unwrap_or(EXECUTIONS);
        campaign.request.count = most.saturating_sub(campaign.request.first);
        return host::run_campaign(&campaign);
    };
    let most = args.work.executions.unwrap_or(u64::MAX);
    let mut results = Results::default();
    while Instant::now() < deadline && campaign.request.first < most {
        campaign.request.count = PIECE.min(most - campaign.request.first);
        host::merge(&mut results, host::run_campaign(&campaign)?);
        if campaign.request.stop_at_first && !results.found.is_empty() {
            break;
        }
        campaign.request.first += campaign.request.count;
    }
    Ok(results)
}

/// Leaves only what happened up to the first finding: how far the other workers came by then is a matter of chance.
fn stop_at_first(results: &mut Results) {
    let Some(first) = results.found.iter().map(|found| found.first_execution).min() else { return };
    results.found.retain(|found| found.first_execution == first);
    if results.beyond.as_ref().is_some_and(|beyond| beyond.execution > first) {
        (results.beyond, results.forked) = (None, false);
    }
    results.found.iter_mut().for_each(|found| found.count = 1);
    results.executions = first + 1;
    results.pairs.retain(|_, execution| *execution <= first);
    results.failing = 1;
    // How many of them were cut off is not known.
    results.ended.clear();
    results.cut_off.clear();
}

#[allow(clippy::too_many_arguments)]
fn finish(
    search: &Search<'_>,
    args: &CampaignArgs,
    campaign: &Campaign,
    plan: &Plan,
    outcome: Campaigned,
    examined: Vec<Examined>,
    started: Instant,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let (mut findings, mut shown, mut problem) = (Vec::new(), Vec::new(), None);
    let (program, words) = (search.program, &search.words);
    clear(&args.out);
    for (i, Examined { found, mut finding, again, .. }) in examined.into_iter().enumerate() {
        finding.id = i as u32 + 1;
        let mut plan = plan.clone();
        plan.strategy = strategy(&found);
        // Too long to be written down: how its answers were drawn says which it was, and its number that there is no
        // trace.
        let number = found.report.drawn.map(|_| found.report.execution);
        if number.is_some() || again.is_some() {
            let name = format!("finding-{}", finding.id);
            finding.replay = Some(args.out.join(format!("{name}.json")).display().to_string());
            let digest = again.as_ref().map(Again::digest).unwrap_or_default();
            let recording =
                Recording::native(outcome.command, program, plan, &campaign.request, number, digest, &finding);
            if let Err(error) = recording.write(&args.out, &name, again.as_ref().map(|again| &again.trace)) {
                finding.replay = None;
                problem = problem.or(Some(error));
            }
        }
        let visible = !screen.json() && !screen.quiet;
        shown.push(visible.then(|| details(&finding, &found, again.as_ref(), words, screen.look)));
        findings.push(finding);
    }
    let verdict = match outcome.complete {
        _ if !findings.is_empty() => Verdict::Fail,
        Some(false) => Verdict::Incomplete,
        None if outcome.blocked == outcome.executions => Verdict::Incomplete,
        _ => Verdict::Pass,
    };
    let report = RunReport {
        fencepost: env!("CARGO_PKG_VERSION").to_owned(),
        command: outcome.command.to_owned(),
        target: program.name.clone(),
        model: args.model,
        seed: args.seed,
        verdict,
        complete: outcome.complete.unwrap_or(false),
        executions: outcome.executions,
        blocked: outcome.blocked,
        failing_executions: outcome.failing,
        states: None,
        coverage: outcome.complete.is_none().then(|| seen(&outcome.pairs, outcome.executions)),
        seconds: started.elapsed().as_secs_f64(),
        restart: Some(outcome.restarted),
        findings,
        suppressed: outcome.suppressed,
    };
    problem = problem.or(write_run(&args.out, &report));
    match (screen.json(), screen.quiet) {
        (true, _) => screen.print(&report.to_json())?,
        (false, true) => screen.print(&format!("{}\n", report.verdict))?,
        (false, false) => {
            let line = report.restart.as_ref().map(restart::line).unwrap_or_default();
            screen.print(&(text::run(&report, &shown, words, screen.look) + &line))?;
        }
    }
    match (problem, verdict) {
        (Some(error), _) => Err(error),
        (None, Verdict::Fail) => Ok(Status::Found),
        (None, Verdict::Incomplete) => Ok(Status::Incomplete),
        (None, Verdict::Pass) => Ok(Status::Clean),
    }
}

/// What has been seen.
fn seen(pairs: &BTreeMap<Pair, u64>, executions: u64) -> Seen {
    Seen::new(pairs.values().copied(), executions)
}

/// What leads to the finding again.
fn strategy(found: &Found) -> StrategySpec {
    if let Some((seed, sampling)) = found.report.drawn {
        return StrategySpec::Random { seed, sampling };
    }
    match &found.report.steps[..] {
        [] => StrategySpec::Follow { choices: found.report.choices.clone() },
        steps => StrategySpec::Graph { steps: steps.to_vec(), shared: found.report.shared.clone() },
    }
}

/// The calls that led to a finding, the execution that shows it, and what that had printed.
fn details(finding: &Finding, found: &Found, again: Option<&Again>, words: &Words, look: Look) -> String {
    let mut text = String::new();
    // Where more is known, it has been said.
    let stacks = if finding.stacks.is_empty() { &found.report.stacks[..] } else { &[] };
    for stack in stacks {
        let calls = words.calls(stack);
        // One call is where the finding is, and that has been shown.
        if calls.len() > 1 {
            let access = if stack.access.is_empty() { String::new() } else { format!(" ({})", stack.access) };
            text += &text::stack(
                &format!("{}{access}, innermost call first:", words.thread(ThreadId(stack.thread))),
                &calls,
                look,
            );
        }
    }
    if let Some(again) = again {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &again.text(Some(found), look);
    }
    text + &text::printed("stdout", &found.report.stdout, look) + &text::printed("stderr", &found.report.stderr, look)
}

/// Executions that a limit cut off are of no use without a word about where they were.
fn cut_off(results: &Results, campaign: &Campaign, words: &Words) -> Vec<String> {
    const MOST: usize = 3;
    let note = |(execution, late, stacks): &(u64, bool, Vec<Stack>)| {
        let limit = match late {
            true => format!("{} seconds (--timeout)", campaign.timeout.as_secs_f64()),
            false => format!("{} steps (--max-steps)", campaign.request.max_steps),
        };
        let place = |stack: &Stack| {
            let label = words.finding_label(stack).label;
            let file = if label.file.is_empty() { String::new() } else { format!(" ({}:{})", label.file, label.line) };
            format!("{} in {}{file}", words.thread(ThreadId(stack.thread)), label.function)
        };
        let places: Vec<String> = stacks.iter().map(place).collect();
        let places = places.join(", ");
        (places.clone(), format!("execution {} was cut off after {limit}: {places}", execution + 1))
    };
    let mut list = results.cut_off.clone();
    list.sort_by_key(|(execution, ..)| *execution);
    let mut notes: Vec<(String, String)> = Vec::new();
    for (places, text) in list.iter().map(note) {
        // Several workers may have met the same.
        if notes.len() < MOST && notes.iter().all(|(known, _)| *known != places) {
            notes.push((places, text));
        }
    }
    notes.into_iter().map(|(_, text)| text).collect()
}

/// An execution that was run once more, to be shown.
pub struct Again {
    pub trace: Trace,
    words: Words,
    order: Order,
}

impl Again {
    /// The end that the finding gave the execution, which the engine has not seen.
    fn ended_by(&mut self, kind: FindingKind, thread: Option<ThreadId>) {
        let failure = match kind {
            FindingKind::Assertion => Failure::Assertion,
            FindingKind::Abort => Failure::Abort,
            FindingKind::Panic => Failure::Panic,
            FindingKind::Crash => Failure::Crash,
            _ => return,
        };
        self.trace.outcome = Outcome::Failed { thread: thread.unwrap_or(ThreadId(0)), failure };
    }

    /// Runs the execution of this number of a campaign again, without a trace.
    pub fn repeat(campaign: &Campaign, strategy: &StrategySpec, execution: u64) -> std::io::Result<Results> {
        let mut campaign = campaign.clone();
        campaign.request.campaign = CampaignSpec::Repeat(strategy.clone());
        host::repeat(&campaign, execution)
    }

    /// Follows recorded answers, or a recorded graph.
    pub fn follow(
        program: &Program,
        campaign: &Campaign,
        strategy: &StrategySpec,
    ) -> std::io::Result<(Option<Again>, Results)> {
        let order = if let StrategySpec::Graph { .. } = strategy { Order::Graph } else { Order::Executed };
        let mut results = host::replay(campaign, strategy.clone())?;
        let again = results.traces.pop().and_then(|record| match record {
            Record::Trace { mut trace, places, .. } => {
                let words = Words::of(program);
                words.fill(&mut trace, &places);
                results.locals.iter().for_each(|(address, function)| words.learn(*address, function));
                Some(Again { trace, words, order })
            }
            _ => None,
        });
        let again = again.map(|mut again| {
            for found in &results.found {
                again.ended_by(found.report.kind, found.report.stacks.first().map(|stack| ThreadId(stack.thread)));
            }
            again
        });
        Ok((again, results))
    }

    pub fn digest(&self) -> String {
        crate::digest::of_trace(&self.trace)
    }

    /// The words for it.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Threads side by side: of a long execution, what matters to the finding.
    pub fn text(&self, found: Option<&Found>, look: Look) -> String {
        let stacks = found.map_or(&[][..], |found| &found.report.stacks);
        let mut involved: Vec<ThreadId> = stacks.iter().map(|stack| ThreadId(stack.thread)).collect();
        if let Outcome::Deadlock { blocked: threads } | Outcome::Livelock { spinning: threads } = &self.trace.outcome {
            involved.extend(threads);
        }
        let marks = found.map_or_else(Vec::new, |found| self.marks(found));
        let shown = text::Execution {
            trace: &self.trace,
            order: self.order,
            describe: &self.words,
            races: &[],
            state: &[],
            involved: &involved,
            marks: &marks,
        };
        text::execution(&shown, look)
    }

    /// Rows for what is no event: a plain access, a misuse of the heap, an end.
    fn marks(&self, found: &Found) -> Vec<Mark> {
        let Found { report, .. } = found;
        let mark = |stack: &Stack, after: u32, remark: &str| Mark {
            after,
            thread: ThreadId(stack.thread),
            label: self.words.finding_label(stack).label,
            remark: remark.to_owned(),
        };
        let end = self.trace.events.len() as u32;
        match (report.after, report.kind) {
            (Some(after), _) => {
                let message = self.words.named(&report.message);
                report.stacks.first().map(|stack| mark(stack, after, &message)).into_iter().collect()
            }
            (None, FindingKind::Deadlock) => report.stacks.iter().map(|s| mark(s, end, "waits for ever")).collect(),
            (None, FindingKind::Livelock) => report.stacks.iter().map(|s| mark(s, end, "goes on for ever")).collect(),
            (None, _) => report.stacks.first().map(|stack| mark(stack, end, &report.message)).into_iter().collect(),
        }
    }
}

/// Is the finding there again?
pub fn reproduced(kind: FindingKind, results: &Results, trace: &Trace) -> bool {
    let violates = || !axioms::Execution::from_trace(trace).is_ok_and(|e| axioms::consistent(&e, Model::Sc).is_ok());
    // What a replay does not look for: the same execution has the same outcome.
    kind == FindingKind::SpecViolation
        || results.found.iter().any(|found| found.report.kind == kind)
        || (kind == FindingKind::ScViolation && violates())
        || matches!((&trace.outcome, kind), (Outcome::Deadlock { .. }, FindingKind::Deadlock))
}
