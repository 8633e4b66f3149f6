//! `fencepost litmus`, end to end.

use crate::common::{classics, command, copies, fencepost, fencepost_with_input};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The document of CONTRACT.md, to the letter: SB has 4 executions under TSO, one of which has both loads read 0.
#[test]
fn json_has_the_documented_shape() {
    let directory = copies(&["SB"]);
    let run = fencepost(directory.path(), &["litmus", "SB.litmus", "--format", "json", "--model", "tso"]);
    assert_eq!((run.status, &run.stderr[..]), (0, ""));
    let expected = json!({
        "test": "SB", "file": "SB.litmus", "model": "tso", "executions": 4,
        "states": [{"0:r0": 0, "1:r0": 0}, {"0:r0": 0, "1:r0": 1}, {"0:r0": 1, "1:r0": 0}, {"0:r0": 1, "1:r0": 1}],
        "condition": "exists", "holds": true, "witnesses": 1
    });
    assert_eq!(run.lines(), [expected]);
}

/// What the comments in the files say about the classics, under each model.
#[test]
fn the_classics_do_what_is_said_of_them() {
    let expected: [(&str, [Option<bool>; 5]); 15] = {
        let (y, n) = (Some(true), Some(false));
        [
            ("2+2W", [n, n, y, y, y]),
            ("CoRR", [y, y, y, y, y]),
            ("FAA", [y, y, y, y, y]),
            ("IRIW+sc", [y, y, y, y, y]),
            ("IRIW", [n, n, n, n, y]),
            ("LB", [n, n, n, n, n]),
            ("MP+race", [n, n, y, y, None]),
            ("MP+rel+acq", [y, y, y, y, y]),
            ("MP+spin", [y, y, y, y, y]),
            ("MP", [n, n, y, y, y]),
            ("SB+fences", [y, y, y, y, y]),
            ("SB+rfi", [n, y, y, y, y]),
            ("SB", [n, y, y, y, y]),
            ("WRC", [n, n, n, n, n]),
            ("lost-update", [n, n, n, n, n]),
        ]
    };
    let run = fencepost(&classics(), &["litmus", ".", "--format", "json", "--model", "all"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines = run.lines();
    assert_eq!(lines.len(), 5 * expected.len());
    for (lines, (test, holds)) in lines.chunks(5).zip(expected) {
        for (line, (model, holds)) in lines.iter().zip(["sc", "tso", "pso", "pslo", "c11"].into_iter().zip(holds)) {
            assert_eq!((line["test"].as_str(), line["model"].as_str()), (Some(test), Some(model)));
            assert_eq!(line["holds"].as_bool(), holds, "{test} under {model}");
            assert_eq!(line.get("race"), holds.is_none().then_some(&Json::Bool(true)), "{test} under {model}");
            assert_eq!(line.get("states").is_some(), holds.is_some());
            assert_eq!(line.get("complete"), None);
        }
    }
}

#[test]
fn text_has_a_table_and_verdicts() {
    let directory = copies(&["SB", "MP+race"]);
    let run = fencepost(directory.path(), &["litmus", "SB.litmus", "MP+race.litmus", "--model", "sc,tso,c11"]);
    assert_eq!((run.status, &run.stderr[..]), (0, ""));
    for line in [
        "SB  SB.litmus",
        "    exists (0:r0=0 /\\ 1:r0=0)",
        "     0:r0  1:r0       sc   tso   c11",
        " *>     0     0        -     1     1",
        "        1     1        1     1     1",
        "    sc         exists: never, 0 of 3 executions",
        "    tso, c11   exists: yes, 1 of 4 executions",
        "    c11       data race: write in P0, line 7 and read in P1, line 15: undefined behaviour",
        "2 tests, 1 with a data race",
    ] {
        assert!(run.stdout.lines().any(|found| found == line), "no line {line:?} in:\n{}", run.stdout);
    }
    let quiet = fencepost(directory.path(), &["litmus", "-q", "SB.litmus", "--model", "sc"]);
    assert_eq!(quiet.stdout, "SB  sc  exists: never, 0 of 3 executions\n");
    assert!(!run.stdout.contains('\x1b'), "no colours in a pipe");
    let coloured = fencepost(directory.path(), &["litmus", "SB.litmus", "--color", "always"]);
    assert!(coloured.stdout.contains("\x1b["));
}

/// A malformed, a missing and an unsupported file do not keep the others from being run.
#[test]
fn a_batch_survives_bad_files() {
    let directory = copies(&["SB", "LB"]);
    fs::write(directory.path().join("bad.litmus"), "C bad\n{ x=; }\n").unwrap();
    fs::write(directory.path().join("bytes.litmus"), b"C \xff\xfe").unwrap();
    let files = ["SB.litmus", "bad.litmus", "missing.litmus", "bytes.litmus", "LB.litmus"];
    for jobs in ["1", "2"] {
        let args = [&["litmus", "--format", "json", "--model", "sc", "-j", jobs][..], &files].concat();
        let run = fencepost(directory.path(), &args);
        assert_eq!(run.status, 2);
        let lines = run.lines();
        let named: Vec<_> = lines.iter().map(|line| line["file"].as_str().unwrap()).collect();
        assert_eq!(named, files);
        assert_eq!(lines[1]["error"], json!({"line": 2, "column": 5, "message": "expected a constant, found `;`"}));
        assert_eq!(lines[2]["error"]["message"], "no such file or directory");
        assert_eq!(lines[3]["error"]["line"], 1);
        assert_eq!(lines[4]["executions"], 3);
        assert!(run.stderr.contains("fencepost: bad.litmus:2:5: expected a constant, found `;`\n"), "{}", run.stderr);
        assert!(run.stderr.contains("fencepost: missing.litmus: no such file or directory\n"), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 3);
    }
    let text = fencepost(directory.path(), &["litmus", "bad.litmus", "SB.litmus", "--model", "sc"]);
    assert_eq!(text.status, 2);
    assert!(text.stdout.contains("exists: never") && text.stdout.ends_with("1 test, 1 could not be run\n"));
}

#[test]
fn directories_are_searched_and_sorted() {
    let directory = copies(&["SB", "LB"]);
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::copy(classics().join("MP.litmus"), inner.join("MP.litmus")).unwrap();
    fs::write(inner.join("notes.txt"), "not a test").unwrap();
    let run = fencepost(directory.path(), &["litmus", ".", "--format", "json", "--model", "sc"]);
    let tests: Vec<_> = run.lines().iter().map(|line| line["test"].as_str().unwrap().to_owned()).collect();
    assert_eq!(tests, ["LB", "SB", "MP"]);
    fs::create_dir(directory.path().join("empty")).unwrap();
    let empty = fencepost(directory.path(), &["litmus", "empty"]);
    assert_eq!(empty.refused(), "fencepost: empty: no *.litmus file in this directory");
}

#[test]
fn standard_input_is_a_file() {
    let text = fs::read(classics().join("SB.litmus")).unwrap();
    let run = fencepost_with_input(&classics(), &["litmus", "-", "--format", "json", "--model", "pso"], &text);
    assert_eq!(run.lines()[0]["file"], "-");
    assert_eq!(run.lines()[0]["executions"], 4);
}

/// Whoever reads the first line of many and goes away is not told about it.
#[test]
fn a_broken_pipe_ends_it_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read(classics().join("IRIW.litmus")).unwrap();
    for i in 0..2_000 {
        fs::write(directory.path().join(format!("{i}.litmus")), &text).unwrap();
    }
    let mut child = command(directory.path())
        .args(["litmus", ".", "--model", "sc,tso"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "IRIW  ./0.litmus\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn a_full_disk_is_an_error() {
    let full = fs::File::create("/dev/full");
    let Ok(full) = full else { return };
    let run = command(&classics()).args(["litmus", "SB.litmus"]).stdout(full).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let message = String::from_utf8(run.stderr).unwrap();
    assert_eq!(message, "fencepost: cannot write to standard output: no space left on the device\n");
}

#[test]
fn an_execution_is_shown_threads_side_by_side() {
    let directory = copies(&["SB"]);
    let run = fencepost(directory.path(), &["litmus", "SB.litmus", "--show", "0:r0=0,1:r0=0", "--model", "sc,tso"]);
    assert_eq!(run.status, 0);
    assert!(run.stdout.contains("under sc: no execution reaches this\n"), "{}", run.stdout);
    // Under TSO one of the loads is stale, whatever the order.
    let shown = run.stdout.split("under tso:\n").nth(1).expect("an execution under tso");
    assert!(shown.starts_with("    P0 ") && shown.contains(" P1\n"), "{shown}");
    assert_eq!(shown.matches("stale: ").count(), 1, "{shown}");
    assert!(shown.contains("8: atomic_store_explicit(x, 1, "), "{shown}");
    assert!(shown.ends_with("final state  0:r0=0 1:r0=0\n"), "{shown}");
    // The machine has buffers, and says when stores leave them.
    let machine =
        fencepost(directory.path(), &["litmus", "SB.litmus", "--show", "exists", "--model", "tso", "--machine"]);
    assert_eq!(machine.stdout.matches("leaves the buffer").count(), 2, "{}", machine.stdout);
    assert!(machine.stdout.contains("still in the buffer"), "{}", machine.stdout);
    // With room for no store, TSO is SC.
    let none = ["litmus", "SB.litmus", "--show", "exists", "--model", "tso", "--machine", "--buffer", "0"];
    assert!(fencepost(directory.path(), &none).stdout.contains("no execution reaches this"));
    let json =
        fencepost(directory.path(), &["litmus", "SB.litmus", "--show", "exists", "--model", "tso", "--format", "json"]);
    assert_eq!(json.lines()[0]["execution"]["events"].as_array().unwrap().len(), 4);
    let unknown = fencepost(directory.path(), &["litmus", "SB.litmus", "--show", "2:r0=0"]);
    assert!(unknown.refused().contains("no '2:r0' in the final state, which has 0:r0, 1:r0"));
}

/// What is shown can be kept, and replayed; it is no finding, so that the replay has nothing to report.
#[test]
fn a_shown_execution_replays() {
    let directory = copies(&["SB"]);
    let args = ["litmus", "SB.litmus", "--show", "exists", "--model", "all", "--out", "kept", "--format", "json"];
    let run = fencepost(directory.path(), &args);
    for line in run.lines() {
        let model = line["model"].as_str().unwrap();
        let file = format!("kept/SB-{model}.json");
        assert_eq!(directory.path().join(&file).exists(), model != "sc");
        if model != "sc" {
            let again = fencepost(directory.path(), &["replay", &file, "--format", "json"]);
            assert_eq!(again.status, 0, "{}", again.stderr);
            assert_eq!(again.json(), line["execution"]);
        }
    }
    let race = copies(&["MP+race"]);
    let run = fencepost(race.path(), &["litmus", "MP+race.litmus", "--show", "race", "--model", "c11"]);
    assert_eq!(run.stdout.matches("races with #").count(), 2, "{}", run.stdout);
}

/// Limits are limits of each test and model, and JSON says when one was hit.
#[test]
fn limits_are_reported() {
    let run =
        fencepost(&classics(), &["litmus", "IRIW.litmus", "--executions", "5", "--model", "c11", "--format", "json"]);
    assert_eq!(run.status, 0);
    let line = &run.lines()[0];
    assert_eq!((line["executions"].as_u64(), line["complete"].as_bool()), (Some(5), Some(false)));
    let text = fencepost(&classics(), &["litmus", "IRIW.litmus", "--executions", "5", "--model", "c11"]);
    assert!(text.stdout.contains("stopped by a limit"));
    let long = fencepost(&classics(), &["litmus", "IRIW.litmus", "--time", "5m", "--model", "c11", "--format", "json"]);
    assert_eq!(long.lines()[0]["executions"], 16);
}

/// A release fence keeps what is before it before *all* later stores, not only those up to the next release store,
/// which orders nothing behind itself.
#[test]
fn a_release_fence_orders_stores_behind_a_release_store_too() {
    let fence = "atomic_thread_fence(memory_order_release);";
    let test = |fence: &str| {
        format!(
            "C fenced\n{{}}\n\
             P0 (atomic_int* x, atomic_int* a, atomic_int* y) {{\n\
             atomic_store_explicit(x, 1, memory_order_relaxed); {fence}\n\
             atomic_store_explicit(a, 1, memory_order_release);\n\
             atomic_store_explicit(y, 1, memory_order_relaxed); }}\n\
             P1 (atomic_int* x, atomic_int* y) {{\n\
             int r0 = atomic_load_explicit(y, memory_order_relaxed);\n\
             int r1 = atomic_load_explicit(x, memory_order_relaxed); }}\n\
             exists (1:r0=1 /\\ 1:r1=0)\n"
        )
    };
    let directory = tempfile::tempdir().expect("a directory");
    for (name, fence, answer) in [("with", fence, "never"), ("without", "", "yes")] {
        let file = format!("{name}.litmus");
        std::fs::write(directory.path().join(&file), test(fence)).expect("a file");
        let output = crate::common::fencepost(directory.path(), &["litmus", &file, "--model", "pso"]);
        assert!(output.stdout.contains(&format!("exists: {answer}")), "{name}: {}", output.stdout);
    }
}
