//! `fencepost safe`, and `fencepost test --watch`.

use crate::common::{Output, command, copies, fencepost, finish};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> PathBuf {
    root().join("examples/safe").join(name)
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

/// Programs of `tests/programs` and `examples/hunt` with their macros, small enough to explore under the models. The
/// first eight take the least time.
const PROGRAMS: &[(&str, &str)] = &[
    ("tests/programs/sb.c", "-DN=2"),
    ("tests/programs/mp.c", "-DN=2"),
    ("tests/programs/mp.c", "-DN=2 -DWEAK"),
    ("tests/programs/iriw.c", "-DN=2"),
    ("tests/programs/dekker.c", "-DN=1"),
    ("tests/programs/dekker.c", "-DN=1 -DWEAK"),
    ("tests/programs/peterson.c", "-DN=1 -DWEAK"),
    ("tests/programs/lamport.c", "-DN=2 -DWEAK"),
    ("tests/programs/bakery.c", "-DN=2 -DWEAK"),
    ("tests/programs/spsc.c", "-DN=3 -DWEAK"),
    ("examples/hunt/ms2.c", "-DSMALL"),
    ("examples/hunt/ms2.c", "-DSMALL -DSTORE_STORE"),
    ("tests/programs/sb.c", "-DN=3 -DSC"),
    ("tests/programs/dekker.c", "-DN=2 -DWEAK"),
    ("tests/programs/peterson.c", "-DN=1"),
    ("tests/programs/peterson.c", "-DN=2 -DWEAK"),
    ("tests/programs/lamport.c", "-DN=2"),
    ("tests/programs/bakery.c", "-DN=2"),
    ("tests/programs/chaselev.c", "-DN=2 -DS=2"),
    ("tests/programs/chaselev.c", "-DN=2 -DS=2 -DWEAK"),
    ("tests/programs/account.c", "-DN=1"),
    ("tests/programs/account.c", "-DN=2 -DFIXED"),
    ("tests/programs/airline.c", "-DN=2"),
    ("tests/programs/allocation.c", "-DN=2"),
    ("tests/programs/crawler.c", "-DN=2"),
    ("tests/programs/fib_bench.c", "-DN=3 -DBUG"),
    ("tests/programs/ms2.c", "-DN=2"),
    ("tests/programs/msqueue.c", "-DN=2 -DR=1"),
    ("tests/programs/ninc.c", "-DN=3"),
    ("tests/programs/ping_pong.c", "-DN=2"),
    ("tests/programs/readers.c", "-DN=4"),
    ("tests/programs/rv_example.c", "-DN=1"),
    ("tests/programs/stack_unsafe.c", "-DN=2"),
    ("tests/programs/string_buffer.c", ""),
    ("tests/programs/ticket.c", "-DN=3"),
    ("tests/programs/ticket.c", "-DN=2 -DSPIN"),
    ("tests/programs/treiber.c", "-DN=2"),
    ("tests/programs/rwlock.c", "-DN=2 -DW=1"),
    ("tests/programs/writers.c", "-DN=3"),
    ("tests/programs/mcr_example.c", "-DN=1"),
    ("tests/programs/mcr_example.c", "-DN=2"),
    ("examples/safe/idle.c", ""),
    ("examples/safe/idle.c", "-DFIXED"),
    ("examples/hunt/observed.c", ""),
    ("examples/hunt/seq_cst.c", ""),
    ("examples/hunt/charset.c", ""),
    ("examples/hunt/charset.c", "-DFENCES"),
    ("examples/hunt/crypt_util.c", ""),
    ("examples/hunt/msn.c", "-DSMALL"),
    ("examples/hunt/msn.c", "-DSMALL -DFENCES"),
    ("examples/hunt/harris.c", "-DSMALL"),
    ("examples/hunt/harris.c", "-DSMALL -DFENCES"),
    ("examples/hunt/lazylist.c", "-DSMALL"),
    ("examples/hunt/lazylist.c", "-DSMALL -DFENCES"),
];

/// A program is safe exactly if it has as many execution graphs under the model as under sc: all of those are among
/// them. What was explored for that are executions under sc alone.
fn brute_force_says(programs: &[(&str, &str)]) -> usize {
    let mut compared = 0;
    for (program, defines) in programs {
        let file = root().join(program);
        let directory = tempfile::tempdir().expect("a directory");
        let run = |arguments: &[&str]| native(directory.path(), &file, defines, arguments).json();
        // Under c11 a race is enough to be unsafe, and the numbers of graphs do not matter.
        let graphs = |model: &str| {
            let report = run(&["check", "--method", "graph", "--keep-going", "--model", model]);
            let number = |key: &str| report[key].as_u64().expect("a number");
            let races = report["findings"].as_array().into_iter().flatten().any(|f| f["kind"] == "data-race");
            (report["complete"] == true).then(|| (number("executions") + number("blocked"), races))
        };
        let Some((sc, _)) = graphs("sc") else { continue };
        for model in ["tso", "pso", "pslo", "c11"] {
            let Some((weak, races)) = graphs(model) else { continue };
            let safe = run(&["safe", "--no-orderings", "--model", model]);
            let expected = sc == weak && !races;
            assert_eq!(safe["trace_safe"], expected, "{program} {defines} {model}: {sc} and {weak} graphs; {safe}");
            let explored = safe["executions"].as_u64().expect("a number");
            assert!(explored <= sc, "{program} {defines} {model}: {explored} of {sc}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn safe_is_what_brute_force_says() {
    let compared = brute_force_says(&PROGRAMS[..8]);
    assert_eq!(compared, 32);
}

#[test]
#[ignore = "takes minutes"]
fn safe_is_what_brute_force_says_of_more_programs() {
    let compared = brute_force_says(&PROGRAMS[8..]);
    assert!(compared >= 180, "{compared}");
}

/// What is recorded of a way out is an execution of the model itself, under every model, and can be run again.
#[test]
fn ways_out_of_programs_can_be_replayed() {
    let directory = tempfile::tempdir().expect("a directory");
    // Under pslo alone: nothing but the order of two loads is missing.
    let file = directory.path().join("loads.c");
    let source = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int data, flag;\n\
        static void *reader(void *p) {\n\
            if (atomic_load_explicit(&flag, memory_order_relaxed))\n\
                return atomic_load_explicit(&data, memory_order_relaxed) ? 0 : p;\n\
            return 0;\n}\n\
        int main(void) {\n\
            pthread_t t; void *late; pthread_create(&t, 0, reader, &data);\n\
            atomic_store_explicit(&data, 1, memory_order_relaxed);\n\
            atomic_store_explicit(&flag, 1, memory_order_release);\n\
            pthread_join(t, &late); return late ? 7 : 0;\n}\n";
    std::fs::write(&file, source).expect("a file");
    for (file, model) in
        [(example("idle.c"), "tso"), (example("idle.c"), "pslo"), (file.clone(), "pslo"), (file, "c11")]
    {
        let run = native(directory.path(), &file, "", &["safe", "--model", model]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        let json = run.json();
        assert_eq!(
            (&json["trace_safe"], &json["state_safe"], &json["minimal"]),
            (&false.into(), &false.into(), &true.into())
        );
        for finding in json["findings"].as_array().expect("findings") {
            let again = fencepost(directory.path(), &["replay", finding["replay"].as_str().expect("a file")]);
            assert_eq!(again.status, 1, "{model}: {}{}", again.stdout, again.stderr);
            assert!(again.stdout.contains(&format!("under {model}")), "{}", again.stdout);
        }
    }
}

/// What a safe program could do without: with a fence in each thread, nothing else in figure 1 needs to order anything.
#[test]
fn what_is_not_needed_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = native(directory.path(), &example("idle.c"), "-DFIXED", &["safe"]).json();
    assert_eq!(run["superfluous"].as_array().map_or(0, Vec::len), 0, "{run}");
    // Under tso a seq_cst store orders what comes behind it: the fences can go, the loads and the locks are as good
    // relaxed.
    let file = root().join("tests/programs/sb.c");
    let run = native(directory.path(), &file, "-DN=2 -DSC", &["safe"]).json();
    let named: Vec<&str> = run["superfluous"].as_array().into_iter().flatten().filter_map(|s| s.as_str()).collect();
    assert!(!named.is_empty() && named.iter().all(|name| name.contains("load can be relaxed")), "{named:?}");
}

/// Several programs and models give a line each, in order.
#[test]
fn programs_under_several_models() {
    let directory = copies(&["SB"]);
    let program = example("idle.c");
    let program = program.to_str().expect("a path");
    let arguments = ["safe", "SB.litmus", program, "--model", "tso,c11", "--format", "json", "--no-orderings"];
    let run = fencepost(directory.path(), &arguments);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let lines = run.lines();
    let keys: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| (line["test"].as_str().expect("a name"), line["model"].as_str().expect("a model")))
        .collect();
    assert_eq!(keys, [("SB", "tso"), ("SB", "c11"), ("idle", "tso"), ("idle", "c11")]);
    assert!(lines.iter().all(|line| line["trace_safe"] == false && line["executions"].as_u64() > Some(2)));
}

/// Code without instrumentation that writes what others read: nobody knows when, so that it is not called safe.
#[test]
fn what_is_written_unseen_is_never_safe() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("unseen.c");
    let source = "#include <pthread.h>\nint x, y;\n\
        __attribute__((no_sanitize_thread, noinline)) static void set(int *p) { *(volatile int *)p = 1; }\n\
        static void *a(void *p) { set(&x); return y ? p : 0; }\n\
        static void *b(void *p) { set(&y); return x ? p : 0; }\n\
        int main(void) { pthread_t s, t; pthread_create(&s, 0, a, 0); pthread_create(&t, 0, b, 0);\n\
            pthread_join(s, 0); pthread_join(t, 0); return 0; }\n";
    std::fs::write(&file, source).expect("a file");
    for model in ["tso", "pso", "pslo", "c11"] {
        let run = native(directory.path(), &file, "", &["safe", "--model", model]);
        let json = run.json();
        assert_ne!(json["trace_safe"], true, "{model}: {json}");
        assert_ne!(run.status, 0, "{model}: {json}");
    }
}

/// Neither the seed nor the number of workers changes the answer.
#[test]
fn seeds_and_jobs_change_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    for (program, defines) in [("tests/programs/dekker.c", "-DN=2 -DWEAK"), ("tests/programs/bakery.c", "-DN=2")] {
        let answer = |jobs: &str, seed: &str| {
            let arguments = ["safe", "--no-orderings", "--model", "pso", "--jobs", jobs, "--seed", seed];
            let mut json = native(directory.path(), &root().join(program), defines, &arguments).json();
            ["seconds", "seed"].iter().for_each(|key| _ = json.as_object_mut().expect("an object").remove(*key));
            json
        };
        let one = answer("1", "1");
        for (jobs, seed) in [("1", "7"), ("2", "1"), ("3", "9")] {
            assert_eq!(answer(jobs, seed), one, "{program} {defines} --jobs {jobs} --seed {seed}");
        }
    }
}

/// Executions under sc are enough: so many of them, where `check` under pso has 13,848 and more than half a million.
#[test]
fn the_example_of_mcr() {
    let file = root().join("tests/programs/mcr_example.c");
    let directory = tempfile::tempdir().expect("a directory");
    for (defines, expected) in [("-DN=2", 105), ("-DN=3", 4395)] {
        let arguments = ["safe", "--no-orderings", "--model", "pso"];
        let report = native(directory.path(), &file, defines, &arguments).json();
        assert_eq!((&report["executions"], &report["trace_safe"]), (&expected.into(), &false.into()), "{defines}");
    }
}
