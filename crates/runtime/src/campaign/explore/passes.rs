//! One pass after the other, until no more memory turns out to be shared.

use super::program::{Program, has_other_ends, take_verdict};
use super::safety::{self, Safety};
use super::saved::{self, Left};
use super::visitor::Report;
use super::workers::{RUNS_ALONE, Shares, exploring, fork, hand_over, join_children, leave};
use super::{STATE, State, common, races, request, shared, state, unseen, unsupported};
use crate::campaign::conclusion::{self, Explored};
use crate::campaign::hunt;
use crate::drive::ending::{self, RUNS, Verdict};
use crate::drive::{debugger, explored, restart};
use crate::hooks::rust_std;
use crate::platform::{global, sys};
use crate::results;
use fencepost_explore::Outlook;
use fencepost_explore::causal::{self, Equivalence, Memoised};
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Halt, Options, Races, Task, replay_steps};
use fencepost_mailbox::{Record, Request, Rhythm, limit};
use fencepost_trace::{Answers, CampaignSpec, GraphStep, Method, Model, Outcome, StrategySpec, ThreadId};
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering::Relaxed;

/// Why an exploration stops that the clock has caught.
const TOO_LONG: &str = "one execution took longer than it may (--timeout), and the exploration was stopped";

/// Why one stops of which a process is missing.
const DEATH: &str = "a process of the exploration has died, and the exploration was stopped";

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
        turns: 0,
        open: false,
        children: Vec::new(),
        is_child: false,
        next_fork: RUNS_ALONE,
        outlook: Outlook::default(),
        told: (0, 0),
        rhythm: Rhythm::new(sys::monotonic()),
        saved_log: 0,
    });
    unseen::be_strict(!request.watch.is_empty());
    // Who asks about c11 wants its races, too, and its volatile accesses.
    global::set_exploring(true, request.model == Model::C11 || request.watch.contains(&Model::C11));
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
            let mut left = saved::load(request);
            let mut jobs = *jobs;
            while !pass(request, jobs, left.take()) {
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

/// Explores by the method that is asked for, from where somebody else has left it, if so: what is left in the end, and
/// how many questions were answered, and how.
fn explore(
    request: &Request,
    options: Options,
    jobs: u32,
    left: Option<Left>,
) -> Result<(Left, Option<Answers>), ExploreError> {
    let program = Program { abandoned: false };
    let is_resumed = left.is_some();
    let (equivalence, remember) = match request.campaign {
        CampaignSpec::Explore { method: Method::Rf, remember, .. } => (Equivalence::Sources, remember),
        CampaignSpec::Explore { method: Method::Causal, remember, .. } => (Equivalence::Values, remember),
        _ => {
            let tasks = match left {
                Some(Left::Graphs(tasks)) => tasks,
                Some(_) => Vec::new(),
                None => vec![Task::root()],
            };
            return graphs(Explorer::new(program, options)?, tasks, jobs, is_resumed).map(|tasks| (tasks, None));
        }
    };
    let program = Memoised::new(program);
    let mut explorer = causal::Explorer::new(program, options, equivalence)?.remembering(remember);
    let fit = |left: &Option<Left>| !matches!(left, Some(Left::Reads(saved)) if !common::fit(saved.states()));
    let jobs = if jobs > 1 && fit(&left) && common::is_there() { jobs } else { 1 };
    if jobs > 1 {
        explorer.register_in(Box::new(common::Names(0)), Box::new(common::Names(1)));
        // They may have names of an exploration before this one.
        explorer.forget_states();
    }
    match left {
        Some(Left::Reads(saved)) => explorer.restore(*saved),
        Some(_) => {}
        None => explorer.open_all(),
    }
    reads(explorer, jobs, is_resumed)
}

/// By execution graphs.
fn graphs(
    mut explorer: Explorer<Program>,
    mut tasks: Vec<Task>,
    jobs: u32,
    is_resumed: bool,
) -> Result<Left, ExploreError> {
    let mut goes_on = is_resumed;
    loop {
        // Only what begins anew begins with nothing.
        let begin = || if std::mem::take(&mut goes_on) { Report } else { start_over() };
        let between = |explorer: &mut Explorer<Program>| {
            safety::follow(explorer);
            between(explorer, jobs)
        };
        explorer.explore_from(tasks, begin, between)?;
        if hand_over(&mut explorer) || shared::has_more() {
            return Ok(Left::Graphs(Vec::new()));
        }
        exploring().saving.store(request().save.is_some().into(), Relaxed);
        tasks = explorer.left();
        join_children();
        common::take_handed(|handed| match serde_json::from_slice::<Vec<Task>>(handed) {
            Ok(more) => tasks.extend(more),
            Err(_) => unsupported(UNREADABLE),
        });
        if !is_paused() {
            return Ok(Left::Graphs(tasks));
        }
        let _ = saved::save(Left::Graphs(tasks.clone()));
        exploring().saving.store(0, Relaxed);
        goes_on = true;
    }
}

const UNREADABLE: &str = "what a process of the exploration has left could not be read";

/// By what is read.
fn reads(
    mut explorer: causal::Explorer<Memoised<Program>>,
    mut jobs: u32,
    is_resumed: bool,
) -> Result<(Left, Option<Answers>), ExploreError> {
    let mut report = if is_resumed { Report } else { start_over() };
    loop {
        let halt = explorer.explore_on(&mut report, |explorer| between(explorer, jobs))?;
        if halt == Halt::Anew {
            report = start_over();
            // Others have taken note of states until they were stopped.
            explorer.forget_states();
            continue;
        }
        if hand_over(&mut explorer) || shared::has_more() {
            break;
        }
        exploring().saving.store(request().save.is_some().into(), Relaxed);
        join_children();
        common::take_handed(|handed| match serde_json::from_slice(handed) {
            Ok(part) => explorer.absorb(part),
            Err(_) => unsupported(UNREADABLE),
        });
        if common::is_full() {
            // From here on one process goes on, with registers of its own.
            explorer.register_in(Box::<FxHashSet<u128>>::default(), Box::<FxHashSet<u128>>::default());
            jobs = 1;
        }
        let is_paused = is_paused();
        // What others have learnt may have opened states again.
        if !is_paused && (explorer.alternatives() == 0 || exploring().stop.load(Relaxed) != 0) {
            break;
        }
        if is_paused {
            let _ = saved::save(Left::Reads(Box::new(explorer.save())));
        }
        exploring().saving.store(0, Relaxed);
    }
    let answers = Some(explorer.effort());
    let is_over = explorer.alternatives() == 0 || request().save.is_none() || state().is_child;
    Ok((if is_over { Left::Nothing(answers) } else { Left::Reads(Box::new(explorer.save())) }, answers))
}

/// Have all stopped so that it can be saved? Then they go on.
fn is_paused() -> bool {
    let is_paused = exploring().pause.swap(0, Relaxed) != 0;
    state().next_fork = RUNS.load(Relaxed) + 1;
    is_paused && exploring().stop.load(Relaxed) == 0 && exploring().again.load(Relaxed) == 0
}

/// Explores all, unless something shows up with which it has to start over: then it says so.
fn pass(request: &Request, jobs: u32, left: Option<Left>) -> bool {
    let max_events = request.max_steps as usize;
    let rounds = request.hunt.as_ref().map_or(0, |hunt| hunt.rounds);
    let usual = Options::new(request.model);
    let drains = usual.drains && !request.watch.contains(&Model::C11);
    let options = Options { max_events, races: Races::Ignore, rounds, drains, ..usual };
    let explored = match left {
        Some(Left::Nothing(answers)) => Ok((Left::Nothing(answers), answers)),
        left => explore(request, options, jobs, left),
    };
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
    let reached = exploring().limit.load(Relaxed);
    let has_found = || results::header().is_some_and(|header| header.table.slots().count() > 0);
    if executions == 0 && reached == limit::NONE && !has_found() {
        // Every program has an execution that comes to its end, or one that shows why not.
        unsupported("no execution came to its end");
    }
    let (left, answers) = explored.unwrap_or((Left::Nothing(None), None));
    // Whatever ends it but a limit ends it for good.
    if let Err(error) = saved::save(if reached == limit::NONE { Left::Nothing(answers) } else { left }) {
        results::note(format!("this run cannot be resumed from here: it could not be saved (error {error})"));
    }
    match reached {
        limit::NONE => {}
        limit::TIME => unsupported("the limit of time was reached"),
        limit::EXECUTIONS => unsupported("the limit of executions was reached"),
        limit::TOO_LONG => unsupported(TOO_LONG),
        limit::DEATH => unsupported(DEATH),
        // The host says who.
        _ => exploring().cut.store(1, Relaxed),
    }
    let why = results::take_incomplete();
    why.iter().for_each(|why| results::note(why.clone()));
    let exploring = exploring();
    let complete = exploring.cut.load(Relaxed) == 0 && why.is_none();
    results::log(&Record::Explored { complete, executions, blocked, answers });
    true
}

/// The exploration begins, perhaps not for the first time.
fn start_over() -> Report {
    let exploring = exploring();
    if state().is_child {
        exploring.again.store(1, Relaxed);
        exploring.stop.store(1, Relaxed);
        leave();
    }
    exploring.stop.store(1, Relaxed);
    join_children();
    common::take_handed(|_| {});
    for flag in
        [&exploring.lock, &exploring.stop, &exploring.pause, &exploring.saving, &exploring.cut, &exploring.again]
    {
        flag.store(0, Relaxed);
    }
    match exploring.limit.load(Relaxed) {
        limit::WISH => exploring.stop.store(1, Relaxed),
        _ => exploring.limit.store(limit::NONE, Relaxed),
    }
    for count in [&exploring.executions, &exploring.blocked, &exploring.numbers] {
        count.store(0, Relaxed);
    }
    exploring.workers.store(1, Relaxed);
    results::forget();
    hunt::start_over();
    safety::begin();
    races::begin();
    let mut state = state();
    drop(results::take_incomplete());
    state.next_fork = RUNS.load(Relaxed) + RUNS_ALONE;
    Report
}

/// After every run: is it time to stop, to save, or to share the work?
fn between(explorer: &mut impl Shares, jobs: u32) -> Flow {
    is_time_to_stop()?;
    let exploring = exploring();
    if common::is_full() {
        exploring.pause.store(1, Relaxed);
    }
    if exploring.pause.load(Relaxed) != 0 {
        return Flow::Break(());
    }
    tell_outlook(explorer.open(), exploring.executions.load(Relaxed) + exploring.blocked.load(Relaxed));
    let turns = state().turns;
    if turns.is_multiple_of(8) && saved::is_due() {
        if !state().children.is_empty() {
            exploring.pause.store(1, Relaxed);
            return Flow::Break(());
        }
        exploring.saving.store(1, Relaxed);
        let _ = saved::save(explorer.left_over());
        exploring.saving.store(0, Relaxed);
    }
    if jobs > 1
        && !restart::stays_alone()
        && RUNS.load(Relaxed) >= state().next_fork
        && exploring.workers.load(Relaxed) < jobs
        && explorer.open() > 1
        && common::is_there()
    {
        fork(explorer, jobs);
    }
    Flow::Continue(())
}

/// Says how much is left, for the host: each process adds its part.
pub(super) fn tell_outlook(open: usize, done: u64) {
    let mut state = state();
    state.outlook.note(open, done);
    let now = (state.outlook.open(), state.outlook.left());
    let before = std::mem::replace(&mut state.told, now);
    drop(state);
    exploring().open.fetch_add(now.0.wrapping_sub(before.0), Relaxed);
    exploring().left.fetch_add(now.1.wrapping_sub(before.1), Relaxed);
}

/// After every run: is it time to stop?
fn is_time_to_stop() -> Flow {
    let exploring = exploring();
    let turns = {
        let mut state = state();
        state.turns += 1;
        state.turns
    };
    if exploring.stop.load(Relaxed) != 0 {
        return Flow::Break(());
    }
    if ending::take_late() {
        return reach(limit::TOO_LONG);
    }
    if shared::has_more() {
        exploring.stop.store(1, Relaxed);
        return Flow::Break(());
    }
    if let CampaignSpec::Explore { deadline: Some(deadline), .. } = request().campaign
        && (turns.is_multiple_of(16) || state().cut_off > 0)
        && sys::monotonic() >= deadline
    {
        return reach(limit::TIME);
    }
    Flow::Continue(())
}

/// A limit is reached: all stop, and what is left is left for later.
pub(super) fn reach(which: u32) -> Flow {
    exploring().limit.fetch_max(which, Relaxed);
    exploring().stop.store(1, Relaxed);
    Flow::Break(())
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
