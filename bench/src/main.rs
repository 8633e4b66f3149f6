//! `cargo run --release -p fencepost-bench -- WHAT`: one table for each WHAT, or all of them.

mod causal;
mod check;
mod costs;
mod counting;
mod explore;
mod gallery;
mod hunt;
mod litmus;
mod machine;
mod minimise;
mod native;
mod page;
mod safe;
mod shapes;
mod strategies;
mod versions;
#[cfg(feature = "z3")]
mod with_z3;

use std::process::ExitCode;

/// A measurement: its name, what it shows, and how to take it.
type Measurement = (&'static str, &'static str, fn());

const MEASUREMENTS: &[Measurement] = &[
    ("litmus", "litmus tests per second and model, beside herd7", litmus::measure),
    ("explore", "time per execution of exhaustive exploration, beside GenMC", explore::measure),
    ("machine", "random executions per second and model", machine::measure),
    ("check", "time per execution of exhaustive exploration of native programs, beside GenMC", check::measure),
    ("causal", "exploration by what is read, beside the tables of maximal causality reduction", causal::measure),
    ("speed", "of that, the time per execution alone", causal::measure_speed),
    ("questions", "the questions of exploration by values, asked of Z3 as well", causal::questions),
    ("safe", "what safe explores beside check, and what watching costs", safe::measure),
    ("hunt", "violations of sequential consistency, in the layout of Relaxer's and Orion's tables", hunt::measure),
    ("exposure", "how often trials of hunt expose what is feasible, missed cycles included", hunt::measure_exposure),
    ("native", "native programs: executions per second, and slowdown beside ThreadSanitizer", native::measure),
    ("gallery", "how often an execution shows the bugs of the gallery, beside C11Tester", gallery::measure),
    ("minimise", "how much smaller executions are when they are shown than when they were met", minimise::measure),
    ("page", "the page of 10,000 steps in a browser: loading, stepping, scrolling", page::measure),
    ("costs", "time per operation beside ThreadSanitizer, and long executions", costs::measure),
    ("strategies", "how often an execution shows a bug, by strategy", strategies::measure),
    ("versions", "two versions of fencepost beside each other: counts, findings and time", versions::measure),
];

/// Is this program wanted? All are, unless some are asked for: `FENCEPOST_BENCH_PROGRAMS='dekker;bakery'`.
fn is_asked(program: &str) -> bool {
    let asked = std::env::var("FENCEPOST_BENCH_PROGRAMS").ok();
    asked.is_none_or(|asked| asked.split(';').any(|name| name == program))
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.first().is_some_and(|first| first == costs::ALONE) {
        costs::measure_alone(&wanted[1..]);
        return ExitCode::SUCCESS;
    }
    let known = |name: &String| MEASUREMENTS.iter().any(|(n, _, _)| n == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        eprintln!("no measurement '{unknown}'; there are:");
        MEASUREMENTS.iter().for_each(|(name, what, _)| eprintln!("  {name:10} {what}"));
        return ExitCode::from(2);
    }
    for (name, what, measure) in MEASUREMENTS {
        // The tables of `hunt` have what `exposure` prints, too, and those of `causal` what `speed` does.
        if wanted.is_empty() && !["exposure", "speed"].contains(name) || wanted.iter().any(|w| w == name) {
            println!("## {name}: {what}\n");
            measure();
            println!();
        }
    }
    ExitCode::SUCCESS
}
