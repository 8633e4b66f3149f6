//! Native programs from the command line: compiled here, by the compilers that are there.

use crate::common::{Output, command, fencepost, finish};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A directory with the named programs in it.
fn with(programs: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for name in programs {
        fs::copy(from.join(name), directory.path().join(name)).expect("the programs are part of the repository");
    }
    directory
}

/// The findings of a run, after checking that its exit status says the same.
fn findings(run: &Output) -> Vec<Json> {
    let report = run.json();
    let findings = report["findings"].as_array().expect("a list").clone();
    let (status, verdict) = if findings.is_empty() { (0, "pass") } else { (1, "fail") };
    assert_eq!((run.status, report["verdict"].as_str()), (status, Some(verdict)), "{}", run.stderr);
    findings
}

fn kinds(run: &Output) -> BTreeSet<String> {
    findings(run).iter().map(|f| f["kind"].as_str().expect("a kind").to_owned()).collect()
}

fn test(directory: &TempDir, args: &[&str]) -> Output {
    fencepost(directory.path(), &[&["test", "--format", "json"], args].concat())
}

/// The exit statuses that a program ends with, by its `exit-status` findings.
fn statuses(directory: &TempDir, program: &str, model: &str) -> BTreeSet<u64> {
    let run = test(directory, &[program, "--model", model, "--keep-going", "--executions", "2000"]);
    let number = |finding: &Json| {
        let message = finding["message"].as_str().expect("a message").to_owned();
        assert_eq!(finding["kind"], "exit-status", "{message}");
        let digits: String = message.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("the message has the status in it")
    };
    findings(&run).iter().map(number).collect()
}

/// Long executions, in which accesses to memory that one thread alone uses are no operations: the mistakes behind that
/// are found as with all accesses, and the program without one is right.
#[test]
fn long_executions_show_what_short_ones_do() {
    let directory = with(&["long.c"]);
    let run = |mistake: &str, model: &str, args: &[&str]| {
        let mut command = command(directory.path());
        command.args(["test", "long.c", "--format", "json", "--model", model, "--executions", "200"]).args(args);
        finish(command.env("CFLAGS", format!("-O1 -g -D{mistake}")))
    };
    let cases = [
        ("NONE", ["", "", ""]),
        ("PUBLISH", ["", "", "assertion"]),
        ("BUFFER", ["", "assertion", "assertion"]),
        ("FREED", ["use-after-free"; 3]),
        ("SPIN", ["livelock"; 3]),
    ];
    for (mistake, expected) in cases {
        for (model, expected) in ["sc", "tso", "pso"].into_iter().zip(expected) {
            let found = run(mistake, model, &[]);
            let kinds = kinds(&found);
            assert!(kinds.iter().eq([expected].iter().filter(|kind| !kind.is_empty())), "{mistake} {model}: {kinds:?}");
            if let Some(finding) = findings(&found).first() {
                let again =
                    finish(command(directory.path()).args(["replay", finding["replay"].as_str().expect("a file")]));
                assert_eq!(again.status, 1, "{mistake} {model}: {}", again.stderr);
            }
        }
    }
    // Every access is an operation if that is asked for.
    let steps = |args: &[&str]| run("NONE", "sc", &[args, &["--max-steps", "5000"]].concat()).status;
    assert_eq!((steps(&[]), steps(&["--all-accesses"])), (0, 3));
}

/// Four outcomes where stores are buffered, three where they are not. Over 2,000 random executions each outcome has a
/// chance of more than one in a hundred: one is missed once in 10^8.
#[test]
fn store_buffering_with_plain_ints_shows_what_each_model_permits() {
    let directory = with(&["store_buffering.c"]);
    assert_eq!(statuses(&directory, "store_buffering.c", "sc"), [2, 3, 4].into());
    assert_eq!(statuses(&directory, "store_buffering.c", "tso"), [1, 2, 3, 4].into());
    assert_eq!(statuses(&directory, "store_buffering.c", "pso"), [1, 2, 3, 4].into());
}

#[test]
fn message_passing_with_plain_ints_breaks_where_stores_or_loads_pass_each_other() {
    let directory = with(&["message_passing.c"]);
    for (model, breaks) in [("sc", false), ("tso", false), ("pso", true), ("pslo", true)] {
        let expected: BTreeSet<u64> = if breaks { [9].into() } else { [].into() };
        assert_eq!(statuses(&directory, "message_passing.c", model), expected, "{model}");
    }
}

