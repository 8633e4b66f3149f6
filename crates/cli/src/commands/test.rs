//! `fencepost test`: many executions, at random.

use crate::args::{CampaignArgs, ModelList, SamplingArgs};
use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_mailbox::Pruning;
use fencepost_session::{TestRequest, test};
use fencepost_trace::{Model, Scheduler};
use std::str::FromStr;

/// Run many executions of a program, each choice at random, and report what goes wrong.
///
/// For a program that is: a failed assertion, an abort, a crash, a panic, a deadlock, a data race (under c11), misuse
/// of the heap, an exit status other than 0. For a litmus test: a final state that `exists` asks for or that
/// `~exists` or `forall` forbids, a data race (under c11), a failure. Without --executions and --time 10,000
/// executions are run.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost test queue.c                       # compile one file and run it\n\
    \x20 fencepost test ./queue --model tso --time 1m # a program built with `fencepost cc`, for a minute\n\
    \x20 fencepost test ./queue --keep-going --html report.html -- 4 threads")]
pub struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// How many stores fit a store buffer (tso, pso) [default: any number in a litmus test, 64 in a program]
    #[arg(long, value_name = "N")]
    buffer: Option<u32>,
    /// How a native program is put back to its beginning: in-place (its memory is restored, and what the kernel keeps
    /// for it), fork (each execution has a process of its own), or auto: in place, unless the program does what that
    /// cannot undo
    #[arg(long, value_enum, default_value_t = Restart::Auto, value_name = "HOW", hide_possible_values = true)]
    restart: Restart,
    /// What is forgotten of long executions of native programs under c11: off (nothing), conservative (stores that no
    /// thread can read any more), aggressive=N (also what stores older than N events hide: memory stays bounded, and
    /// some behaviours are lost)
    #[arg(long, value_name = "HOW", default_value = "conservative", value_parser = Pruning::from_str)]
    prune: Pruning,
    /// With --model sc, for native programs: models under which an execution could leave sc, a list of tso, pso, pslo,
    /// c11; each way out that is met is reported as an sc-violation
    #[arg(long, value_name = "MODELS")]
    watch: Option<ModelList>,
    /// Show findings as they were met first, without looking for smaller executions that show the same
    #[arg(long)]
    no_minimize: bool,
    /// Under sc, tso and pso: take every plain access for an operation, however long an execution is, and let any
    /// number of stores wait in a buffer; without this, accesses to memory that one thread alone uses are no operations
    /// behind the first 1,000, and at most 64 stores wait
    #[arg(long)]
    all_accesses: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Restart {
    Auto,
    InPlace,
    Fork,
}

impl From<Restart> for fencepost_mailbox::Restart {
    fn from(restart: Restart) -> fencepost_mailbox::Restart {
        match restart {
            Restart::Auto => fencepost_mailbox::Restart::Auto,
            Restart::InPlace => fencepost_mailbox::Restart::InPlace,
            Restart::Fork => fencepost_mailbox::Restart::Fork,
        }
    }
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let Args { campaign, sampling, buffer, restart, prune, watch, no_minimize, all_accesses } = args;
    let mut watch: Vec<Model> = watch.map_or_else(Vec::new, |list| list.0);
    if watch == [Model::Sc] {
        return Err(Error::usage("--watch sc: an execution under sc never leaves it; watch for tso, pso, pslo or c11"));
    }
    watch.retain(|model| *model != Model::Sc);
    if !watch.is_empty() && campaign.model != Model::Sc {
        return Err(Error::usage("--watch is for executions under sc: add --model sc"));
    }
    if !watch.is_empty() && campaign.target.extension().is_some_and(|extension| extension == "litmus") {
        return Err(Error::usage("--watch is for programs: `fencepost safe` answers for a litmus test"));
    }
    if sampling.depth.is_some() && sampling.strategy != Scheduler::Pct && sampling.strategy != Scheduler::Mix {
        let strategy = sampling.strategy;
        return Err(Error::usage(format!("--depth is for pct: {strategy} has no priorities that change")));
    }
    let sampling = sampling.sampling();
    let (campaign, restart, minimise) = (campaign.into(), restart.into(), !no_minimize);
    let request = TestRequest { campaign, sampling, buffer, restart, prune, watch, minimise, all_accesses };
    let outcome = test(&request, screen)?;
    screen.conclude(outcome)
}
