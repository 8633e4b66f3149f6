//! The gallery: how often one execution shows each bug, beside C11Tester, and whether the correct twins are left alone.
//!
//! Everything is run by the command itself with its default flags. C11Tester's rates are those to beat, for the same
//! algorithm with the same bug (Luo and Demsky, ASPLOS 2021; for the seqlock the text of section 7.1 has 28.8 %, and
//! the higher figure of 32 % is taken). The harnesses are ours: their numbers of threads, accesses and yields differ
//! from C11Tester's and were chosen with these rates in view, so that the comparison is rough.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many executions give a rate.
const EXECUTIONS: u64 = 1_000;
/// How many executions of a correct twin must give nothing.
const TWIN_EXECUTIONS: u64 = 100_000;

/// C11Tester's detection rates, in per cent.
const C11TESTER: [(&str, f64); 8] = [
    ("barrier.c", 79.0),
    ("chase_lev.c", 97.0),
    ("dekker_fences.cpp", 23.0),
    ("linux_rwlock.c", 83.0),
    ("mcs_lock.cpp", 87.0),
    ("mpmc_queue.cpp", 56.0),
    ("seqlock.c", 32.0),
    ("rwlock.c", 55.0),
];

/// Prints the table.
pub fn measure() {
    let command = command();
    let programs = programs("gallery");
    println!(
        "Rate: the share of {EXECUTIONS} executions in which something was found, default flags and --keep-going.\n"
    );
    println!("| program | found as | rate | C11Tester | | first | executions/s |");
    println!("|---|---|---|---|---|---|---|");
    let mut rates = Vec::new();
    for program in &programs {
        let report = run(&command, program, false, EXECUTIONS);
        let name = name(program);
        let rate = 100.0 * number(&report["failing_executions"]) / number(&report["executions"]);
        let theirs = C11TESTER.iter().find(|(known, _)| *known == name).map(|(_, theirs)| *theirs);
        let compared = theirs.map_or(String::from("| |"), |t| format!("{t:.0} % | {} |", verdict(rate > t)));
        let found = report["findings"].as_array().expect("a list");
        let mut kinds: Vec<&str> = found.iter().filter_map(|finding| finding["kind"].as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let first = found.iter().map(|finding| number(&finding["first_execution"])).fold(f64::INFINITY, f64::min);
        println!(
            "| {name} | {} | {rate:.1} % | {compared} {first:.0} | {:.0} |",
            if kinds.is_empty() { "NOT FOUND".to_owned() } else { kinds.join(", ") },
            per_second(&report)
        );
        rates.push(rate);
    }
    println!("\nMean rate: {:.1} %.\n", rates.iter().sum::<f64>() / rates.len() as f64);
    println!("Correct twins: findings in {TWIN_EXECUTIONS} executions.\n");
    println!("| program | findings | | executions/s |");
    println!("|---|---|---|---|");
    for program in &programs {
        let report = run(&command, program, true, TWIN_EXECUTIONS);
        let failing = number(&report["failing_executions"]);
        println!("| {} | {failing:.0} | {} | {:.0} |", name(program), verdict(failing == 0.0), per_second(&report));
    }
}

fn verdict(good: bool) -> &'static str {
    if good { "yes" } else { "NO" }
}

fn number(value: &Json) -> f64 {
    value.as_f64().expect("a number")
}

fn per_second(report: &Json) -> f64 {
    number(&report["executions"]) / number(&report["seconds"])
}

/// The name of a program's file.
pub fn name(program: &Path) -> &str {
    program.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
}

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The programs of a folder of examples, by name.
pub fn programs(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(workspace().join("examples").join(folder)).expect("the examples are there");
    let mut programs: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|ending| ending != "md" && ending != "h"));
    programs.sort();
    programs
}

/// The command, built now.
pub fn command() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo)
        .current_dir(workspace())
        .args(["build", "--release", "--quiet", "-p", "fencepost-cli"])
        .status()
        .is_ok_and(|status| status.success());
    assert!(built, "the command does not build");
    let here = std::env::current_exe().expect("this program has a path");
    here.with_file_name("fencepost")
}

/// Runs a program or its correct twin, and gives the report.
fn run(command: &Path, program: &Path, fixed: bool, executions: u64) -> Json {
    let place = tempfile::tempdir().expect("a directory");
    let mut run = Command::new(command);
    run.current_dir(place.path()).arg("test").arg(program.canonicalize().expect("it is there"));
    run.args(["--keep-going", "--format", "json", "--executions", &executions.to_string()]);
    for (variable, fix) in [("CFLAGS", "-DFIXED"), ("CXXFLAGS", "-DFIXED"), ("RUSTFLAGS", "--cfg fixed")] {
        run.env(variable, if fixed { fix } else { "" });
    }
    let output = run.output().expect("the command starts");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", program.display(), String::from_utf8_lossy(&output.stderr)))
}
