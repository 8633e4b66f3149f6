//! `fencepost hunt` on the programs of the papers that it comes from (examples/hunt): cycles are named by the
//! statement numbers of the papers, which stand in the sources as comments.

mod common;

use common::{command, finish};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/hunt")
}

/// A hunt, with its cycles named by statements.
struct Hunted {
    report: Json,
    /// Statement numbers, outcome, and average chance of exposure.
    cycles: Vec<(Vec<u64>, String, f64)>,
}

fn hunt(program: &str, defines: &str, model: &str, more: &[&str]) -> Hunted {
    let out = tempfile::tempdir().expect("a directory");
    let run = finish(
        command(&examples())
            .args(["hunt", &format!("{program}.c"), "--model", model, "--format", "json", "--out"])
            .arg(out.path())
            .args(more)
            .env("CFLAGS", format!("-O1 {defines}")),
    );
    let report = run.json();
    let status = match report["verdict"].as_str() {
        Some("pass") => 0,
        Some("fail") => 1,
        _ => 3,
    };
    assert_eq!(run.status, status, "{program} {defines} {model}: {}", run.stderr);
    assert!(!run.stderr.contains("was not counted"), "{program} {defines} {model}: {}", run.stderr);
    let source = fs::read_to_string(examples().join(format!("{program}.c"))).expect("the program is there");
    let statements: Vec<Option<u64>> =
        source.lines().map(|line| line.rsplit_once("/* ")?.1.strip_suffix(" */")?.parse().ok()).collect();
    let number = |label: &Json| {
        let line = label["line"].as_u64().expect("a line") as usize;
        statements.get(line.wrapping_sub(1)).copied().flatten().unwrap_or(0)
    };
    let cycles = report["cycles"].as_array().expect("a list").iter().map(|cycle| {
        let labels = cycle["labels"].as_array().expect("a list").iter().map(number).collect();
        let outcome = cycle["outcome"].as_str().expect("an outcome").to_owned();
        (labels, outcome, cycle["probability"].as_f64().expect("a number"))
    });
    let cycles = cycles.collect();
    Hunted { report, cycles }
}

impl Hunted {
    /// The outcome of the cycle with these statements, up to rotation; `None` if it was not predicted.
    fn outcome(&self, cycle: &[u64]) -> Option<&str> {
        let same = |labels: &[u64]| {
            labels.len() == cycle.len()
                && (0..cycle.len())
                    .any(|by| labels.iter().enumerate().all(|(i, l)| cycle[(i + by) % cycle.len()] == *l))
        };
        // One statement may have several accesses of a kind.
        let all: BTreeSet<&str> =
            self.cycles.iter().filter(|(labels, ..)| same(labels)).map(|(_, outcome, _)| outcome.as_str()).collect();
        ["harmful", "benign", "unknown", "infeasible"].into_iter().find(|outcome| all.contains(outcome))
    }

    fn count(&self, outcome: &str) -> usize {
        self.cycles.iter().filter(|(_, o, _)| o == outcome).count()
    }
}

#[test]
fn dekker_under_tso() {
    let plain = hunt("dekker", "", "tso", &[]);
    for cycle in [[1, 2, 11, 12], [1, 2, 17, 12], [7, 2, 11, 12]] {
        assert_eq!(plain.outcome(&cycle), Some("harmful"), "{cycle:?}: {:?}", plain.cycles);
    }
    // Real in any case. The paper has seen no harm; but 9 takes the stores behind it along when it is late, that of the
    // flag in the next round among them, and then both threads can enter.
    assert_eq!(plain.outcome(&[9, 2, 14, 15]), Some("harmful"));
    let fences = plain.report["fences"].as_array().expect("a list");
    assert!(!fences.is_empty() && fences.iter().all(|fence| fence["verified"] == true), "{fences:?}");
    // The paper's fences, behind 1, 7, 11 and 17.
    let fenced = hunt("dekker", "-DFENCES", "tso", &[]);
    assert_eq!(fenced.count("harmful"), 0, "{:?}", fenced.cycles);
    assert_eq!(fenced.outcome(&[9, 2, 14, 15]), Some("benign"));
}

