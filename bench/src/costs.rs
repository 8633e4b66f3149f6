//! What one operation costs: atomic operations and plain accesses, beside gcc's ThreadSanitizer; and very long
//! executions.
//!
//! A cost is the difference between a run with many operations and one with few, so that starting and ending cost
//! nothing, in processor time of the whole process.

use crate::native::{children_seconds, compile, stay_on_one_core};
use fencepost_mailbox::{End, Pruning};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, Results, run_campaign};
use fencepost_trace::{Model, Plan};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const KINDS: [&str; 8] =
    ["load-relaxed", "load-seq_cst", "store-relaxed", "store-seq_cst", "add-relaxed", "add-seq_cst", "read", "write"];
/// How often each measurement is taken; the best one counts, because what disturbs only ever makes it slower.
const ROUNDS: usize = 3;
/// How many operations long executions have, unless `FENCEPOST_LONG` says another number: 10^8 take minutes.
const OPERATIONS: u64 = 2_000_000;

/// Prints the tables.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    if !stay_on_one_core() {
        println!("(The system does not let this process choose its core.)\n");
    }
    operations(directory.path(), &runtime);
    long(directory.path());
}

fn operations(directory: &Path, runtime: &Path) {
    let source = programs().join("costs.c");
    let bare = compile(directory, &source, "costs-bare", &[]);
    let program = compile(directory, &source, "costs", &["-g", "-fsanitize=thread"]);
    println!(
        "Nanoseconds per operation; best of {ROUNDS}. Two threads take turns on one core, and share the atomic \
         variable.\n"
    );
    println!("| operation | threads | native | ThreadSanitizer | c11 | tso | sc | c11 over ThreadSanitizer |");
    println!("|---|---|---|---|---|---|---|---|");
    for kind in KINDS {
        for threads in [1, 2] {
            let run = |program: &Path, count: u64| {
                let before = children_seconds();
                let arguments = [kind.to_owned(), threads.to_string(), count.to_string()];
                let status = Command::new(program).args(arguments).stdin(Stdio::null()).status();
                assert!(status.is_ok_and(|s| s.success()), "{} fails", program.display());
                children_seconds() - before
            };
            let controlled = |model: Model, count: u64| {
                let mut campaign = Campaign::new(&program, runtime, model, 1);
                campaign.arguments = vec![kind.to_owned(), threads.to_string(), count.to_string()];
                campaign.request.skip_private = Some(Plan::LONG);
                seconds(&campaign).0
            };
            let of = |count: u64, run: &dyn Fn(u64) -> f64| cost(count, threads, run);
            let native = of(10_000_000, &|n| run(&bare, n));
            let tsan = of(2_000_000, &|n| run(&program, n));
            let [c11, tso, sc] = [Model::C11, Model::Tso, Model::Sc]
                .map(|model| of(if threads == 1 { 300_000 } else { 100_000 }, &|n| controlled(model, n)));
            println!(
                "| {kind} | {threads} | {native:.1} | {tsan:.1} | {c11:.0} | {tso:.0} | {sc:.0} | {:.1} |",
                c11 / tsan.max(0.1)
            );
        }
    }
    println!();
}

/// Nanoseconds per operation, from a run of `count` for each thread and one of a tenth.
fn cost(count: u64, threads: u64, run: &dyn Fn(u64) -> f64) -> f64 {
    let (mut many, mut few) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        many = many.min(run(count));
        few = few.min(run(count / 10));
    }
    (many - few).max(0.0) * 1e9 / ((count - count / 10) * threads) as f64
}

/// The processor time that a campaign of one execution takes.
fn seconds(campaign: &Campaign) -> (f64, Results) {
    let mut campaign = campaign.clone();
    campaign.request.max_steps = u64::MAX;
    campaign.timeout = Duration::from_secs(3600);
    let before = children_seconds();
    let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", campaign.program.display()));
    assert_eq!(results.ended.get(&End::Exit), Some(&1), "{:?}", results.ended);
    (children_seconds() - before, results)
}

