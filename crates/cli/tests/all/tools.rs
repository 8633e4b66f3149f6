//! What surrounds the work: `doctor`, `completions`, `man`.

use crate::common::{command, fencepost, have};
use serde_json::Value as Json;

fn checks(report: &Json) -> impl Fn(&str) -> String {
    let list = report["checks"].as_array().expect("a list of checks").clone();
    move |name| {
        let check = list.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name} was looked at"));
        check["state"].as_str().expect("a word").to_owned()
    }
}

/// gcc is there wherever the tests run, and what it compiles can be tested.
#[test]
fn the_doctor_finds_a_race_with_each_compiler() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = fencepost(directory.path(), &["doctor", "--format", "json"]);
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
    let report = output.json();
    assert_eq!(report["usable"], true);
    let state = checks(&report);
    for name in ["system", "runtime", "gcc", "g++"] {
        assert_eq!(state(name), "ok", "{report:#}");
    }
    for name in ["clang", "gdb"] {
        assert_eq!(state(name) == "ok", have(name), "{report:#}");
    }
}

/// Without compilers nothing can be tested, and each is named with how to get it.
#[test]
fn the_doctor_says_what_is_missing() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = command(directory.path()).arg("doctor").env("PATH", directory.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().position(|line| line.starts_with("missing  gcc")).expect("gcc is missing");
    assert!(text.lines().nth(line + 1).is_some_and(|advice| advice.contains("apt-get install gcc")), "{text}");
}

#[test]
fn shells_learn_the_commands() {
    let directory = tempfile::tempdir().expect("a directory");
    for shell in ["bash", "zsh", "fish"] {
        let output = fencepost(directory.path(), &["completions", shell]);
        assert_eq!(output.status, 0);
        for word in ["hunt", "litmus", "keep-going"] {
            assert!(output.stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(fencepost(directory.path(), &["completions", "nosh"]).status, 2);
}

#[test]
fn each_command_has_a_manual_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = fencepost(directory.path(), &["man", "pages"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let page = |name: &str| std::fs::read_to_string(directory.path().join("pages").join(name)).expect("it is written");
    assert!(page("fencepost.1").contains(".TH fencepost 1"));
    assert!(page("fencepost-check.1").contains("\\-\\-resume"));
    assert!(output.stdout.contains("fencepost-c++.1"));
}
