//! What is said about the way in which executions begin anew.

use crate::common::{Output, fencepost};
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn with(program: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    fs::copy(from, directory.path().join(program)).expect("the programs are part of the repository");
    directory
}

fn test(directory: &TempDir, args: &[&str]) -> Output {
    fencepost(directory.path(), &[&["test", "--executions", "200"], args].concat())
}

/// The report, without what may differ from run to run.
fn report(run: &Output) -> Json {
    let mut report = run.json();
    report.as_object_mut().expect("an object").remove("seconds");
    report
}

#[test]
fn a_program_that_forks_moves_to_the_fork_server_and_it_is_said() {
    let directory = with("forks.c");
    let json = ["forks.c", "--keep-going", "--format", "json"];
    let auto = report(&test(&directory, &[&json[..], &["--jobs", "1"]].concat()));
    assert_eq!(auto["restart"], "fork");
    assert_eq!(auto["restart_reason"], "the program called fork() (forks.c:16)");
    assert_eq!(auto["executions"], 200);
    assert_eq!(auto["findings"][0]["kind"], "exit-status");
    let count = auto["findings"][0]["count"].as_u64().expect("a number");
    assert!(count > 10 && count < 190, "some executions do it: {count}");

    // Whatever the number of workers; and as if it had been so from the beginning.
    assert_eq!(auto, report(&test(&directory, &[&json[..], &["--jobs", "3"]].concat())));
    let mut forked = report(&test(&directory, &[&json[..], &["--restart", "fork"]].concat()));
    assert_eq!((&forked["restart"], &forked["restart_reason"]), (&Json::from("fork"), &Json::Null));
    forked["restart_reason"] = auto["restart_reason"].clone();
    assert_eq!(auto, forked);

    let text = test(&directory, &["forks.c", "--keep-going"]).stdout;
    assert!(text.contains("restart: by fork, because the program called fork() (forks.c:16)"), "{text}");
}

#[test]
fn who_insists_on_restarting_in_place_is_warned() {
    let directory = with("forks.c");
    let run = test(&directory, &["forks.c", "--keep-going", "--format", "json", "--restart", "in-place"]);
    assert_eq!(run.json()["restart"], "in-place");
    assert!(
        run.stderr.contains("warning: the program called fork() (forks.c:16), which --restart in-place"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_finding_of_a_program_that_forks_replays() {
    let directory = with("forks.c");
    let run = test(&directory, &["forks.c", "--format", "json"]);
    let file = run.json()["findings"][0]["replay"].as_str().expect("it can be replayed").to_owned();
    let again = fencepost(directory.path(), &["replay", &file]);
    assert_eq!(again.status, 1, "{}", again.stderr);
}

#[test]
fn where_nothing_forbids_it_executions_restart_in_place() {
    let directory = with("race.c");
    let run = test(&directory, &["race.c", "--format", "json"]);
    assert_eq!((&run.json()["restart"], &run.json()["restart_reason"]), (&Json::from("in-place"), &Json::Null));
    assert!(!run.stdout.contains("restart:"), "{}", run.stdout);
}
