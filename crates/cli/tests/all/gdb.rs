//! `fencepost replay --gdb`: gdb stops where the finding shows, in the program's own frame. Without gdb the test says
//! so and passes; CI installs it.

use crate::common::{Output, command, fencepost, finish};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DETAIL: &str = "it's two words";

fn have_gdb() -> bool {
    let there = Command::new("gdb").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("no gdb here: not tested");
    }
    there
}

fn program(directory: &Path) -> PathBuf {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/stops.c");
    let to = directory.join("stops.c");
    fs::copy(&source, &to).expect("the program is part of the repository");
    to
}

/// The last frame that gdb printed: `#N … in FUNCTION (…) at FILE:LINE`.
fn last_frame(output: &Output) -> &str {
    let is_frame = |line: &&str| line.starts_with('#');
    output.stdout.lines().rfind(is_frame).unwrap_or_else(|| panic!("no frame: {}{}", output.stdout, output.stderr))
}

#[test]
fn gdb_stops_in_the_function_and_at_the_line_of_the_finding() {
    if !have_gdb() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let source = fs::read_to_string(program(directory.path())).expect("a file");
    let line_of = |mark: &str| source.lines().position(|line| line.ends_with(mark)).expect("a mark") + 1;
    let cases = [
        ("test", "data-race", "race", "// race"),
        ("test", "assertion", "assertion", "// assertion"),
        ("test", "crash", "crash", "// crash"),
        ("test", "use-after-free", "use_after_free", "// use-after-free"),
        ("test", "deadlock", "both", "// deadlock"),
        ("test", "livelock", "spin", "// livelock"),
        // What an exploration finds is a graph: its threads are visited where they stand.
        ("check", "deadlock", "both", "// deadlock"),
        ("check", "assertion", "assertion", "// assertion"),
    ];
    for (how, kind, function, mark) in cases {
        let run = fencepost(
            directory.path(),
            &[how, "stops.c", "--format", "json", "--max-steps", "3000", "--", kind, DETAIL],
        );
        assert_eq!(run.json()["findings"][0]["kind"], kind, "{how} {kind}");
        let file = run.json()["findings"][0]["replay"].as_str().expect("a file").to_owned();
        let stopped = fencepost(directory.path(), &["replay", &file, "--gdb", "--", "-batch", "-ex", "print detail"]);
        assert_eq!(stopped.status, 1, "{how} {kind}: {}", stopped.stderr);
        let frame = last_frame(&stopped);
        assert!(frame.contains(&format!("{function} (")), "{how} {kind}: {frame}");
        assert!(frame.ends_with(&format!("stops.c:{}", line_of(mark))), "{how} {kind}: {frame}");
        assert!(stopped.stdout.contains(DETAIL), "arguments arrive as they were: {}", stopped.stdout);
    }
}

/// Both threads of the deadlock are there, with their own frames.
#[test]
fn gdb_shows_threads_that_the_kernel_does_not_know() {
    if !have_gdb() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    program(directory.path());
    fencepost(directory.path(), &["test", "stops.c", "--", "deadlock", DETAIL]);
    let shown = fencepost(
        directory.path(),
        &["replay", "fencepost-out/finding-1.json", "--gdb", "--", "-batch", "-ex", "fencepost-threads"],
    );
    let all = &shown.stdout[shown.stdout.find("thread 0:").expect("thread 0")..];
    let (main, other) = all.split_at(all.find("thread 1:").expect("thread 1"));
    assert!(main.contains(" both (") && main.contains(" main ("), "{all}");
    assert!(other.contains(" both (") && other.contains(" other ("), "{all}");
}

#[test]
fn a_missing_gdb_is_named_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    program(directory.path());
    fencepost(directory.path(), &["test", "stops.c", "--", "assertion", DETAIL]);
    let replay = ["replay", "fencepost-out/finding-1.json", "--gdb"];
    let missing = finish(command(directory.path()).args(replay).env("FENCEPOST_GDB", "./no-such-gdb"));
    assert!(missing.refused().contains("FENCEPOST_GDB"), "{}", missing.stderr);
    fs::write(directory.path().join("stops.c"), "int main(void) { return 0; }").expect("a file");
    assert!(fencepost(directory.path(), &replay).refused().contains("has changed"));
}

/// A violation that hunt has found: gdb stops where the program fails because of it, or, where it only prints something
/// else, at the accesses of the violation.
#[test]
fn gdb_stops_at_violations() {
    if !have_gdb() {
        return;
    }
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let hazard = fs::read_to_string(programs.join("hazard.c")).expect("the program is there");
    let uses = hazard.lines().position(|line| line.ends_with("// use")).expect("a mark") + 1;
    for (name, place) in [("hazard.c", format!("hazard.c:{uses}")), ("far_apart.c", "far_apart.c:".to_owned())] {
        let directory = tempfile::tempdir().expect("a directory");
        fs::copy(programs.join(name), directory.path().join(name)).expect("a copy");
        let run = fencepost(directory.path(), &["hunt", name, "--no-fences", "--format", "json"]);
        let report = run.json();
        let file = report["findings"][0]["replay"].as_str().expect("a file");
        let stopped = fencepost(directory.path(), &["replay", file, "--gdb", "--", "-batch"]);
        assert_eq!(stopped.status, 1, "{name}: {}{}", stopped.stdout, stopped.stderr);
        assert!(last_frame(&stopped).contains(&place), "{name}: {}", last_frame(&stopped));
    }
}
