//! The whole corpus through the command line: every test, every model that it lists, in one batch run each.

use crate::common::fencepost;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn check(family: &str, models: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/oracle/{family}.jsonl"));
    let text = fs::read_to_string(path).expect("the corpus is part of the repository");
    let tests: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("one test a line")).collect();
    let directory = tempfile::tempdir().unwrap();
    for (i, test) in tests.iter().enumerate() {
        let source = test["source"].as_str().unwrap();
        fs::write(directory.path().join(format!("{i:05}.litmus")), source).unwrap();
    }
    let run = fencepost(directory.path(), &["litmus", ".", "--format", "json", "--model", models]);
    assert_eq!((run.status, &run.stderr[..]), (0, ""));
    let lines = run.lines();
    let models: Vec<&str> = models.split(',').collect();
    assert_eq!(lines.len(), tests.len() * models.len());
    let (mut checked, mut wrong) = (0, Vec::new());
    for (i, line) in lines.iter().enumerate() {
        let (test, model) = (&tests[i / models.len()], models[i % models.len()]);
        assert_eq!((&line["test"], line["model"].as_str()), (&test["name"], Some(model)), "in order");
        let Some(expected) = test["models"].get(model) else { continue };
        checked += 1;
        if let Err(difference) = compare(test, expected, line) {
            wrong.push(format!("{} {model}: {difference}", test["name"]));
        }
    }
    assert!(checked > 100);
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}

fn compare(test: &Json, expected: &Json, line: &Json) -> Result<(), String> {
    let race = expected.get("race").is_some();
    if line.get("race").is_some() != race || line.get("states").is_some() == race {
        return Err(format!("a race is expected: {race}"));
    }
    if race {
        return Ok(());
    }
    let vars: Vec<&str> = test["vars"].as_array().unwrap().iter().map(|var| var.as_str().unwrap()).collect();
    let state = |object: &Map<String, Json>| -> Vec<i64> {
        assert_eq!(object.keys().map(String::as_str).collect::<BTreeSet<_>>(), vars.iter().copied().collect());
        vars.iter().map(|var| object[*var].as_i64().unwrap()).collect()
    };
    let found: Vec<Vec<i64>> =
        line["states"].as_array().unwrap().iter().map(|s| state(s.as_object().unwrap())).collect();
    let states: BTreeSet<Vec<i64>> = serde_json::from_value(expected["states"].clone()).unwrap();
    if found.len() != states.len() || found.iter().any(|state| !states.contains(state)) {
        return Err(format!("{} states instead of {}", found.len(), states.len()));
    }
    if line.get("complete").is_some() {
        return Err("not complete".to_owned());
    }
    if line["executions"] != expected["graphs"] {
        return Err(format!("{} executions instead of {}", line["executions"], expected["graphs"]));
    }
    Ok(())
}

#[test]
fn classic() {
    check("classic", "sc,tso,pso,c11");
}

#[test]
fn generated() {
    check("generated", "sc,tso,pso,c11");
}

#[test]
fn hw() {
    check("hw", "sc,tso,pso,pslo,c11");
}
