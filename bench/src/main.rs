//! `cargo run --release -p fencepost-bench -- WHAT`: one table for each WHAT, or all of them.

mod counting;
mod explore;
mod hunt;
mod litmus;
mod machine;
mod native;
mod shapes;

use std::process::ExitCode;

/// A measurement: its name, what it shows, and how to take it.
type Measurement = (&'static str, &'static str, fn());

const MEASUREMENTS: [Measurement; 5] = [
    ("litmus", "litmus tests per second and model, beside herd7", litmus::measure),
    ("explore", "time per execution of exhaustive exploration, beside GenMC", explore::measure),
    ("machine", "random executions per second and model", machine::measure),
    ("hunt", "violations of sequential consistency, in the layout of Relaxer's and Orion's tables", hunt::measure),
    ("native", "native programs: executions per second, and slowdown beside ThreadSanitizer", native::measure),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| MEASUREMENTS.iter().any(|(n, _, _)| n == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        eprintln!("no measurement '{unknown}'; there are:");
        MEASUREMENTS.iter().for_each(|(name, what, _)| eprintln!("  {name:10} {what}"));
        return ExitCode::from(2);
    }
    for (name, what, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("## {name}: {what}\n");
            measure();
            println!();
        }
    }
    ExitCode::SUCCESS
}
