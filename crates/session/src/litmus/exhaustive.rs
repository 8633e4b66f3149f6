//! Everything that a litmus test can do under a model: by the axioms where there are any, otherwise, or if asked for,
//! by trying every choice of the machine.
//!
//! The result does not depend on the number of workers. Without findings that is the nature of the exploration: the
//! same graphs, whoever looks at them. What comes *first*, however, only one worker can tell. So a short look by one
//! worker comes before the work of many (most tests end there), and if many find something, one looks again: until
//! the first finding if that is the end, otherwise until it has met everything that they found.

use super::case::LitmusCase;
use super::collector::{Collector, Stop, Watch};
use super::tally::Tally;
use crate::check::{TRIAL, reason};
use crate::limits::{Budget, LITMUS_LIMITS};
use fencepost_explore::causal::{self, Equivalence};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Options, Races, Stuck, Visitor, explore_parallel};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Limits, Method, Model, ThreadId};
use std::time::{Duration, Instant};

/// So many executions one worker explores before others are called.
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

impl Way {
    /// The one that gives the exact answer in the shortest time.
    pub fn of(model: Model) -> Way {
        if model == Model::Pslo { Way::Machine } else { Way::Axioms }
    }
}

/// Explores everything, as far as the budget goes.
pub fn explore(
    case: &LitmusCase,
    watch: Watch<'_>,
    way: Way,
    budget: Budget,
    jobs: usize,
) -> Result<Tally, ExploreError> {
    match way {
        Way::Machine => Ok(every_choice(case, watch, budget)),
        Way::Axioms => every_graph(case, watch, budget, jobs),
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

fn every_graph(case: &LitmusCase, watch: Watch<'_>, budget: Budget, jobs: usize) -> Result<Tally, ExploreError> {
    // Which executions a limit on their number cuts off is only certain if one worker explores.
    let counted = budget.executions() != u64::MAX;
    let (budget, short) = if jobs > 1 && !counted { (budget, budget.at_most(SHORT_LOOK)) } else { (budget, budget) };
    let first_look = one_worker(case, watch, short)?;
    let out_of_room = first_look.limited && first_look.executions + first_look.blocked >= SHORT_LOOK;
    let found = watch.stop != Stop::Never && !first_look.findings.is_empty();
    if jobs <= 1 || counted || found || !out_of_room || budget.time_is_up() {
        return Ok(first_look);
    }
    let program = case.test.program();
    let parts = explore_parallel(&program, options(watch), jobs, || Collector::new(case, watch, budget))?;
    let mut all = Tally::default();
    parts.into_iter().for_each(|part| all.absorb(part.tally));
    if all.findings.is_empty() {
        return Ok(all);
    }
    if watch.stop != Stop::Never {
        return one_worker(case, watch, budget);
    }
    let known = all.findings.len();
    let mut explorer = Explorer::new(program, options(watch))?;
    let again = explorer.explore(|| UntilKnown { collector: Collector::new(case, watch, budget), known })?;
    for found in again.collector.tally.findings {
        if let Some(known) = all.findings.iter_mut().find(|known| known.key == found.key) {
            (known.first, known.plan) = (found.first, found.plan);
        }
    }
    Ok(all)
}

/// By sources or values read, on one worker.
pub fn by_method(case: &LitmusCase, watch: Watch<'_>, method: Method, budget: Budget) -> Result<Tally, ExploreError> {
    let equivalence = if method == Method::Rf { Equivalence::Sources } else { Equivalence::Values };
    let mut explorer = causal::Explorer::new(case.test.program(), options(watch), equivalence)?;
    let tally = explorer.explore(|| Collector::new(case, watch, budget))?.tally;
    Ok(Tally { method, answers: Some(explorer.effort().answers), ..tally })
}

/// A short trial of execution graphs, then of values, then what is left: the tally says which it was and why.
pub fn trial(case: &LitmusCase, watch: Watch<'_>, budget: Budget, jobs: usize) -> Result<Tally, ExploreError> {
    let begun = Instant::now();
    let graphs = one_worker(case, watch, budget.at_most(TRIAL))?;
    let found = watch.stop != Stop::Never && !graphs.findings.is_empty();
    if !graphs.limited || found || budget.time_is_up() || graphs.executions + graphs.blocked < TRIAL {
        return Ok(graphs);
    }
    let patience = (begun.elapsed() * 8).max(Duration::from_secs(2));
    let values = by_method(case, watch, Method::Causal, budget.no_longer_than(patience));
    if let Ok(values) = values
        && (!values.limited || (watch.stop != Stop::Never && !values.findings.is_empty()))
    {
        return Ok(Tally { reason: Some(reason(Method::Causal)), ..values });
    }
    Ok(Tally { reason: Some(reason(Method::Graph)), ..every_graph(case, watch, budget, jobs)? })
}

fn one_worker(case: &LitmusCase, watch: Watch<'_>, budget: Budget) -> Result<Tally, ExploreError> {
    let mut explorer = Explorer::new(case.test.program(), options(watch))?;
    Ok(explorer.explore(|| Collector::new(case, watch, budget))?.tally)
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
