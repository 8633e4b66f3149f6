//! `fencepost test`, `check` and `replay`, end to end.

use crate::common::{classics, copies, fencepost, timeless};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// The fields of CONTRACT.md, all of them.
fn check_shape(document: &Json, command: &str, target: &str) {
    assert_eq!(document["fencepost"], env!("CARGO_PKG_VERSION"));
    assert_eq!((document["command"].as_str(), document["target"].as_str()), (Some(command), Some(target)));
    for field in ["seed", "executions", "blocked", "states"] {
        assert!(document[field].is_u64(), "{field} in {document}");
    }
    assert!(document["model"].is_string() && document["verdict"].is_string());
    assert!(document["complete"].is_boolean() && document["seconds"].is_f64());
    for (i, finding) in document["findings"].as_array().expect("a list").iter().enumerate() {
        assert_eq!(finding["id"].as_u64(), Some(i as u64 + 1));
        assert!(finding["kind"].is_string() && finding["message"].is_string());
        assert!(finding["count"].as_u64() >= Some(1) && finding["first_execution"].as_u64() >= Some(1));
        assert_eq!(finding["severity"], "harmful");
        assert!(finding["labels"].is_array() && finding["replay"].is_string());
    }
}

/// The `exists` of SB is reached by a quarter of all schedules or so: 10,000 miss it with probability 0.
#[test]
fn a_random_campaign_finds_a_witness_and_stops() {
    let directory = copies(&["SB"]);
    let run = fencepost(directory.path(), &["test", "SB.litmus", "--model", "tso", "--format", "json"]);
    assert_eq!((run.status, &run.stderr[..]), (1, ""));
    let document = run.json();
    check_shape(&document, "test", "SB.litmus");
    assert_eq!((document["verdict"].as_str(), document["model"].as_str()), (Some("fail"), Some("tso")));
    let finding = &document["findings"][0];
    assert_eq!(finding["kind"], "assertion");
    assert_eq!(finding["message"], "exists (0:r0=0 /\\ 1:r0=0) is reached: 0:r0=0 1:r0=0");
    assert_eq!(finding["first_execution"], document["executions"], "it stops there");
    assert_eq!(finding["replay"], "fencepost-out/finding-1.json");
    let saved = fs::read_to_string(directory.path().join("fencepost-out/run.json")).unwrap();
    assert_eq!(serde_json::from_str::<Json>(&saved).unwrap(), document);
}

/// Nothing to find: nothing is written, and all executions are run.
#[test]
fn a_clean_campaign_leaves_its_report_alone() {
    let directory = copies(&["SB+fences", "SB"]);
    let run = fencepost(directory.path(), &["test", "SB+fences.litmus", "--format", "json", "--executions", "500"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let document = run.json();
    check_shape(&document, "test", "SB+fences.litmus");
    assert_eq!((document["executions"].as_u64(), document["states"].as_u64()), (Some(500), Some(3)));
    let sc = fencepost(directory.path(), &["test", "SB.litmus", "--model", "sc", "-q"]);
    assert_eq!((sc.status, &sc.stdout[..]), (0, "pass\n"));
    let left: Vec<_> = std::fs::read_dir(directory.path().join("fencepost-out")).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].as_ref().unwrap().file_name(), "run.json");
}

#[test]
fn a_race_is_found_once_with_both_ends() {
    let directory = copies(&["MP+race"]);
    for (command, executions) in [("test", Some(200)), ("check", None)] {
        let mut args = vec![command, "MP+race.litmus", "--keep-going", "--format", "json"];
        if executions.is_some() {
            args.extend(["--executions", "200"]);
        }
        let document = fencepost(directory.path(), &args).json();
        check_shape(&document, command, "MP+race.litmus");
        let findings = document["findings"].as_array().unwrap();
        assert_eq!((findings.len(), findings[0]["kind"].as_str()), (1, Some("data-race")));
        let ends: Vec<_> = findings[0]["labels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|label| {
                let text = |key: &str| label[key].as_str().unwrap().to_owned();
                (
                    text("function"),
                    text("file"),
                    label["line"].as_u64().unwrap(),
                    label["thread"].as_u64().unwrap(),
                    text("access"),
                )
            })
            .collect();
        let end = |function: &str, line, thread, access: &str| {
            (function.to_owned(), "MP+race.litmus".to_owned(), line, thread, access.to_owned())
        };
        assert_eq!(ends, [end("P0", 7, 0, "write"), end("P1", 15, 1, "read")]);
        if let Some(executions) = executions {
            assert_eq!(document["executions"], executions, "--keep-going goes on");
        }
    }
}

