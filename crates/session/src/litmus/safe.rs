//! Memory-model safety of a litmus test.
//!
//! Every SC execution is explored, and each is judged. Of a test that is unsafe the fewest orderings are looked for
//! that make it safe, each set of them judged in the same way. Of a test that is safe, fences and seq_cst operations
//! are made weaker, one after the other.

use super::altered::{Altered, Change};
use super::case::{LitmusCase, State};
use super::collector::{Stop, Watch, label_of_node, steps};
use super::exhaustive::{Pace, Way, explore};
use crate::limits::Budget;
use crate::orderings::{WEAKER_FENCES, advice, fewest, spare, spared, weakest};
use crate::progress::Progress;
use crate::saving::Saving;
use fencepost_engine::Threads;
use fencepost_explore::graph::{
    self, Borderline, ExploreError, Explorer, Flow, Halt, Judge, Options, Races, Stuck, Visitor, all_races,
    explore_phase,
};
use fencepost_litmus::LitmusProgram;
use fencepost_mailbox::Status;
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_report::{Describe, Safety};
use fencepost_trace::{
    Access, Failure, FenceOrder, FindingKind, FindingLabel, Label, Limits, Model, RmwOrder, StrategySpec, ThreadId,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// A test with changes.
type Program = Altered<LitmusProgram>;

/// So many sets of orderings are tried.
const MOST_SETS: usize = 3_000;

/// A way out of SC, in the words of the test.
pub struct Leaving {
    pub message: String,
    pub labels: Vec<FindingLabel>,
    /// The first execution that shows it.
    pub first: u64,
    /// A complete execution under the model in which it happens; none if the model has no exploration.
    pub strategy: Option<StrategySpec>,
}

/// What was found out about a test under a model.
pub struct Judged {
    pub safety: Safety,
    pub executions: u64,
    pub blocked: u64,
    pub complete: bool,
    /// A data race under c11: two accesses.
    pub race: Option<(Vec<FindingLabel>, StrategySpec)>,
    pub leavings: Vec<Leaving>,
}

/// What to do.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub case: &'a LitmusCase,
    pub model: Model,
    pub limits: Limits,
    pub budget: Budget,
    pub jobs: usize,
    /// Look for orderings?
    pub orderings: bool,
    pub progress: &'a Progress,
    /// Where it is saved, if it is.
    pub saving: Option<&'a Saving>,
}

/// What a ride on SC executions has met.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Met {
    executions: u64,
    blocked: u64,
    limited: bool,
    race: Option<(Vec<FindingLabel>, StrategySpec)>,
    found: Vec<(u64, Borderline)>,
    /// Program points with an access of their thread before them.
    places: BTreeSet<u32>,
    /// seq_cst operations, and fences.
    strong: BTreeMap<u32, Access>,
    states: BTreeSet<State>,
}

/// A ride between two phases.
#[derive(Serialize, Deserialize)]
pub struct Paused {
    met: Met,
    /// Did several workers meet it?
    shared: bool,
    left: Vec<graph::Task>,
}

/// Rides on SC executions.
struct Ride<'a> {
    task: Task<'a>,
    judge: Judge,
    pace: &'a Pace<'a>,
    /// How many executions came before these.
    before: u64,
    /// Are these many ways out of SC enough?
    enough: usize,
    met: Met,
}

impl<'a> Ride<'a> {
    fn new(task: Task<'a>, pace: &'a Pace<'a>, enough: usize, before: &Met) -> Ride<'a> {
        let judge = Judge::new(task.model).knowing(before.found.iter().map(|(_, found)| found.points()));
        let met = Met { race: before.race.clone(), ..Met::default() };
        Ride { task, judge, pace, before: before.executions + before.blocked, enough, met }
    }

    fn look(&mut self, program: &Program, graph: &Graph) -> Flow {
        let met = &mut self.met;
        let done = self.before + met.executions + met.blocked;
        self.pace.count.fetch_add(1, Ordering::Relaxed);
        if self.enough != 1 {
            met.note_places(graph);
        }
        if self.task.model == Model::C11
            && met.race.is_none()
            && let Some((first, second)) = all_races(graph).first()
        {
            let labels = [first, second].map(|node| label_of_node(program.program(), graph, *node)).to_vec();
            met.race = Some((labels, steps(graph)));
        }
        match self.judge.judge(graph) {
            Ok(found) => met.found.extend(found.into_iter().map(|borderline| (done + 1, borderline))),
            Err(_) => met.limited = true,
        }
        self.task.progress.add(1);
        if met.is_enough(self.enough) { Flow::Break(()) } else { Flow::Continue(()) }
    }
}

impl Met {
    fn is_enough(&self, enough: usize) -> bool {
        self.race.is_some() || self.found.len() >= enough
    }