/// What is real and what does harm does not depend on the seed, and what is real under tso is real under pso: every
/// execution of tso is one of pso. Of the cycles of dekker 36 and 70 are real; it is too large to be explored.
#[test]
fn seeds_agree_and_models_contain_each_other() {
    agree("dekker", Some([36, 70]));
}

/// The same of another program. Minutes.
#[test]
#[ignore = "takes minutes"]
fn seeds_agree_on_bakery() {
    agree("bakery", None);
}

fn agree(program: &str, real: Option<[usize; 2]>) {
    let sets = |program: &str, model: &str, seed: &str| {
        let hunted = hunt(program, "", model, &["--no-fences", "--seed", seed]);
        let with = |outcomes: &[&str]| -> BTreeSet<Vec<u64>> {
            let cycles = hunted.cycles.iter().filter(|(_, outcome, _)| outcomes.contains(&outcome.as_str()));
            cycles.map(|(labels, ..)| labels.clone()).collect()
        };
        (with(&["harmful", "benign"]), with(&["harmful"]))
    };
    let (tso, pso) = (sets(program, "tso", "1"), sets(program, "pso", "1"));
    assert_eq!(sets(program, "tso", "8"), tso, "{program} under tso");
    assert_eq!(sets(program, "pso", "8"), pso, "{program} under pso");
    assert!(tso.0.is_subset(&pso.0), "{program}: {tso:?} {pso:?}");
    assert!(!tso.1.is_empty() && !pso.1.is_empty());
    assert_eq!(real.unwrap_or([tso.0.len(), pso.0.len()]), [tso.0.len(), pso.0.len()], "{program}");
}

/// Figure 13 of Relaxer's paper: what is between the two halves of a violation is long, and of one thread alone.
#[test]
fn long_executions_are_hunted() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let args = ["hunt", "far_apart.c", "--format", "json", "--no-fences", "--out"];
    let run = finish(command(&programs).args(args).arg(out.path()).env("CFLAGS", "-O1 -DLONG=20000"));
    let report = run.json();
    assert_eq!((run.status, report["cycles"][0]["outcome"].as_str()), (1, Some("harmful")), "{}", run.stderr);
}

#[test]
fn ms2_under_pso_and_pslo() {
    let plain = hunt("ms2", "", "pso", &[]);
    assert_eq!(plain.outcome(&[2, 5, 10, 14]), Some("harmful"));
    assert_eq!(plain.outcome(&[3, 5, 10, 10]), Some("harmful"));
    let stores = hunt("ms2", "-DSTORE_STORE", "pso", &[]);
    assert_eq!(stores.count("harmful"), 0, "{:?}", stores.cycles);
    let still = hunt("ms2", "-DSTORE_STORE", "pslo", &[]);
    assert_eq!(still.outcome(&[2, 5, 10, 14]), Some("harmful"));
    let both = hunt("ms2", "-DSTORE_STORE -DLOAD_LOAD", "pslo", &[]);
    assert_ne!(both.outcome(&[2, 5, 10, 14]), Some("harmful"));
}

#[test]
fn the_data_structures_are_correct_under_tso() {
    for program in ["msn", "ms2", "lazylist", "harris", "snark"] {
        let hunted = hunt(program, "", "tso", &[]);
        assert_eq!(hunted.count("harmful"), 0, "{program}: {:?}", hunted.cycles);
    }
}

#[test]
fn long_cycles_are_exposed() {
    let pthread = hunt("pthread_cancel", "", "tso", &["--no-fences"]);
    // Four threads: f2 = against f1, f1 = against f4 =, f4 = against f3, f3 = against f2.
    let outcome = pthread.outcome(&[5, 12, 4, 7, 7, 22, 6, 17]);
    assert!(matches!(outcome, Some("harmful" | "benign")), "{outcome:?}");
    // Under pso the program crashes, sometimes before all threads are there.
    let crashes = hunt("pthread_cancel", "", "pso", &["--no-fences"]);
    assert_eq!(crashes.outcome(&[5, 7, 2, 17]), Some("harmful"));
    let few = ["--no-fences", "--cycle-length", "5", "--executions", "20", "--trials", "2"];
    let msn = hunt("msn", "-DTHREADS=3", "pso", &few);
    let odd = |(labels, outcome, _): &&(Vec<u64>, String, f64)| {
        labels.len() == 5 && (outcome == "harmful" || outcome == "benign")
    };
    assert!(msn.cycles.iter().any(|cycle| odd(&cycle)));
}