#[test]
fn checking_is_a_proof_a_bug_or_neither() {
    let directory = copies(&["MP+rel+acq", "lost-update", "IRIW"]);
    for model in ["sc", "tso", "pso", "pslo", "c11"] {
        let proof = fencepost(directory.path(), &["check", "MP+rel+acq.litmus", "--model", model, "--format", "json"]);
        assert_eq!(proof.status, 0, "{model}: {}{}", proof.stdout, proof.stderr);
        check_shape(&proof.json(), "check", "MP+rel+acq.litmus");
        assert_eq!((proof.json()["verdict"].as_str(), proof.json()["complete"].as_bool()), (Some("pass"), Some(true)));
        let bug = fencepost(directory.path(), &["check", "lost-update.litmus", "--model", model, "--format", "json"]);
        assert_eq!((bug.status, bug.json()["verdict"].as_str().unwrap().to_owned()), (1, "fail".to_owned()));
        assert_eq!(bug.json()["findings"][0]["message"], "forall (x=2) is violated: x=1");
    }
    let cut = fencepost(directory.path(), &["check", "IRIW.litmus", "--model", "sc", "--executions", "10"]);
    assert_eq!(cut.status, 3);
    assert!(cut.stdout.starts_with("incomplete: nothing found, but not everything was explored\n"), "{}", cut.stdout);
}

