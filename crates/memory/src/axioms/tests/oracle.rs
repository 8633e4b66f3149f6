//! The corpus: what herd7 says of every litmus test, state by state and execution by execution.

use super::enumerate::{Outcomes, outcomes};
use super::program::Program;
use fencepost_trace::Model;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

fn states(json: &Json) -> BTreeSet<Vec<u64>> {
    let state = |s: &Json| s.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
    json.as_array().unwrap().iter().map(state).collect()
}

/// Checks every test of one file under every model it lists; `expected` is how many there are of each.
fn check_family(family: &str, expected: &[(Model, usize)]) {
    let path = format!("{}/../../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut checked: BTreeMap<Model, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in text.lines() {
        let test: Json = serde_json::from_str(line).unwrap();
        let name = test["name"].as_str().unwrap();
        let program = Program::parse(test["source"].as_str().unwrap());
        let variables: Vec<String> =
            test["vars"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
        let listed = test["models"].as_object().unwrap();
        let models: Vec<Model> = listed.keys().map(|m| m.parse().unwrap()).collect();
        for (model, got) in outcomes(&program, &variables, &models) {
            let oracle = &listed[model.name()];
            let agrees = if oracle["race"] == true {
                got.race
            } else {
                let (states, graphs) = (states(&oracle["states"]), oracle["graphs"].as_u64().unwrap());
                got == Outcomes { states, graphs, race: false }
            };
            if agrees {
                *checked.entry(model).or_default() += 1;
            } else {
                wrong.push(format!("{name} under {model}: {} states, {} graphs", got.states.len(), got.graphs));
            }
        }
    }
    assert!(wrong.is_empty(), "{} disagree:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert_eq!(checked, expected.iter().copied().collect(), "every test of the family is compared");
}

#[test]
fn classic() {
    check_family("classic", &[(Model::Sc, 491), (Model::Tso, 452), (Model::Pso, 452), (Model::C11, 491)]);
}

#[test]
fn hw() {
    let each = Model::ALL.map(|model| (model, 516));
    check_family("hw", &each);
}

#[test]
fn generated() {
    check_family("generated", &[(Model::Sc, 1672), (Model::Tso, 1570), (Model::Pso, 1570), (Model::C11, 1672)]);
}