#[test]
fn a_race_is_reported_with_both_places() {
    let directory = with(&["race.c"]);
    let run = test(&directory, &["race.c"]);
    let found = findings(&run);
    assert_eq!(found[0]["kind"], "data-race");
    let lines: BTreeSet<u64> =
        found[0]["labels"].as_array().unwrap().iter().map(|l| l["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [4, 10].into());
    let functions: BTreeSet<&str> =
        found[0]["labels"].as_array().unwrap().iter().map(|l| l["function"].as_str().unwrap()).collect();
    assert_eq!(functions, ["main", "other"].into());
}

#[test]
fn deadlocks_and_crashes_are_told_apart() {
    let directory = with(&["deadlock.c", "crash.c"]);
    assert_eq!(kinds(&test(&directory, &["deadlock.c"])), ["deadlock".to_owned()].into());
    assert_eq!(kinds(&test(&directory, &["crash.c"])), ["crash".to_owned()].into());
}

/// The program is terminated as it would be by itself.
#[test]
fn an_exception_that_nobody_catches_is_an_abort() {
    let directory = with(&["uncaught.cpp"]);
    assert_eq!(kinds(&test(&directory, &["uncaught.cpp", "--executions", "50"])), ["abort".to_owned()].into());
}

/// What is thrown, and where: not where the library gives up.
#[test]
fn an_exception_that_nobody_catches_has_its_type_and_its_place() {
    let directory = with(&["uncaught.cpp"]);
    let found = findings(&test(&directory, &["uncaught.cpp", "--executions", "50"]));
    let message = found[0]["message"].as_str().expect("a message");
    assert!(message.starts_with("an exception of type ") && message.ends_with(" was not caught"), "{message}");
    let source = include_str!("../programs/uncaught.cpp");
    let line = found[0]["labels"][0]["line"].as_u64().expect("a line") as usize;
    assert!(source.lines().nth(line - 1).is_some_and(|text| text.contains("throw")), "line {line}");
}

/// The block is allocated in line 8, in the function that calls `operator new`; the threads are created where the
/// program constructs them, and not somewhere in libstdc++.
#[test]
fn what_the_library_does_for_the_program_has_its_line() {
    let directory = with(&["allocation_site.cpp"]);
    let run = fencepost(directory.path(), &["test", "allocation_site.cpp"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let has = |text: &str| run.stdout.contains(text);
    assert!(has("that thread 1 allocated at allocation_site.cpp:8"), "{}", run.stdout);
    assert!(has("main  allocation_site.cpp:18") && has("main  allocation_site.cpp:19"), "{}", run.stdout);
    assert!(!has("_M_start_thread") && !has("operator new"), "{}", run.stdout);
}

#[test]
fn operators_of_the_program_are_used() {
    let directory = with(&["own_new.cpp"]);
    for model in ["c11", "tso"] {
        let run = test(&directory, &["own_new.cpp", "--executions", "20", "--model", model]);
        assert_eq!(findings(&run), Vec::<Json>::new());
    }
}

#[test]
fn a_stack_overflow_has_its_name() {
    let directory = with(&["overflow.c"]);
    let found = findings(&test(&directory, &["overflow.c", "--executions", "10"]));
    assert!(found[0]["message"].as_str().is_some_and(|text| text.starts_with("stack overflow")), "{found:?}");
}

/// Both accesses are in line 5 of the library, which was not there when the program began.
#[test]
fn a_library_that_the_program_opens_has_its_lines() {
    let directory = with(&["plugin.c", "opens_plugin.c"]);
    let built = fencepost(directory.path(), &["cc", "-g", "-O1", "-shared", "-fPIC", "plugin.c", "-o", "plugin.so"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let found = findings(&test(&directory, &["opens_plugin.c", "--executions", "10"]));
    for label in found[0]["labels"].as_array().expect("a list") {
        assert_eq!((label["function"].as_str(), label["line"].as_u64()), (Some("poke"), Some(5)), "{label}");
    }
}

#[test]
fn sleeping_costs_no_time_and_hides_no_race() {
    let directory = with(&["sleeper.c"]);
    assert_eq!(kinds(&test(&directory, &["sleeper.c", "--executions", "100"])), ["data-race".to_owned()].into());
}

#[test]
fn a_correct_program_has_no_findings() {
    let directory = with(&["correct.cpp"]);
    let run = test(&directory, &["correct.cpp", "--executions", "3000", "--keep-going"]);
    assert_eq!(findings(&run), Vec::<Json>::new());
    assert_eq!(run.json()["executions"], 3000);
}

#[test]
fn rust_programs_run_too() {
    let directory = with(&["message.rs"]);
    let run = test(&directory, &["message.rs"]);
    let found = findings(&run);
    assert_eq!(found[0]["kind"], "panic");
    assert_eq!(found[0]["labels"][0]["file"], "message.rs", "{found:?}");
    assert!(found[0]["message"].as_str().unwrap().starts_with("main panicked: assertion"), "{found:?}");
    let checked = fencepost(directory.path(), &["check", "message.rs", "--format", "json"]);
    assert_eq!(findings(&checked)[0]["kind"], "panic");
}

/// What the standard library does to its own counters and streams neither hides a race nor makes one. In every
/// execution the reader gets the block without order.
#[test]
fn races_of_rust_programs_are_not_hidden_by_the_standard_library() {
    let directory = with(&["published.rs"]);
    let run = test(&directory, &["published.rs", "--keep-going", "--executions", "200"]);
    let found = findings(&run);
    assert_eq!(kinds(&run), ["data-race".to_owned()].into(), "{found:?}");
    assert!(found.iter().any(|finding| finding["count"] == 200), "{found:?}");
    assert!(found.iter().all(|finding| finding["labels"][0]["file"] == "published.rs"), "{found:?}");
}

#[test]
fn rust_threads_that_wake_each_other_are_not_stuck() {
    let directory = with(&["parks.rs"]);
    let run = test(&directory, &["parks.rs", "--executions", "3000"]);
    assert_eq!(findings(&run), Vec::<Json>::new());
}

/// A thread gets to sleep in about one of 100 executions: missed by 2,000 once in 10^8.
#[test]
fn a_thread_that_looks_before_it_sleeps_gets_to_sleep() {
    let directory = with(&["never_told.cpp"]);
    let arguments = ["test", "never_told.cpp", "--format", "json", "--executions", "2000"];
    let run = finish(command(directory.path()).args(arguments).env("CXXFLAGS", "-std=c++20"));
    assert_eq!(kinds(&run), ["deadlock".to_owned()].into());
}

#[test]
fn a_finding_replays_as_it_was_a_hundred_times() {
    let directory = with(&["store_buffering.c", "correct.cpp"]);
    let run = test(&directory, &["store_buffering.c", "--model", "tso"]);
    let file = findings(&run)[0]["replay"].as_str().expect("a file").to_owned();
    let first = fencepost(directory.path(), &["replay", &file, "--format", "json"]);
    assert_eq!(first.status, 1, "{}", first.stderr);
    for _ in 0..100 {
        let again = fencepost(directory.path(), &["replay", &file, "--format", "json"]);
        assert_eq!((again.status, &again.stdout), (1, &first.stdout));
    }
    fs::write(directory.path().join("store_buffering.c"), "int main(void) { return 0; }").unwrap();
    assert!(fencepost(directory.path(), &["replay", &file]).refused().contains("has changed"));
}

/// The same seed gives the same findings and counts, however many workers there are and however the program is put
/// back. There are enough executions for a mix to learn in three seasons, of 1,024 each.
#[test]
fn neither_workers_nor_the_way_of_restarting_change_anything() {
    let directory = with(&["store_buffering.c"]);
    let run = |options: &[&str]| {
        let common = ["store_buffering.c", "--model", "pso", "--keep-going", "--executions", "2200"];
        let mut report = test(&directory, &[&common, options].concat()).json();
        report.as_object_mut().unwrap().remove("seconds");
        report.as_object_mut().unwrap().remove("restart");
        report
    };
    let one = run(&["--jobs", "1"]);
    assert_eq!(one, run(&["--jobs", "2"]));
    assert_eq!(one, run(&["--jobs", "3", "--restart", "in-place"]));
    assert_eq!(one, run(&["--jobs", "1", "--restart", "fork"]));
}

/// Under no strategy and no model does a thread that waits in a loop keep the others from ending it.
#[test]
fn nobody_starves_who_waits_in_a_loop() {
    let directory = with(&["waiting.c"]);
    for model in ["sc", "tso", "pso", "pslo", "c11"] {
        for strategy in
            [&["mix"][..], &["random"], &["pct"], &["pct", "--depth", "20"], &["pos"], &["pos", "--stale", "100"]]
        {
            let common = ["waiting.c", "--model", model, "--executions", "300", "--max-steps", "20000", "--strategy"];
            let run = test(&directory, &[&common, strategy].concat());
            let report = run.json();
            assert_eq!((run.status, report["blocked"].as_u64()), (0, Some(0)), "{model} {strategy:?}: {report}");
        }
    }
}

#[test]
fn the_compiler_stands_in_for_gcc() {
    let directory = with(&["race.c"]);
    let path = directory.path();
    let built = finish(command(path).args(["cc", "-O1", "race.c", "-o", "race"]));
    assert_eq!(built.status, 0, "{}", built.stderr);
    assert_eq!(kinds(&test(&directory, &["./race"])), ["data-race".to_owned()].into());
    let version = finish(command(path).args(["cc", "--version"]));
    assert!(version.status == 0 && version.stdout.contains("gcc"), "{}", version.stdout);
    let error = finish(command(path).args(["cc", "missing.c"]));
    assert!(error.status != 0 && error.stderr.contains("missing.c"), "{}", error.stderr);
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let directory = with(&["race.c"]);
    let path = directory.path();
    let gcc = |args: &[&str]| assert!(Command::new("gcc").current_dir(path).args(args).status().unwrap().success());
    gcc(&["race.c", "-o", "plain"]);
    gcc(&["race.c", "-static", "-o", "static"]);
    gcc(&["-c", "race.c", "-o", "object"]);
    fs::write(path.join("script"), "#!/bin/sh\n").unwrap();
    let cases = [
        ("./missing", "no such file"),
        ("./plain", "not instrumented"),
        ("./static", "static"),
        ("./object", "object"),
        ("./script", "script"),
        (".", "directory"),
    ];
    for (target, part) in cases {
        let run = fencepost(path, &["test", target]);
        assert!(run.refused().contains(part), "{target}: {}", run.stderr);
    }
}

/// What depends on a file that it changes itself is found once and never again.
#[test]
fn a_finding_that_does_not_show_again_is_marked() {
    let directory = tempfile::tempdir().expect("a directory");
    let source = "#include <fcntl.h>\n#include <stdlib.h>\n\
                  int main(void) { if (open(\"seen\", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) abort(); return 0; }\n";
    fs::write(directory.path().join("once.c"), source).expect("a file");
    let run = test(&directory, &["once.c", "--executions", "10"]);
    assert_eq!(kinds(&run), ["abort".to_owned()].into());
    assert!(run.stderr.contains("warning: the abort does not show again"), "{}", run.stderr);
    // One that does is not.
    let again = with(&["store_buffering.c"]);
    let run = test(&again, &["store_buffering.c", "--model", "tso", "--executions", "100"]);
    assert!(run.status == 1 && !run.stderr.contains("does not show again"), "{}", run.stderr);
}

/// A locked instruction in assembly is a fence, an access and a fence to c11: three steps of a thread that stands at
/// one place, with the same registers and stack at the first two. At the limit of steps, when nobody else can go on,
/// that is no loop without an end. Whoever takes long without end is cut off in every execution.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_long_loop_with_a_locked_instruction_is_no_livelock() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "#include <pthread.h>
#include <stdatomic.h>
static atomic_long count;
static void *work(void *p) {
    while (count < 100000) {
        long own = 0;
        __asm__ volatile(\"lock notq %0\" : \"+m\"(own) : : \"cc\");
        count++;
    }
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    return 0;
}
";
    fs::write(directory.path().join("long.c"), text).expect("it can be written");
    for limit in ["2000", "2001", "2002", "2003", "2004"] {
        let run = test(&directory, &["long.c", "--executions", "3", "--max-steps", limit]);
        let report = run.json();
        assert_eq!((run.status, report["verdict"].as_str()), (3, Some("incomplete")), "{limit}: {report}");
        assert_eq!(report["blocked"], 3, "{limit}");
    }
}
