//! Memory-model safety, held against the corpus: a program is trace-safe exactly if it has as many execution graphs
//! under the model as under SC (all SC graphs are graphs of every model), and herd7 has counted both.

use crate::common::script::{APART, Recipe, Script, random_script};
use crate::common::{corpus, report};
use fencepost_engine::{Execution, Random, Threads, run};
use fencepost_explore::graph::{Borderline, Explorer, Flow, Judge, Options, Races, Stuck, Visitor, trace_of};
use fencepost_memory::Sc;
use fencepost_memory::graph::{Graph, Node};
use fencepost_safety::{Window, definition};
use fencepost_trace::{Failure, Limits, Model, Outcome, ThreadId};

/// Rides on every SC execution until one is borderline.
struct Ride {
    judge: Judge,
    executions: u64,
    found: Option<Box<Borderline>>,
}

impl Ride {
    fn look(&mut self, graph: &Graph) -> Flow {
        self.executions += 1;
        self.found = self.judge.judge(graph).expect("it is SC, and short").into_iter().next().map(Box::new);
        if self.found.is_some() { Flow::Break(()) } else { Flow::Continue(()) }
    }
}

impl<T> Visitor<T> for Ride {
    fn execution(&mut self, _: &T, graph: &Graph) -> Flow {
        self.look(graph)
    }
    fn stuck(&mut self, _: &T, graph: &Graph, _: Stuck) -> Flow {
        self.look(graph)
    }
    fn failed(&mut self, _: &T, graph: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.look(graph)
    }
    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("nobody looks for races")
    }
}

fn ride<T: Threads>(program: T, model: Model) -> (Ride, Explorer<T>) {
    let options = Options { races: Races::Ignore, ..Options::new(Model::Sc) };
    let mut explorer = Explorer::new(program, options).expect("sc has axioms");
    let begin = || Ride { judge: Judge::new(model), executions: 0, found: None };
    let ride = explorer.explore(begin).expect("nothing overlaps");
    (ride, explorer)
}

/// Compares every test of a family, and returns how many are safe, and how many there are.
fn check(family: &str, model: Model) -> (usize, usize) {
    let (mut wrong, mut safe, mut all) = (Vec::new(), 0, 0);
    for case in corpus(family) {
        let (Some(sc), Some(weak)) = (case.expected(Model::Sc), case.expected(model)) else { continue };
        if weak.race {
            continue;
        }
        all += 1;
        let (ride, explorer) = ride(case.litmus.program(), model);
        let expected = sc.graphs == weak.graphs;
        safe += usize::from(expected);
        if ride.found.is_none() != expected {
            wrong.push(format!("{}: safe is {expected}", case.litmus.name()));
        }
        // What is found is a borderline trace by the letter of the definition.
        if let Some(found) = ride.found {
            let trace = |graph: &Graph, model| trace_of(explorer.program(), graph, model, Outcome::Finished);
            let successor = trace(&found.successor, model);
            assert!(definition::is_member(&successor, model), "{}", case.litmus.name());
            assert!(!definition::is_member(&successor, Model::Sc), "{}", case.litmus.name());
            let mut borderline = found.successor.clone();
            borderline.truncate(found.event.index());
            let borderline = trace(&borderline, Model::Sc);
            assert!(definition::is_member(&borderline, Model::Sc), "{}", case.litmus.name());
            assert!(definition::is_successor(&borderline, &successor), "{}", case.litmus.name());
        } else {
            assert_eq!(ride.executions, sc.graphs, "{}: nothing but SC is explored", case.litmus.name());
        }
    }
    report(all, &wrong);
    (safe, all)
}

#[test]
fn tso() {
    assert_eq!(check("classic", Model::Tso), (377, 452));
    assert_eq!(check("hw", Model::Tso), (404, 516));
    assert_eq!(check("generated", Model::Tso), (1317, 1570));
}

#[test]
fn pso() {
    assert_eq!(check("classic", Model::Pso), (333, 452));
    assert_eq!(check("hw", Model::Pso), (231, 516));
    assert_eq!(check("generated", Model::Pso), (1174, 1570));
}

