//! `fencepost check` on native programs: exactly as many executions as there are execution graphs, and every bug.
//!
//! The numbers are GenMC's (see tests/programs/README.md). They are the same under sc, tso and c11 unless they stand
//! here three times.

mod common;

use common::{command, finish};
use serde_json::Value as Json;
use std::path::PathBuf;

fn check(program: &str, defines: &str, model: &str) -> Json {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let run = finish(
        command(&directory)
            .args(["check", &format!("{program}.c"), "--model", model, "--format", "json", "--out"])
            .arg(out.path())
            .env("CFLAGS", defines),
    );
    let report = run.json();
    let status = match report["verdict"].as_str() {
        Some("pass") => 0,
        Some("fail") => 1,
        _ => 3,
    };
    assert_eq!(run.status, status, "{program} {defines} {model}: {}", run.stderr);
    report
}

/// Program, macros, executions under sc, tso and c11.
const COUNTS: &[(&str, &str, [u64; 3])] = &[
    ("sb", "-DN=10", [1023, 1024, 1024]),
    ("mp", "-DN=8", [6561, 6561, 6561]),
    ("iriw", "-DN=6", [2727, 2727, 2727]),
    ("dekker", "-DN=2", [3328, 3328, 3328]),
    ("peterson", "-DN=2", [4134, 4134, 4134]),
    ("lamport", "-DN=3", [20741, 20741, 20741]),
    ("msqueue", "-DN=2 -DR=2", [2542, 2542, 2542]),
    ("ms2", "-DN=4", [9216, 9216, 9216]),
    ("ticket", "-DN=4", [2520, 2520, 2520]),
    ("fib_bench", "-DN=5", [8953, 8953, 8953]),
    ("readers", "-DN=13", [8192, 8192, 8192]),
    ("rwlock", "-DN=2 -DW=2", [2520, 2520, 2520]),
    ("ninc", "-DN=7", [5040, 5040, 5040]),
    ("account", "-DN=3 -DFIXED", [5040, 5040, 5040]),
    ("spsc", "-DN=6", [6321, 8082, 8082]),
];

fn counts(model: usize) {
    let name = ["sc", "tso", "c11"][model];
    for (program, defines, expected) in COUNTS {
        let report = check(program, defines, name);
        let got = (report["verdict"].as_str(), report["complete"].as_bool(), report["executions"].as_u64());
        assert_eq!(got, (Some("pass"), Some(true), Some(expected[model])), "{program} {defines} {name}");
    }
}

#[test]
fn under_sc_there_are_as_many_executions_as_graphs() {
    counts(0);
}

#[test]
fn under_tso_too() {
    counts(1);
}

#[test]
fn under_c11_too() {
    counts(2);
}

/// The largest one, with fences of all kinds. GenMC's number under tso takes weaker fences for full ones, so that it
/// is no yardstick.
#[test]
fn the_work_stealing_deque_too() {
    for (model, expected) in [("sc", 37201), ("c11", 42268)] {
        let report = check("chaselev", "-DN=3 -DS=3", model);
        assert_eq!(
            (report["executions"].as_u64(), report["complete"].as_bool()),
            (Some(expected), Some(true)),
            "{model}"
        );
    }
}

/// Bugs that some models show and others do not: program, macros, whether sc, tso and c11 show it.
const BUGS: &[(&str, &str, [bool; 3])] = &[
    ("mp", "-DN=2 -DWEAK", [false, false, true]),
    ("spsc", "-DN=3 -DWEAK", [false, false, true]),
    // The full fences are weakened to acquire-release, which on TSO is nothing.
    ("chaselev", "-DN=2 -DS=2 -DWEAK", [false, true, true]),
    ("account", "-DN=1", [true, true, true]),
];

#[test]
fn bugs_are_found_under_the_models_that_have_them() {
    for (program, defines, shown) in BUGS {
        for (model, shown) in ["sc", "tso", "c11"].into_iter().zip(shown) {
            let report = check(program, defines, model);
            let expected = if *shown { "fail" } else { "pass" };
            assert_eq!(report["verdict"], expected, "{program} {defines} {model}: {report}");
        }
    }
}