#[test]
fn a_violation_is_recorded_and_replays() {
    let out = tempfile::tempdir().expect("a directory");
    let run = finish(
        command(&examples()).args(["hunt", "ms2.c", "--model", "pso", "--format", "json", "--out"]).arg(out.path()),
    );
    let report = run.json();
    let findings = report["findings"].as_array().expect("a list");
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["kind"], "sc-violation");
        assert_eq!(finding["cycle"].as_array().map(Vec::len), finding["labels"].as_array().map(Vec::len));
        let replay = finding["replay"].as_str().expect("a file");
        for _ in 0..2 {
            let again = finish(command(&examples()).args(["replay", replay]));
            assert_eq!(again.status, 1, "{}", again.stderr);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_cycles_and_more_executions_give_no_fewer() {
    let predicted = |executions: &str, jobs: &str| -> BTreeSet<Vec<u64>> {
        let more = ["--executions", executions, "--jobs", jobs, "--trials", "1", "--no-fences"];
        hunt("dekker", "", "tso", &more).cycles.into_iter().map(|(labels, ..)| labels).collect()
    };
    let (few, same, many) = (predicted("20", "1"), predicted("20", "2"), predicted("60", "2"));
    assert_eq!(few, same);
    assert!(few.is_subset(&many));
}

#[test]
fn a_program_without_violations_says_so() {
    let hunted = hunt("seq_cst", "", "tso", &[]);
    assert_eq!(hunted.report["verdict"], "pass");
    assert!(hunted.cycles.is_empty(), "{:?}", hunted.cycles);
    let text = finish(command(&examples()).args(["hunt", "seq_cst.c", "--model", "pslo"]));
    assert!(text.stdout.contains("no possible violation of sequential consistency on PSLO"), "{}", text.stdout);
    assert_eq!(text.status, 0);
}

/// Without --spec nothing is wrong with the program; the specification tells what is, and what prevents it.
#[test]
fn a_specification_tells_what_is_harmful() {
    let silent = hunt("observed", "", "pso", &[]);
    assert_eq!((silent.count("harmful"), silent.count("benign")), (0, 1), "{:?}", silent.cycles);
    let told = hunt("observed", "", "pso", &["--spec", "atomic"]);
    assert_eq!(told.count("harmful"), 1, "{:?}", told.cycles);
    let harm = told.report["cycles"][0]["harm"].as_str().expect("a reason");
    assert!(harm.starts_with("spec-violation: the outcome {taken: 0} is none of the 2 "), "{harm}");
    let fences = told.report["fences"].as_array().expect("a list");
    assert!(fences.len() == 1 && fences[0]["order"] == "store-store" && fences[0]["verified"] == true, "{fences:?}");
    let fenced = hunt("observed", "-DFENCES", "pso", &["--spec", "atomic"]);
    assert_eq!(fenced.report["verdict"], "pass");
}

/// Of several violations in one failing execution the one is named whose ordering is enough: the other ones need full
/// fences.
#[test]
fn the_weakest_ordering_that_is_enough_is_named() {
    let out = tempfile::tempdir().expect("a directory");
    let args = ["hunt", "ring.cpp", "--model", "pso", "--format", "json", "--out"];
    let report = finish(command(&examples()).args(args).arg(out.path())).json();
    assert_eq!(report["verdict"], "fail");
    let fences = report["fences"].as_array().expect("a list");
    assert!(fences.len() == 1 && fences[0]["order"] == "store-store" && fences[0]["verified"] == true, "{fences:?}");
    let source = fs::read_to_string(examples().join("ring.cpp")).expect("the program is there");
    let line = source.lines().position(|line| line.contains("/* 4 */")).map(|line| line as u64 + 1);
    assert_eq!(fences[0]["line"].as_u64(), line);
}

/// What reads freed memory is the same execution when it is run again; and who does not want to hear of that use after
/// free does not hear that the violation does harm.
#[test]
fn a_use_after_free_replays_and_can_be_suppressed() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let hunt = |more: &[&str]| {
        let args = ["hunt", "hazard.c", "--no-fences", "--format", "json", "--out"];
        finish(command(&programs).args(args).arg(out.path()).args(more))
    };
    let rules = out.path().join("rules");
    fs::write(&rules, "race:reader\n").expect("a file");
    let silent = hunt(&["--suppressions", rules.to_str().expect("a name")]);
    assert_eq!(silent.json()["verdict"], "pass", "{}", silent.stderr);
    let told = hunt(&[]);
    let harm = told.json()["cycles"][0]["harm"].as_str().unwrap_or_default().to_owned();
    assert!(told.status == 1 && harm.starts_with("use-after-free"), "{harm}: {}", told.stderr);
    for finding in told.json()["findings"].as_array().expect("a list") {
        let again = finish(command(&programs).args(["replay", finding["replay"].as_str().expect("a file")]));
        assert_eq!(again.status, 1, "{}", again.stderr);
    }
}

