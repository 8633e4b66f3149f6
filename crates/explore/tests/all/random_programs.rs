//! Properties that hold of every program, tried on random ones.

use crate::common::script::{APART, OVERLAPPING, Recipe, Script, random_script};
use fencepost_engine::{Random, Threads};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{ExploreError, Explorer, Flow, Options, Stuck, Visitor, steps_of, trace_of};
use fencepost_explore::{Executed, execute};
use fencepost_memory::axioms;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Limits, Model, Outcome, Plan, StrategySpec, ThreadId, Trace, execution_seed};
use std::collections::BTreeSet;

const MIXED: Recipe = Recipe { threads: 3, operations: 4, locations: OVERLAPPING, plain: false };
const SMALL: Recipe = Recipe { threads: 3, operations: 3, locations: APART, plain: false };
const RACY: Recipe = Recipe { threads: 3, operations: 4, locations: APART, plain: true };
const LONG: Recipe = Recipe { threads: 4, operations: 12, locations: APART, plain: true };

/// What a program can end in: everything that was read, and the coherence order of all memory in terms of final bytes.
type Ending = (Vec<Vec<(u128, bool)>>, Vec<u128>);

fn ending(program: &Script, trace: &Trace) -> Ending {
    let locations = OVERLAPPING.iter().chain(APART).map(|(a, s)| fencepost_trace::Location::new(*a, *s));
    (program.read(), locations.map(|at| trace.final_value(at, program.initial(at)).0).collect())
}

/// The axioms, which look at every byte. Where accesses of different sizes overlap, the machine and exploration
/// synchronise on whole cells, so that their clocks may know more than the axioms do; nothing else may differ.
fn check(trace: &Trace, overlapping: bool) -> Result<(), axioms::Violation> {
    if !overlapping {
        return axioms::check(trace);
    }
    let mut trace = trace.clone();
    trace.events.iter_mut().for_each(|event| event.clock.clear());
    axioms::check(&trace)
}

fn programs(seed: u64, count: u64, recipe: Recipe) -> impl Iterator<Item = (u64, Script)> {
    (0..count).map(move |i| (i, random_script(&mut Random::new(execution_seed(seed, i)), recipe)))
}

/// Every trace that a machine records satisfies the axioms of its model, and the choices in it give it again.
#[test]
fn machine_traces_satisfy_the_axioms_and_replay() {
    for (recipe, count, overlapping) in
        [(SMALL, 300, false), (RACY, 300, false), (LONG, 100, false), (MIXED, 300, true)]
    {
        for (i, mut program) in programs(1, count, recipe) {
            for model in Model::ALL {
                for round in 0..6 {
                    let plan = Plan::random(model, i, round);
                    let first = execute(&mut program, &plan).expect("a machine runs");
                    assert_eq!(first.trace.outcome, Outcome::Finished);
                    if let Err(violation) = check(&first.trace, overlapping) {
                        panic!("{model}: {violation}\n{:#?}\n{:#?}", program.threads, first.trace);
                    }
                    let again = Plan::follow(model, first.trace.choices.clone());
                    let second = execute(&mut program, &again).expect("a machine runs");
                    assert_eq!(first, second, "{model}: the same choices gave another execution");
                }
            }
        }
    }
}

/// The same with bounded buffers.
#[test]
fn bounded_buffers_permit_nothing_new() {
    for (i, mut program) in programs(2, 200, SMALL) {
        for model in [Model::Tso, Model::Pso] {
            for buffer in [0, 1, 2] {
                let plan = Plan { buffer: Some(buffer), ..Plan::random(model, i, 0) };
                let executed = execute(&mut program, &plan).expect("a machine runs");
                axioms::check(&executed.trace).unwrap_or_else(|v| panic!("{model} {buffer}: {v}"));
            }
        }
    }
}

/// Checks every execution that exploration meets, and collects how they end.
struct Check {
    model: Model,
    endings: BTreeSet<Ending>,
    graphs: BTreeSet<String>,
    executions: u64,
    racy: bool,
    overlapping: bool,
    steps: Vec<(Vec<fencepost_trace::GraphStep>, Trace)>,
}

impl Visitor<Script> for Check {
    fn execution(&mut self, program: &Script, graph: &Graph) -> Flow {
        let trace = trace_of(program, graph, self.model, Outcome::Finished);
        if let Err(violation) = check(&trace, self.overlapping) {
            panic!("{}: {violation}\n{:#?}\n{trace:#?}", self.model, program.threads);
        }
        self.executions += 1;
        // Without the order of execution, which says nothing, a graph is each thread's events and the coherence
        // orders, by event.
        let name = |e: fencepost_trace::EventId| {
            let event = trace.event(e);
            event.map(|ev| (ev.thread, trace.events[..e.index()].iter().filter(|o| o.thread == ev.thread).count()))
        };
        let mut parts: Vec<String> = Vec::new();
        for event in &trace.events {
            use fencepost_trace::EventKind::{Load, Rmw};
            if let Load { from, .. } | Rmw { from, .. } = &event.kind {
                parts.push(format!("{:?}<-{:?} {:?}", name(event.id), name(*from), event.kind.written()));
            }
        }
        parts.sort();
        for list in &trace.coherence {
            parts.push(format!("{:#x} {:?}", list.address, list.stores.iter().map(|s| name(*s)).collect::<Vec<_>>()));
        }
        let replies = format!("{:?} {parts:?}", program.read());
        // Of a cell that is accessed in parts there are several versions that a part does not tell apart.
        let new = self.graphs.insert(replies);
        assert!(new || self.overlapping, "{}: the same graph twice\n{trace:#?}", self.model);
        self.endings.insert(ending(program, &trace));
        if self.steps.len() < 3 {
            self.steps.push((steps_of(graph), trace));
        }
        Flow::Continue(())
    }

