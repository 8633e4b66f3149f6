//! `fencepost check`: every behaviour.

use crate::args::CampaignArgs;
use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_session::{CheckRequest, check};

/// Explore every behaviour of a program, no two executions alike: a proof or a bug.
///
/// Under sc, tso and pso, plain accesses to memory that threads share without order are explored like atomics; under
/// c11 they are races. A wait with a timeout may always time out. Exit status 0 means that everything was explored
/// and nothing found, 3 that nothing was found before a limit was hit. With --executions one core explores, so that
/// what is cut off does not depend on --jobs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost check queue.c                      # a proof or a bug\n\
    \x20 fencepost check ./queue --model pso --time 1h --jobs 2\n\
    \x20 fencepost check ./queue --model pso --resume # go on where it was stopped")]
pub struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// How executions are told apart: graph (reads-from and coherence order), rf (reads-from), causal (the values that
    /// are read); rf and causal for sc, tso and pso. auto tries graph, then causal if there are
    /// many graphs, and says which it took
    #[arg(long, value_enum, default_value_t = Method::Auto, value_name = "METHOD", hide_possible_values = true)]
    method: Method,
    /// Remember at most so many states (rf, causal). Past that nothing is lost and no execution told twice, but runs of
    /// the program are repeated; how many came to nothing is said
    #[arg(long, value_name = "STATES")]
    remember: Option<u64>,
    /// Go on from what an earlier run has saved in --out, however that ended: the same program, the same options but
    /// for --jobs, --time, --executions and --timeout. The result is that of one run
    #[arg(long)]
    resume: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Auto,
    Graph,
    Rf,
    Causal,
}

impl From<Method> for Option<fencepost_trace::Method> {
    fn from(method: Method) -> Self {
        match method {
            Method::Auto => None,
            Method::Graph => Some(fencepost_trace::Method::Graph),
            Method::Rf => Some(fencepost_trace::Method::Rf),
            Method::Causal => Some(fencepost_trace::Method::Causal),
        }
    }
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let Args { campaign, method, remember, resume } = args;
    let request = CheckRequest { campaign: campaign.into(), method: method.into(), remember, resume };
    let outcome = check(&request, screen)?;
    screen.conclude(outcome)
}
