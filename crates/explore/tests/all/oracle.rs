//! Exhaustive exploration against the corpus of litmus tests, whose states and numbers of execution graphs were
//! computed by herd7 from the axioms: exactly the same states, and exactly as many executions as there are graphs.

use crate::common::{State, corpus, report};
use fencepost_engine::Threads;
use fencepost_explore::graph::{Flow, Options, Stuck, Visitor, explore_parallel};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Model, ThreadId};
use std::collections::BTreeSet;

#[derive(Default)]
struct Collect {
    states: BTreeSet<State>,
    executions: u64,
    stuck: u64,
    race: bool,
}

impl Visitor<LitmusProgram> for Collect {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        self.executions += 1;
        self.states.insert(program.state(|at| graph.final_value_at(at).unwrap_or_else(|| program.initial(at))));
        Flow::Continue(())
    }

    fn stuck(&mut self, _: &LitmusProgram, _: &Graph, _: Stuck) -> Flow {
        self.stuck += 1;
        Flow::Continue(())
    }

    fn failed(&mut self, _: &LitmusProgram, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        panic!("no test of the corpus fails");
    }

    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        self.race = true;
        Flow::Break(())
    }
}

fn check(family: &str, jobs: usize) {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for case in corpus(family) {
        let name = case.litmus.name();
        for model in Model::ALL {
            let Some(expected) = case.expected(model) else { continue };
            checked += 1;
            let program = case.litmus.program();
            let workers =
                explore_parallel(&program, Options::new(model), jobs, Collect::default).expect("it has axioms");
            let race = workers.iter().any(|w| w.race);
            if race || expected.race {
                if race != expected.race {
                    wrong.push(format!("{name} {model}: race {race} instead of {}", expected.race));
                }
                continue;
            }
            let executions: u64 = workers.iter().map(|w| w.executions).sum();
            let stuck: u64 = workers.iter().map(|w| w.stuck).sum();
            let states: BTreeSet<State> = workers.into_iter().flat_map(|w| w.states).collect();
            if states != expected.states || executions != expected.graphs || stuck != 0 {
                let extra = states.difference(&expected.states).count();
                let missing = expected.states.difference(&states).count();
                wrong.push(format!(
                    "{name} {model}: {executions} executions instead of {}, {extra} states too many, {missing} \
                     missing, {stuck} stuck",
                    expected.graphs
                ));
            }
        }
    }
    assert!(checked > 1000, "the corpus is there");
    report(checked, &wrong);
}

#[test]
fn classic() {
    check("classic", 1);
}

#[test]
fn hw() {
    check("hw", 1);
}

#[test]
fn generated() {
    check("generated", 1);
}

#[test]
fn the_number_of_workers_changes_nothing() {
    check("classic", 3);
}
