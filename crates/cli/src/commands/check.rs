//! `fencepost check`: every behaviour.

use super::shared::{Campaign, watch};
use crate::args::CampaignArgs;
use crate::error::{Error, Status};
use crate::exhaustive::{Method, explore};
use crate::limits::Budget;
use crate::native;
use crate::progress::{LITMUS, Line};
use crate::screen::Screen;
use crate::target::Target;
use std::time::Instant;

/// Explore every behaviour of a program, no two executions alike: a proof or a bug.
///
/// Under sc, tso and pso, plain accesses to memory that threads share without order are explored like atomics; under
/// c11 they are races. A wait with a timeout may always time out. Exit status 0 means that everything was explored
/// and nothing found, 3 that nothing was found before a limit was hit. With --executions one core explores, so that
/// what is cut off does not depend on --jobs.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let started = Instant::now();
    let args = args.campaign;
    let (subject, digest) = match Target::load(&args.target, &args.arguments)? {
        Target::Litmus { subject, digest } => (subject, digest),
        Target::Native(program) => return native::check(&program, &args, screen),
    };
    args.for_litmus()?;
    let budget = Budget::new(args.work.executions, args.work.time);
    let line = Line::start(screen, budget, || LITMUS.get());
    let tally = explore(&subject, watch(&args, None), Method::of(args.model), budget, args.work.jobs())
        .map_err(|error| Error::Explore { target: args.target.display().to_string(), error })?;
    drop(line);
    // A finding that ends the exploration leaves the rest unexplored.
    let complete = !tally.limited && (args.keep_going || tally.findings.is_empty());
    Campaign { command: "check", args: &args, subject: &subject, digest: &digest, started }.finish(
        tally,
        Some(complete),
        screen,
    )
}
