//! `fencepost replay`: one recorded execution again.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_report::{Format, text};
use fencepost_session::{ReplayRequest, Replayed, Rerun, replay};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run one recorded execution again, event for event, and show it.
///
/// Exit status 1 means that the recorded finding is there again, 0 that an execution without a finding was the same.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost replay fencepost-out/finding-1.json\n\
    \x20 fencepost replay fencepost-out/finding-1.json --gdb")]
pub struct Args {
    /// A file that test, check or litmus wrote
    #[arg(value_name = "FINDING.json")]
    recording: PathBuf,
    /// The program, if it is no longer where it was
    #[arg(long, value_name = "PATH")]
    target: Option<PathBuf>,
    /// Run a native program under gdb, which stops where the finding shows (FENCEPOST_GDB names another gdb)
    #[arg(long)]
    gdb: bool,
    /// More arguments for gdb
    #[arg(last = true, value_name = "GDB-ARGS", requires = "gdb")]
    gdb_arguments: Vec<OsString>,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    if !matches!(screen.format, Format::Text | Format::Json) {
        return Err(Error::usage(format!("replay prints text or json, not {}", screen.format.name())));
    }
    let gdb = args.gdb.then_some(args.gdb_arguments);
    let replayed = replay(&ReplayRequest { recording: args.recording, target: args.target, gdb })?;
    let status = if replayed.finding.is_some() { Status::Found } else { Status::Clean };
    let text = match &replayed.run {
        Rerun::Debugged => return Ok(status),
        Rerun::Traced(execution) if !screen.text() => {
            serde_json::to_string(&execution.trace).expect("a trace is always JSON") + "\n"
        }
        _ => text_of(&replayed, screen),
    };
    match screen.print(&text) {
        Err(error) if !error.is_closed_pipe() => Err(error),
        _ => Ok(status),
    }
}

fn text_of(replayed: &Replayed, screen: &Screen) -> String {
    let mut text = String::new();
    let verbose = screen.text() && !screen.quiet;
    if let (true, Rerun::Traced(execution)) = (verbose, &replayed.run) {
        text += &text::shown_execution(execution, screen.style);
        text.push('\n');
    }
    if let (true, Some(finding)) = (verbose, &replayed.finding) {
        text += &text::reproduced(finding, &*replayed.describe, screen.style);
    }
    let program = format!("{} under {}", text::clean(&replayed.target), replayed.model);
    text + &match &replayed.run {
        Rerun::Repeated { steps } => {
            format!("the finding is there again: {program}, {steps} steps (too many for a trace)\n")
        }
        Rerun::Traced(_) | Rerun::Debugged => format!("same execution as recorded: {program}\n"),
    }
}
