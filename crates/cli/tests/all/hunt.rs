//! `fencepost hunt` on the programs of the papers that it comes from (examples/hunt): cycles are named by the
//! statement numbers of the papers, which stand in the sources as comments.

use crate::common::{command, finish};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/hunt")
}

/// Fewer executions than usual: enough where little depends on chance.
const FEW: &[&str] = &["--no-fences", "--trials", "4"];

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

/// What is real and what does harm does not depend on the seed, and under a weaker model no less is: it has all
/// executions of the stronger one. dekker is too large to be explored.
#[test]
fn seeds_agree_and_models_contain_each_other() {
    agree("dekker", &["tso", "pso"], &["1", "8"], "6", None);
}

/// The same of more programs, under all models, at ten seeds. Of the cycles of dekker 36 and 70 are real.
#[test]
#[ignore = "takes minutes"]
fn ten_seeds_agree_and_models_contain_each_other() {
    let seeds = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    agree("dekker", &["tso", "pso", "pslo"], &seeds, "30", Some([36, 70]));
    for program in ["bakery", "ms2", "crypt_util", "charset"] {
        agree(program, &["tso", "pso", "pslo"], &seeds, "30", None);
    }
}

/// Programs with many cycles, at one seed.
#[test]
#[ignore = "takes minutes"]
fn models_contain_each_other_in_large_programs() {
    for program in ["msn", "lazylist", "harris", "snark", "pthread_cancel"] {
        agree(program, &["tso", "pso", "pslo"], &["1"], "30", None);
    }
}

fn agree(program: &str, models: &[&str], seeds: &[&str], trials: &str, real: Option<[usize; 2]>) {
    let sets = |model: &str, seed: &str| {
        let hunted = hunt(program, "", model, &["--no-fences", "--seed", seed, "--trials", trials]);
        // By lines, and by what is done there: one line may have several accesses.
        let with = |outcomes: &[&str]| -> BTreeSet<String> {
            let cycles = hunted.report["cycles"].as_array().expect("a list").iter();
            let cycles = cycles.filter(|cycle| outcomes.contains(&cycle["outcome"].as_str().expect("an outcome")));
            let place = |label: &Json| format!("{} {}", label["line"], label["access"]);
            let name = |cycle: &Json| -> Vec<String> {
                cycle["labels"].as_array().expect("a list").iter().map(place).collect()
            };
            cycles.map(|cycle| name(cycle).join(", ")).collect()
        };
        (with(&["harmful", "benign"]), with(&["harmful"]))
    };
    let mut stronger: Option<(BTreeSet<String>, BTreeSet<String>)> = None;
    for (i, model) in models.iter().enumerate() {
        let found = sets(model, seeds[0]);
        for seed in &seeds[1..] {
            assert_eq!(sets(model, seed), found, "{program} under {model}, seed {seed}");
        }
        if let Some(stronger) = &stronger {
            assert!(stronger.0.is_subset(&found.0), "{program}, {model}: {stronger:?} {found:?}");
            assert!(stronger.1.is_subset(&found.1), "{program}, {model}: {stronger:?} {found:?}");
        }
        if let Some(count) = real.and_then(|real| real.get(i).copied()) {
            assert_eq!(found.0.len(), count, "{program} under {model}");
        }
        stronger = Some(found);
    }
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
    let plain = hunt("ms2", "", "pso", FEW);
    assert_eq!(plain.outcome(&[2, 5, 10, 14]), Some("harmful"));
    assert_eq!(plain.outcome(&[3, 5, 10, 10]), Some("harmful"));
    let stores = hunt("ms2", "-DSTORE_STORE", "pso", FEW);
    assert_eq!(stores.count("harmful"), 0, "{:?}", stores.cycles);
    let still = hunt("ms2", "-DSTORE_STORE", "pslo", FEW);
    assert_eq!(still.outcome(&[2, 5, 10, 14]), Some("harmful"));
    let both = hunt("ms2", "-DSTORE_STORE -DLOAD_LOAD", "pslo", FEW);
    assert_ne!(both.outcome(&[2, 5, 10, 14]), Some("harmful"));
}

