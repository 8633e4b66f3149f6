//! `fencepost check` on native programs: exactly as many executions as there are execution graphs, and every bug.
//!
//! The numbers are GenMC's (see tests/programs/README.md). They are the same under sc, tso and c11 unless they stand
//! here three times.

use crate::common::{command, finish};
use serde_json::Value as Json;
use std::path::PathBuf;

fn check(program: &str, defines: &str, model: &str) -> Json {
    check_by("graph", program, defines, model)
}

fn check_by(method: &str, program: &str, defines: &str, model: &str) -> Json {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let run = finish(
        command(&directory)
            .args(["check", &format!("{program}.c"), "--model", model, "--method", method, "--format", "json", "--out"])
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

/// Vectors of read values under sc, tso and pso: program, macros, numbers.
///
/// Those of `mcr_example` are what brute force counts (`the_example_of_the_paper` in
/// `crates/explore/tests/all/causal.rs`; its machine has too many executions with three rounds). Lamport's mutex has
/// 8,175 reads-from classes (Nidhugg), of which these are the different vectors of values. Where every order can be
/// told by what is read there are as many vectors as graphs (`sb`, `ninc`, `mp`).
const VECTORS: &[(&str, &str, [u64; 3])] = &[
    ("mcr_example", "-DN=1", [2, 2, 10]),
    ("mcr_example", "-DN=2", [52, 52, 188]),
    ("mcr_example", "-DN=3", [1016, 1016, 2728]),
    ("mcr_example", "-DN=2 -DSTOP", [40, 40, 40]),
    ("mcr_example", "-DN=3 -DSTOP", [92, 92, 92]),
    ("sb", "-DN=2", [3, 4, 4]),
    ("sb", "-DN=10", [1023, 1024, 1024]),
    ("mp", "-DN=5", [243, 243, 243]),
    ("ninc", "-DN=5", [120, 120, 120]),
    ("lamport", "-DN=3", [3019, 3019, 3019]),
    ("writers", "-DN=8", [9, 9, 9]),
];

#[test]
fn by_values_there_are_as_many_executions_as_vectors() {
    for (program, defines, expected) in VECTORS {
        for (model, expected) in ["sc", "tso", "pso"].into_iter().zip(expected) {
            let report = check_by("causal", program, defines, model);
            let got = (report["verdict"].as_str(), report["complete"].as_bool(), report["executions"].as_u64());
            assert_eq!(got, (Some("pass"), Some(true), Some(*expected)), "{program} {defines} {model}");
        }
    }
}

/// With locks, reader-writer locks, compare-exchanges and plain data that they protect: the same verdict as by graphs,
/// and never more executions.
fn methods_agree_under(model: &str) {
    let programs = [
        ("account", "-DN=2 -DFIXED"),
        ("account", "-DN=1"),
        ("airline", "-DN=2"),
        ("airline", "-DN=2 -DFIXED"),
        ("ms2", "-DN=3"),
        ("msqueue", "-DN=2 -DR=1"),
        ("rwlock", "-DN=1 -DW=2"),
        ("treiber", "-DN=2"),
        ("chaselev", "-DN=2 -DS=2"),
        ("chaselev", "-DN=2 -DS=2 -DWEAK"),
        ("mp", "-DN=2 -DWEAK"),
        ("dekker", "-DWEAK"),
        ("bakery", "-DN=2"),
    ];
    for (program, defines) in programs {
        let [graph, rf, causal] = ["graph", "rf", "causal"].map(|method| check_by(method, program, defines, model));
        for other in [&rf, &causal] {
            assert_eq!(other["verdict"], graph["verdict"], "{program} {defines} {model}: {other}");
            let kinds = |report: &Json| {
                let findings = report["findings"].as_array().expect("a list").iter();
                findings.map(|finding| finding["kind"].to_string()).collect::<Vec<_>>()
            };
            assert_eq!(kinds(other), kinds(&graph), "{program} {defines} {model}");
        }
        if graph["verdict"] == "pass" {
            let executions = |report: &Json| report["executions"].as_u64().expect("a number");
            let [graph, rf, causal] = [&graph, &rf, &causal].map(executions);
            assert!(0 < causal && causal <= rf && rf <= graph, "{program} {defines} {model}");
        }
    }
}

#[test]
fn the_methods_agree_under_sc() {
    methods_agree_under("sc");
}

#[test]
fn the_methods_agree_under_tso() {
    methods_agree_under("tso");
}

#[test]
fn the_methods_agree_under_pso() {
    methods_agree_under("pso");
}

/// The programs of the paper on maximal causality reduction with their known errors: program, macros with the error,
/// macros without it, whether sc, tso and pso show it.
const PAPER: &[(&str, &str, &str, [bool; 3])] = &[
    // Mutual exclusion: what breaks it is that stores are delayed.
    ("dekker", "-DWEAK", "", [false, true, true]),
    ("lamport", "-DWEAK", "", [false, true, true]),
    ("bakery", "-DWEAK", "", [false, true, true]),
    ("peterson", "-DWEAK", "", [false, true, true]),
    // What the algorithm needs is left out.
    ("dekker", "-DBROKEN", "", [true; 3]),
    ("lamport", "-DBROKEN", "", [true; 3]),
    ("bakery", "-DBROKEN", "", [true; 3]),
    ("peterson", "-DBROKEN", "", [true; 3]),
    // Stores to different locations are reordered.
    ("mcr_example", "-DN=1 -DERROR", "-DN=1", [false, false, true]),
    // Atomicity: under every model.
    ("stack_unsafe", "", "-DFIXED", [true; 3]),
    ("rv_example", "", "-DFIXED", [true; 3]),
    ("account", "-DN=1", "-DN=1 -DFIXED", [true; 3]),
    ("airline", "-DN=2", "-DN=2 -DFIXED", [true; 3]),
    ("allocation", "", "-DFIXED", [true; 3]),
    ("ping_pong", "", "-DFIXED", [true; 3]),
    ("string_buffer", "", "-DFIXED", [true; 3]),
    ("crawler", "", "-DFIXED", [true; 3]),
];

#[test]
fn the_errors_of_the_paper_are_found_by_values() {
    for (program, wrong, right, shown) in PAPER {
        for (model, shown) in ["sc", "tso", "pso"].into_iter().zip(shown) {
            let report = check_by("causal", program, wrong, model);
            let expected = if *shown { "fail" } else { "pass" };
            assert_eq!(report["verdict"], expected, "{program} {wrong} {model}: {report}");
            let report = check_by("causal", program, right, model);
            let got = (report["verdict"].as_str(), report["complete"].as_bool());
            assert_eq!(got, (Some("pass"), Some(true)), "{program} {right} {model}: {report}");
        }
    }
}

/// The error of figure 6 shows in one of the first three executions, as the paper has it.
#[test]
fn the_error_of_figure_6_comes_early() {
    let report = check_by("causal", "mcr_example", "-DN=1 -DERROR", "pso");
    let first = report["findings"][0]["first_execution"].as_u64().expect("a number");
    assert!(first <= 3, "{first}");
}
