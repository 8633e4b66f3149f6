//! What users see and find on disk after a run on a native program.

use crate::common::{Output, command, fencepost, finish};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn with(programs: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for name in programs {
        fs::copy(from.join(name), directory.path().join(name)).expect("the programs are part of the repository");
    }
    directory
}

fn files(directory: &Path) -> BTreeSet<String> {
    fs::read_dir(directory).expect("a directory").map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// What a run leaves in `--out` is its own: nothing of an earlier run that looks like it, and everything that
/// somebody else put there.
#[test]
fn findings_of_an_earlier_run_do_not_stay() {
    let directory = with(&["store_buffering.c", "waits.c"]);
    let out = directory.path().join("fencepost-out");
    let many = ["test", "store_buffering.c", "--model", "tso", "--keep-going", "--executions", "500"];
    assert_eq!(fencepost(directory.path(), &many).status, 1);
    assert!(
        files(&out).contains("finding-3.json") && files(&out).contains("finding-3.trace.json"),
        "{:?}",
        files(&out)
    );
    fs::write(out.join("finding-7.json"), "{\"mine\": 1}").expect("a file");
    fs::write(out.join("finding-x.json"), "{\"fencepost\": 1}").expect("a file");
    let none = ["test", "waits.c", "--model", "tso", "--executions", "20", "--", "set"];
    let run = fencepost(directory.path(), &none);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(files(&out), names(&["finding-7.json", "finding-x.json", "run.json"]));
    let report: Json = serde_json::from_slice(&fs::read(out.join("run.json")).expect("a file")).expect("JSON");
    assert_eq!((&report["verdict"], &report["executions"]), (&"pass".into(), &20.into()));
}

/// A limit that cuts every execution off leaves nothing to say about the program: that is no pass.
#[test]
fn a_campaign_without_an_end_is_incomplete() {
    let directory = with(&["runs_on.c"]);
    let options = ["test", "runs_on.c", "--model", "tso", "--executions", "5", "--max-steps", "500"];
    let run = fencepost(directory.path(), &[&options[..], &["--format", "json"]].concat());
    assert_eq!(run.status, 3, "{}", run.stderr);
    let report = run.json();
    assert_eq!((&report["verdict"], &report["blocked"]), (&"incomplete".into(), &5.into()));
    assert!(run.stderr.contains("cut off after 500 steps (--max-steps)"), "{}", run.stderr);
    assert!(run.stderr.contains("thread 1 in other (runs_on.c:9)"), "it says where: {}", run.stderr);
    let text = fencepost(directory.path(), &options);
    assert!(text.stdout.starts_with("incomplete: "), "{}", text.stdout);
    assert!(text.stdout.contains("--max-steps"), "{}", text.stdout);
}

fn race(directory: &TempDir, color: &str) -> Output {
    finish(command(directory.path()).args(["test", "race.c", "--color", color]))
}

#[test]
fn a_race_is_shown_in_its_source() {
    let directory = with(&["race.c"]);
    let run = race(&directory, "auto");
    for part in
        ["--> race.c:", "earlier: thread ", "later: thread ", "  again: fencepost replay ", "\n    >  ", "thread 1"]
    {
        let part = part.replace("\n    >  ", " >  ");
        assert!(run.stdout.contains(&part), "{part}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("final state"), "a program has no final states: {}", run.stdout);
    assert!(!run.stdout.contains('\x1b') && run.stderr.is_empty(), "no colours and no progress in a pipe");
    assert!(race(&directory, "always").stdout.contains("\x1b["));
}

/// In a pipe the text is as wide as somebody asks for: no line that has no source and no path is wider.
#[test]
fn text_is_as_wide_as_asked_for() {
    let directory = with(&["store_buffering.c"]);
    let wide = |columns: &str| {
        let options = ["test", "store_buffering.c", "--model", "tso"];
        let run = finish(command(directory.path()).args(options).env("COLUMNS", columns));
        assert_eq!(run.status, 1, "{}", run.stderr);
        let own = run.stdout.lines().filter(|line| !line.contains(" | ") && !line.contains("replay"));
        own.map(|line| line.chars().count()).max().expect("lines")
    };
    let [narrow, usual, unknown] = ["60", "80", "none"].map(wide);
    assert!(narrow <= 60 && usual <= 80 && unknown <= 100, "{narrow} {usual} {unknown}");
    assert!(narrow < unknown, "there is more than fits 60 columns");
}

/// The executable is all that a run needs; what else it names may have moved.
#[test]
fn sources_that_have_moved_are_named() {
    let directory = with(&["race.c"]);
    assert_eq!(fencepost(directory.path(), &["cc", "-O1", "-g", "race.c", "-o", "race"]).status, 0);
    fs::remove_file(directory.path().join("race.c")).expect("it was there");
    let run = fencepost(directory.path(), &["test", "./race"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("race.c:4:") && run.stdout.contains("later: thread "), "{}", run.stdout);
}
