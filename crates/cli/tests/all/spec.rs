//! `--spec atomic`: outcomes of atomic operations, and those that are none.

use crate::common::{Output, command, fencepost, finish};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

fn example(name: &str) -> PathBuf {
    repository().join("examples").join(name)
}

fn program(name: &str) -> PathBuf {
    repository().join("crates/cli/tests/programs").join(name)
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// `fencepost VERB FILE --spec atomic`, compiled with these flags.
fn judge(directory: &Path, verb: &str, file: &Path, flags: &str, options: &[&str]) -> Output {
    let mut run = command(directory);
    let rust = if flags.contains("FIXED") { "--cfg fixed" } else { "" };
    run.env("CFLAGS", flags).env("RUSTFLAGS", rust);
    finish(run.arg(verb).arg(file).args(["--spec", "atomic", "--format", "json"]).args(options))
}

/// How many outcomes atomic operations have, and how many schedules gave them.
fn outcomes(output: &Output) -> (u32, u32) {
    let note = output.stderr.lines().find_map(|line| line.strip_prefix("note: atomic operations have "));
    let note = note.unwrap_or_else(|| panic!("no outcomes: {}{}", output.stdout, output.stderr));
    let numbers: Vec<u32> = note.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}

fn findings(output: &Output) -> Vec<Json> {
    output.json()["findings"].as_array().expect("a list").clone()
}

#[test]
fn an_outcome_that_no_order_of_operations_has_is_a_violation() {
    let place = place();
    for (verb, model) in [("test", "c11"), ("test", "sc"), ("check", "c11")] {
        let run = judge(place.path(), verb, &example("snapshot.c"), "", &["--model", model]);
        assert_eq!(run.status, 1, "{verb} under {model}: {}", run.stderr);
        // The scan comes before, between or after the two updates.
        assert_eq!(outcomes(&run), (3, 3));
        let finding = &findings(&run)[0];
        assert_eq!(finding["kind"], "spec-violation");
        let message = finding["message"].as_str().expect("a message");
        assert!(message.starts_with("the outcome {first: 0, second: 1} is none of the 3 "), "{message}");
        assert!(message.contains("nearest: {first: 0, second: 0}, {first: 1, second: 1};"), "{message}");
        let mut marked: Vec<&str> =
            finding["labels"].as_array().unwrap().iter().map(|l| l["access"].as_str().unwrap()).collect();
        marked.sort_unstable();
        assert_eq!(marked, ["scan", "update", "update"]);
        let label = &finding["labels"][0];
        assert!(label["file"].as_str().unwrap().ends_with("snapshot.c"), "it names the harness: {label}");
        let replay = fencepost(place.path(), &["replay", finding["replay"].as_str().expect("a replay")]);
        assert_eq!(replay.status, 1, "{}", replay.stderr);
    }
}

#[test]
fn a_correct_object_has_only_outcomes_of_atomic_operations() {
    let place = place();
    // Both producers and both consumers in any order: 4! schedules; empty, 1 or 2 for each consumer, but not twice
    // the same item: 7 outcomes.
    let expected = [
        ("snapshot.c", Some((3, 3))),
        ("gallery/ms_queue.c", Some((7, 24))),
        ("gallery/treiber_stack.c", None),
        ("gallery/work_stealing.rs", None),
    ];
    for (file, numbers) in expected {
        for restart in ["in-place", "fork"] {
            let count = if restart == "fork" { "200" } else { "2000" };
            let options = ["--executions", count, "--restart", restart];
            let run = judge(place.path(), "test", &example(file), "-DFIXED", &options);
            assert_eq!(run.status, 0, "{file} {restart}: {}{}", run.stdout, run.stderr);
            let found = outcomes(&run);
            assert!(numbers.is_none_or(|numbers| numbers == found), "{file} {restart}: {found:?}");
        }
    }
    let proof = judge(place.path(), "check", &example("snapshot.c"), "-DFIXED", &[]);
    assert_eq!((proof.status, &proof.json()["complete"]), (0, &true.into()), "{}", proof.stderr);
}

/// However an operation waits, others can go on, and it completes: the taker gets the two values in either order.
#[test]
fn operations_that_wait_are_interrupted() {
    let place = place();
    for flags in ["", "-DYIELD", "-DBLOCK"] {
        let run = judge(place.path(), "test", &program("handover.c"), flags, &["--executions", "500"]);
        assert_eq!(run.status, 0, "{flags}: {}{}", run.stdout, run.stderr);
        assert_eq!(outcomes(&run).0, 2, "{flags}");
    }
}

/// A loop that only looks does not have to be tried in all its lengths.
#[test]
fn loops_outside_of_operations_come_to_an_end() {
    let place = place();
    let run = judge(place.path(), "test", &program("spins_outside.c"), "", &["--executions", "500"]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    let (outcomes, schedules) = outcomes(&run);
    assert_eq!(outcomes, 2);
    assert!(schedules < 10_000, "{schedules}");
}

#[test]
#[ignore = "100,000 schedules take a minute where the runtime is checked"]
fn what_is_not_known_to_be_wrong_is_not_judged_and_not_passed() {
    let place = place();
    let run = judge(place.path(), "test", &program("many_operations.c"), "", &["--executions", "10"]);
    assert_eq!((run.status, &run.json()["verdict"]), (3, &"incomplete".into()), "{}", run.stderr);
    assert!(run.stderr.contains("too many schedules"), "{}", run.stderr);
}

#[test]
fn a_program_that_observes_nothing_is_refused() {
    let place = place();
    let silent = judge(place.path(), "test", &program("race.c"), "", &[]);
    assert!(silent.refused().contains("observes nothing"), "{}", silent.stderr);
    let litmus = judge(place.path(), "test", &repository().join("tests/litmus/SB.litmus"), "", &[]);
    assert!(litmus.refused().contains("--spec is for native programs"), "{}", litmus.stderr);
}

/// Without Fencepost the marks do nothing, and nothing has to be linked.
#[test]
fn marked_programs_run_by_themselves() {
    let place = place();
    let include = fencepost(place.path(), &["include"]);
    assert_eq!(include.status, 0, "{}", include.stderr);
    let include = include.stdout.trim_end();
    let built = |command: &mut Command| {
        let made = command.current_dir(place.path()).args(["-o", "program"]).output().expect("the compiler starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let ran = Command::new(place.path().join("program")).status().expect("the program starts");
        assert!(ran.success(), "{ran}");
    };
    let c = |compiler: &str, file: &Path| {
        built(Command::new(compiler).args(["-pthread", "-DFIXED", "-I", include]).arg(file));
        built(Command::new(compiler).args(["-pthread", "-DFIXED", "-no-pie", "-I", include]).arg(file));
    };
    c("gcc", &example("gallery/ms_queue.c"));
    let cpp = place.path().join("observe.cpp");
    std::fs::write(
        &cpp,
        "#include <fencepost.h>\nint main() { fencepost_op_begin(\"a\"); fencepost_op_end(); \
         fencepost_observe(\"k\", 1); }\n",
    )
    .expect("written");
    c("g++", &cpp);
    built(Command::new("rustc").args(["--edition", "2021", "--cfg", "fixed"]).arg(example("gallery/work_stealing.rs")));
    // Built for ThreadSanitizer by anybody, it is understood all the same.
    let made = Command::new("gcc")
        .current_dir(place.path())
        .args(["-g", "-O1", "-fsanitize=thread", "-I", include, "-o", "snapshot"])
        .arg(example("snapshot.c"))
        .status();
    assert!(made.expect("gcc starts").success());
    let run = judge(place.path(), "test", Path::new("./snapshot"), "", &[]);
    assert_eq!((run.status, outcomes(&run)), (1, (3, 3)), "{}", run.stderr);
}