/// Rounds of a kind of long.c, how much is forgotten, and how many operations a round is at least.
const LONG: [(&str, Pruning, u64); 4] = [
    ("counter", Pruning::Conservative, 1),
    ("flag", Pruning::Conservative, 2),
    ("stores", Pruning::Conservative, 1),
    ("stores", Pruning::Aggressive(10_000), 1),
];

fn long(directory: &Path) {
    let wanted = std::env::var("FENCEPOST_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(OPERATIONS);
    let program = compile(directory, &programs().join("long.c"), "long", &["-g", "-fsanitize=thread"]);
    println!(
        "Long executions under c11, two threads: a counter that both increase (relaxed), a flag that they pass to and \
         fro (acquire and release),\nand stores that nobody reads (relaxed). Memory is that of the whole process at \
         its peak.\n"
    );
    println!(
        "| program | pruning | operations | seconds | ns per operation, first tenth | last tenth | MB | below 500 |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (kind, pruning, each) in LONG {
        // Without anything that is forgotten, memory grows with the operations: a million shows it.
        let operations = if (kind, pruning) == ("stores", Pruning::Conservative) { 1_000_000 } else { wanted };
        let rounds = operations / 2 / each;
        let one = |rounds: u64| alone(&program, kind, pruning, rounds);
        let (first, nine, all) = (one(rounds / 10), one(rounds - rounds / 10), one(rounds));
        let per = |seconds: f64, steps: f64| seconds.max(0.0) * 1e9 / steps.max(1.0);
        println!(
            "| {kind} | {} | {:.1e} | {:.1} | {:.0} | {:.0} | {:.0} | {} |",
            match pruning {
                Pruning::Off => "off".to_owned(),
                Pruning::Conservative => "conservative".to_owned(),
                Pruning::Aggressive(window) => format!("aggressive={window}"),
            },
            all.steps,
            all.seconds,
            per(first.seconds, first.steps),
            per(all.seconds - nine.seconds, all.steps - nine.steps),
            all.megabytes,
            if all.megabytes < 500.0 { "yes" } else { "**no**" },
        );
    }
}

struct Alone {
    seconds: f64,
    steps: f64,
    megabytes: f64,
}

/// Measures one execution in a process of its own, whose only child is the program: the system tells no more than the
/// peak of all children.
fn alone(program: &Path, kind: &str, pruning: Pruning, rounds: u64) -> Alone {
    let window = pruning.window().unwrap_or(0).to_string();
    let output = Command::new(std::env::current_exe().expect("the command's own name"))
        .args([ALONE, &program.display().to_string(), kind, &window, &rounds.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .expect("the command starts again");
    let numbers: Vec<f64> =
        String::from_utf8_lossy(&output.stdout).split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [seconds, steps, megabytes] = numbers[..] else { panic!("a measurement failed") };
    Alone { seconds, steps, megabytes }
}

/// The first argument of the command when it measures one execution.
pub const ALONE: &str = "one-long-execution";

/// The other side of [`alone`].
pub fn measure_alone(arguments: &[String]) {
    let [program, kind, window, rounds] = arguments else { panic!("program, kind, window, rounds") };
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    let mut campaign = Campaign::new(program, runtime, Model::C11, 1);
    campaign.arguments = vec![kind.clone(), rounds.clone()];
    campaign.request.prune = match window.parse() {
        Ok(0) | Err(_) => Pruning::Conservative,
        Ok(window) => Pruning::Aggressive(window),
    };
    let (seconds, results) = seconds(&campaign);
    println!("{seconds} {} {}", results.steps, peak_megabytes());
}

/// The greatest memory of a child that has ended.
fn peak_megabytes() -> f64 {
    // SAFETY: the structure is plain data, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    usage.ru_maxrss as f64 / 1024.0
}

pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}
