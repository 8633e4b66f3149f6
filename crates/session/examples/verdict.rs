//! Tests a program from another program: `cargo run --release -p fencepost-session --example verdict -- TARGET`.
//!
//! What `fencepost test TARGET` does, without the command line: a request, events while it is worked on, a result.

use fencepost_session::{Event, TestRequest, test};
use std::error::Error;
use std::path::Path;

/// Tests a program and says what came of it, one line each.
pub fn verdict(target: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut request = TestRequest::new(target);
    request.campaign.work.executions = Some(500);
    let mut lines = Vec::new();
    let outcome = test(&request, &mut |event: Event<'_>| match event {
        Event::Started(budget) => lines.push(format!("at most {} executions", budget.executions())),
        Event::Remark(remark) => lines.push(remark.to_string()),
        Event::Finding(finding) => lines.push(format!("{}: {}", finding.kind, finding.message)),
        _ => {}
    })?;
    lines.push(format!("verdict: {}", outcome.verdict()));
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args_os().nth(1).ok_or("name a program: an executable, a .c file, a .litmus file …")?;
    verdict(Path::new(&target))?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
