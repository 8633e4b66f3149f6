//! `fencepost test` on a native program.

use super::Program;
use super::words::Words;
use crate::args::CampaignArgs;
use crate::error::{Error, Status};
use crate::recording::{Recording, write_whole};
use crate::screen::Screen;
use fencepost_mailbox::{Answers, Record, Restart};
use fencepost_memory::axioms;
use fencepost_native::host::{self, Campaign, Explored, Found, Results};
use fencepost_report::text::{self, Look};
use fencepost_report::{Order, RunReport, Verdict};
use fencepost_trace::{
    Failure, Finding, FindingKind, Limits, Model, Outcome, Plan, Severity, StrategySpec, ThreadId, Trace,
};
use std::time::{Duration, Instant};

/// How many executions there are if nobody says.
const EXECUTIONS: u64 = 10_000;
/// With a limit of time alone, the work is given out in pieces of so many.
const PIECE: u64 = 10_000;
/// Where an execution is cut off if nobody says.
const MAX_STEPS: u64 = 1_000_000;
/// Where an explored execution is cut off if nobody says.
const EXPLORED_EVENTS: u64 = 10_000;
const TIMEOUT: Duration = Duration::from_secs(10);
/// More rows than this of an execution are not read by anybody.
const SHOWN_EVENTS: usize = 200;

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

/// Many executions, at random.
pub fn test(
    program: &Program,
    args: &CampaignArgs,
    buffer: Option<u32>,
    restart: Restart,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let started = Instant::now();
    program.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let limits = Limits { max_steps: args.work.max_steps.unwrap_or(MAX_STEPS) };
    let plan = Plan { model: args.model, buffer, strategy: StrategySpec::Random { seed: args.seed }, limits };
    let mut campaign = campaign(program, &plan, restart, args.timeout);
    campaign.request.answers = Answers::Random { seed: args.seed };
    campaign.request.stop_at_first = !args.keep_going;
    campaign.jobs = args.work.jobs();
    let mut results = run(&campaign, args, started).map_err(|error| Error::target(&program.name, error.to_string()))?;
    if !args.keep_going {
        stop_at_first(&mut results);
    }
    results.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let outcome =
        Campaigned { command: "test", complete: None, executions: results.executions, blocked: blocked(&results) };
    finish(program, args, &campaign, &plan, outcome, results, started, screen)
}

/// Every execution graph.
pub fn check(program: &Program, args: &CampaignArgs, screen: &mut Screen) -> Result<Status, Error> {
    if args.model == Model::Pslo {
        let problem = "pslo has no axioms to explore by: check a native program under sc, tso, pso or c11".to_owned();
        return Err(Error::Usage(problem));
    }
    let started = Instant::now();
    program.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let limits = Limits { max_steps: args.work.max_steps.unwrap_or(EXPLORED_EVENTS) };
    let plan = Plan { model: args.model, buffer: None, strategy: StrategySpec::Random { seed: args.seed }, limits };
    let mut campaign = campaign(program, &plan, Restart::InPlace, args.timeout);
    campaign.request.answers = Answers::Explore;
    campaign.request.count = args.work.executions.unwrap_or(u64::MAX);
    campaign.request.stop_at_first = !args.keep_going;
    let results = host::run_campaign(&campaign).map_err(|error| Error::target(&program.name, error.to_string()))?;
    results.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let explored = results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0 });
    let outcome = Campaigned {
        command: "check",
        complete: Some(explored.complete),
        executions: explored.executions,
        blocked: explored.blocked,
    };
    finish(program, args, &campaign, &plan, outcome, results, started, screen)
}

/// What a campaign amounts to.
struct Campaigned {
    command: &'static str,
    /// For an exploration: was everything explored?
    complete: Option<bool>,
    executions: u64,
    blocked: u64,
}

/// The executions that were cut off.
fn blocked(results: &Results) -> u64 {
    ["step-limit", "timeout"].iter().filter_map(|end| results.ended.get(end)).sum()
}

