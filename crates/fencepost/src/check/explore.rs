//! Every execution graph, and one of them again.

use super::config::Config;
use super::failure::Shown;
use super::worker::{self, RunsOn};
use crate::rt::{Context, FaultKind, Program, Settings};
use fencepost_explore::Outlook;
use fencepost_explore::graph::{End, ExploreError, Explorer, Flow, Options, Races, Stuck, Visitor, explore_parallel};
use fencepost_explore::graph::{steps_of, steps_to_end};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{
    EventKind, Failure as Failed, FindingKind, GraphStep, Label, Limits, Model, Outcome, Plan, StrategySpec, ThreadId,
    Trace,
};
use std::cell::Cell;
use std::time::Instant;

/// What came of an exploration.
#[derive(Default)]
pub(super) struct Explored {
    pub(super) executions: u64,
    pub(super) blocked: u64,
    pub(super) complete: bool,
    /// About how many executions are left, if a limit was met.
    pub(super) left: Option<u64>,
    /// Were executions left out for their preemptions?
    pub(super) left_out: bool,
    /// Did the program look at the counts of `Arc`s?
    pub(super) observed: bool,
    /// Was a thread taken to wait in a loop, although nobody looked at what it changes on the heap?
    pub(super) suspects: bool,
    /// The labels, as bits, where it came by twice.
    pub(super) loops: u64,
    pub(super) found: Option<Found>,
}

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) kind: FindingKind,
    pub(super) message: String,
    /// The program points that take part: whose, how many of its events came before, where, what it did.
    pub(super) places: Vec<(ThreadId, u32, Label, &'static str)>,
    pub(super) threads: Vec<Option<String>>,
    pub(super) plan: Plan,
}

impl Found {
    pub(super) fn new(kind: FindingKind, message: String, plan: Plan) -> Found {
        let threads = Program::context().threads.borrow().iter().map(|state| state.name.clone()).collect();
        Found { kind, message, places: Vec::new(), threads, plan }
    }

    /// What `thread` did that ended the execution.
    pub(super) fn of_thread(thread: ThreadId, plan: Plan) -> Found {
        let context = Program::context();
        let fault = context.threads.borrow().get(thread.index()).and_then(|state| state.fault.clone());
        let Some(fault) = fault else {
            return Found::new(FindingKind::Abort, format!("thread {thread} went no further"), plan);
        };
        let kind = match fault.kind {
            FaultKind::Panic => FindingKind::Panic,
            FaultKind::Abort => FindingKind::Abort,
            FaultKind::Race => FindingKind::DataRace,
            FaultKind::Misuse => FindingKind::MutexMisuse,
        };
        let message = match fault.kind {
            FaultKind::Panic | FaultKind::Abort => format!("thread {thread} panicked: {}", fault.message),
            _ => fault.message,
        };
        let mut found = Found::new(kind, message, plan);
        let places = fault.places.into_iter();
        found.places = places.map(|(who, after, at, what)| (who, after, Context::describe(at), what)).collect();
        found
    }

    /// Every thread that is left waits.
    pub(super) fn stuck(kind: FindingKind, threads: &[ThreadId], plan: Plan) -> Found {
        let context = Program::context();
        let states = context.threads.borrow();
        let state = |thread: &ThreadId| states.get(thread.index());
        let unwinding = threads.iter().find_map(|thread| state(thread).and_then(|state| state.panic.clone()));
        let what = if kind == FindingKind::Deadlock { "wait forever" } else { "go around in loops forever" };
        let who = if threads.contains(&ThreadId(0)) {
            "all threads that are left"
        } else {
            "the test has ended, and threads that it has not joined"
        };
        let message = match unwinding {
            None => format!("{who} {what}"),
            Some(panic) => format!("{who} {what}, one of them while it unwinds from a panic: {panic}"),
        };
        let places: Vec<_> = threads.iter().filter_map(|t| state(t).map(|state| (*t, state.at()))).collect();
        drop(states);
        let mut found = Found::new(kind, message, plan);
        found.places = places.into_iter().map(|(t, at)| (t, u32::MAX, Context::describe(at), "waits")).collect();
        found
    }

