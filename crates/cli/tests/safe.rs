//! `fencepost safe`, and `fencepost test --watch`.

mod common;

use common::{Output, command, copies, fencepost, finish};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/safe").join(name)
}

fn native(directory: &Path, file: &Path, defines: &str, arguments: &[&str]) -> Output {
    finish(
        command(directory)
            .arg(arguments[0])
            .arg(file)
            .args(["--format", "json", "--out"])
            .arg(directory.join("out"))
            .args(&arguments[1..])
            .env("CFLAGS", defines),
    )
}

#[test]
fn many_litmus_tests_give_a_line_each() {
    let directory = copies(&["SB", "MP"]);
    let run =
        fencepost(directory.path(), &["safe", "SB.litmus", "MP.litmus", "--model", "tso,pso", "--format", "json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let lines = run.lines();
    let key = |i: usize| (lines[i]["test"].as_str().unwrap(), lines[i]["model"].as_str().unwrap());
    assert_eq!((key(0), key(1), key(2), key(3)), (("SB", "tso"), ("SB", "pso"), ("MP", "tso"), ("MP", "pso")));
    // Store buffering: three executions under sc, and both loads need a fence before them.
    assert_eq!(lines[0]["executions"], 3);
    assert_eq!((&lines[0]["trace_safe"], &lines[0]["state_safe"]), (&false.into(), &false.into()));
    assert_eq!(lines[0]["orderings"].as_array().map(Vec::len), Some(2));
    // Message passing is safe where stores stay in order.
    assert_eq!((&lines[2]["trace_safe"], &lines[2]["state_safe"]), (&true.into(), &true.into()));
}

#[test]
fn a_way_out_can_be_replayed() {
    let directory = copies(&["SB"]);
    let run = fencepost(directory.path(), &["safe", "SB.litmus", "--format", "json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let json = run.json();
    assert_eq!((&json["command"], &json["complete"]), (&"safe".into(), &true.into()));
    let finding = &json["findings"][0];
    assert_eq!(finding["kind"], "sc-violation");
    let again = fencepost(directory.path(), &["replay", finding["replay"].as_str().expect("a file")]);
    assert_eq!(again.status, 1, "{}{}", again.stdout, again.stderr);
}

#[test]
fn sc_is_refused() {
    let directory = copies(&["SB"]);
    assert!(fencepost(directory.path(), &["safe", "SB.litmus", "--model", "sc"]).refused().contains("sc-safe"));
}

/// Figure 1 of the paper: under tso the consumer may sleep forever; with a fence in each thread nothing leaves sc.
#[test]
fn the_lost_wake_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = native(directory.path(), &example("idle.c"), "", &["safe"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let json = run.json();
    assert_eq!((&json["trace_safe"], &json["complete"]), (&false.into(), &true.into()));
    let finding = &json["findings"][0];
    assert_eq!(finding["kind"], "sc-violation");
    // Both loads pass the store before them, so that each thread needs a fence.
    assert_eq!(json["orderings"].as_array().map(Vec::len), Some(2), "{}", json["orderings"]);
    let again = fencepost(directory.path(), &["replay", finding["replay"].as_str().expect("a file")]);
    assert_eq!(again.status, 1, "{}{}", again.stdout, again.stderr);

    let fixed = native(directory.path(), &example("idle.c"), "-DFIXED", &["safe"]);
    assert_eq!(fixed.status, 0, "{}{}", fixed.stdout, fixed.stderr);
    assert_eq!(fixed.json()["trace_safe"], true);
}

#[test]
fn random_executions_under_sc_are_watched() {
    let directory = tempfile::tempdir().expect("a directory");
    let watch = ["test", "--model", "sc", "--watch", "tso,pso", "--executions", "1000"];
    let run = native(directory.path(), &example("idle.c"), "", &watch);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.json()["findings"][0]["kind"], "sc-violation");
    let fixed = native(directory.path(), &example("idle.c"), "-DFIXED", &watch);
    assert_eq!(fixed.status, 0, "{}{}", fixed.stdout, fixed.stderr);
}

/// Programs of `tests/programs` and `examples/hunt` with their macros, small enough to explore under the models.
const PROGRAMS: &[(&str, &str)] = &[
    ("tests/programs/sb.c", "-DN=2"),
    ("tests/programs/mp.c", "-DN=2"),
    ("tests/programs/mp.c", "-DN=2 -DWEAK"),
    ("tests/programs/iriw.c", "-DN=2"),
    ("tests/programs/dekker.c", "-DN=1"),
    ("tests/programs/dekker.c", "-DN=1 -DWEAK"),
    ("tests/programs/peterson.c", "-DN=1"),
    ("tests/programs/peterson.c", "-DN=1 -DWEAK"),
    ("tests/programs/lamport.c", "-DN=2"),
    ("tests/programs/lamport.c", "-DN=2 -DWEAK"),
    ("tests/programs/bakery.c", "-DN=2"),
    ("tests/programs/bakery.c", "-DN=2 -DWEAK"),
    ("tests/programs/chaselev.c", "-DN=2 -DS=2"),
    ("tests/programs/chaselev.c", "-DN=2 -DS=2 -DWEAK"),
    ("tests/programs/account.c", "-DN=1"),
    ("tests/programs/airline.c", "-DN=2"),
    ("tests/programs/ms2.c", "-DN=2"),
    ("tests/programs/msqueue.c", "-DN=2 -DR=1"),
    ("tests/programs/treiber.c", "-DN=2"),
    ("tests/programs/ticket.c", "-DN=3"),
    ("tests/programs/spsc.c", "-DN=3"),
    ("tests/programs/rwlock.c", "-DN=1 -DW=1"),
    ("tests/programs/mcr_example.c", "-DN=1"),
    ("examples/hunt/dekker.c", ""),
    ("examples/hunt/bakery.c", ""),
    ("examples/hunt/observed.c", ""),
    ("examples/hunt/seq_cst.c", ""),
    ("examples/hunt/charset.c", ""),
    ("examples/hunt/crypt_util.c", ""),
    ("examples/hunt/pthread_cancel.c", ""),
];

/// A program is safe exactly if it has as many execution graphs under the model as under sc: all of those are among
/// them. What was explored for that are executions under sc alone.
fn brute_force_says(programs: &[(&str, &str)]) -> usize {
    let mut compared = 0;
    for (program, defines) in programs {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(program);
        let directory = tempfile::tempdir().expect("a directory");
        let run = |arguments: &[&str]| native(directory.path(), &file, defines, arguments).json();
        let graphs = |model: &str| {
            let report = run(&["check", "--method", "graph", "--keep-going", "--model", model]);
            let number = |key: &str| report[key].as_u64().expect("a number");
            (report["complete"] == true).then(|| number("executions") + number("blocked"))
        };
        let Some(sc) = graphs("sc") else { continue };
        for model in ["tso", "pso"] {
            let Some(weak) = graphs(model) else { continue };
            let safe = run(&["safe", "--no-orderings", "--model", model]);
            assert_eq!(safe["trace_safe"], sc == weak, "{program} {defines} {model}: {sc} and {weak} graphs; {safe}");
            let explored = safe["executions"].as_u64().expect("a number");
            assert!(explored <= sc, "{program} {defines} {model}: {explored} of {sc}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn safe_is_what_brute_force_says() {
    // The first of them are small.
    let compared = brute_force_says(&PROGRAMS[..12]);
    assert!(compared >= 20, "{compared}");
}

#[test]
#[ignore = "takes minutes"]
fn safe_is_what_brute_force_says_of_larger_programs() {
    let compared = brute_force_says(&PROGRAMS[12..]);
    assert!(compared >= 20, "{compared}");
}

/// Executions under sc are enough: so many of them, where `check` under pso has 13,848 and more than half a million.
#[test]
fn the_example_of_mcr() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/mcr_example.c");
    let directory = tempfile::tempdir().expect("a directory");
    for (defines, expected) in [("-DN=2", 105), ("-DN=3", 4395)] {
        let arguments = ["safe", "--no-orderings", "--model", "pso"];
        let report = native(directory.path(), &file, defines, &arguments).json();
        assert_eq!((&report["executions"], &report["trace_safe"]), (&expected.into(), &false.into()), "{defines}");
    }
}
