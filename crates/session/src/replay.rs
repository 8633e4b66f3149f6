//! One recorded execution again.

use crate::digest;
use crate::error::Error;
use crate::litmus::{LitmusCase, Witness};
use crate::native;
use crate::recording::Recording;
use crate::request::ReplayRequest;
use crate::target::{parse_litmus, read_target};
use fencepost_report::{Describe, ShownExecution};
use fencepost_trace::{Finding, Model};
use std::path::Path;
use std::rc::Rc;

/// An execution that was the same again.
pub struct Replayed {
    /// The program, as it was named.
    pub target: String,
    /// The memory model.
    pub model: Model,
    /// The finding that is there again, if it was recorded because of one.
    pub finding: Option<Finding>,
    /// The names of the program.
    pub describe: Rc<dyn Describe>,
    /// What came of it.
    pub run: Rerun,
}

/// How an execution was run again.
pub enum Rerun {
    /// Event for event.
    Traced(Box<ShownExecution>),
    /// It is too long for a trace.
    Repeated {
        /// How long.
        steps: u64,
    },
    /// Under gdb.
    Debugged,
}

/// Runs a recorded execution again. It is an error if it is not the same.
pub fn replay(request: &ReplayRequest) -> Result<Replayed, Error> {
    let recording = Recording::read(&request.recording)?;
    if let Some(native) = &recording.native {
        return native::replay(request, &recording, native);
    }
    let failed = |problem: String| Error::replay(&request.recording, problem);
    if request.gdb.is_some() {
        return Err(failed("--gdb is for native programs, and this is a litmus test".to_owned()));
    }
    let case = Rc::new(load(request, &recording)?);
    let witness = Witness::new(&case, recording.plan.clone())
        .map_err(|error| failed(format!("the execution diverged: {error}")))?;
    if digest::of_trace(&witness.trace) != recording.trace_digest {
        return Err(failed(diverged(&recording)));
    }
    let run = Rerun::Traced(Box::new(witness.shown(&case)));
    let Recording { target, plan, finding, .. } = recording;
    Ok(Replayed { target, model: plan.model, finding, describe: case, run })
}

/// What is said of an execution that is another one.
pub(crate) fn diverged(recording: &Recording) -> String {
    format!("the execution diverged from the recorded one, which version {} made", recording.fencepost)
}

/// The litmus test that was recorded, under its recorded name; an error if it has changed.
fn load(request: &ReplayRequest, recording: &Recording) -> Result<LitmusCase, Error> {
    let failed = |problem: String| Error::replay(&request.recording, problem);
    let path = request.target.as_deref().unwrap_or(Path::new(&recording.target));
    if request.target.is_none() && recording.target == "-" {
        return Err(failed("the program came from standard input: name a file with --target".to_owned()));
    }
    let bytes = read_target(path).map_err(|error| failed(format!("{error} (--target names the program elsewhere)")))?;
    if digest::of_bytes(&bytes) != recording.target_digest {
        return Err(failed(format!("{} has changed since it was recorded", path.display())));
    }
    parse_litmus(&recording.target, &bytes)
}