    fn note_places(&mut self, graph: &Graph) {
        for thread in 0..graph.threads() as u32 {
            let mut before = None;
            for node in graph.thread(ThreadId(thread)) {
                let data = graph.node(*node);
                let is_fence = data.flags.has(Flags::FENCE) && !data.flags.has(Flags::BLOCKED);
                if is_fence || data.flags.has(Flags::SC) {
                    self.strong.insert(data.label, data.access);
                }
                if data.flags.has(Flags::FENCE) {
                    continue;
                }
                if before.is_some_and(|label| label != data.label) {
                    self.places.insert(data.label);
                }
                before = Some(data.label);
            }
        }
    }

    fn absorb(&mut self, other: Met) {
        self.executions += other.executions;
        self.blocked += other.blocked;
        self.limited |= other.limited;
        self.race = self.race.take().or(other.race);
        for found in other.found {
            if self.found.iter().all(|known| known.1.points() != found.1.points()) {
                self.found.push(found);
            }
        }
        self.places.extend(other.places);
        self.strong.extend(other.strong);
        self.states.extend(other.states);
    }
}

impl Visitor<Program> for Ride<'_> {
    fn execution(&mut self, program: &Program, graph: &Graph) -> Flow {
        let flow = self.look(program, graph);
        self.met.executions += 1;
        self.met.states.insert(LitmusCase::state_of_graph(program.program(), graph));
        flow
    }
    fn stuck(&mut self, program: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        self.met.limited |= stuck == Stuck::Limit;
        let flow = self.look(program, graph);
        self.met.blocked += 1;
        flow
    }
    fn failed(&mut self, program: &Program, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        let flow = self.look(program, graph);
        self.met.executions += 1;
        flow
    }
    fn race(&mut self, _: &Program, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Continue(())
    }
}

/// Judges a test under a model.
pub fn judge(task: Task<'_>, paused: Option<Paused>) -> Result<Judged, ExploreError> {
    let (mut ride, mut explorer) = ride(task, &[], false, paused)?;
    let found = !ride.found.is_empty() || ride.race.is_some();
    let trace_safe = if found { Some(false) } else { (!ride.limited).then_some(true) };
    let mut safety = Safety { trace_safe, ..Safety::default() };
    safety.state_safe = match trace_safe {
        Some(false) if ride.race.is_some() => Some(false),
        Some(false) => state_safe(task, &ride)?,
        other => other,
    };
    if task.orderings && ride.race.is_none() {
        match trace_safe {
            Some(false) => {
                let fences = orderings(task, &ride.places)?;
                let describe = |(at, order): (u32, FenceOrder)| {
                    let label = explorer.program().describe(at);
                    advice(&label, &place(&label), "this", true, order)
                };
                safety.orderings = fences.into_iter().map(describe).collect();
                safety.minimal = (!safety.orderings.is_empty()).then_some(true);
            }
            Some(true) => safety.superfluous = superfluous(task, &explorer, &ride.strong)?,
            None => {}
        }
    }
    let mut leavings = Vec::new();
    for (first, borderline) in std::mem::take(&mut ride.found) {
        leavings.push(leaving(task, &mut explorer, first, borderline));
    }
    Ok(Judged {
        safety,
        executions: ride.executions,
        blocked: ride.blocked,
        complete: !ride.limited && ride.race.is_none(),
        race: ride.race,
        leavings,
    })
}

