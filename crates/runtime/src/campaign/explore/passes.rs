//! One pass after the other, until no more memory turns out to be shared.

use super::program::{Program, has_other_ends, take_verdict};
use super::safety::{self, Safety};
use super::visitor::Report;
use super::workers::{RUNS_ALONE, exploring, fork, join_children, leave};
use super::{STATE, State, request, shared, state, unsupported};
use crate::campaign::conclusion::{self, Explored};
use crate::campaign::hunt;
use crate::drive::ending::{self, RUNS, Verdict};
use crate::drive::{debugger, explored, restart};
use crate::hooks::rust_std;
use crate::platform::{global, sys};
use crate::results;
use fencepost_explore::causal::{self, Equivalence};
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Options, Races, replay_steps};
use fencepost_mailbox::{Record, Request};
use fencepost_trace::{Answers, CampaignSpec, GraphStep, Method, Model, Outcome, StrategySpec, ThreadId};
use std::sync::atomic::Ordering::Relaxed;

/// Why an exploration stops that the clock has caught.
const TOO_LONG: &str = "one execution took longer than it may (--timeout), and the exploration was stopped";

pub(super) const STEPS: &str = "has more events than the limit of steps allows";

/// A program of which so many executions in a row are cut off has no others, as far as anybody can wait for.
pub(super) const MOST_CUT_OFF: u32 = 8;

/// Explores the program.
pub fn run(request: &'static Request) {
    explored::begin();
    ending::begin_exploring();
    *STATE.enter() = Some(State {
        request,
        verdicts: Vec::new(),
        safety: request.watch.first().map(|model| Safety::new(*model)),
        cut_off: 0,
        open: false,
        children: Vec::new(),
        is_child: false,
        next_fork: RUNS_ALONE,
    });
    global::set_exploring(true, request.model == Model::C11);
    results::set_method(match request.campaign {
        CampaignSpec::Explore { method, .. } => method,
        _ => Method::Graph,
    });
    match &request.campaign {
        CampaignSpec::Repeat(StrategySpec::Graph { steps, shared: events }) => {
            shared::begin(events);
            replay(request, steps);
        }
        CampaignSpec::Explore { .. } if rust_std::unseen().is_some() => refuse(rust_std::unseen()),
        CampaignSpec::Explore { jobs, .. } => {
            shared::begin(&[]);
            let mut jobs = *jobs;
            while !pass(request, jobs) {
                // What a child has learnt is lost with it: one worker will learn it again.
                if exploring().again.load(Relaxed) != 0 {
                    jobs = 1;
                }
                shared::take_more();
            }
        }
        _ => ending::internal("a request that is no exploration"),
    }
    global::set_exploring(false, false);
    *STATE.enter() = None;
}

/// Nothing that an exploration would say could be relied upon.
fn refuse(why: Option<&str>) {
    why.iter().for_each(|why| results::note(*why));
    results::log(&Record::Explored { complete: false, executions: 0, blocked: 0, answers: None });
}

/// Explores by the method that is asked for; how many questions were answered, and how.
fn explore(request: &Request, options: Options, jobs: u32) -> Result<Option<Answers>, ExploreError> {
    let program = Program { abandoned: false };
    let equivalence = match request.campaign {
        CampaignSpec::Explore { method: Method::Rf, .. } => Equivalence::Sources,
        CampaignSpec::Explore { method: Method::Causal, .. } => Equivalence::Values,
        _ => {
            let mut explorer = Explorer::new(program, options)?;
            return explorer.explore_with(start_over, |explorer| between(explorer, jobs)).map(|_| None);
        }
    };
    let mut explorer = causal::Explorer::new(program, options, equivalence)?;
    explorer.explore_with(start_over, |_| is_time_to_stop())?;
    Ok(Some(explorer.effort().answers))
}

