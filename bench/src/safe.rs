//! Memory-model safety: what `safe` explores beside `check` under the model itself, for the programs of tests/programs;
//! and what watching a long execution costs.

use crate::check::{PROGRAMS, compile};
use crate::native::{children_seconds, compile as compile_file};
use fencepost_mailbox::Fence;
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, Explored, Results, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Method, Model};
use std::path::Path;

/// How many operations a long execution has.
const LONG: u64 = 10_000_000;

/// Prints the tables.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    println!("| program | model | verdict | executions of safe | executions of check |");
    println!("|---|---|---|---|---|");
    for (name, defines) in PROGRAMS {
        let program = compile(directory.path(), name, defines);
        for model in [Model::Tso, Model::Pso] {
            let (watched, safe) = explore(&program, &runtime, Model::Sc, &[model], &[]);
            let (_, check) = explore(&program, &runtime, model, &[], &[]);
            let leaves = watched.found.iter().any(|found| found.report.kind == FindingKind::ScViolation);
            let verdict = match (leaves, safe.complete) {
                (true, _) => "unsafe",
                (false, true) => "safe",
                (false, false) => "incomplete",
            };
            println!("| {name} {defines} | {model} | {verdict} | {} | {} |", safe.executions, check.executions);
        }
    }
    println!();
    watching(directory.path(), &runtime);
}

/// Explores all.
fn explore(program: &Path, runtime: &Path, model: Model, watch: &[Model], fences: &[Fence]) -> (Results, Explored) {
    let mut campaign = Campaign::new(program, runtime, model, u64::MAX);
    campaign.request.max_steps = 10_000;
    campaign.request.watch = watch.to_vec();
    campaign.request.fences = fences.to_vec();
    let timeout = campaign.timeout.as_nanos() as u64;
    campaign.request.campaign =
        CampaignSpec::Explore { jobs: 1, deadline: None, timeout, findings: u64::MAX, method: Method::Graph };
    let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let explored = results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0, answers: None });
    (results, explored)
}

/// One execution of many operations under sc, alone and watched.
fn watching(directory: &Path, runtime: &Path) {
    let source = crate::costs::programs().join("costs.c");
    let program = compile_file(directory, &source, "costs", &["-g", "-fsanitize=thread"]);
    println!("| operation | accesses | sc, seconds | watched for tso | watched for tso, pso, pslo, c11 |");
    println!("|---|---|---|---|---|");
    for kind in ["load-relaxed", "store-relaxed", "add-relaxed", "read", "write"] {
        let seconds = |watch: &[Model]| {
            let mut campaign = Campaign::new(&program, runtime, Model::Sc, 1);
            campaign.arguments = vec![kind.to_owned(), "2".to_owned(), (LONG / 2).to_string()];
            campaign.request.watch = watch.to_vec();
            campaign.request.max_steps = u64::MAX;
            campaign.timeout = std::time::Duration::from_secs(600);
            let before = children_seconds();
            run_campaign(&campaign).unwrap_or_else(|error| panic!("{kind}: {error}"));
            children_seconds() - before
        };
        let alone = seconds(&[]);
        let (one, all) = (seconds(&[Model::Tso]), seconds(&[Model::Tso, Model::Pso, Model::Pslo, Model::C11]));
        let over = |time: f64| format!("{time:.2} ({:.2} times)", time / alone);
        println!("| {kind} | {LONG} | {alone:.2} | {} | {} |", over(one), over(all));
    }
}