fn options(task: Task<'_>) -> Options {
    let max_events = usize::try_from(task.limits.max_steps).unwrap_or(usize::MAX);
    let drains = task.model != Model::C11;
    Options { max_events, races: Races::Ignore, drains, ..Options::new(Model::Sc) }
}

/// Rides on every SC execution of the test with these changes; to `stop` is to stop at the first way out. One worker
/// begins; if many find something, one looks again, so that the result does not depend on their number.
fn ride(
    task: Task<'_>,
    changes: &[Change],
    stop: bool,
    paused: Option<Paused>,
) -> Result<(Met, Explorer<Program>), ExploreError> {
    let enough = if stop { 1 } else { usize::MAX };
    let saving = task.saving.filter(|_| !stop && changes.is_empty());
    let pace = Pace::new(task.budget, saving, if stop { 1 } else { task.jobs });
    let program = Altered::new(task.case.test.program(), changes);
    let nothing = || Paused { met: Met::default(), shared: false, left: vec![graph::Task::root()] };
    let Paused { mut met, shared, .. } = ride_on(task, &program, &pace, enough, paused.unwrap_or_else(nothing))?;
    if shared && !met.found.is_empty() && !pace.budget.time_is_up() {
        let alone = Pace::new(task.budget, None, 1);
        let again = ride_on(task, &program, &alone, met.found.len(), nothing())?.met;
        if again.found.len() == met.found.len() {
            met.found = again.found;
        }
    }
    Ok((met, Explorer::new(program, options(task))?))
}

/// Rides until nothing is left, enough was found, or the budget is spent.
fn ride_on(
    task: Task<'_>,
    program: &Program,
    pace: &Pace<'_>,
    enough: usize,
    mut paused: Paused,
) -> Result<Paused, ExploreError> {
    while !paused.left.is_empty() && !paused.met.is_enough(enough) {
        let done = paused.met.executions + paused.met.blocked;
        let (workers, most) = pace.workers(done);
        let begin = |before: &Met| Ride::new(task, pace, enough, before);
        if done >= pace.budget.executions() {
            // Is there one more?
            let left = paused.left.clone();
            let one = |_: &Met| Ride::new(task, pace, 0, &Met::default());
            let more = explore_phase(program, options(task), 1, left, || one(&paused.met), |_| false)?;
            paused.met.limited |= more.visitors.iter().any(|ride| ride.met.executions + ride.met.blocked > 0);
            break;
        }
        if pace.budget.time_is_up() {
            paused.met.limited = true;
            break;
        }
        pace.count.store(done, Ordering::Relaxed);
        let left = std::mem::take(&mut paused.left);
        let before = &paused.met;
        let phase = explore_phase(program, options(task), workers, left, || begin(before), |_| pace.is_over(most))?;
        paused.left = phase.left;
        if phase.halt == Halt::Anew {
            (paused.met, paused.shared) = (Met::default(), false);
            continue;
        }
        paused.shared |= workers > 1;
        phase.visitors.into_iter().for_each(|ride| paused.met.absorb(ride.met));
        if let Some(saving) = pace.saving {
            let over = paused.left.is_empty() || paused.met.is_enough(enough);
            let Met { executions, blocked, .. } = paused.met;
            saving.save(Status { over, executions, blocked }, &paused);
        }
    }
    Ok(paused)
}

/// Are the final states those of SC?
fn state_safe(task: Task<'_>, ride: &Met) -> Result<Option<bool>, ExploreError> {
    let watch = Watch {
        model: task.model,
        buffer: None,
        limits: task.limits,
        condition: false,
        stop: Stop::AtRace,
        progress: task.progress,
    };
    let weak = explore(task.case, watch, Way::Axioms, task.budget, 1)?;
    // A race that only the model's own executions have: what they end in is anybody's guess.
    if weak.findings.iter().any(|found| found.key.kind == FindingKind::DataRace) {
        return Ok(Some(false));
    }
    let states: BTreeSet<&State> = weak.states.keys().collect();
    if states.iter().any(|state| !ride.states.contains(*state)) {
        // One that SC does not have is enough, unless SC was not explored to the end.
        return Ok((!ride.limited).then_some(false));
    }
    Ok((!ride.limited && !weak.limited).then_some(true))
}

