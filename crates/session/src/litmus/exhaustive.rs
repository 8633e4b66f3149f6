//! Everything that a litmus test can do under a model: by the axioms where there are any, otherwise, or if asked for,
//! by trying every choice of the machine.
//!
//! The result does not depend on the number of workers. Without findings that is the nature of the exploration: the
//! same executions, whoever looks at them. What comes *first*, however, only one worker can tell. So one worker begins,
//! and others join it later (most tests end before that); if many find something, one looks again: until the first
//! finding if that is the end, otherwise until it has met everything that they found.
//!
//! The work is done in phases. Between two of them nobody works, and what was met and what is left is a value that
//! can be saved ([`Paused`]): an exploration that was ended by a limit, by a signal or by force goes on from there.

use super::case::LitmusCase;
use super::collector::{Collector, Stop, Watch};
use super::tally::Tally;
use crate::check::{TRIAL, reason};
use crate::limits::{Budget, LITMUS_LIMITS};
use crate::saving::Saving;
use fencepost_explore::causal::{self, Equivalence, Team};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{
    ExploreError, Explorer, Flow, Halt, Options, Races, Stuck, Task, Visitor, explore_phase,
};
use fencepost_litmus::LitmusProgram;
use fencepost_mailbox::Status;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, FindingKind, Limits, Method, ThreadId};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// So many executions one worker explores before others join it.
const SHORT_LOOK: u64 = 20_000;

/// So many executions of a machine are tried if the user sets no limit: some 30 seconds.
const MOST_CHOICES: u64 = 5_000_000;

/// An execution of a machine that takes so many steps is taken to be in a loop.
const LONG: u64 = 1_000;

/// Of a test that has endless executions, so many steps are tried with each bound on their length: less than a second.
const MOST_STEPS: u64 = 2_000_000;

/// If no execution ends within so many steps, none is expected to.
const HOPELESS: u64 = 64;

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Every execution graph that the axioms permit, once.
    Axioms,
    /// Every choice of the machine.
    Machine,
}

/// Explores everything, as far as the budget goes.
pub fn explore(
    case: &LitmusCase,
    watch: Watch<'_>,
    way: Way,
    budget: Budget,
    jobs: usize,
) -> Result<Tally, ExploreError> {
    explore_on(case, watch, way, &Pace::new(budget, None, jobs), None)
}

/// The same, saved on the way, and from where it was saved. Choices of a machine are no values: they begin anew.
pub fn explore_on(
    case: &LitmusCase,
    watch: Watch<'_>,
    way: Way,
    pace: &Pace<'_>,
    paused: Option<Paused>,
) -> Result<Tally, ExploreError> {
    match paused {
        Some(Paused { left: Left::Nothing, tally, .. }) => Ok(tally),
        Some(paused) if way == Way::Axioms => every_graph(case, watch, pace, paused),
        None if way == Way::Axioms => every_graph(case, watch, pace, Paused::default()),
        _ => {
            let mut tally = every_choice(case, watch, pace.budget);
            let limited = tally.limited;
            tally.limit(limited);
            Ok(conclude(watch, pace, tally))
        }
    }
}

/// Every choice of the machine. Without a limit of the user's there are ours: a machine has no notion of a loop
/// without effect, so that a test that waits in a loop has executions without end.
fn every_choice(case: &LitmusCase, watch: Watch<'_>, budget: Budget) -> Tally {
    if watch.limits != LITMUS_LIMITS {
        return choices(case, watch, budget, false).tally;
    }
    let capped = if budget.executions() == u64::MAX { budget.at_most(MOST_CHOICES) } else { budget };
    let steps = |max_steps| Watch { limits: Limits { max_steps }, ..watch };
    let all = choices(case, steps(LONG), capped, true);
    if all.tally.blocked == 0 {
        return all.tally;
    }
    deepen(case, steps, capped)
}

/// All executions up to a length, then up to twice that, until it takes too long: the last that was complete.
fn deepen<'a>(case: &LitmusCase, steps: impl Fn(u64) -> Watch<'a>, budget: Budget) -> Tally {
    let mut best = Tally::default();
    let mut length = 8;
    loop {
        let pass = choices(case, steps(length), budget.at_most(MOST_STEPS / length), false);
        if pass.spent {
            best.limited = true;
            return best;
        }
        // What does not end by then for any choice will not end at all.
        let hopeless = pass.tally.executions == 0 && length >= HOPELESS;
        let ended = pass.stopped || pass.tally.blocked == 0 || hopeless;
        best = pass.tally;
        if ended {
            return best;
        }
        length *= 2;
    }
}

