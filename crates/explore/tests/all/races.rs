//! Races: exactly the pairs of program points that race, by definition, in some consistent execution.
//!
//! The definition is `axioms::races`, relations on a finished execution, over every execution graph. Against it stand
//! the exploration's own search on graphs under construction, and the race detector of the machine with its clocks,
//! over every choice of the machine.

use crate::common::script::{APART, OVERLAPPING, Recipe, Script, random_script};
use fencepost_engine::Random;
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{Explorer, Flow, Options, Races, Stuck, Visitor, trace_of};
use fencepost_memory::axioms;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{EventId, Failure, Label, Limits, Model, Outcome, ThreadId, Trace};
use std::collections::BTreeSet;

type Pairs = BTreeSet<[Label; 2]>;

fn pair(mut labels: [Label; 2]) -> [Label; 2] {
    labels.sort();
    labels
}

fn of_trace(trace: &Trace, (first, second): (EventId, EventId)) -> [Label; 2] {
    pair([first, second].map(|id| trace.event(id).and_then(|event| trace.label(event)).cloned().expect("an event")))
}

/// What the definition says of every graph, and what the exploration says.
#[derive(Default)]
struct Both {
    defined: Pairs,
    explored: Pairs,
    graphs: u64,
}

impl Both {
    fn defined(&mut self, program: &Script, graph: &Graph) {
        self.graphs += 1;
        let trace = trace_of(program, graph, Model::C11, Outcome::Finished);
        self.defined.extend(axioms::races(&trace).into_iter().map(|ends| of_trace(&trace, ends)));
    }
}

impl Visitor<Script> for Both {
    fn execution(&mut self, program: &Script, graph: &Graph) -> Flow {
        self.defined(program, graph);
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &Script, _: &Graph, _: Stuck) -> Flow {
        unreachable!("straight-line programs are never stuck")
    }
    fn failed(&mut self, _: &Script, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        unreachable!("nothing can fail")
    }
    fn race(&mut self, program: &Script, graph: &Graph, first: Node, second: Node) -> Flow {
        use fencepost_engine::Threads as _;
        self.explored.insert(pair([first, second].map(|node| program.describe(graph.node(node).label))));
        Flow::Continue(())
    }
    fn races(&mut self, program: &Script, graph: &Graph, pairs: &[(Node, Node)]) -> Flow {
        self.defined(program, graph);
        pairs.iter().try_for_each(|(first, second)| self.race(program, graph, *first, *second))
    }
}

/// Compares the three on random programs; gives how many pairs there were.
fn compare(seed: u64, programs: u64, recipe: Recipe) -> usize {
    let mut random = Random::new(seed);
    let mut all = 0;
    for _ in 0..programs {
        let mut program = random_script(&mut random, recipe);
        let options = Options { races: Races::All, ..Options::new(Model::C11) };
        let mut explorer = Explorer::new(program.clone(), options).expect("c11 has axioms");
        let Ok(Both { defined, explored, .. }) = explorer.explore(Both::default) else {
            // Cells have a largest size.
            continue;
        };
        assert_eq!(explored, defined, "exploration: {:#?}", program.threads);
        let mut met = Pairs::new();
        let limits = Limits { max_steps: 1_000 };
        let done = enumerate(&mut program, Model::C11, None, limits, 20_000, |_, executed| {
            met.extend(executed.races.iter().map(|ends| of_trace(&executed.trace, *ends)));
            Flow::Continue(())
        });
        if done.complete {
            assert_eq!(met, defined, "machine: {:#?}", program.threads);
        } else {
            assert!(met.is_subset(&defined), "machine: {:#?}", program.threads);
        }
        all += defined.len();
    }
    all
}

#[test]
fn of_two_threads() {
    let recipe = Recipe { threads: 2, operations: 4, locations: APART, plain: true };
    assert!(compare(1, 400, recipe) > 200);
}

#[test]
fn of_three_threads() {
    let recipe = Recipe { threads: 3, operations: 2, locations: APART, plain: true };
    assert!(compare(2, 200, recipe) > 100);
}

/// Accesses of different sizes race where they share a byte, and only there.
#[test]
fn of_overlapping_accesses() {
    let recipe = Recipe { threads: 2, operations: 3, locations: OVERLAPPING, plain: true };
    assert!(compare(3, 200, recipe) > 100);
}
