//! `fencepost check` against what other model checkers say of the same programs (see tests/peers/README.md): the same
//! number of executions, and every bug.
//!
//! By default only programs with few executions; `FENCEPOST_FULL_PEERS=1` takes all.

use crate::common::{command, finish};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rows with more executions than this take longer than everybody should wait.
const FEW: u64 = 1_000;

/// What is expected of a program under a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    /// So many executions, and no finding.
    Safe(u64),
    /// Safe, but nobody has counted as we do.
    Uncounted,
    Bug,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Is this a variant that is meant to have a bug?
fn is_wrong_on_purpose(program: &str, defines: &str) -> bool {
    let has = |word: &str| defines.split_whitespace().any(|d| d == word);
    has("-DWEAK") || has("-DBUG") || has("-DNOFENCE") || (matches!(program, "account" | "airline") && !has("-DFIXED"))
}

/// What a row says, and under which of our models; `None` if it says nothing that we could use.
fn expected(row: &[&str]) -> Option<(&'static str, Expected)> {
    let [program, defines, _, config, _, executions, _, _, verdict] = *row else {
        panic!("a row of another length: {row:?}")
    };
    let model = match config {
        "genmc-sc" => "sc",
        "genmc-tso" => "tso",
        "genmc-rc11" => "c11",
        "nidhugg-pso-source" => "pso",
        _ => return None,
    };
    // The fences of this one are weaker than what GenMC takes them for; -DWEAK then has a bug under tso, too.
    let own_count = program == "chaselev" && matches!(model, "tso" | "pso");
    if own_count && model == "tso" && is_wrong_on_purpose(program, defines) {
        return Some((model, Expected::Bug));
    }
    match verdict {
        "safe" if own_count => Some((model, Expected::Uncounted)),
        "safe" => Some((model, Expected::Safe(executions.parse().expect("a number of executions")))),
        "timeout" => None,
        // Without release and acquire many have a bug; with them, no correct one does.
        _ if model == "pso" && !is_wrong_on_purpose(program, defines) => Some((model, Expected::Uncounted)),
        _ => Some((model, Expected::Bug)),
    }
}

fn compile(directory: &Path, program: &str, defines: &str) -> PathBuf {
    let output = directory.join(program);
    let source = root().join("tests/programs").join(program).with_extension("c");
    let flags = ["-O1", "-fno-tree-ch", "-pthread", "-g", "-Wno-tsan"];
    let run = finish(
        command(directory).arg("cc").args(flags).args(defines.split_whitespace()).arg(source).arg("-o").arg(&output),
    );
    assert_eq!(run.status, 0, "{program} {defines}: {}", run.stderr);
    output
}

#[test]
fn the_same_executions_and_every_bug() {
    let full = std::env::var_os("FENCEPOST_FULL_PEERS").is_some_and(|value| value == "1");
    let table = std::fs::read_to_string(root().join("tests/peers/model_checkers.csv")).expect("the table");
    let mut programs: BTreeMap<(&str, &str), Vec<(&str, Expected)>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        programs.entry((row[0], row[1])).or_default().extend(expected(&row));
    }
    let (mut rows, mut wrong) = (0, Vec::new());
    for ((program, defines), expectations) in programs {
        if !root().join("tests/programs").join(program).with_extension("c").exists() {
            continue;
        }
        let many = |e: &(&str, Expected)| matches!(e.1, Expected::Safe(executions) if executions > FEW);
        if !full && expectations.iter().any(many) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let executable = compile(directory.path(), program, defines);
        for (model, expected) in expectations {
            let run = finish(
                command(directory.path()).arg("check").arg(&executable).args(["--model", model, "--format", "json"]),
            );
            let report = run.json();
            let verdict = (report["verdict"].as_str(), report["complete"].as_bool());
            let executions = report["executions"].as_u64();
            let right = match expected {
                Expected::Safe(n) => verdict == (Some("pass"), Some(true)) && executions == Some(n),
                Expected::Uncounted => verdict == (Some("pass"), Some(true)),
                Expected::Bug => verdict.0 == Some("fail"),
            };
            rows += 1;
            if !right {
                wrong.push(format!(
                    "{program} {defines} {model}: {expected:?}, got {verdict:?} {executions:?} {}",
                    run.stderr
                ));
            }
        }
    }
    println!("{rows} rows compared");
    assert!(rows >= 100, "only {rows} rows");
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
