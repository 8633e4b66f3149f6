//! `fencepost safe`: does the memory model matter to this program?

use crate::args::{ModelList, WorkArgs, duration};
use crate::error::{Error, Status};
use crate::screen::{Screen, complain_of};
use fencepost_report::{SafeLine, litmus_error_json, safe_json};
use fencepost_session::{Error as SessionError, Event, SafeJudged, SafeRequest, SafeTotals, Sink, safe, safe_batch};
use fencepost_trace::Model;
use std::path::PathBuf;
use std::time::Duration;

/// Tell whether a program can leave sequential consistency under a memory model (robustness), from its sequentially
/// consistent executions alone.
///
/// Every execution under sc is explored. If none of them has a successor that the model permits and sc does not, the
/// program is trace-safe: what holds of it under sc holds under the model. If one has, it is shown, with an execution
/// under the model that goes on from there, and the fewest orderings are named that make the program safe. State-safe
/// is less: the outcomes are the same. Exit status 0 means trace-safe, 1 that it is not, 3 that a limit stopped the
/// work.
///
/// Several targets, or several models, give a line for each target and model, and nothing is written to --out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost safe queue.c --model tso           # can the memory model matter here?\n\
    \x20 fencepost safe tests/litmus --model tso,pso")]
pub struct Args {
    /// An executable built with -fsanitize=thread or `fencepost cc`, a .c, .cc, .cpp or .rs file, or .litmus files;
    /// directories are searched for these
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<PathBuf>,
    /// Arguments for the target
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
    /// Memory models: a list of tso, pso, pslo, c11, separated by commas, or all
    #[arg(long, value_name = "MODELS", default_value = "tso")]
    model: ModelList,
    #[command(flatten)]
    work: WorkArgs,
    /// Do not look for the orderings that make an unsafe program safe
    #[arg(long)]
    no_orderings: bool,
    /// The seed of the report; nothing is drawn at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the report (run.json), findings and their executions are written
    #[arg(long, value_name = "DIR", default_value = "fencepost-out")]
    out: PathBuf,
    /// Give an execution of a native program up after so long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Work and limits")]
    timeout: Option<Duration>,
    /// Go on from what an earlier run has saved in --out, however that ended: one target and one model, the same
    /// options but for --jobs, --time, --executions and --timeout. The result is that of one run
    #[arg(long)]
    resume: bool,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let mut models = args.model.0;
    if models == Model::ALL {
        models.retain(|model| *model != Model::Sc);
    }
    let request = SafeRequest {
        arguments: args.arguments,
        models,
        work: args.work.work(),
        seed: args.seed,
        orderings: !args.no_orderings,
        out: Some(args.out),
        timeout: args.timeout,
        resume: args.resume,
        targets: args.targets,
    };
    let many = request.targets.len() > 1
        || request.models.len() > 1
        || request.targets.iter().any(|target| target.is_dir() || target.as_os_str() == "-");
    if !many {
        let outcome = safe(&request, screen)?;
        return screen.conclude(outcome);
    }
    if request.resume {
        return Err(Error::usage("--resume is for one target under one model"));
    }
    let mut printer = Printer { screen, problem: None };
    let totals = safe_batch(&request, &mut printer)?;
    if let Some(problem) = printer.problem {
        return Err(problem);
    }
    printer.summary(totals)?;
    Ok(match totals {
        SafeTotals { failed: 1.., .. } => Status::Failed,
        SafeTotals { unsafe_: 1.., .. } => Status::Found,
        SafeTotals { incomplete: 1.., .. } => Status::Incomplete,
        _ => Status::Clean,
    })
}

/// Prints each test as it is done.
struct Printer<'a> {
    screen: &'a mut Screen,
    /// Why nothing more can be printed.
    problem: Option<Error>,
}

impl Sink for Printer<'_> {
    fn event(&mut self, event: Event<'_>) {
        let text = match event {
            Event::Safe(judged) => self.judged(judged),
            Event::LitmusFailed { error, model } => self.failed(error, model),
            other => return self.screen.event(other),
        };
        if self.problem.is_none() && !text.is_empty() {
            self.problem = self.screen.print(&text).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.problem.is_some()
    }
}

impl Printer<'_> {
    fn failed(&mut self, error: &SessionError, model: Option<Model>) -> String {
        complain_of(&error.to_string());
        if self.screen.text() {
            return String::new();
        }
        let (file, line, column, message) = super::litmus::place_of(error);
        litmus_error_json(&file, model, line, column, &message) + "\n"
    }

    fn judged(&self, judged: &SafeJudged) -> String {
        if !self.screen.text() {
            let SafeJudged { test, file, model, executions, complete, race, safety } = judged;
            let (model, executions, complete, race) = (*model, *executions, *complete, *race);
            return safe_json(&SafeLine { test, file, model, executions, complete, race, safety }) + "\n";
        }
        let word = match (judged.safety.trace_safe, judged.safety.state_safe) {
            (Some(true), _) => "safe",
            _ if judged.race => "unsafe: a data race",
            (Some(false), Some(true)) => "unsafe, but state-safe",
            (Some(false), _) => "unsafe",
            (None, _) => "incomplete",
        };
        let orderings: Vec<&str> = judged.safety.orderings.iter().map(|fence| &fence.advice[..]).collect();
        let fences = if orderings.is_empty() { String::new() } else { format!(" ({})", orderings.join("; ")) };
        format!("{} {}: {word}{fences}\n", judged.test, judged.model)
    }

    fn summary(&mut self, totals: SafeTotals) -> Result<(), Error> {
        if !self.screen.text() || self.screen.quiet {
            return Ok(());
        }
        let SafeTotals { safe, unsafe_, incomplete, failed } = totals;
        self.screen.print(&format!("{safe} safe, {unsafe_} unsafe, {incomplete} incomplete, {failed} failed\n"))
    }
}
