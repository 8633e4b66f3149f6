//! Memory-model safety: what `safe` explores beside `check` under the model itself, and what watching a long execution
//! costs.

use crate::check::compile;
use crate::native::{children_seconds, compile as compile_file};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, Explored, Results, monotonic_after, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Method, Model};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How many operations a long execution has.
const LONG: u64 = 10_000_000;

/// An exploration is given up after this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Programs of tests/programs, examples/safe and examples/hunt, with and without what makes them safe. Those of `check`
/// that take longest are smaller here.
const PROGRAMS: [(&str, &str); 47] = [
    ("safe/idle", ""),
    ("safe/idle", "-DFIXED"),
    ("sb", "-DN=6"),
    ("sb", "-DN=6 -DSC"),
    ("mp", "-DN=4"),
    ("mp", "-DN=4 -DWEAK"),
    ("iriw", "-DN=4"),
    ("dekker", "-DN=2"),
    ("dekker", "-DN=2 -DWEAK"),
    ("peterson", "-DN=2"),
    ("peterson", "-DN=2 -DWEAK"),
    ("lamport", "-DN=2"),
    ("lamport", "-DN=2 -DWEAK"),
    ("bakery", "-DN=2"),
    ("bakery", "-DN=2 -DWEAK"),
    ("bakery", "-DN=3 -DK=1 -DWEAK"),
    ("chaselev", "-DN=2 -DS=2"),
    ("chaselev", "-DN=2 -DS=2 -DWEAK"),
    ("mcr_example", "-DN=1"),
    ("mcr_example", "-DN=2"),
    ("mcr_example", "-DN=3"),
    ("msqueue", "-DN=2 -DR=1"),
    ("ms2", "-DN=3"),
    ("treiber", "-DN=2"),
    ("ticket", "-DN=4"),
    ("spsc", "-DN=4"),
    ("spsc", "-DN=4 -DWEAK"),
    ("fib_bench", "-DN=4"),
    ("readers", "-DN=8"),
    ("rwlock", "-DN=2 -DW=2"),
    ("ninc", "-DN=5"),
    ("account", "-DN=2 -DFIXED"),
    ("stack_unsafe", "-DN=2"),
    ("stack_unsafe", "-DN=2 -DFIXED"),
    ("hunt/charset", ""),
    ("hunt/charset", "-DFENCES"),
    ("hunt/crypt_util", ""),
    ("hunt/observed", ""),
    ("hunt/observed", "-DFENCES"),
    ("hunt/msn", "-DSMALL"),
    ("hunt/msn", "-DSMALL -DFENCES"),
    ("hunt/ms2", "-DSMALL"),
    ("hunt/ms2", "-DSMALL -DSTORE_STORE"),
    ("hunt/harris", "-DSMALL"),
    ("hunt/harris", "-DSMALL -DFENCES"),
    ("hunt/lazylist", "-DSMALL"),
    ("hunt/lazylist", "-DSMALL -DFENCES"),
];

/// Prints the tables.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    println!("| program | executions of safe | tso | check --model tso | pso | check --model pso |");
    println!("|---|---|---|---|---|---|");
    let mut more = 0;
    for (name, defines) in PROGRAMS {
        let program = match name.split_once('/') {
            None => compile(directory.path(), name, defines),
            Some((_, file)) => {
                let examples = crate::costs::programs().join("../../examples");
                let header = examples.join("../crates/native/include");
                let header = header.to_str().expect("a path");
                let mut flags = vec!["-g", "-fsanitize=thread", "-Wno-tsan", "-I", header];
                flags.extend(defines.split_whitespace());
                compile_file(directory.path(), &examples.join(name).with_extension("c"), file, &flags)
            }
        };
        let mut row = String::new();
        for model in [Model::Tso, Model::Pso] {
            let (watched, safe) = explore(&program, &runtime, Model::Sc, &[model]);
            let (_, check) = explore(&program, &runtime, model, &[]);
            let leaves = watched.found.iter().any(|found| found.report.kind == FindingKind::ScViolation);
            let verdict = match (leaves, safe.complete) {
                (true, _) => "unsafe",
                (false, true) => "safe",
                (false, false) => "incomplete",
            };
            more += u32::from(executions(&safe) > executions(&check));
            if row.is_empty() {
                row = format!("| {name} {defines} | {} |", number(&safe));
            }
            row += &format!(" {verdict} | {} |", number(&check));
        }
        println!("{row}");
    }
    println!("\nMore executions than check: {more} times.\n");
    watching(directory.path(), &runtime);
}

fn executions(explored: &Explored) -> u64 {
    explored.executions + explored.blocked
}

/// How many executions there are, or how many there were time for.
fn number(explored: &Explored) -> String {
    let more = if explored.complete { "" } else { "more than " };
    format!("{more}{}", executions(explored))
}

/// Explores all, or as much as there is time for.
fn explore(program: &Path, runtime: &Path, model: Model, watch: &[Model]) -> (Results, Explored) {
    let mut campaign = Campaign::new(program, runtime, model, u64::MAX);
    campaign.request.max_steps = 10_000;
    campaign.request.watch = watch.to_vec();
    let (timeout, deadline) = (campaign.timeout.as_nanos() as u64, Some(monotonic_after(PATIENCE)));
    campaign.request.campaign =
        CampaignSpec::Explore { jobs: 1, deadline, timeout, findings: u64::MAX, method: Method::Graph };
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
    const KINDS: [&str; 6] = ["mix", "load-relaxed", "store-relaxed", "add-relaxed", "read", "write"];
    const ALL: [Model; 4] = [Model::Tso, Model::Pso, Model::Pslo, Model::C11];
    let [short, long] = [LONG / 20, LONG].map(|accesses| most_memory(|| _ = run("mix", &ALL, accesses)));
    println!("| operation | accesses | sc, seconds | watched for tso | watched for tso, pso, pslo, c11 |");
    println!("|---|---|---|---|---|");
    for kind in KINDS {
        let [alone, one, all] = [&[][..], &[Model::Tso], &ALL].map(|watch| run(kind, watch, LONG));
        let over = |time: f64| format!("{time:.2} ({:.2} times)", time / alone);
        println!("| {kind} | {LONG} | {alone:.2} | {} | {} |", over(one), over(all));
    }
    println!(
        "\nMost memory, watched for all, mix: {short:.1} MB with {} accesses, {long:.1} MB with {LONG}.",
        LONG / 20
    );
}

/// The most memory, in megabytes, that a process has had that was started meanwhile. It is looked at now and then.
fn most_memory(work: impl FnOnce()) -> f64 {
    let (most, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for kilobytes in children().into_iter().filter_map(peak_of) {
                    most.fetch_max(kilobytes, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        work();
        over.store(true, Ordering::Relaxed);
    });
    most.into_inner() as f64 / 1024.0
}

/// The processes that this one has started.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The most memory that a process has had, in kilobytes.
fn peak_of(process: String) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