    /// What is not gone in the end, if anything is.
    pub(super) fn leak(plan: impl FnOnce() -> Plan) -> Option<Found> {
        let context = Program::context();
        let tracked = context.tracked.borrow();
        let (left, (what, at)) = (tracked.left(), tracked.first()?);
        drop(tracked);
        let label = Context::describe(at);
        let others = if left > 1 { format!(", and {} others", left - 1) } else { String::new() };
        let message =
            format!("not gone when all threads have ended: {what} made at {}:{}{others}", label.file, label.line);
        Some(Found::new(FindingKind::Leak, message, plan()))
    }
}

fn options(config: &Config) -> Options {
    Options {
        max_events: config.max_events,
        spurious_failures: config.spurious_failures,
        races: Races::End,
        preemptions: config.preemption_bound,
        ..Options::new(config.model)
    }
}

struct Watch<'a> {
    config: &'a Config,
    started: Instant,
    told: Instant,
    explored: Explored,
    /// Was a limit met?
    limited: bool,
    settings: Settings,
    shared: &'a std::sync::atomic::AtomicU64,
}

impl<'a> Watch<'a> {
    fn new(config: &'a Config, settings: Settings, shared: &'a std::sync::atomic::AtomicU64) -> Watch<'a> {
        let started = Instant::now();
        Watch { config, started, told: started, explored: Explored::default(), limited: false, settings, shared }
    }

    /// Ends the exploration if it has to start over: with an eye on the heap, or with counts of `Arc`s.
    fn goes_on(&mut self) -> Flow {
        let context = Program::context();
        self.explored.suspects = !context.settings.get().watches_heap && context.waits.get();
        self.explored.loops = context.loops.get();
        if context.must_move() || self.explored.suspects || !self.settings.exact_arcs && context.arcs_observed.get() {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn plan(&self, steps: Vec<GraphStep>) -> Plan {
        Plan::new(self.config.model, StrategySpec::Graph { steps, shared: Vec::new() }, Limits::default())
    }

    fn found(&mut self, found: Found) -> Flow {
        self.explored.found = Some(found);
        Flow::Break(())
    }

    /// One more; goes on if no limit says otherwise.
    fn count(&mut self) -> Flow {
        self.explored.executions += 1;
        let all = self.shared.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        if self.config.max_executions.is_some_and(|most| all >= most) {
            self.limited = true;
            return Flow::Break(());
        }
        if self.explored.executions.is_multiple_of(256) {
            return self.look_at_the_clock(all);
        }
        Flow::Continue(())
    }

    fn look_at_the_clock(&mut self, all: u64) -> Flow {
        if self.config.progress.is_some_and(|every| self.told.elapsed() >= every) {
            self.told = Instant::now();
            eprintln!("fencepost: {all} executions in {:.0} s", self.started.elapsed().as_secs_f64());
        }
        if self.config.max_time.is_some_and(|most| self.started.elapsed() >= most) {
            self.limited = true;
            return Flow::Break(());
        }
        Flow::Continue(())
    }
}

impl Visitor<Program> for Watch<'_> {
    fn execution(&mut self, _: &Program, graph: &Graph) -> Flow {
        self.goes_on()?;
        if self.config.leaks
            && let Some(leak) = Found::leak(|| self.plan(steps_of(graph)))
        {
            self.explored.executions += 1;
            return self.found(leak);
        }
        self.count()
    }

    fn stuck(&mut self, _: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        self.goes_on()?;
        let kind = match stuck {
            Stuck::Deadlock(_) => FindingKind::Deadlock,
            Stuck::Livelock(_) => FindingKind::Livelock,
            Stuck::Redundant => {
                self.explored.blocked += 1;
                let all = self.shared.load(std::sync::atomic::Ordering::Relaxed);
                return if self.explored.blocked.is_multiple_of(256) {
                    self.look_at_the_clock(all)
                } else {
                    Flow::Continue(())
                };
            }
            Stuck::Limit => {
                let events = self.config.max_events;
                let message = format!(
                    "an execution has more than {events} events: a loop that never ends, or one that waits and is not \
                     recognised; `Config::max_events` raises the limit"
                );
                let found = Found::new(FindingKind::Livelock, message, self.plan(steps_of(graph)));
                return self.found(found);
            }
        };
        let (Stuck::Deadlock(threads) | Stuck::Livelock(threads)) = stuck else { unreachable!("told above") };
        let context = Program::context();
        if threads.iter().any(|thread| context.threads.borrow().get(thread.index()).is_some_and(|s| s.timed)) {
            // Its time comes: that it has come already is another execution.
            self.explored.blocked += 1;
            return Flow::Continue(());
        }
        self.explored.executions += 1;
        let found = Found::stuck(kind, &threads, self.plan(steps_of(graph)));
        self.found(found)
    }

    fn failed(&mut self, program: &Program, graph: &Graph, thread: ThreadId, failure: Failed) -> Flow {
        self.ended(program, graph, End { thread, failure: Some(failure) }, &[])
    }

    fn ended(&mut self, _: &Program, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        self.goes_on()?;
        self.explored.executions += 1;
        let found = Found::of_thread(end.thread, self.plan(steps_to_end(graph, end.thread, others)));
        self.found(found)
    }

    fn left_out(&mut self) -> Flow {
        self.goes_on()?;
        self.explored.left_out = true;
        self.look_at_the_clock(self.shared.load(std::sync::atomic::Ordering::Relaxed))
    }

    fn race(&mut self, _: &Program, graph: &Graph, first: Node, second: Node) -> Flow {
        self.goes_on()?;
        self.explored.executions += 1;
        let message = "two threads access the same atomic, one of them as if it were alone, and nothing orders them";
        let mut found = Found::new(FindingKind::DataRace, message.to_owned(), self.plan(steps_of(graph)));
        let place = |node: Node| {
            let data = graph.node(node);
            (data.thread, u32::MAX, Context::describe(data.label), "accesses it")
        };
        found.places = vec![place(first), place(second)];
        self.found(found)
    }
}

