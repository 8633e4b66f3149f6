//! Executions of a million operations: their memory is bounded, and what they end in is found again by their number.
//!
//! In a process of its own, because the system tells no more than the greatest memory of all its children.

use fencepost_mailbox::{End, Pruning};
use fencepost_native::embedded;
use fencepost_native::host::{Campaign, Results, repeat, run_campaign};
use fencepost_trace::Model;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn campaign(program: &Path, model: Model, kind: &str, rounds: u64, prune: Pruning) -> Campaign {
    let runtime = embedded::runtime_directory().expect("it can be unpacked").join(embedded::NAME);
    let mut campaign = Campaign::new(program, runtime, model, 1);
    campaign.arguments = vec![kind.to_owned(), rounds.to_string()];
    campaign.request.max_steps = 1_000_000_000;
    campaign.request.prune = prune;
    campaign.timeout = Duration::from_secs(600);
    campaign
}

fn run(campaign: &Campaign) -> Results {
    let results = run_campaign(campaign).expect("it runs");
    assert_eq!(results.ended.get(&End::Exit), Some(&1), "{:?} {:?}", results.ended, results.found);
    results
}

/// The greatest memory that a child has had so far.
fn megabytes() -> i64 {
    // SAFETY: the structure is plain data, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    usage.ru_maxrss / 1024
}

fn compile(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/long.c");
    let program = directory.join("long");
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fsanitize=thread", "-pthread"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.expect("the compiler runs").success());
    program
}

#[test]
fn a_million_operations() {
    const ROUNDS: u64 = 400_000;
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path());
    let of = |model, kind, rounds, prune| campaign(&program, model, kind, rounds, prune);

    let counter = of(Model::C11, "counter", ROUNDS, Pruning::Conservative);
    let results = run(&counter);
    assert!(results.steps > 2 * ROUNDS);
    // The exit status is a finding. There are too many answers to tell; the number of the execution finds it again.
    assert_eq!(results.found.len(), 1);
    assert!(results.found[0].report.drawn.is_some() && results.found[0].report.choices.is_empty());
    let again = repeat(&counter, results.found[0].report.execution).expect("it runs");
    assert_eq!((again.steps, again.statuses), (results.steps, results.statuses));

    run(&of(Model::C11, "flag", ROUNDS / 8, Pruning::Conservative));
    run(&of(Model::C11, "stores", ROUNDS, Pruning::Aggressive(1_000)));
    // Nobody reads what was stored in a block that is gone.
    run(&of(Model::C11, "blocks", ROUNDS / 4, Pruning::Conservative));
    run(&of(Model::Pslo, "counter", ROUNDS / 8, Pruning::Conservative));
    run(&of(Model::Sc, "stores", ROUNDS / 8, Pruning::Conservative));
    // The compiler is one of the children, too.
    let bounded = megabytes();
    assert!(bounded < 100, "{bounded} MB");

    // What it would be otherwise, or this measures nothing.
    run(&of(Model::C11, "stores", ROUNDS, Pruning::Off));
    let unbounded = megabytes();
    assert!(unbounded > 150, "{unbounded} MB");
}