/// A loop that nobody ends is a livelock to `check`; a division by zero is a crash, and both replay.
#[test]
fn programs_that_fail_or_hang() {
    let directory = tempfile::tempdir().unwrap();
    let text = "C hang\n{ x=0; y=1; }\nP0 (atomic_int* x, atomic_int* y) {\n  int r0 = 8 / atomic_load(y);\n  \
        while (atomic_load(x) == 0) { }\n}\nP1 (atomic_int* y) {\n  atomic_store(y, 0);\n}\nlocations [y;]\n";
    fs::write(directory.path().join("hang.litmus"), text).unwrap();
    let run = fencepost(directory.path(), &["check", "hang.litmus", "--keep-going", "--format", "json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let document = run.json();
    let mut kinds: Vec<_> =
        document["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["crash", "livelock"]);
    for id in 1..=2 {
        let again = fencepost(directory.path(), &["replay", &format!("fencepost-out/finding-{id}.json")]);
        assert_eq!(again.status, 1, "{}", again.stderr);
    }
    // At random, executions that spin are cut off and counted.
    let args = ["test", "hang.litmus", "--max-steps", "100", "--executions", "50", "--keep-going", "--format", "json"];
    let random = fencepost(directory.path(), &args).json();
    let (blocked, crashed) = (&random["blocked"], &random["findings"][0]["count"]);
    assert_eq!(blocked.as_u64().unwrap() + crashed.as_u64().unwrap(), 50);
}

fn replays(directory: &Path, args: &[&str]) {
    let run = fencepost(directory, args);
    assert_eq!(run.status, 1, "{args:?}: {}", run.stderr);
    let recorded = fs::read_to_string(directory.join("fencepost-out/finding-1.trace.json")).unwrap();
    for _ in 0..2 {
        let again = fencepost(directory, &["replay", "fencepost-out/finding-1.json", "--format", "json"]);
        assert_eq!(again.status, 1, "{args:?}: {}", again.stderr);
        assert_eq!(again.stdout, recorded, "{args:?}: byte for byte");
    }
}

/// Random executions, graphs and enumerated machines, under every model.
#[test]
fn findings_replay_identically() {
    let directory = copies(&["MP", "MP+race"]);
    for model in ["pso", "pslo", "c11"] {
        for command in ["test", "check"] {
            replays(directory.path(), &[command, "MP.litmus", "--model", model]);
        }
    }
    for command in ["test", "check"] {
        replays(directory.path(), &[command, "MP+race.litmus"]);
    }
    replays(directory.path(), &["test", "MP.litmus", "--model", "pso", "--buffer", "2"]);
}

#[test]
fn a_replay_shows_the_execution_and_the_finding() {
    let directory = copies(&["SB"]);
    let run = fencepost(directory.path(), &["test", "SB.litmus", "--model", "tso"]);
    let again = fencepost(directory.path(), &["replay", "fencepost-out/finding-1.json"]);
    assert_eq!(again.status, 1);
    let (execution, _) = again.stdout.split_once("\n\n").expect("the execution comes first");
    assert!(run.stdout.contains(execution), "the same text in both:\n{}\n{}", run.stdout, again.stdout);
    assert!(again.stdout.contains("finding 1: assertion\n"));
    assert!(again.stdout.ends_with("same execution as recorded: SB.litmus under tso\n"));
}

/// A replay that would not be the recorded execution is refused, with the reason.
#[test]
fn a_replay_that_cannot_be_trusted_is_refused() {
    let directory = copies(&["SB"]);
    let path = directory.path();
    fencepost(path, &["test", "SB.litmus", "--model", "tso"]);
    let finding = "fencepost-out/finding-1.json";
    let recording = fs::read_to_string(path.join(finding)).unwrap();
    let with = |from: &str, to: &str| {
        let changed = recording.replacen(from, to, 1);
        assert_ne!(changed, recording);
        fs::write(path.join("changed.json"), changed).unwrap();
        fencepost(path, &["replay", "changed.json"])
    };
    assert!(with("\"trace_digest\":\"sha256:", "\"trace_digest\":\"sha256:0").refused().contains("diverged"));
    assert!(with("\"format\":1", "\"format\":9").refused().contains("format 9"));
    assert!(with("{", "[").refused().contains("not a recorded execution"));
    assert!(with("\"target\":\"SB.litmus\"", "\"target\":\"-\"").refused().contains("--target"));

    fs::rename(path.join("SB.litmus"), path.join("moved.litmus")).unwrap();
    assert!(fencepost(path, &["replay", finding]).refused().contains("SB.litmus: no such file or directory"));
    assert_eq!(fencepost(path, &["replay", finding, "--target", "moved.litmus"]).status, 1);
    let text = fs::read_to_string(path.join("moved.litmus")).unwrap();
    fs::write(path.join("SB.litmus"), text + "\n").unwrap();
    let changed = fencepost(path, &["replay", finding]);
    assert_eq!(
        changed.refused(),
        "fencepost: cannot replay fencepost-out/finding-1.json: SB.litmus has changed since it was recorded"
    );
}

/// Four threads that write and read two locations: 223,808 executions under c11, more than one worker looks at alone.
fn large_test() -> String {
    let access =
        |function: &str, args: String| format!("atomic_{function}_explicit({args}, memory_order_relaxed);\n  ");
    let mut text = "C large\n{ x=0; y=0; }\n".to_owned();
    for thread in 0..4 {
        let (mine, other) = if thread % 2 == 0 { ("x", "y") } else { ("y", "x") };
        text += &format!("P{thread} (atomic_int* x, atomic_int* y) {{\n  ");
        text += &access("store", format!("{mine}, {}", thread + 1));
        text += &format!("int r0 = {}", access("load", other.to_owned()));
        if thread < 3 {
            text += &access("store", format!("{other}, {}", thread + 5));
        }
        text += &format!("int r1 = {}}}\n", access("load", mine.to_owned()));
    }
    text + "locations [0:r0; 1:r0; 2:r0; 3:r0; 0:r1; x; y;]\n"
}

/// How much is still new: the same counts as text and as JSON.
#[test]
fn a_campaign_says_how_much_is_still_new() {
    let directory = copies(&["SB+fences"]);
    let json = fencepost(directory.path(), &["test", "SB+fences.litmus", "--format", "json"]).json();
    // Each of the two loads reads the initial value or the other thread's store.
    let coverage = &json["coverage"];
    assert_eq!((coverage["pairs"].as_u64(), coverage["new"].as_u64()), (Some(4), Some(0)));
    let last = coverage["last_new_execution"].as_u64().unwrap();
    assert!((1..=100).contains(&last), "{last}");
    let text = fencepost(directory.path(), &["test", "SB+fences.litmus"]).stdout;
    assert!(text.contains("the last 2,000 executions showed nothing new (4 reads-from pairs seen)"), "{text}");
    // An exploration sees everything there is.
    let check = fencepost(directory.path(), &["check", "SB+fences.litmus", "--format", "json"]).json();
    assert!(check.get("coverage").is_none());
}

/// The same JSON, times aside, whatever --jobs is.
#[test]
fn the_number_of_jobs_changes_nothing() {
    let directory = copies(&["SB", "MP", "MP+race", "IRIW"]);
    let path = directory.path();
    // Both of these states are met late.
    let rare = large_test()
        + "~exists ((0:r0=2 /\\ 0:r1=6 /\\ 1:r0=0 /\\ 2:r0=0 /\\ 3:r0=0 /\\ x=6 /\\ y=7) \\/ \
            (0:r0=2 /\\ 0:r1=6 /\\ 1:r0=0 /\\ 2:r0=2 /\\ 3:r0=6 /\\ x=3 /\\ y=4))\n";
    fs::write(path.join("large.litmus"), large_test()).unwrap();
    fs::write(path.join("rare.litmus"), rare).unwrap();
    let cases: [&[&str]; 12] = [
        &["test", "SB.litmus"],
        &["test", "IRIW.litmus", "--strategy", "pct", "--depth", "5", "--executions", "1500", "--keep-going"],
        &["test", "IRIW.litmus", "--strategy", "pos", "--stale", "70", "--executions", "1500", "--keep-going"],
        &["test", "MP.litmus", "--strategy", "random", "--model", "tso", "--executions", "1500", "--keep-going"],
        &["test", "MP.litmus", "--model", "pso", "--seed", "7"],
        &["test", "MP.litmus", "--model", "pso", "--keep-going"],
        &["test", "MP+race.litmus", "--keep-going", "--executions", "1000"],
        &["test", "IRIW.litmus", "--executions", "777", "--model", "sc"],
        &["check", "large.litmus"],
        &["check", "rare.litmus"],
        &["check", "rare.litmus", "--keep-going"],
        &["check", "rare.litmus", "--executions", "500"],
    ];
    for case in cases {
        let run = |jobs: &str| {
            let run = fencepost(path, &[case, &["--format", "json", "--jobs", jobs]].concat());
            (run.status, timeless(run.json()))
        };
        let alone = run("1");
        assert_eq!(alone, run("2"), "{case:?}");
        assert_eq!(alone, run("3"), "{case:?}");
    }
    let all = |jobs: &str| {
        fencepost(path, &["litmus", ".", "--model", "sc,tso,pso,c11", "--format", "json", "-j", jobs]).stdout
    };
    assert_eq!(all("1"), all("3"));
    let one =
        |jobs: &str| fencepost(path, &["litmus", "large.litmus", "--model", "c11", "--format", "json", "-j", jobs]);
    assert_eq!(one("1").stdout, one("2").stdout);
    let executions = one("1").lines()[0]["executions"].as_u64().unwrap();
    assert_eq!(executions, 223_808);
}

#[test]
fn another_seed_is_another_campaign() {
    let directory = copies(&["MP"]);
    let first = |seed: &str| {
        let run =
            fencepost(directory.path(), &["test", "MP.litmus", "--model", "pso", "--seed", seed, "--format", "json"]);
        run.json()["findings"][0]["first_execution"].as_u64().unwrap()
    };
    let firsts: Vec<u64> = ["1", "2", "3", "4"].map(first).to_vec();
    assert!(firsts.iter().any(|n| *n != firsts[0]), "{firsts:?}");
    assert_eq!(first("1"), firsts[0]);
}

/// Where nothing can be written, nothing is run: whoever waits for hours must not learn it at the end.
#[test]
fn results_that_cannot_be_written_are_refused_before_the_work() {
    let directory = copies(&["SB"]);
    fs::write(directory.path().join("file"), "in the way").unwrap();
    let run = fencepost(directory.path(), &["test", "SB.litmus", "--out", "file/out", "--format", "json"]);
    assert!(run.refused().starts_with("fencepost: cannot write file/out: "));
    assert_eq!(run.stdout, "");
}

#[test]
fn what_cannot_be_tested_is_refused_in_one_line() {
    let directory = copies(&["SB"]);
    let path = directory.path();
    fs::write(path.join("queue.c"), "int main() {}").unwrap();
    fs::write(path.join("bad.litmus"), "C bad\n{ x=; }\n").unwrap();
    let cases: [(&[&str], &str); 17] = [
        (&["test", "SB.litmus", "--strategy", "chess"], "expected mix, random, pct, pos"),
        (&["test", "SB.litmus", "--strategy", "pos", "--depth", "3"], "--depth is for pct"),
        (&["test", "SB.litmus", "--strategy", "pct", "--depth", "0"], "from 1 to 64"),
        (&["test", "SB.litmus", "--stale", "101"], "from 0 to 100"),
        (&["test", "missing.litmus"], "fencepost: missing.litmus: no such file or directory"),
        (&["check", "."], "it is a directory"),
        (&["test", "bad.litmus"], "fencepost: bad.litmus:2:5: expected a constant, found `;`"),
        (&["test", "SB.litmus", "--", "-n"], "takes no arguments"),
        (&["test", "SB.litmus", "--model", "x86"], "unknown memory model 'x86'"),
        (&["test", "SB.litmus", "--jobs", "0"], "1 or more"),
        (&["test", "SB.litmus", "--time", "soon"], "30s"),
        (&["test", "SB.litmus", "--buffer", "3"], "tso and pso"),
        (&["test"], "<TARGET>"),
        (&["frobnicate"], "frobnicate"),
        (&[], "--help"),
        (&["litmus", "SB.litmus", "--show", "nonsense"], "NAME=VALUE"),
        (&["replay", "missing.json"], "cannot read missing.json: no such file or directory"),
    ];
    for (args, part) in cases {
        let run = fencepost(path, args);
        assert!(run.refused().contains(part), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn help_is_not_an_error() {
    for args in [&["--help"][..], &["test", "--help"], &["--version"]] {
        let run = fencepost(&classics(), args);
        assert_eq!((run.status, &run.stderr[..]), (0, ""));
        assert!(!run.stdout.is_empty());
    }
}

/// A time limit ends a campaign that has no other.
#[test]
fn time_is_a_limit() {
    let directory = copies(&["SB+fences"]);
    let run = fencepost(directory.path(), &["test", "SB+fences.litmus", "--time", "200ms", "--format", "json"]);
    assert_eq!(run.status, 0);
    assert!(run.json()["executions"].as_u64().unwrap() > 0);
    assert!(run.json()["seconds"].as_f64().unwrap() < 30.0);
}

/// Whatever strategy there is can be asked for and is in the help; one that was renamed has its old name, too.
#[test]
fn every_strategy_is_named_in_the_help_and_can_be_asked_for() {
    let directory = copies(&["SB"]);
    // Lines are broken where there is a space.
    let help = fencepost(directory.path(), &["test", "--help"]).stdout;
    let help: String = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let states = |name: &str| {
        let args = ["test", "SB.litmus", "--strategy", name, "--keep-going", "--executions", "200", "--format", "json"];
        timeless(fencepost(directory.path(), &args).json())
    };
    for scheduler in fencepost_trace::Scheduler::ALL {
        assert!(help.contains(&format!("{scheduler} (")), "{scheduler} is missing in:\n{help}");
        assert_eq!(states(scheduler.name())["verdict"], "fail");
    }
    assert_eq!(states("meet"), states("rendezvous"));
}
