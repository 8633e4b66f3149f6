//! Every test of the oracle is read, and its variables are those that the oracle lists.

use fencepost_litmus::{LitmusTest, Quantifier};
use serde_json::Value;

fn oracle() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle");
    let mut tests = Vec::new();
    for file in ["classic.jsonl", "hw.jsonl", "generated.jsonl"] {
        let path = format!("{folder}/{file}");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        tests.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    tests
}

#[test]
fn every_test_is_read_with_the_variables_of_the_oracle() {
    let tests = oracle();
    assert_eq!(tests.len(), 2679);
    for test in &tests {
        let (name, source) = (test["name"].as_str().unwrap(), test["source"].as_str().unwrap());
        let parsed = LitmusTest::parse(name, source.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}\n{source}"));
        let vars: Vec<String> = parsed.vars().iter().map(|var| var.to_string()).collect();
        let expected: Vec<&str> = test["vars"].as_array().unwrap().iter().map(|var| var.as_str().unwrap()).collect();
        assert_eq!(vars, expected, "{name}");
        assert_eq!(parsed.name(), name);
        assert_eq!(parsed.source(), source);
    }
}

#[test]
fn conditions_can_be_asked_of_the_states_of_the_oracle() {
    // Nothing says which should hold, but both answers must come up: 2,679 conditions that are all true or all
    // false of the SC states would mean that none is evaluated.
    let mut answers = [0; 2];
    for test in oracle() {
        let parsed = LitmusTest::parse("", test["source"].as_str().unwrap().as_bytes()).unwrap();
        let condition = parsed.condition().expect("all have one");
        assert!(matches!(parsed.quantifier(), Some(Quantifier::Exists | Quantifier::Forall)));
        for state in test["models"]["sc"]["states"].as_array().into_iter().flatten() {
            let state: Vec<i64> = state.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect();
            answers[condition.eval(|var| state[var]) as usize] += 1;
        }
    }
    assert!(answers[0] > 100 && answers[1] > 100, "{answers:?}");
}

#[test]
fn expected_values_of_compare_exchanges_are_private() {
    // `eK` is named by one thread only and plain: no operation may touch it, so no race on it is possible.
    let mut met = 0;
    for test in oracle() {
        let source = test["source"].as_str().unwrap();
        let accesses = ["atomic_load", "atomic_store", "atomic_exchange", "atomic_fetch", "atomic_compare"];
        let expected: usize = accesses.iter().map(|name| source.matches(name).count()).sum();
        let parsed = LitmusTest::parse("", source.as_bytes()).unwrap();
        if !source.contains("*x = ") && !source.contains("= *") && !parsed.program().uses_plain_shared() {
            assert_eq!(parsed.memory_operations(), expected, "{source}");
            met += source.contains("int* e0") as usize;
        }
    }
    assert!(met > 50, "{met}");
}