/// Puts the advised lines into a copy of the program, as they would read, and hunts it again.
fn applied(program: &str, model: &str) -> Json {
    let out = tempfile::tempdir().expect("a directory");
    let directory = tempfile::tempdir().expect("a directory");
    for entry in fs::read_dir(examples()).expect("a directory") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        fs::copy(&path, directory.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    let hunt = |more: &[&str]| {
        let args = ["hunt", program, "--model", model, "--format", "json", "--out"];
        let flags = "-O1 -g -include stdatomic.h";
        let mut command = command(directory.path());
        let run = finish(command.args(args).arg(out.path()).args(more).env("CFLAGS", flags));
        run.json()
    };
    let report = hunt(&[]);
    assert_eq!(report["verdict"], "fail", "{program} under {model}");
    let fences = report["fences"].as_array().expect("a list");
    assert!(!fences.is_empty(), "{program} under {model}: no advice");
    for fence in fences {
        assert_eq!(fence["verified"], true, "{program} under {model}: {fence}");
        let file = fence["file"].as_str().and_then(|file| file.rsplit('/').next()).expect("a file");
        let line = fence["line"].as_u64().expect("a line") as usize;
        let reads = fence["reads"].as_str().unwrap_or_else(|| panic!("{program} under {model}: {fence}"));
        let path = directory.path().join(file);
        let source = fs::read_to_string(&path).expect("it is there");
        let mut lines: Vec<&str> = source.lines().collect();
        lines[line - 1] = reads;
        fs::write(&path, lines.join("\n") + "\n").expect("it can be written");
    }
    hunt(&["--no-fences"])
}

/// Advice is what a reader can put into the source: with the lines as they are said to read, nothing is harmful.
#[test]
fn advice_is_put_into_the_source_and_holds() {
    holds_with_advice(&[("crypt_util.c", "pso"), ("charset.c", "pso")]);
}

#[test]
#[ignore = "takes minutes"]
fn advice_for_larger_programs_is_put_into_the_source_and_holds() {
    holds_with_advice(&[("dekker.c", "tso"), ("bakery.c", "tso"), ("ms2.c", "pso")]);
}

fn holds_with_advice(cases: &[(&str, &str)]) {
    for (program, model) in cases {
        let report = applied(program, model);
        assert_ne!(report["verdict"], "fail", "{program} under {model}: {}", report["cycles"]);
    }
}

#[test]
fn programs_that_cannot_restart_in_place_are_hunted_too() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let args = ["hunt", "forks_and_reorders.c", "--model", "pso", "--format", "json", "--out"];
    let run = finish(command(&programs).args(args).arg(out.path()));
    assert!(run.stderr.contains("process of its own, because the program called fork()"), "{}", run.stderr);
    let report = run.json();
    assert_eq!(report["cycles"][0]["outcome"], "harmful");
    assert!(report["fences"].as_array().is_some_and(|fences| fences.len() == 1 && fences[0]["verified"] == true));
    let replay = report["findings"][0]["replay"].as_str().expect("a file");
    assert_eq!(finish(command(&programs).args(["replay", replay])).status, 1);
}