#[test]
fn pslo() {
    assert_eq!(check("hw", Model::Pslo), (170, 516));
}

#[test]
fn c11() {
    assert_eq!(check("classic", Model::C11), (272, 483));
    assert_eq!(check("hw", Model::C11), (136, 516));
    assert_eq!(check("generated", Model::C11), (807, 1672));
}

/// Counts execution graphs.
struct Count(u64);

impl<T> Visitor<T> for Count {
    fn execution(&mut self, _: &T, _: &Graph) -> Flow {
        self.0 += 1;
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &T, _: &Graph, _: Stuck) -> Flow {
        self.0 += 1;
        Flow::Continue(())
    }
    fn failed(&mut self, _: &T, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.0 += 1;
        Flow::Continue(())
    }
    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("nobody looks for races")
    }
}

fn graphs(script: &Script, model: Model) -> u64 {
    let options = Options { races: Races::Ignore, ..Options::new(model) };
    let mut explorer = Explorer::new(script.clone(), options).expect("it has axioms");
    explorer.explore(|| Count(0)).expect("nothing overlaps").0
}

/// Random programs: safe exactly if there are as many execution graphs under the model as under sc. (All graphs of sc
/// are graphs of the model, so that the sets are the same.) What is safe under a weaker hardware model is safe under a
/// stronger one.
#[test]
fn random_programs() {
    let mut random = Random::new(14);
    let (mut wrong, mut unsafe_ones) = (Vec::new(), 0);
    let programs = 1_000;
    for i in 0..programs {
        let recipe = Recipe { threads: 2 + i % 2, operations: 3 + i % 3, locations: APART, plain: false };
        let script = random_script(&mut random, recipe);
        let sc = graphs(&script, Model::Sc);
        let mut stronger = true;
        for model in [Model::Tso, Model::Pso, Model::Pslo, Model::C11] {
            let expected = graphs(&script, model) == sc;
            unsafe_ones += u64::from(!expected);
            let safe = ride(script.clone(), model).0.found.is_none();
            if safe != expected || (safe && !stronger && model != Model::C11) {
                wrong.push(format!("program {i} {model}: safe is {expected}\n{:?}", script.threads));
            }
            stronger = safe;
        }
    }
    // Both answers occur.
    assert!((100..3_900).contains(&unsafe_ones), "{unsafe_ones}");
    report(programs, &wrong);
}

/// What the monitor with bounded memory says along random executions: nothing of a program that is safe. Of unsafe ones
/// it may miss some (its documentation has a list), but not many: with twenty executions of programs this small most
/// ways to interleave them occur.
#[test]
fn single_executions() {
    const WATCHED: [Model; 4] = [Model::Tso, Model::Pso, Model::Pslo, Model::C11];
    let mut random = Random::new(41);
    let mut execution = Execution::with_monitor(Sc::default(), Window::new(&WATCHED));
    let (mut wrong, mut unsafe_ones, mut noticed) = (Vec::new(), 0, 0);
    let programs = 500;
    for i in 0..programs {
        let recipe = Recipe { threads: 2 + i % 2, operations: 3 + i % 3, locations: APART, plain: false };
        let mut script = random_script(&mut random, recipe);
        let mut found = [false; WATCHED.len()];
        for seed in 0..20 {
            run(&mut execution, &mut script, &mut Random::new(seed), Limits::default());
            for leaving in execution.monitor().found() {
                found[WATCHED.iter().position(|model| *model == leaving.model).expect("it is watched")] = true;
            }
        }
        let sc = graphs(&script, Model::Sc);
        for (model, found) in WATCHED.into_iter().zip(found) {
            let leaves = graphs(&script, model) != sc;
            unsafe_ones += u64::from(leaves);
            noticed += u64::from(found);
            if found && !leaves {
                wrong.push(format!("program {i} {model} is safe\n{:?}", script.threads));
            }
        }
    }
    assert!(unsafe_ones > 100 && noticed > unsafe_ones / 2, "{noticed} of {unsafe_ones}");
    report(programs, &wrong);
}