thread_local! {
    /// The exploration of the last check on this kernel thread: most checks are so short that the memory of an
    /// exploration takes a good part of their time.
    static KEPT: Cell<Option<Explorer<Program>>> = const { Cell::new(None) };
}

/// An exploration that has needed more graphs than this is not kept.
const FEW_GRAPHS: usize = 256;

fn explorer_of(program: Program, options: Options) -> Result<Explorer<Program>, ExploreError> {
    match KEPT.take() {
        Some(mut kept) => {
            kept.renew(program, options);
            Ok(kept)
        }
        None => Explorer::new(program, options),
    }
}

fn keep(mut explorer: Explorer<Program>) {
    if explorer.graphs() <= FEW_GRAPHS {
        // What the test has captured goes now.
        let options = Options::new(Model::C11);
        explorer.renew(Program::none(), options);
        KEPT.set(Some(explorer));
    }
}

/// Explores everything that `config` permits.
pub(super) fn explore(config: &Config, program: &Program, runs_on: &mut RunsOn) -> Result<Explored, String> {
    let (own_config, own_program) = (config.clone(), program.clone());
    let watches = worker::run(runs_on, move || {
        let (config, program) = (&own_config, own_program.clone());
        let settings = program.settings();
        let count = std::sync::atomic::AtomicU64::new(0);
        if config.jobs > 1 {
            // On threads that are there for this alone.
            let begin = || {
                Program::context().is_expendable.set(true);
                Watch::new(config, settings, &count)
            };
            return explore_parallel(&program, options(config), config.jobs, begin)
                .map(|watches| watches.into_iter().map(|w| (w.explored, w.limited)).collect());
        }
        let mut explorer = explorer_of(program, options(config))?;
        let is_limited = config.max_executions.is_some() || config.max_time.is_some();
        let mut outlook = Outlook::default();
        let begin = || {
            count.store(0, std::sync::atomic::Ordering::Relaxed);
            Watch::new(config, settings, &count)
        };
        let watch = explorer.explore_with(begin, |explorer| {
            if is_limited {
                outlook.note(explorer.alternatives(), count.load(std::sync::atomic::Ordering::Relaxed));
            }
            // Not every execution is told of.
            if Program::context().must_move() { Flow::Break(()) } else { Flow::Continue(()) }
        });
        keep(explorer);
        let observed = Program::context().arcs_observed.get();
        if observed && !settings.exact_arcs {
            // Who is the last to drop an `Arc` was not part of the model: what came of it does not count.
            return Ok(vec![(Explored { observed, ..Explored::default() }, false)]);
        }
        let watch = watch?;
        let left = watch.limited.then(|| outlook.left());
        Ok(vec![(Explored { observed, left, ..watch.explored }, watch.limited)])
    });
    let watches: Vec<(Explored, bool)> = watches.map_err(|error: ExploreError| describe(&error))?;
    let mut all = Explored { complete: true, ..Explored::default() };
    for (explored, limited) in watches {
        all.executions += explored.executions;
        all.blocked += explored.blocked;
        all.observed |= explored.observed;
        all.suspects |= explored.suspects;
        all.loops |= explored.loops;
        all.complete &= !limited;
        all.left = all.left.or(explored.left);
        all.left_out |= explored.left_out;
        all.found = all.found.or(explored.found);
    }
    Ok(all)
}

