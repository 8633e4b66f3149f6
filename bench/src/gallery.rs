//! The gallery: how often one execution shows each bug, beside C11Tester, and whether the correct twins are left alone.
//!
//! Everything is run by the command itself with its default flags. There are two tables. The harnesses of the first
//! are ours: their numbers of threads, accesses and yields differ from C11Tester's and were chosen with its rates in
//! view, so that the comparison is rough (for the seqlock the text of section 7.1 of Luo and Demsky, ASPLOS 2021, has
//! 28.8 %, and the higher figure of 32 % is taken). Those of the second do what the harnesses do that C11Tester was
//! measured with: `programs/original`, rebuilt by hand.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many executions give a rate.
const EXECUTIONS: u64 = 1_000;
/// How many executions of a correct twin must give nothing.
const TWIN_EXECUTIONS: u64 = 100_000;

/// C11Tester's detection rates for the same algorithms with the same bugs, in per cent.
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

/// What is said of C11Tester's own harnesses, in per cent: the rates that were measured with it (1,000 executions), and
/// those of its authors (table 2 and section 7.1).
const ORIGINAL: [(&str, f64, f64); 9] = [
    ("barrier.cpp", 79.0, 76.6),
    ("chase_lev_deque.cpp", 97.0, 94.6),
    ("dekker_fences.cpp", 21.0, 21.6),
    ("linuxrwlocks.cpp", 83.0, 86.2),
    ("mcs_lock.cpp", 87.0, 89.4),
    ("mpmc_queue.cpp", 54.0, 59.4),
    ("ms_queue.cpp", 100.0, 100.0),
    ("rwlock.cpp", 13.0, 55.3),
    ("seqlock.cpp", 34.0, 28.8),
];

/// What executions of a program have shown.
struct Rate {
    /// In how many of 100 something was found.
    percent: f64,
    /// The kinds of what was found.
    kinds: String,
    /// The first execution with a finding.
    first: f64,
    per_second: f64,
}

impl Rate {
    fn of(report: &Json) -> Rate {
        let found = report["findings"].as_array().expect("a list");
        let mut kinds: Vec<&str> = found.iter().filter_map(|finding| finding["kind"].as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Rate {
            percent: 100.0 * number(&report["failing_executions"]) / number(&report["executions"]),
            kinds: if kinds.is_empty() { "NOT FOUND".to_owned() } else { kinds.join(", ") },
            first: found.iter().map(|finding| number(&finding["first_execution"])).fold(f64::INFINITY, f64::min),
            per_second: per_second(report),
        }
    }
}

/// Prints the tables.
pub fn measure() {
    let command = command();
    let programs = programs("gallery");
    println!(
        "Rate: the share of {EXECUTIONS} executions in which something was found, default flags and --keep-going.\n"
    );
    gallery(&command, &programs);
    originals(&command);
    twins(&command, &programs);
}

/// Our own harnesses.
fn gallery(command: &Path, programs: &[PathBuf]) {
    println!("| program | found as | rate | C11Tester | | first | executions/s |");
    println!("|---|---|---|---|---|---|---|");
    let mut sum = 0.0;
    for program in programs {
        let name = name(program);
        let Rate { percent, kinds, first, per_second } = Rate::of(&run(command, program, false, EXECUTIONS));
        let theirs = C11TESTER.iter().find(|(known, _)| *known == name).map(|(_, theirs)| *theirs);
        let compared = theirs.map_or(String::from("| |"), |t| format!("{t:.0} % | {} |", verdict(percent > t)));
        println!("| {name} | {kinds} | {percent:.1} % | {compared} {first:.0} | {per_second:.0} |");
        sum += percent;
    }
    println!("\nMean rate: {:.1} %.\n", sum / programs.len() as f64);
}

/// C11Tester's.
fn originals(command: &Path) {
    println!(
        "C11Tester's own harnesses, rebuilt; its rates as measured and as published, and whether ours is higher.\n"
    );
    println!("| program | found as | rate | measured | | published | | first | executions/s |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs/original");
    for (name, measured, published) in ORIGINAL {
        let report = run(command, &folder.join(name), false, EXECUTIONS);
        let Rate { percent, kinds, first, per_second } = Rate::of(&report);
        let ahead = |theirs: f64| format!("{theirs:.1} % | {}", verdict(percent > theirs || percent >= 100.0));
        let (measured, published) = (ahead(measured), ahead(published));
        println!("| {name} | {kinds} | {percent:.1} % | {measured} | {published} | {first:.0} | {per_second:.0} |");
    }
    println!();
}

/// The correct twins of ours.
fn twins(command: &Path, programs: &[PathBuf]) {
    println!("Correct twins: findings in {TWIN_EXECUTIONS} executions.\n");
    println!("| program | findings | | executions/s |");
    println!("|---|---|---|---|");
    for program in programs {
        let report = run(command, program, true, TWIN_EXECUTIONS);
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
