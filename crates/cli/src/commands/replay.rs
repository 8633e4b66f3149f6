//! `fencepost replay`: one recorded execution again.

use crate::digest;
use crate::error::{Error, Status};
use crate::native;
use crate::recording::Recording;
use crate::screen::Screen;
use crate::target::{Target, read_target};
use crate::witness::Witness;
use fencepost_report::text;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Run one recorded execution again, event for event, and show it.
///
/// Exit status 1 means that the recorded finding is there again, 0 that an execution without a finding was the same.
#[derive(clap::Args, Debug)]
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
    let recording = Recording::read(&args.recording)?;
    if let Some(native) = &recording.native {
        let target = args.target.as_deref().unwrap_or(Path::new(&recording.target));
        let gdb = args.gdb.then_some(&args.gdb_arguments[..]);
        return native::replay(&args.recording, target, &recording, native, gdb, screen);
    }
    if args.gdb {
        return Err(Error::replay(&args.recording, "--gdb is for native programs, and this is a litmus test"));
    }
    let Target::Litmus { subject, .. } = load(&args, &recording)? else {
        return Err(Error::replay(&args.recording, "it was recorded from a litmus test"));
    };
    let witness = Witness::new(&subject, recording.plan.clone())
        .map_err(|error| Error::replay(&args.recording, format!("the execution diverged: {error}")))?;
    if digest::of_trace(&witness.trace) != recording.trace_digest {
        let problem =
            format!("the execution diverged from the recorded one, which version {} made", recording.fencepost);
        return Err(Error::replay(&args.recording, problem));
    }
    if screen.json() {
        let trace = serde_json::to_string(&witness.trace).expect("a trace is always JSON");
        screen.print(&format!("{trace}\n"))?;
    } else {
        let mut text = String::new();
        if !screen.quiet {
            text += &witness.text(&subject, screen.look);
            text.push('\n');
            if let Some(finding) = &recording.finding {
                text += &text::reproduced(finding, &*subject, screen.look);
            }
        }
        text +=
            &format!("same execution as recorded: {} under {}\n", text::clean(&recording.target), recording.plan.model);
        screen.print(&text)?;
    }
    Ok(if recording.finding.is_some() { Status::Found } else { Status::Clean })
}

/// The program that was recorded, under its recorded name; an error if it has changed.
fn load(args: &Args, recording: &Recording) -> Result<Target, Error> {
    let path = args.target.as_deref().unwrap_or(Path::new(&recording.target));
    if args.target.is_none() && recording.target == "-" {
        return Err(Error::replay(&args.recording, "the program came from standard input: name a file with --target"));
    }
    let bytes = read_target(path)
        .map_err(|error| Error::replay(&args.recording, format!("{error} (--target names the program elsewhere)")))?;
    if digest::of_bytes(&bytes) != recording.target_digest {
        return Err(Error::replay(&args.recording, format!("{} has changed since it was recorded", path.display())));
    }
    Target::litmus(&recording.target, &bytes)
}