/// Finds the first complete execution.
struct Complete(Option<StrategySpec>);

impl Complete {
    fn take(&mut self, graph: &Graph) -> Flow {
        self.0 = Some(steps(graph));
        Flow::Break(())
    }
}

impl Visitor<Program> for Complete {
    fn execution(&mut self, _: &Program, graph: &Graph) -> Flow {
        self.take(graph)
    }
    fn stuck(&mut self, _: &Program, graph: &Graph, stuck: Stuck) -> Flow {
        if stuck == Stuck::Redundant { Flow::Continue(()) } else { self.take(graph) }
    }
    fn failed(&mut self, _: &Program, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.take(graph)
    }
    fn race(&mut self, _: &Program, graph: &Graph, _: Node, _: Node) -> Flow {
        self.take(graph)
    }
}

/// In the words of the test, with an execution that goes on from there.
fn leaving(task: Task<'_>, explorer: &mut Explorer<Program>, first: u64, found: Borderline) -> Leaving {
    let Borderline { successor, event, overtaken, after } = found;
    let program = explorer.program().program();
    let labels: Vec<FindingLabel> =
        [event, overtaken, after].map(|node| label_of_node(program, &successor, node)).to_vec();
    let message = message(task, &successor, event, overtaken, &labels);
    let mut complete = Complete(None);
    let strategy = match explorer.extend(successor, task.model, &mut complete) {
        Ok(()) => complete.0,
        Err(_) => None,
    };
    Leaving { message, labels, first, strategy }
}

fn message(task: Task<'_>, graph: &Graph, event: Node, overtaken: Node, labels: &[FindingLabel]) -> String {
    let at = |label: &Label| format!("{}:{}", label.line, label.column);
    let [early, passed, after] = labels else { unreachable!("there are three") };
    let at_location = graph.location(graph.node(event).place);
    let value = |node: Node| task.case.value(at_location, graph.node(node).value);
    let name = task.case.location(at_location);
    let verb = if graph.node(event).flags.has(Flags::READ) { "reads" } else { "stores" };
    let (what, later) = (format!("{verb} {name} = {}", value(event)), value(overtaken));
    format!(
        "under {} {} {what} at {} before {} = {later} ({} {}), which comes before {} under sc",
        task.model,
        early.label.function,
        at(&early.label),
        name,
        passed.label.function,
        at(&passed.label),
        at(&after.label),
    )
}

/// Is the test safe with these changes?
fn is_safe(task: Task<'_>, changes: &[Change]) -> Result<bool, ExploreError> {
    let (ride, _) = ride(task, changes, true, None)?;
    Ok(ride.found.is_empty() && ride.race.is_none() && !ride.limited)
}

/// The fewest fences that make the test safe, then as weak as can be.
fn orderings(task: Task<'_>, places: &BTreeSet<u32>) -> Result<Vec<(u32, FenceOrder)>, ExploreError> {
    let enough = |fences: &[(u32, FenceOrder)]| is_safe(task, &fenced(fences));
    let candidates: Vec<(u32, FenceOrder)> = places.iter().map(|at| (*at, FenceOrder::SeqCst)).collect();
    let Some(mut fences) = fewest(&candidates, MOST_SETS, enough)? else { return Ok(Vec::new()) };
    weakest(&mut fences, |(at, _)| WEAKER_FENCES.map(|order| (*at, order)).to_vec(), enough)?;
    Ok(fences)
}

/// A fence before each of these.
fn fenced(fences: &[(u32, FenceOrder)]) -> Vec<Change> {
    fences.iter().map(|(at, order)| Change::Fence { at: *at, before: true, order: *order }).collect()
}

