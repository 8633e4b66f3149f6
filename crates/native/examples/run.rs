//! Runs a program under the runtime: `run PROGRAM [MODEL] [EXECUTIONS] [ARGUMENTS…]`.

use fencepost_native::host::{Campaign, find_runtime, run_campaign};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("usage: run PROGRAM [MODEL] [EXECUTIONS] [ARGUMENTS…]")?;
    let model = words.next().unwrap_or("c11".into()).parse()?;
    let executions = words.next().unwrap_or("10000".into()).parse()?;
    let runtime = find_runtime().ok_or("no runtime: set FENCEPOST_RUNTIME")?;
    let mut campaign = Campaign::new(program, runtime, model, executions);
    campaign.arguments = words.collect();
    campaign.request.keep_outputs = std::env::var_os("OUTPUTS").is_some();
    if std::env::var_os("FORK").is_some() {
        campaign.request.restart = fencepost_mailbox::Restart::Fork;
    }
    let results = run_campaign(&campaign)?;
    println!(
        "{} executions, {:.3} s, {:.0}/s, {} steps, ended {:?}, statuses {:?}",
        results.executions,
        results.seconds,
        results.rate(),
        results.steps,
        results.ended,
        results.statuses
    );
    results.outputs.iter().for_each(|(text, n)| println!("{n:8} x {text:?}"));
    for f in &results.found {
        println!("{:?} x{} first {}: {}", f.report.kind, f.count, f.first_execution, f.report.message);
        for s in &f.report.stacks {
            print!("  T{} {}", s.thread, s.access);
            s.frames.iter().for_each(|f| print!(" {}+{:#x}", f.module.rsplit('/').next().unwrap_or(""), f.offset));
            println!();
        }
        if !f.report.stderr.is_empty() {
            println!("  stderr: {:?}", f.report.stderr);
        }
    }
    results.notes.iter().for_each(|n| println!("note: {n}"));
    Ok(())
}