#[test]
fn the_data_structures_are_correct_under_tso() {
    for program in ["msn", "ms2", "lazylist", "harris", "snark"] {
        let hunted = hunt(program, "", "tso", FEW);
        assert_eq!(hunted.count("harmful"), 0, "{program}: {:?}", hunted.cycles);
    }
}

#[test]
fn long_cycles_are_exposed() {
    let pthread = hunt("pthread_cancel", "", "tso", FEW);
    // Four threads: f2 = against f1, f1 = against f4 =, f4 = against f3, f3 = against f2.
    let outcome = pthread.outcome(&[5, 12, 4, 7, 7, 22, 6, 17]);
    assert!(matches!(outcome, Some("harmful" | "benign")), "{outcome:?}");
    // Under pso the program crashes, sometimes before all threads are there.
    let crashes = hunt("pthread_cancel", "", "pso", FEW);
    assert_eq!(crashes.outcome(&[5, 7, 2, 17]), Some("harmful"));
    let few = ["--no-fences", "--cycle-length", "5", "--executions", "20", "--trials", "2"];
    let msn = hunt("msn", "-DTHREADS=3", "pso", &few);
    let odd = |(labels, outcome, _): &&(Vec<u64>, String, f64)| {
        labels.len() == 5 && (outcome == "harmful" || outcome == "benign")
    };
    assert!(msn.cycles.iter().any(|cycle| odd(&cycle)));
}

/// What Orion exposes is real, so that the usual way reports it: also where a shorter violation is in it, in executions
/// of four threads.
#[test]
fn what_another_method_exposes_is_reported() {
    let real = |more: &[&str]| -> BTreeSet<Vec<String>> {
        let hunted = hunt("pthread_cancel", "", "tso", &[FEW, more].concat());
        let cycles = hunted.report["cycles"].as_array().expect("a list").iter();
        let name = |cycle: &Json| -> Vec<String> {
            let labels = cycle["labels"].as_array().expect("a list").iter();
            let mut name: Vec<String> = labels.map(|l| format!("{} {}", l["line"], l["access"])).collect();
            name.sort();
            name
        };
        cycles.filter(|cycle| cycle["exposed"] != 0).map(name).collect()
    };
    let (theirs, ours) = (real(&["--method", "orion"]), real(&[]));
    assert!(theirs.len() > 20, "{theirs:?}");
    assert!(theirs.is_subset(&ours), "{:?}", theirs.difference(&ours).collect::<Vec<_>>());
}

