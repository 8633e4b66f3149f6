//! Time per execution of exhaustive exploration of native programs, those of tests/programs. GenMC's interpreter
//! takes 15 to 90 µs.
//!
//! Processor time on one core, without what starting the program and its first execution take. The time of blocked
//! executions is counted in.

use crate::native::{children_seconds, verdict};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, Results, monotonic_after, run_campaign};
use fencepost_trace::{CampaignSpec, Method, Model};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Programs and how they are compiled.
pub const PROGRAMS: [(&str, &str); 17] = [
    ("sb", "-DN=10"),
    ("mp", "-DN=8"),
    ("iriw", "-DN=6"),
    ("dekker", "-DN=2"),
    ("peterson", "-DN=2"),
    ("lamport", "-DN=3"),
    ("bakery", "-DN=3 -DK=1"),
    ("msqueue", "-DN=2 -DR=2"),
    ("ms2", "-DN=4"),
    ("chaselev", "-DN=3 -DS=3"),
    ("ticket", "-DN=4"),
    ("spsc", "-DN=6"),
    ("fib_bench", "-DN=5"),
    ("readers", "-DN=13"),
    ("rwlock", "-DN=2 -DW=2"),
    ("ninc", "-DN=7"),
    ("account", "-DN=3 -DFIXED"),
];
const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];
/// What one execution may take, in microseconds.
const MOST: f64 = 50.0;

/// Prints the table.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    println!("| program | model | executions | blocked | µs/execution | at most {MOST} |");
    println!("|---|---|---|---|---|---|");
    for (name, defines) in PROGRAMS {
        let program = compile(directory.path(), name, defines);
        for model in MODELS {
            let (_, start) = explore(&program, &runtime, model, 1);
            let (results, seconds) = explore(&program, &runtime, model, u64::MAX);
            let explored = results.explored.expect("an exploration says what it explored");
            assert!(explored.complete, "{name} {defines} under {model}: {:?}", results.notes);
            let micros = (seconds - start).max(0.0) * 1e6 / explored.executions as f64;
            println!(
                "| {name} {defines} | {model} | {} | {} | {micros:.1} | {} |",
                explored.executions,
                explored.blocked,
                verdict(micros <= MOST),
            );
        }
    }
}

/// Compiles one of them.
pub fn compile(directory: &Path, name: &str, defines: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(name).with_extension("c");
    let program = directory.join(name);
    let flags = ["-O1", "-g", "-fno-tree-ch", "-fsanitize=thread", "-pthread", "-Wno-tsan"];
    let mut gcc = Command::new("gcc");
    gcc.args(flags).args(defines.split_whitespace()).arg(source).arg("-o").arg(&program);
    let status = gcc.status().unwrap_or_else(|error| panic!("gcc does not start: {error}"));
    assert!(status.success(), "gcc does not compile {name}");
    program
}

/// Explores up to so many executions, and how much processor time that takes.
fn explore(program: &Path, runtime: &Path, model: Model, executions: u64) -> (Results, f64) {
    explore_by(Method::Graph, program, runtime, model, executions, None)
}

/// The same by any method, for so many seconds at most.
pub fn explore_by(
    method: Method,
    program: &Path,
    runtime: &Path,
    model: Model,
    executions: u64,
    seconds: Option<u64>,
) -> (Results, f64) {
    let mut campaign = Campaign::new(program, runtime, model, executions);
    campaign.request.max_steps = 10_000;
    let timeout = campaign.timeout.as_nanos() as u64;
    let deadline = seconds.map(|seconds| monotonic_after(Duration::from_secs(seconds)));
    campaign.request.campaign =
        CampaignSpec::Explore { jobs: 1, deadline, timeout, findings: u64::MAX, method, remember: None };
    let before = children_seconds();
    let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    (results, children_seconds() - before)
}