struct Choices {
    tally: Tally,
    /// Did the budget end it?
    spent: bool,
    /// Did a finding end it?
    stopped: bool,
}

fn choices(case: &LitmusCase, watch: Watch<'_>, budget: Budget, only_short: bool) -> Choices {
    let mut collector = Collector::new(case, watch, budget.of_time_only());
    let mut program = case.test.program();
    let (mut spent, mut stopped) = (false, false);
    enumerate(&mut program, watch.model, watch.buffer, watch.limits, u64::MAX, |program, executed| {
        if budget.is_spent(collector.tally.executions + collector.tally.blocked) {
            spent = true;
            collector.tally.limited = true;
            return Flow::Break(());
        }
        let flow = collector.machine(program, executed);
        stopped = flow.is_break();
        if only_short && collector.tally.blocked > 0 { Flow::Break(()) } else { flow }
    });
    Choices { tally: collector.tally, spent, stopped }
}

/// An exploration between two phases.
#[derive(Default, Serialize, Deserialize)]
pub struct Paused {
    /// What was met.
    tally: Tally,
    /// Did several workers meet it?
    shared: bool,
    /// What is left.
    left: Left,
    /// How long values are to be tried before graphs go on, if they are, in milliseconds.
    trial: Option<u64>,
}

/// What is left of an exploration.
#[derive(Serialize, Deserialize)]
enum Left {
    Graphs(Vec<Task>),
    Reads(Box<causal::Saved>),
    /// Nothing: the tally is the result.
    Nothing,
}

impl Default for Left {
    fn default() -> Left {
        Left::Graphs(vec![Task::root()])
    }
}

/// How one exploration is cut into phases.
pub struct Pace<'a> {
    pub budget: Budget,
    /// Where it is saved, if it is.
    pub saving: Option<&'a Saving>,
    pub jobs: usize,
    /// How many executions were counted, and how often somebody asked.
    pub count: AtomicU64,
    asked: AtomicU64,
}