/// Explores all, unless something shows up with which it has to start over: then it says so.
fn pass(request: &Request, jobs: u32) -> bool {
    let max_events = request.max_steps as usize;
    let rounds = request.hunt.as_ref().map_or(0, |hunt| hunt.rounds);
    let usual = Options::new(request.model);
    let drains = usual.drains && !request.watch.contains(&Model::C11);
    let options = Options { max_events, races: Races::Ignore, rounds, drains, ..usual };
    let explored = explore(request, options, jobs);
    if !shared::has_more()
        && let Err(error) = &explored
    {
        unsupported(error.to_string());
    }
    if state().is_child {
        if shared::has_more() {
            exploring().again.store(1, Relaxed);
        }
        leave();
    }
    if shared::has_more() {
        exploring().stop.store(1, Relaxed);
    }
    join_children();
    if shared::has_more() || exploring().again.load(Relaxed) != 0 {
        return false;
    }
    let (executions, blocked) = (exploring().executions.load(Relaxed), exploring().blocked.load(Relaxed));
    if executions + blocked == 0 {
        // Every program has an execution.
        unsupported("no execution came to its end");
    }
    let why = results::take_incomplete();
    why.iter().for_each(|why| results::note(why.clone()));
    let exploring = exploring();
    let complete = exploring.cut.load(Relaxed) == 0 && why.is_none();
    let answers = explored.ok().flatten();
    results::log(&Record::Explored { complete, executions, blocked, answers });
    true
}

/// The exploration begins, perhaps not for the first time.
fn start_over() -> Report {
    let exploring = exploring();
    if state().is_child {
        exploring.again.store(1, Relaxed);
        leave();
    }
    exploring.stop.store(1, Relaxed);
    join_children();
    for flag in [&exploring.lock, &exploring.stop, &exploring.cut, &exploring.again] {
        flag.store(0, Relaxed);
    }
    for count in [&exploring.executions, &exploring.blocked, &exploring.numbers] {
        count.store(0, Relaxed);
    }
    exploring.workers.store(1, Relaxed);
    results::forget();
    hunt::start_over();
    safety::begin();
    let mut state = state();
    drop(results::take_incomplete());
    state.next_fork = RUNS.load(Relaxed) + RUNS_ALONE;
    Report
}

/// After every run: is it time to stop, or to share the work?
fn between(explorer: &mut Explorer<Program>, jobs: u32) -> Flow {
    safety::follow(explorer);
    is_time_to_stop()?;
    let exploring = exploring();
    if jobs > 1
        && !restart::stays_alone()
        && RUNS.load(Relaxed) >= state().next_fork
        && exploring.workers.load(Relaxed) < jobs
        && explorer.alternatives() > 1
    {
        fork(explorer, jobs);
    }
    Flow::Continue(())
}

/// After every run: is it time to stop?
fn is_time_to_stop() -> Flow {
    let exploring = exploring();
    if exploring.stop.load(Relaxed) != 0 {
        return Flow::Break(());
    }
    if ending::take_late() {
        return stop(TOO_LONG);
    }
    if shared::has_more() {
        exploring.stop.store(1, Relaxed);
        return Flow::Break(());
    }
    if let CampaignSpec::Explore { deadline: Some(deadline), .. } = request().campaign
        && (RUNS.load(Relaxed).is_multiple_of(16) || state().cut_off > 0)
        && sys::monotonic() >= deadline
    {
        return stop("the limit of time was reached");
    }
    Flow::Continue(())
}

/// Stops all, and says why.
pub(super) fn stop(why: &str) -> Flow {
    unsupported(why);
    exploring().stop.store(1, Relaxed);
    Flow::Break(())
}

/// Runs one execution graph again.
fn replay(request: &Request, steps: &[GraphStep]) {
    match replay_steps(Program { abandoned: false }, request.model, steps) {
        Ok((trace, _)) => {
            let by = steps.last().filter(|step| step.end.is_some()).map(|step| ThreadId(step.thread));
            let verdict = match (take_verdict(by), &trace.outcome) {
                (Some(verdict), _) => verdict,
                (None, Outcome::Deadlock { blocked }) => Verdict::Deadlock(blocked.clone()),
                (None, Outcome::Livelock { spinning }) => Verdict::Livelock(spinning.clone()),
                (None, _) => Verdict::Exit(0),
            };
            if let Verdict::Deadlock(threads) | Verdict::Livelock(threads) = &verdict
                && let Some(last) = threads.last()
                && debugger::is_there()
                && let Some(fingerprint) = verdict.fingerprint(request)
            {
                debugger::announce_in(*last, fingerprint);
            }
            let steps = steps.to_vec();
            conclusion::end(&verdict, request, Explored { steps, trace: Some(trace), other_ends: has_other_ends() });
        }
        Err(error) => results::note(error.to_string()),
    }
}
