//! Strategies: how often one execution of each program of the gallery shows its bug.
//!
//! All strategies run the same executables, under c11 and with race detection, one worker.

use fencepost_native::compiler::compile_single;
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, run_campaign};
use fencepost_trace::{CampaignSpec, Model, Sampling, Scheduler};
use std::path::{Path, PathBuf};

/// How many executions give a rate.
const EXECUTIONS: u64 = 1_000;
/// And how many campaigns, each with its seed.
const SEEDS: u64 = 3;

/// The columns: what is typed, and how choices are then drawn.
fn columns() -> Vec<(String, Sampling)> {
    let mut columns: Vec<_> = Scheduler::ALL.map(|s| (s.to_string(), Sampling::with(s))).into();
    let variants = [
        (Scheduler::Random, 0),
        (Scheduler::Pct, 0),
        (Scheduler::Pct, 90),
        (Scheduler::Pos, 0),
        (Scheduler::Pos, 90),
        (Scheduler::Rendezvous, 0),
        (Scheduler::Rendezvous, 90),
    ];
    columns.extend(variants.map(|(scheduler, stale)| {
        let sampling = Sampling { stale: Some(stale), ..Sampling::with(scheduler) };
        (format!("{scheduler} --stale {stale}"), sampling)
    }));
    columns
}

/// Prints the table.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtimes = runtime_directory().expect("the runtime can be unpacked");
    let columns = columns();
    println!(
        "The share of executions in which something was found, in per cent, over {SEEDS} campaigns of {EXECUTIONS} \
         executions.\n"
    );
    println!("| program | {} |", columns.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    let mut sums = vec![0.0; columns.len()];
    let mut least = vec![100.0_f64; columns.len()];
    let programs = programs();
    for source in &programs {
        let program = compile_single(source, directory.path(), &runtimes).expect("the gallery compiles");
        let rates: Vec<f64> =
            columns.iter().map(|(_, sampling)| rate(&program, &runtimes.join(NAME), *sampling)).collect();
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("| {name} | {} |", row(&rates));
        for (i, rate) in rates.iter().enumerate() {
            sums[i] += rate;
            least[i] = least[i].min(*rate);
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= programs.len() as f64);
    println!("| mean | {} |", row(&sums));
    println!("| least | {} |", row(&least));
}

fn row(rates: &[f64]) -> String {
    rates.iter().map(|rate| format!("{rate:.1}")).collect::<Vec<_>>().join(" | ")
}

fn rate(program: &Path, runtime: &Path, sampling: Sampling) -> f64 {
    let mut failing = 0;
    for seed in 1..=SEEDS {
        let mut campaign = Campaign::new(program, runtime, Model::C11, EXECUTIONS);
        campaign.request.campaign = CampaignSpec::Sample { seed, sampling };
        let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        failing += results.failing;
    }
    100.0 * failing as f64 / (SEEDS * EXECUTIONS) as f64
}

/// The programs of the gallery, by name.
fn programs() -> Vec<PathBuf> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gallery");
    let entries = std::fs::read_dir(gallery).expect("the gallery is there");
    let mut programs: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|ending| ending != "md"));
    programs.sort();
    programs
}
