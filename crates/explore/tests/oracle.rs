//! Exhaustive exploration against the corpus of litmus tests, whose states and numbers of execution graphs were
//! computed by herd7 from the axioms.

use fencepost_engine::Threads;
use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor};
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_memory::graph::{Graph, Node, Place};
use fencepost_trace::{Failure, Model, ThreadId};
use serde_json::Value as Json;
use std::collections::BTreeSet;

#[derive(Default)]
struct Collect {
    states: BTreeSet<Vec<i64>>,
    executions: u64,
    stuck: u64,
    race: bool,
}

impl Visitor<LitmusProgram> for Collect {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        self.executions += 1;
        self.states.insert(program.state(|at| {
            let place = (0..graph.places() as u32).map(Place).find(|p| graph.location(*p) == at);
            place.map_or_else(|| program.initial(at), |p| graph.final_value(p))
        }));
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

fn check(family: &str) {
    let path = format!("{}/../../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the corpus is part of the repository");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for line in text.lines() {
        let test: Json = serde_json::from_str(line).unwrap();
        let name = test["name"].as_str().unwrap();
        let litmus = LitmusTest::parse(name, test["source"].as_str().unwrap().as_bytes()).unwrap();
        for model in [Model::Sc, Model::Tso, Model::Pso, Model::C11] {
            let Some(expected) = test["models"].get(model.name()) else { continue };
            checked += 1;
            let mut explorer = Explorer::new(litmus.program(), Options::new(model)).unwrap();
            let found = explorer.explore(Collect::default).unwrap();
            if expected.get("race").is_some() || found.race {
                if expected.get("race").is_some() != found.race {
                    wrong.push(format!("{name} {model}: race {}", found.race));
                }
                continue;
            }
            let states: BTreeSet<Vec<i64>> = serde_json::from_value(expected["states"].clone()).unwrap();
            let graphs = expected["graphs"].as_u64().unwrap();
            if found.states != states || found.executions != graphs || found.stuck != 0 {
                let extra = found.states.difference(&states).count();
                let missing = states.difference(&found.states).count();
                wrong.push(format!(
                    "{name} {model}: {} executions instead of {graphs}, {extra} states too many, {missing} missing, {} stuck",
                    found.executions, found.stuck
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}

#[test]
fn classic() {
    check("classic");
}

#[test]
fn hw() {
    check("hw");
}

#[test]
fn generated() {
    check("generated");
}