/// What could be weaker in a test that is safe, all together.
fn superfluous(
    task: Task<'_>,
    explorer: &Explorer<Program>,
    strong: &BTreeMap<u32, Access>,
) -> Result<Vec<String>, ExploreError> {
    let describe = |(at, to): (u32, RmwOrder)| spared(&place(&explorer.program().describe(at)), &strong[&at], to);
    Ok(weaker_ones(task, strong)?.into_iter().map(describe).collect())
}

/// The same, by labels.
fn weaker_ones(task: Task<'_>, strong: &BTreeMap<u32, Access>) -> Result<Vec<(u32, RmwOrder)>, ExploreError> {
    let list: Vec<(u32, Access)> = strong.iter().map(|(at, access)| (*at, *access)).collect();
    spare(&list, |list| is_safe(task, &weakened(list)))
}

/// These made weaker.
fn weakened(list: &[(u32, RmwOrder)]) -> Vec<Change> {
    list.iter().map(|(at, to)| Change::Weaken { at: *at, to: *to }).collect()
}

/// Where it is, in a litmus test.
fn place(label: &Label) -> String {
    format!("{} {}:{}", label.function, label.line, label.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LITMUS_LIMITS;
    use crate::orderings::weaker_than;
    use crate::target::parse_litmus;

    fn corpus(family: &str) -> Vec<(LitmusCase, serde_json::Value)> {
        let path = format!("{}/../../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
        let case = |line: &str| {
            let test: serde_json::Value = serde_json::from_str(line).expect("one test a line");
            let source = test["source"].as_str().expect("a source");
            let case = parse_litmus(test["name"].as_str().expect("a name"), source.as_bytes());
            (case.unwrap_or_else(|error| panic!("{error}")), test["models"].clone())
        };
        text.lines().map(case).collect()
    }

    fn task<'a>(case: &'a LitmusCase, model: Model, orderings: bool, progress: &'a Progress) -> Task<'a> {
        let budget = Budget::new(None, None);
        Task { case, model, limits: LITMUS_LIMITS, budget, jobs: 1, orderings, progress, saving: None }
    }

    /// State-safe exactly if herd7 has the same states under both models.
    fn state_safe(family: &str, model: Model) -> usize {
        let progress = Progress::default();
        let mut count = 0;
        for (case, models) in corpus(family) {
            let (Some(sc), Some(weak)) = (models.get("sc"), models.get(model.name())) else { continue };
            let judged = judge(task(&case, model, false, &progress), None).expect("it can be explored");
            let expected = sc["states"] == weak["states"];
            assert_eq!(judged.safety.state_safe, Some(expected), "{}", case.test.name());
            count += usize::from(expected);
        }
        count
    }

    #[test]
    fn states_are_those_of_the_corpus() {
        assert_eq!((state_safe("hw", Model::Tso), state_safe("generated", Model::Tso)), (411, 1325));
    }

    /// Every suggestion makes its test safe, and none of its fences can be spared.
    #[test]
    fn orderings_are_enough_and_none_too_many() {
        let progress = Progress::default();
        let mut fixed = 0;
        for (case, models) in corpus("classic") {
            for model in [Model::Tso, Model::Pso] {
                // What herd7 has nothing to say of is not among the numbers below.
                if models.get(model.name()).is_none() {
                    continue;
                }
                let task = task(&case, model, false, &progress);
                let (ride, _) = ride(task, &[], false, None).expect("it can be explored");
                if ride.found.is_empty() {
                    continue;
                }
                let fences = orderings(task, &ride.places).expect("it can be explored");
                let with = |list: &[(u32, FenceOrder)]| is_safe(task, &fenced(list)).expect("it can be explored");
                assert!(with(&fences), "{} {model}", case.test.name());
                for i in 0..fences.len() {
                    let mut fewer = fences.clone();
                    fewer.remove(i);
                    assert!(!with(&fewer), "{} {model}", case.test.name());
                }
                fixed += usize::from(!fences.is_empty());
            }
        }
        // Full fences between all accesses make every execution of these models SC, so that each can be mended.
        assert_eq!(fixed, (452 - 377) + (452 - 333));
    }

    /// Counts execution graphs.
    struct Count(u64);

    impl Visitor<Program> for Count {
        fn execution(&mut self, _: &Program, _: &Graph) -> Flow {
            self.0 += 1;
            Flow::Continue(())
        }
        fn stuck(&mut self, _: &Program, _: &Graph, _: Stuck) -> Flow {
            self.0 += 1;
            Flow::Continue(())
        }
        fn failed(&mut self, _: &Program, _: &Graph, _: ThreadId, _: Failure) -> Flow {
            self.0 += 1;
            Flow::Continue(())
        }
        fn race(&mut self, _: &Program, _: &Graph, _: Node, _: Node) -> Flow {
            unreachable!("nobody looks for races")
        }
    }

    /// By brute force: has the test with these changes as many execution graphs under the model as under SC?
    fn is_robust(case: &LitmusCase, model: Model, changes: &[Change]) -> bool {
        let graphs = |model| {
            let options = Options { races: Races::Ignore, ..Options::new(model) };
            let program = Altered::new(case.test.program(), changes);
            let mut explorer = Explorer::new(program, options).expect("it has axioms");
            explorer.explore(|| Count(0)).expect("nothing overlaps").0
        };
        graphs(Model::Sc) == graphs(model)
    }

    /// What a safe test could do without: by brute force it is safe as weak as it is said it could be, and with any
    /// operation weaker still it is not.
    #[test]
    fn what_is_superfluous_is_all_that_is() {
        let progress = Progress::default();
        let (mut safe, mut weaker) = (0, 0);
        let families = [("classic", [Model::Tso, Model::Pso]), ("hw", [Model::Pslo, Model::C11])];
        for (family, models) in families {
            for (case, known) in corpus(family).into_iter().step_by(3) {
                for model in models.into_iter().filter(|model| known.get(model.name()).is_some()) {
                    let task = task(&case, model, false, &progress);
                    let (met, _) = ride(task, &[], false, None).expect("it can be explored");
                    if !met.found.is_empty() || met.race.is_some() {
                        continue;
                    }
                    safe += 1;
                    let chosen = weaker_ones(task, &met.strong).expect("it can be explored");
                    weaker += chosen.len();
                    assert!(is_robust(&case, model, &weakened(&chosen)), "{} {model}", case.test.name());
                    for (at, access) in &met.strong {
                        let is_this = |(other, _): &&(u32, RmwOrder)| other == at;
                        let now = chosen.iter().find(is_this).map(|(_, to)| *to);
                        for to in weaker_than(access).into_iter().take_while(|to| Some(*to) != now) {
                            let mut list = chosen.clone();
                            list.retain(|(other, _)| other != at);
                            list.push((*at, to));
                            let robust = is_robust(&case, model, &weakened(&list));
                            assert!(!robust, "{} {model}: {at} {to:?}", case.test.name());
                        }
                    }
                }
            }
        }
        // Both occur: safe tests with something to spare, and such that need all they have.
        assert!(safe > 300 && weaker > 100 && weaker < 3 * safe, "{safe} {weaker}");
    }

    /// The execution that is recorded is one of the model's, and not of SC's.
    #[test]
    fn what_is_recorded_leaves_sc() {
        let progress = Progress::default();
        let (mut replayed, mut all) = (0, 0);
        for (case, _) in corpus("hw").into_iter().step_by(5) {
            for model in [Model::Tso, Model::Pso, Model::C11] {
                for leaving in judge(task(&case, model, false, &progress), None).expect("it can be explored").leavings {
                    all += 1;
                    let strategy = leaving.strategy.expect("these models can be explored");
                    let plan = fencepost_trace::Plan::new(model, strategy, LITMUS_LIMITS);
                    let trace = super::super::witness::Witness::new(&case, plan).expect("it can be replayed").trace;
                    let is = |model| fencepost_safety::definition::is_member(&trace, model);
                    assert!(is(model) && !is(Model::Sc), "{} {model}", case.test.name());
                    replayed += 1;
                }
            }
        }
        assert!(all > 100 && replayed == all);
    }
}