pub(super) fn describe(error: &ExploreError) -> String {
    match error {
        ExploreError::Nondeterministic(thread) => format!(
            "the test is not deterministic: thread {thread} took another path although it read the same values. \
             Clocks, \
             random numbers, the order of a HashMap, real threads and state that one execution leaves to the next do \
             that"
        ),
        other => other.to_string(),
    }
}

/// Runs one execution again: as it is shown, and what was found.
pub(super) fn again(config: &Config, program: &Program, plan: &Plan) -> (Option<Shown>, Option<Found>) {
    let (config, mut program, mut plan) = (config.clone(), program.clone(), plan.clone());
    worker::run_apart(move || {
        plan.limits.max_steps = plan.limits.max_steps.max(config.max_events as u64 * 8);
        let is_graph = matches!(plan.strategy, StrategySpec::Graph { .. });
        if !is_graph {
            return super::sample::again(&config, &program, &plan);
        }
        let Ok(executed) = fencepost_explore::execute(&mut program, &plan) else { return (None, None) };
        let found = judge(&config, &executed.trace, !executed.races.is_empty(), &plan);
        (Some(Shown::new(executed.trace, executed.races, is_graph, found.as_ref())), found)
    })
}

/// What was found in an execution, with the program where that execution left it.
pub(super) fn judge(config: &Config, trace: &Trace, races: bool, plan: &Plan) -> Option<Found> {
    if races {
        let message = "two threads access the same atomic, one of them as if it were alone, and nothing orders them";
        return Some(Found::new(FindingKind::DataRace, message.to_owned(), plan.clone()));
    }
    match &trace.outcome {
        Outcome::Failed { thread, .. } => Some(Found::of_thread(*thread, plan.clone())),
        Outcome::Deadlock { blocked } => Some(Found::stuck(FindingKind::Deadlock, blocked, plan.clone())),
        Outcome::Livelock { spinning } => Some(Found::stuck(FindingKind::Livelock, spinning, plan.clone())),
        Outcome::Finished if config.leaks => Found::leak(|| plan.clone()),
        _ => None,
    }
}

/// How many events of a thread in a graph a trace's event stands for: both halves of an RMW are one there.
pub(super) fn weight(kind: &EventKind, graph: bool) -> u32 {
    if graph && matches!(kind, EventKind::Rmw { .. }) { 2 } else { 1 }
}