/// Runs as many executions as the limits say.
fn run(campaign: &Campaign, args: &CampaignArgs, started: Instant) -> std::io::Result<Results> {
    let mut campaign = campaign.clone();
    let Some(time) = args.work.time else {
        campaign.request.count = args.work.executions.unwrap_or(EXECUTIONS);
        return host::run_campaign(&campaign);
    };
    let most = args.work.executions.unwrap_or(u64::MAX);
    let mut results = Results::default();
    while started.elapsed() < time && campaign.request.first < most {
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
    results.found.iter_mut().for_each(|found| found.count = 1);
    results.executions = first + 1;
}

#[allow(clippy::too_many_arguments)]
fn finish(
    program: &Program,
    args: &CampaignArgs,
    campaign: &Campaign,
    plan: &Plan,
    outcome: Campaigned,
    results: Results,
    started: Instant,
    screen: &mut Screen,
) -> Result<Status, Error> {
    let words = Words::new(Some((program.executable.display().to_string(), program.base)));
    let (mut findings, mut shown, mut problem) = (Vec::new(), Vec::new(), None);
    for (i, found) in results.found.iter().enumerate() {
        let mut finding = finding(i as u32 + 1, found, &words);
        let mut plan = plan.clone();
        plan.strategy = strategy(found);
        // An execution outside of our control has left no answers behind.
        let lost = found.report.stacks.is_empty() && found.report.choices.is_empty() && found.report.steps.is_empty();
        let again = if lost { None } else { Again::new(program, campaign, &plan.strategy) };
        if let Some(again) = &again {
            let path = args.out.join(format!("finding-{}.json", finding.id));
            finding.replay = Some(path.display().to_string());
            let restart = campaign.request.restart;
            let recording = Recording::native(outcome.command, program, plan, restart, again.digest(), &finding);
            if let Err(error) = recording.write_alone(&path) {
                finding.replay = None;
                problem = problem.or(Some(error));
            }
        }
        let output = printed(found);
        let execution = again.map(|again| again.text(screen.look)).unwrap_or_default();
        shown.push((!screen.json() && !screen.quiet).then_some(execution + &output));
        findings.push(finding);
    }
    let verdict = match outcome.complete {
        _ if !findings.is_empty() => Verdict::Fail,
        Some(false) => Verdict::Incomplete,
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
        states: results.statuses.len() as u64,
        seconds: started.elapsed().as_secs_f64(),
        findings,
    };
    if verdict == Verdict::Fail && problem.is_none() {
        problem = write_whole(&args.out.join("run.json"), report.to_json().as_bytes()).err();
    }
    match (screen.json(), screen.quiet) {
        (true, _) => screen.print(&report.to_json())?,
        (false, true) => screen.print(&format!("{}\n", report.verdict))?,
        (false, false) => screen.print(&text::run(&report, &shown, screen.look))?,
    }
    match (problem, verdict) {
        (Some(error), _) => Err(error),
        (None, Verdict::Fail) => Ok(Status::Found),
        (None, Verdict::Incomplete) => Ok(Status::Incomplete),
        (None, Verdict::Pass) => Ok(Status::Clean),
    }
}

/// What leads to the finding again.
fn strategy(found: &Found) -> StrategySpec {
    match &found.report.steps[..] {
        [] => StrategySpec::Follow { choices: found.report.choices.clone() },
        steps => StrategySpec::Graph { steps: steps.to_vec() },
    }
}

pub fn finding(id: u32, found: &Found, words: &Words) -> Finding {
    let report = &found.report;
    Finding {
        id,
        kind: report.kind,
        message: words.named(&report.message),
        count: found.count,
        first_execution: found.first_execution + 1,
        severity: Severity::Harmful,
        labels: report.stacks.iter().map(|stack| words.finding_label(stack)).collect(),
        replay: None,
    }
}

/// What the failing execution had printed.
fn printed(found: &Found) -> String {
    let part = |name: &str, text: &str| {
        let lines: String = text.lines().map(|line| format!("    {}\n", text::clean(line))).collect();
        if lines.is_empty() { String::new() } else { format!("  {name} of the program:\n{lines}") }
    };
    part("stdout", &found.report.stdout) + &part("stderr", &found.report.stderr)
}

/// An execution that was run once more, to be shown.
pub struct Again {
    pub trace: Trace,
    words: Words,
    order: Order,
}

impl Again {
    /// Runs the execution of a finding again; `None` if it does not give a trace.
    fn new(program: &Program, campaign: &Campaign, strategy: &StrategySpec) -> Option<Again> {
        Again::follow(program, campaign, strategy).ok()?.0
    }

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

    /// Follows recorded answers, or a recorded graph.
    pub fn follow(
        program: &Program,
        campaign: &Campaign,
        strategy: &StrategySpec,
    ) -> std::io::Result<(Option<Again>, Results)> {
        let (order, answers) = match strategy {
            StrategySpec::Graph { steps } => (Order::Graph, Answers::Graph { steps: steps.clone() }),
            StrategySpec::Follow { choices } => (Order::Executed, Answers::Follow { choices: choices.clone() }),
            StrategySpec::Random { seed } => (Order::Executed, Answers::Random { seed: *seed }),
        };
        let mut results = host::replay(campaign, answers)?;
        let again = results.traces.pop().and_then(|record| match record {
            Record::Trace { mut trace, places, .. } => {
                let module = program.executable.display().to_string();
                let words = Words::new(Some((module, program.base)));
                words.fill(&mut trace, &places);
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

    /// Threads side by side: the end of it, where it is long.
    pub fn text(&self, look: Look) -> String {
        let events = self.trace.events.len();
        if events > SHOWN_EVENTS {
            return format!("  ({events} events: see the trace of the replay)\n");
        }
        let shown =
            text::Execution { trace: &self.trace, order: self.order, describe: &self.words, races: &[], state: &[] };
        text::execution(&shown, look)
    }
}

/// Is the finding there again?
pub fn reproduced(kind: FindingKind, results: &Results, trace: &Trace) -> bool {
    let violates = || !axioms::Execution::from_trace(trace).is_ok_and(|e| axioms::consistent(&e, Model::Sc).is_ok());
    results.found.iter().any(|found| found.report.kind == kind)
        || (kind == FindingKind::ScViolation && violates())
        || matches!((&trace.outcome, kind), (Outcome::Deadlock { .. }, FindingKind::Deadlock))
}