    fn stuck(&mut self, _: &Script, _: &Graph, stuck: Stuck) -> Flow {
        panic!("a program that never waits got stuck: {stuck:?}");
    }

    fn failed(&mut self, _: &Script, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        panic!("no random program fails");
    }

    fn race(&mut self, _: &Script, _: &Graph, _: Node, _: Node) -> Flow {
        self.racy = true;
        Flow::Break(())
    }
}

fn explore(program: &Script, model: Model, overlapping: bool) -> Result<Check, ExploreError> {
    let begin = || Check {
        model,
        endings: BTreeSet::new(),
        graphs: BTreeSet::new(),
        executions: 0,
        racy: false,
        overlapping,
        steps: Vec::new(),
    };
    Explorer::new(program.clone(), Options::new(model))?.explore(begin)
}

/// Exploration meets only consistent graphs and none twice, each can be built again from its steps, and
/// the machine ends nowhere else. (Exactly there under sc, tso and pso; under pslo and C/C++20 it may reach less.)
#[test]
fn exploration_and_machine_agree() {
    for (_, mut program) in programs(3, 150, SMALL) {
        for model in Model::ALL {
            let explored = explore(&program, model, false).expect("nothing overlaps");
            for (steps, trace) in &explored.steps {
                let strategy = StrategySpec::Graph { steps: steps.clone(), shared: Vec::new() };
                let plan = Plan { strategy, ..Plan::random(model, 0, 0) };
                let again = execute(&mut program, &plan).expect("the steps fit");
                assert_eq!(&again.trace, trace, "{model}");
            }
            let mut reached = BTreeSet::new();
            enumerate(&mut program, model, None, Limits::default(), 20_000, |program, executed: &Executed| {
                reached.insert(ending(program, &executed.trace));
                Flow::Continue(())
            });
            let outside: Vec<_> = reached.difference(&explored.endings).collect();
            assert!(outside.is_empty(), "{model}: {outside:?}\n{:#?}", program.threads);
        }
    }
}

/// On hardware, where the enumeration is small enough to be complete, nothing is missing either.
#[test]
fn machines_reach_everything_on_hardware() {
    let tiny = Recipe { threads: 2, operations: 3, ..SMALL };
    let mut complete = 0;
    for (_, mut program) in programs(4, 200, tiny) {
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let explored = explore(&program, model, false).expect("nothing overlaps");
            let mut reached = BTreeSet::new();
            let all =
                enumerate(&mut program, model, None, Limits::default(), 50_000, |program, executed: &Executed| {
                    reached.insert(ending(program, &executed.trace));
                    Flow::Continue(())
                });
            if all.complete {
                complete += 1;
                assert_eq!(reached, explored.endings, "{model}\n{:#?}", program.threads);
            }
        }
    }
    assert!(complete > 500, "{complete}");
}

/// Overlapping accesses: exploration follows its rule (see the documentation of the cells), so that all it meets
/// satisfies the axioms, which look at every byte. On hardware the machine ends nowhere else.
#[test]
fn overlapping_accesses_are_explored_soundly() {
    let recipe = Recipe { threads: 2, operations: 3, ..MIXED };
    for (i, mut program) in programs(5, 150, recipe) {
        for model in Model::ALL {
            let explored = explore(&program, model, true).expect("they fit into one cell");
            assert!(explored.executions > 0);
            if model == Model::C11 {
                continue;
            }
            let mut reached = BTreeSet::new();
            enumerate(&mut program, model, None, Limits::default(), 5_000, |program, executed: &Executed| {
                reached.insert(ending(program, &executed.trace));
                Flow::Continue(())
            });
            let outside: Vec<_> = reached.difference(&explored.endings).collect();
            assert!(outside.is_empty(), "{i} {model}: {outside:?}\n{:#?}", program.threads);
        }
    }
}

/// Under C/C++20 the race detector of the machine, that of exploration and the definition agree: on every pair, or,
/// where executions end at the first race, on whether there is one.
#[test]
fn races_are_those_of_the_definition() {
    let mut racy = 0;
    for (i, mut program) in programs(6, 300, RACY) {
        let explored = explore(&program, Model::C11, false).expect("nothing overlaps");
        racy += u32::from(explored.racy);
        let mut seen = false;
        for round in 0..300 {
            let plan = Plan::random(Model::C11, i, round);
            let executed = execute(&mut program, &plan).expect("a machine runs");
            let defined = axioms::races(&executed.trace);
            let mut found = executed.races;
            found.sort_unstable();
            assert_eq!(found, defined);
            seen |= !defined.is_empty();
        }
        assert!(!seen || explored.racy, "the machine met a race that exploration did not");
        // A race that the axioms permit shows in one of 300 random executions of such small programs.
        assert_eq!(seen, explored.racy, "{:#?}", program.threads);
    }
    assert!(racy > 50 && racy < 290, "{racy} of 300 programs race");
}
