//! Memory-model safety: what `safe` explores beside `check` under the model itself, for the programs of tests/programs;
//! and what watching a long execution costs.

use crate::check::{PROGRAMS, compile};
use crate::native::{children_seconds, compile as compile_file};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, Explored, Results, monotonic_after, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Method, Model};
use std::path::Path;
use std::time::Duration;

/// How many operations a long execution has.
const LONG: u64 = 10_000_000;

/// An exploration is given up after this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Besides those that `check` is measured on: what is not safe, and data structures.
const MORE: [(&str, &str); 20] = [
    ("mcr_example", "-DN=2"),
    ("mcr_example", "-DN=3"),
    ("mp", "-DN=2 -DWEAK"),
    ("dekker", "-DWEAK"),
    ("peterson", "-DWEAK"),
    ("lamport", "-DWEAK"),
    ("bakery", "-DWEAK"),
    ("chaselev", "-DN=2 -DS=2 -DWEAK"),
    ("hunt/dekker", ""),
    ("hunt/dekker", "-DFENCES"),
    ("hunt/bakery", ""),
    ("hunt/bakery", "-DFENCES"),
    ("hunt/msn", ""),
    ("hunt/msn", "-DFENCES"),
    ("hunt/ms2", ""),
    ("hunt/ms2", "-DSTORE_STORE"),
    ("hunt/harris", ""),
    ("hunt/lazylist", ""),
    ("hunt/lazylist", "-DFENCES"),
    ("hunt/snark", ""),
];

/// Prints the tables.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    println!("| program | model | verdict | executions of safe | executions of check |");
    println!("|---|---|---|---|---|");
    for (name, defines) in PROGRAMS.into_iter().chain(MORE) {
        let program = match name.strip_prefix("hunt/") {
            None => compile(directory.path(), name, defines),
            Some(file) => {
                let source = crate::costs::programs().join("../../examples/hunt").join(format!("{file}.c"));
                let mut flags = vec!["-g", "-fsanitize=thread"];
                flags.extend(defines.split_whitespace());
                compile_file(directory.path(), &source, file, &flags)
            }
        };
        for model in [Model::Tso, Model::Pso] {
            let (watched, safe) = explore(&program, &runtime, Model::Sc, &[model]);
            let (_, check) = explore(&program, &runtime, model, &[]);
            let leaves = watched.found.iter().any(|found| found.report.kind == FindingKind::ScViolation);
            let verdict = match (leaves, safe.complete) {
                (true, _) => "unsafe",
                (false, true) => "safe",
                (false, false) => "incomplete",
            };
            let number = |explored: Explored| match explored.complete {
                true => (explored.executions + explored.blocked).to_string(),
                false => format!("more than {}", explored.executions + explored.blocked),
            };
            println!("| {name} {defines} | {model} | {verdict} | {} | {} |", number(safe), number(check));
        }
    }
    println!();
    watching(directory.path(), &runtime);
}

/// Explores all, or as much as there is time for.
fn explore(program: &Path, runtime: &Path, model: Model, watch: &[Model]) -> (Results, Explored) {
    let mut campaign = Campaign::new(program, runtime, model, u64::MAX);
    campaign.request.max_steps = 10_000;
    campaign.request.watch = watch.to_vec();
    let (timeout, deadline) = (campaign.timeout.as_nanos() as u64, Some(monotonic_after(PATIENCE)));
    campaign.request.campaign =
        CampaignSpec::Explore { jobs: 1, deadline, timeout, findings: u64::MAX, method: Method::Graph, remember: None };
    let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let explored = results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0, answers: None });
    (results, explored)
}

/// One execution of many operations under sc, alone and watched.
fn watching(directory: &Path, runtime: &Path) {
    let source = crate::costs::programs().join("costs.c");
    let program = compile_file(directory, &source, "costs", &["-g", "-fsanitize=thread"]);
    let run = |kind: &str, watch: &[Model], accesses: u64| {
        let mut campaign = Campaign::new(&program, runtime, Model::Sc, 1);
        campaign.arguments = vec![kind.to_owned(), "2".to_owned(), (accesses / 2).to_string()];
        campaign.request.watch = watch.to_vec();
        campaign.request.max_steps = u64::MAX;
        campaign.timeout = Duration::from_secs(600);
        let before = children_seconds();
        let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(results.executions, 1, "{kind}: {:?}", results.notes);
        children_seconds() - before
    };
    const KINDS: [&str; 5] = ["load-relaxed", "store-relaxed", "add-relaxed", "read", "write"];
    const ALL: [Model; 4] = [Model::Tso, Model::Pso, Model::Pslo, Model::C11];
    KINDS.iter().for_each(|kind| _ = run(kind, &ALL, LONG / 100));
    let short = children_megabytes();
    println!("| operation | accesses | sc, seconds | watched for tso | watched for tso, pso, pslo, c11 |");
    println!("|---|---|---|---|---|");
    for kind in KINDS {
        let [alone, one, all] = [&[][..], &[Model::Tso], &ALL].map(|watch| run(kind, watch, LONG));
        let over = |time: f64| format!("{time:.2} ({:.2} times)", time / alone);
        println!("| {kind} | {LONG} | {alone:.2} | {} | {} |", over(one), over(all));
    }
    let long = children_megabytes();
    println!("\nMost memory of a process: {short:.1} MB with {} accesses, {long:.1} MB with {LONG}.", LONG / 100);
}

/// The most memory that a process has had that was started from here and has ended.
fn children_megabytes() -> f64 {
    // SAFETY: the structure is plain data, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    usage.ru_maxrss as f64 / 1024.0
}
