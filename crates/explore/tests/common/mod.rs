//! The corpus of litmus tests, with the outcomes that herd7 allows.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod script;

use fencepost_litmus::LitmusTest;
use fencepost_trace::Model;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A final state: the values of the test's variables, in their order.
pub type State = Vec<i64>;

/// One test and what is known about it.
pub struct Case {
    pub litmus: LitmusTest,
    pub models: Json,
}

/// What the oracle knows about a test under one model.
pub struct Expected {
    pub race: bool,
    pub states: BTreeSet<State>,
    pub graphs: u64,
    pub machine_at_least: BTreeSet<State>,
}

impl Case {
    pub fn expected(&self, model: Model) -> Option<Expected> {
        let known = self.models.get(model.name())?;
        let states = |key: &str| -> BTreeSet<State> {
            known.get(key).map_or_else(BTreeSet::new, |s| serde_json::from_value(s.clone()).expect("a list of states"))
        };
        let all = states("states");
        let at_least = if known.get("machine_at_least").is_some() { states("machine_at_least") } else { all.clone() };
        Some(Expected {
            race: known.get("race").is_some(),
            states: all,
            graphs: known.get("graphs").and_then(Json::as_u64).unwrap_or(0),
            machine_at_least: at_least,
        })
    }
}

/// All tests of a family.
pub fn corpus(family: &str) -> Vec<Case> {
    let path = format!("{}/../../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
    let case = |line: &str| {
        let test: Json = serde_json::from_str(line).expect("one test a line");
        let (name, source) = (test["name"].as_str().expect("a name"), test["source"].as_str().expect("a source"));
        let litmus = LitmusTest::parse(name, source.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        Case { litmus, models: test["models"].clone() }
    };
    text.lines().map(case).collect()
}

/// Fails with the first of many differences.
pub fn report(checked: usize, wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