#[test]
fn a_program_that_fails_anyway_is_said_to() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let run = finish(command(&programs).args(["hunt", "crash.c", "--out"]).arg(out.path()));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("warning: the program fails"), "{}", run.stderr);
    assert!(run.stderr.contains("without reordering"), "{}", run.stderr);
}

/// The three ways by themselves, on the smallest violation: the biased one is a matter of chance, the others are not.
#[test]
fn every_method_exposes_store_buffering() {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus");
    for (method, least) in [("solve", 30), ("orion", 30), ("relaxer", 3)] {
        let out = tempfile::tempdir().expect("a directory");
        let args = ["hunt", "SB.litmus", "--method", method, "--format", "json", "--out"];
        let run = finish(command(&tests).args(args).arg(out.path()));
        let report = run.json();
        let cycle = &report["cycles"][0];
        assert_eq!((run.status, cycle["outcome"].as_str()), (1, Some("harmful")), "{method}");
        assert!(cycle["exposed"].as_u64() >= Some(least), "{method}: {cycle}");
        assert!(report["fences"].as_array().is_some_and(|fences| fences.len() == 2), "{method}");
    }
}

/// A sample of the corpus: where a model has states that sequential consistency does not have, a violation is
/// harmful, and only there; and what the solver finds an order for comes about whenever that order is followed.
#[test]
fn litmus_tests_are_judged_as_the_corpus_says() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/classic.jsonl");
    let text = fs::read_to_string(corpus).expect("the corpus is part of the repository");
    let directory = tempfile::tempdir().expect("a directory");
    let mut harmful = 0;
    for line in text.lines().step_by(12) {
        let test: Json = serde_json::from_str(line).expect("the corpus is JSON");
        let states = |model: &str| -> Option<BTreeSet<String>> {
            let states = test["models"][model]["states"].as_array()?;
            Some(states.iter().map(ToString::to_string).collect())
        };
        fs::write(directory.path().join("t.litmus"), test["source"].as_str().expect("a source")).expect("a file");
        for model in ["tso", "pso"] {
            let (Some(sc), Some(weak)) = (states("sc"), states(model)) else { continue };
            let args = ["hunt", "t.litmus", "--model", model, "--method", "solve", "--no-fences", "--format", "json"];
            let run = finish(command(directory.path()).args(args).args(["--trials", "6", "--jobs", "1"]));
            let report = run.json();
            let expected = !weak.is_subset(&sc);
            assert_eq!(report["verdict"] == "fail", expected, "{} under {model}: {}", test["name"], run.stdout);
            harmful += usize::from(expected);
            for cycle in report["cycles"].as_array().expect("a list").iter().filter(|c| c["exposed"] != 0) {
                assert_eq!(cycle["exposed"], cycle["trials"], "{} under {model}: {cycle}", test["name"]);
            }
        }
    }
    assert!(harmful > 10, "only {harmful} tests have a violation");
}

#[test]
fn wrong_options_are_refused() {
    let litmus = "../../tests/litmus/SB.litmus";
    for (target, more) in [
        ("dekker.c", &["--model", "c11"][..]),
        ("dekker.c", &["--load-delay", "90"]),
        ("dekker.c", &["--model", "pslo", "--buffer", "4"]),
        (litmus, &["--spec", "atomic"]),
        ("nothing.c", &[]),
        ("harness.h", &[]),
    ] {
        let run = finish(command(&examples()).args(["hunt", target]).args(more));
        assert_eq!(run.status, 2, "{more:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}