#[test]
fn a_violation_is_recorded_and_replays() {
    let out = tempfile::tempdir().expect("a directory");
    let arguments = ["hunt", "ms2.c", "--model", "pso", "--no-fences", "--trials", "10", "--format", "json", "--out"];
    let run = finish(command(&examples()).args(arguments).arg(out.path()));
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

/// A double compare-exchange is one step to others, and orders nothing: that is how the deque of snark.c fails under
/// pso, and not under tso. Explorations do not have it, and say so.
#[test]
fn two_words_are_exchanged_in_one_step() {
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = tempfile::tempdir().expect("a directory");
    let run = |directory: &Path, args: &[&str]| finish(command(directory).args(args).arg("--out").arg(out.path()));
    for model in ["sc", "tso", "pso"] {
        let run = run(&programs, &["test", "two_words.c", "--model", model, "--executions", "1000"]);
        assert_eq!(run.status, 0, "{model}: {}{}", run.stdout, run.stderr);
    }
    // It must not fail for one of the words alone because an older value could be read there.
    for model in ["pso", "pslo"] {
        let run = run(&programs, &["test", "two_flags.c", "--model", model, "--executions", "1000"]);
        assert_eq!(run.status, 0, "{model}: {}{}", run.stdout, run.stderr);
    }
    let check = run(&programs, &["check", "two_words.c", "--model", "tso"]);
    assert_eq!(check.status, 3, "{}{}", check.stdout, check.stderr);
    for (model, status) in [("tso", 0), ("pso", 1)] {
        let run = run(&examples(), &["test", "snark.c", "--model", model, "--executions", "1000"]);
        assert_eq!(run.status, status, "{model}: {}", run.stdout);
    }
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

/// A line of a file, and how it is to read.
type Edit = (String, usize, String);

/// A copy of a program and of what it includes, with some lines put in.
fn copy(from: &Path, edits: &[Edit]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        fs::copy(&path, directory.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    for (file, line, reads) in edits {
        let path = directory.path().join(file);
        let source = fs::read_to_string(&path).expect("it is there");
        let mut lines: Vec<&str> = source.lines().collect();
        lines[line - 1] = reads;
        fs::write(&path, lines.join("\n") + "\n").expect("it can be written");
    }
    directory
}

const ADVISED_FLAGS: &str = "-O1 -g -include stdatomic.h";

/// The advice for a program, as edits of its source.
fn advised(from: &Path, program: &str, model: &str) -> Vec<Edit> {
    let (out, directory) = (tempfile::tempdir().expect("a directory"), copy(from, &[]));
    let args = ["hunt", program, "--model", model, "--format", "json", "--out"];
    let report = finish(command(directory.path()).args(args).arg(out.path()).env("CFLAGS", ADVISED_FLAGS)).json();
    assert_eq!(report["verdict"], "fail", "{program} under {model}");
    let fences = report["fences"].as_array().expect("a list");
    assert!(!fences.is_empty(), "{program} under {model}: no advice");
    let edit = |fence: &Json| {
        assert_eq!(fence["verified"], true, "{program} under {model}: {fence}");
        let file = fence["file"].as_str().and_then(|file| file.rsplit('/').next()).expect("a file");
        let reads = fence["reads"].as_str().unwrap_or_else(|| panic!("{program} under {model}: {fence}"));
        (file.to_owned(), fence["line"].as_u64().expect("a line") as usize, reads.to_owned())
    };
    let mut edits: Vec<Edit> = fences.iter().map(edit).collect();
    // A line that has several orderings is shown with all of them each time.
    edits.sort();
    edits.dedup();
    edits
}

/// Does the program with these edits hold: is that proved by `check`, or else do 100,000 executions of `test` not fail?
/// And nothing that a hunt brings about does harm: a wrong output it alone sees.
fn holds(from: &Path, program: &str, model: &str, edits: &[Edit]) -> bool {
    let directory = copy(from, edits);
    let run = |args: &[&str], model: &str| {
        let out = directory.path().join("out");
        let mut command = command(directory.path());
        command.args(args).args([program, "--model", model, "--out"]).arg(out).env("CFLAGS", ADVISED_FLAGS);
        let status = finish(&mut command).status;
        assert!([0, 1, 3].contains(&status), "{program} under {model}: {status}");
        status
    };
    // What `check` finds without reordering, too (lazylist.c: a mutex is used by a thread that got it through plain
    // memory), no ordering prevents: then `test` is asked, which does not find that.
    let check = ["check", "--time", "30s"];
    let shown = match run(&check, model) {
        1 if run(&check, "sc") == 1 => 3,
        status => status,
    };
    let shown = if shown == 3 { run(&["test", "--executions", "100000"], model) } else { shown };
    shown == 0 && run(&["hunt", "--no-fences"], model) != 1
}

/// Advice is what a reader can put into the source: with the lines as they are said to read the program holds, and
/// each line left as it was brings a failure back.
fn holds_with_advice(from: &Path, cases: &[(&str, &str)]) {
    for (program, model) in cases {
        let edits = advised(from, program, model);
        assert!(holds(from, program, model, &edits), "{program} under {model}: {edits:?}");
        for i in 0..edits.len() {
            let rest = [&edits[..i], &edits[i + 1..]].concat();
            assert!(!holds(from, program, model, &rest), "{program} under {model}: without {:?}", edits[i]);
        }
    }
}

/// Programs that nothing here was made for.
fn other_programs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/advice")
}

#[test]
fn advice_is_put_into_the_source_and_holds() {
    holds_with_advice(&examples(), &[("charset.c", "pso")]);
    holds_with_advice(&other_programs(), &[("peterson.c", "tso"), ("seqlock.c", "pso"), ("lamport_fast.c", "pso")]);
    holds_with_advice(&other_programs(), &[("two_ways.c", "pso")]);
}

/// An exploration is held against executions at random: where it misses what they show, nothing is called proved.
#[test]
fn what_an_exploration_does_not_see_is_not_called_harmless() {
    let out = tempfile::tempdir().expect("a directory");
    let args = ["hunt", "unseen.c", "--model", "tso", "--format", "json", "--out"];
    let run = finish(command(&other_programs()).args(args).arg(out.path()).env("CFLAGS", ADVISED_FLAGS));
    let report = run.json();
    assert_eq!((&report["verdict"], &report["settled"]), (&"fail".into(), &false.into()), "{}", run.stderr);
    assert!(run.stderr.contains("memory that is not seen"), "{}", run.stderr);
    let fences = report["fences"].as_array().expect("a list");
    assert!(!fences.is_empty() && fences.iter().all(|fence| fence["by"]["tested"] == 100_000), "{fences:?}");
}

#[test]
#[ignore = "takes minutes"]
fn advice_for_all_examples_is_put_into_the_source_and_holds() {
    let tso = ["dekker.c", "bakery.c"].map(|program| (program, "tso"));
    let pso = [
        "dekker.c",
        "bakery.c",
        "msn.c",
        "ms2.c",
        "lazylist.c",
        "harris.c",
        "snark.c",
        "pthread_cancel.c",
        "ring.cpp",
        "crypt_util.c",
        "charset.c",
    ];
    holds_with_advice(&examples(), &tso);
    holds_with_advice(&examples(), &pso.map(|program| (program, "pso")));
    let pslo = ["msn.c", "harris.c", "snark.c", "pthread_cancel.c"];
    holds_with_advice(&examples(), &pslo.map(|program| (program, "pslo")));
}

#[test]
#[ignore = "takes minutes"]
fn advice_for_other_programs_is_put_into_the_source_and_holds() {
    let cases = [
        ("peterson.c", "pso"),
        ("one_bit.c", "tso"),
        ("one_bit.c", "pso"),
        ("stack.c", "pso"),
        ("mailbox.c", "pso"),
        ("unseen.c", "tso"),
        ("lamport_fast.c", "tso"),
        ("lamport_fast.c", "pslo"),
        ("szymanski.c", "tso"),
        ("szymanski.c", "pso"),
        ("szymanski.c", "pslo"),
    ];
    holds_with_advice(&other_programs(), &cases);
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

/// So is one that fails so rarely that only an exploration shows it.
#[test]
fn a_program_that_fails_rarely_without_reordering_does_not_pass() {
    let out = tempfile::tempdir().expect("a directory");
    let flags = format!("{ADVISED_FLAGS} -DTWICE");
    let args = ["hunt", "szymanski.c", "--no-fences", "--trials", "2", "--format", "json", "--out"];
    let run = finish(command(&other_programs()).args(args).arg(out.path()).env("CFLAGS", flags));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("fails without reordering too, as an exploration shows"), "{}", run.stderr);
    let findings = run.json()["findings"].as_array().expect("a list").clone();
    assert!(findings.iter().any(|finding| finding["kind"] == "livelock"), "{findings:?}");
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