impl<'a> Pace<'a> {
    pub fn new(budget: Budget, saving: Option<&'a Saving>, jobs: usize) -> Pace<'a> {
        // Which executions a limit on their number cuts off is only certain if one worker explores.
        let jobs = if budget.executions() == u64::MAX { jobs } else { 1 };
        Pace { budget, saving, jobs, count: AtomicU64::new(0), asked: AtomicU64::new(0) }
    }

    /// How many workers explore after so many executions, and after how many they are others.
    pub fn workers(&self, done: u64) -> (usize, u64) {
        match self.budget.executions() {
            u64::MAX if self.jobs > 1 && done < SHORT_LOOK => (1, SHORT_LOOK),
            most => (self.jobs, most),
        }
    }

    /// Is the phase to end that ends after so many executions? Asked after every run; the clock is looked at once in a
    /// while.
    pub fn is_over(&self, most: u64) -> bool {
        self.count.load(Ordering::Relaxed) >= most
            || self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(16)
                && (self.budget.time_is_up() || self.saving.is_some_and(Saving::is_due))
    }
}

/// Has something been found that ends it?
fn is_enough(watch: Watch<'_>, tally: &Tally) -> bool {
    match watch.stop {
        Stop::Never => false,
        Stop::AtRace => tally.findings.iter().any(|found| found.key.kind == FindingKind::DataRace),
        Stop::AtFinding => !tally.findings.is_empty(),
    }
}

fn counted(tally: &Tally) -> u64 {
    tally.executions + tally.blocked
}

/// Saves, if somebody wants that.
fn save(pace: &Pace<'_>, over: bool, paused: &Paused) {
    let Tally { executions, blocked, .. } = paused.tally;
    pace.saving.inspect(|saving| saving.save(Status { over, executions, blocked }, paused));
}

fn every_graph(case: &LitmusCase, watch: Watch<'_>, pace: &Pace<'_>, paused: Paused) -> Result<Tally, ExploreError> {
    let paused = graphs(case, watch, pace, paused, u64::MAX)?;
    let Paused { tally: mut all, shared, .. } = paused;
    if shared && !all.findings.is_empty() && !pace.budget.time_is_up() {
        // Which of them comes first one worker tells.
        if watch.stop != Stop::Never {
            let alone = Pace::new(pace.budget, None, 1);
            let alone = graphs(case, watch, &alone, Paused::default(), u64::MAX)?.tally;
            all = if alone.findings.is_empty() { all } else { alone };
        } else {
            let known = all.findings.len();
            let mut explorer = Explorer::new(case.test.program(), options(watch))?;
            let again =
                explorer.explore(|| UntilKnown { collector: Collector::new(case, watch, pace.budget), known })?;
            for found in again.collector.tally.findings {
                if let Some(known) = all.findings.iter_mut().find(|known| known.key == found.key) {
                    (known.first, known.plan) = (found.first, found.plan);
                }
            }
        }
    }
    Ok(conclude(watch, pace, all))
}

/// An exploration that has come to its end is saved as its result.
fn conclude(watch: Watch<'_>, pace: &Pace<'_>, tally: Tally) -> Tally {
    if pace.saving.is_none() || tally.limited_by_budget && !is_enough(watch, &tally) {
        return tally;
    }
    let paused = Paused { tally, left: Left::Nothing, ..Paused::default() };
    save(pace, true, &paused);
    paused.tally
}

/// Goes on until all graphs, or so many, were met, or the budget is spent.
fn graphs(
    case: &LitmusCase,
    watch: Watch<'_>,
    pace: &Pace<'_>,
    mut paused: Paused,
    enough: u64,
) -> Result<Paused, ExploreError> {
    let Left::Graphs(mut left) = std::mem::replace(&mut paused.left, Left::Nothing) else { return Ok(paused) };
    let program = case.test.program();
    while !left.is_empty() && !is_enough(watch, &paused.tally) {
        let done = counted(&paused.tally);
        let (workers, most) = pace.workers(done);
        if done >= pace.budget.executions() {
            paused.tally.limit(is_more(case, watch, left.clone())?);
            break;
        }
        if done >= enough || pace.budget.time_is_up() {
            paused.tally.limit(done < enough);
            break;
        }
        pace.count.store(done, Ordering::Relaxed);
        let begin = || Collector::phase(case, watch, done, &pace.count);
        let pause = || pace.is_over(most.min(enough));
        let phase = explore_phase(&program, options(watch), workers, left, begin, pause)?;
        left = phase.left;
        if phase.halt == Halt::Anew {
            (paused.tally, paused.shared) = (Tally::default(), false);
            continue;
        }
        paused.shared |= workers > 1;
        phase.visitors.into_iter().for_each(|part| paused.tally.absorb(part.tally));
        paused.left = Left::Graphs(left);
        save(pace, false, &paused);
        let Left::Graphs(again) = std::mem::replace(&mut paused.left, Left::Nothing) else { unreachable!("just put") };
        left = again;
    }
    paused.left = Left::Graphs(left);
    Ok(paused)
}

/// Is there an execution among these?
fn is_more(case: &LitmusCase, watch: Watch<'_>, left: Vec<Task>) -> Result<bool, ExploreError> {
    let none = Budget::new(Some(0), None);
    let mut explorer = Explorer::new(case.test.program(), options(watch))?;
    let met = explorer.explore_from(left, || Collector::new(case, watch, none), |_| Flow::Continue(()))?;
    Ok(met.tally.limited)
}

/// By sources or values read.
pub fn by_method(
    case: &LitmusCase,
    watch: Watch<'_>,
    method: Method,
    pace: &Pace<'_>,
    paused: Option<Paused>,
) -> Result<Tally, ExploreError> {
    let equivalence = if method == Method::Rf { Equivalence::Sources } else { Equivalence::Values };
    let team = |jobs| Team::new(&case.test.program(), options(watch), equivalence, jobs);
    let mut working = team(1)?;
    let (mut tally, mut shared) = (Tally { method, ..Tally::default() }, false);
    let mut is_over = false;
    if let Some(paused) = paused {
        (tally, shared) = (paused.tally, paused.shared);
        match paused.left {
            Left::Reads(saved) => working.restore(*saved),
            Left::Nothing => is_over = true,
            Left::Graphs(_) => {}
        }
    }
    let mut jobs = 1;
    while !is_over && !is_enough(watch, &tally) {
        let done = counted(&tally);
        let (workers, most) = pace.workers(done);
        if done >= pace.budget.executions() {
            let none = Budget::new(Some(0), None);
            let (met, _) = working.explore_phase(|| Collector::new(case, watch, none), || false)?;
            tally.limit(met.iter().any(|met| met.tally.limited));
            break;
        }
        if pace.budget.time_is_up() {
            tally.limit(true);
            break;
        }
        if workers != jobs {
            let saved = working.save();
            (working, jobs) = (team(workers)?, workers);
            working.restore(saved);
        }
        pace.count.store(done, Ordering::Relaxed);
        let begin = || Collector::phase(case, watch, done, &pace.count);
        let (met, halt) = working.explore_phase(begin, || pace.is_over(most))?;
        if halt == Halt::Anew {
            (tally, shared) = (Tally { method, ..Tally::default() }, false);
            continue;
        }
        shared |= workers > 1;
        met.into_iter().for_each(|part| tally.absorb(part.tally));
        tally.answers = Some(working.effort().answers);
        is_over = halt == Halt::Done;
        if pace.saving.is_some() && !is_over {
            let left = Left::Reads(Box::new(working.save()));
            let paused = Paused { tally, shared, left, trial: None };
            save(pace, false, &paused);
            tally = paused.tally;
        }
    }
    if shared && !tally.findings.is_empty() && !pace.budget.time_is_up() {
        let known = tally.findings.len();
        let mut alone = causal::Explorer::new(case.test.program(), options(watch), equivalence)?;
        let again = alone.explore(|| UntilKnown { collector: Collector::new(case, watch, pace.budget), known })?;
        if watch.stop != Stop::Never && !again.collector.tally.findings.is_empty() {
            let answers = Some(alone.effort().answers);
            tally = Tally { method, answers, ..again.collector.tally };
        } else {
            for found in again.collector.tally.findings {
                if let Some(known) = tally.findings.iter_mut().find(|known| known.key == found.key) {
                    (known.first, known.plan) = (found.first, found.plan);
                }
            }
        }
    }
    Ok(conclude(watch, pace, tally))
}

/// A short trial of execution graphs, then of values, then what is left: the tally says which it was and why.
pub fn trial(
    case: &LitmusCase,
    watch: Watch<'_>,
    pace: &Pace<'_>,
    paused: Option<Paused>,
) -> Result<Tally, ExploreError> {
    let begun = Instant::now();
    let alone = Pace::new(pace.budget, pace.saving, 1);
    let mut paused = match paused {
        Some(paused) => paused,
        None => Paused { trial: Some(0), ..Paused::default() },
    };
    if let Left::Nothing = paused.left {
        return Ok(paused.tally);
    }
    if paused.trial == Some(0) {
        paused = graphs(case, watch, &alone, paused, TRIAL)?;
        let is_over = matches!(&paused.left, Left::Graphs(left) if left.is_empty());
        if is_over || is_enough(watch, &paused.tally) || paused.tally.limited_by_budget {
            return Ok(conclude(watch, pace, paused.tally));
        }
        let patience = (begun.elapsed() * 8).max(Duration::from_secs(2));
        paused.trial = Some(patience.as_millis() as u64);
        save(pace, false, &paused);
    }
    if let Some(patience) = paused.trial.take() {
        let budget = pace.budget.no_longer_than(Duration::from_millis(patience));
        let values = by_method(case, watch, Method::Causal, &Pace::new(budget, None, 1), None);
        if let Ok(values) = values
            && (!values.limited || is_enough(watch, &values))
        {
            let reason = Some(reason(Method::Causal));
            return Ok(conclude(watch, pace, Tally { reason, ..values }));
        }
        paused.tally.reason = Some(reason(Method::Graph));
    }
    let chosen = paused.tally.reason.clone();
    Ok(Tally { reason: chosen, ..every_graph(case, watch, pace, paused)? })
}

/// What the explorer is to do.
pub fn options(watch: Watch<'_>) -> Options {
    let max_events = usize::try_from(watch.limits.max_steps).unwrap_or(usize::MAX);
    // Whoever wants to hear of everything hears of all races, not of the first in each execution.
    let races = if watch.stop == Stop::Never { Races::All } else { Races::End };
    Options { max_events, races, ..Options::new(watch.model) }
}

/// Ends when so many different findings are there.
struct UntilKnown<'a> {
    collector: Collector<'a>,
    known: usize,
}

impl UntilKnown<'_> {
    fn unless_done(&self, flow: Flow) -> Flow {
        if self.collector.tally.findings.len() >= self.known { Flow::Break(()) } else { flow }
    }
}

impl Visitor<LitmusProgram> for UntilKnown<'_> {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        let flow = self.collector.execution(program, graph);
        self.unless_done(flow)
    }
    fn stuck(&mut self, program: &LitmusProgram, graph: &Graph, stuck: Stuck) -> Flow {
        let flow = self.collector.stuck(program, graph, stuck);
        self.unless_done(flow)
    }
    fn failed(&mut self, program: &LitmusProgram, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        let flow = self.collector.failed(program, graph, thread, failure);
        self.unless_done(flow)
    }
    fn race(&mut self, program: &LitmusProgram, graph: &Graph, first: Node, second: Node) -> Flow {
        let flow = Visitor::race(&mut self.collector, program, graph, first, second);
        self.unless_done(flow)
    }
    fn races(&mut self, program: &LitmusProgram, graph: &Graph, pairs: &[(Node, Node)]) -> Flow {
        let flow = self.collector.races(program, graph, pairs);
        self.unless_done(flow)
    }
}
