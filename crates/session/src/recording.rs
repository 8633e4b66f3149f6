//! Executions on disk: what `replay` reads and every other command writes.

use crate::error::Error;
use crate::native::Program;
use crate::raw_path::RawPath;
use fencepost_mailbox::{Pruning, Request, Restart, Volatile};
use fencepost_report::Command;
use fencepost_trace::{Finding, Plan, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The version of the format.
const FORMAT: u32 = 1;

/// An execution that can be run again, and how to tell that it is the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The version of Fencepost that wrote it.
    pub fencepost: String,
    /// The version of this format.
    pub format: u32,
    /// The command that found it.
    pub command: Command,
    /// The program, as it was named.
    pub target: String,
    /// The program's bytes.
    pub target_digest: String,
    /// The execution.
    pub plan: Plan,
    /// Its trace; empty if it was written before that was known.
    pub trace_digest: String,
    /// What else it takes to run a native program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// What it shows, if it was recorded because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

/// How a native program was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Native {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The program, if its name is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RawPath>,
    /// Where it was run, and from where it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<RawPath>,
    /// The variables that it was compiled with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// How it was put back to its beginning.
    pub restart: Restart,
    /// What its volatile accesses were.
    #[serde(default)]
    pub volatile: Volatile,
    /// What was forgotten of long executions.
    #[serde(default)]
    pub prune: Pruning,
    /// Of an execution with more answers than are kept: its number in the campaign whose strategy the plan names. It
    /// has no trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<u64>,
}

impl Recording {
    /// An execution of the program of that name and digest.
    pub fn new(command: Command, target: &str, target_digest: &str, plan: Plan, trace_digest: String) -> Recording {
        Recording {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            command,
            target: target.to_owned(),
            target_digest: target_digest.to_owned(),
            plan,
            trace_digest,
            native: None,
            finding: None,
        }
    }

    /// An execution of a native program; `execution` is its number if it is too long to be written down.
    pub fn native(
        command: Command,
        program: &Program,
        plan: Plan,
        request: &Request,
        execution: Option<u64>,
        trace_digest: String,
    ) -> Recording {
        let here = || std::env::current_dir().ok();
        let directory = program.surroundings.directory.clone().or_else(here);
        let environment = match program.compiled {
            Some(_) => program.surroundings.variables.clone(),
            None => BTreeMap::new(),
        };
        let native = Native {
            arguments: program.arguments.clone(),
            path: program.path.to_str().is_none().then(|| program.path.as_path().into()),
            directory: directory.as_deref().map(Into::into),
            environment,
            restart: request.restart,
            volatile: request.volatile,
            prune: request.prune,
            execution,
        };
        let recording = Recording::new(command, &program.name, &program.digest, plan, trace_digest);
        Recording { native: Some(native), ..recording }
    }

    /// Reads a recording.
    pub fn read(path: &Path) -> Result<Recording, Error> {
        #[derive(Deserialize)]
        struct Version {
            fencepost: String,
            format: u32,
        }
        let text = fs::read(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
        let malformed = |cause: serde_json::Error| Error::replay(path, format!("not a recorded execution: {cause}"));
        let version: Version = serde_json::from_slice(&text).map_err(malformed)?;
        if version.format != FORMAT {
            let problem = format!(
                "it is of format {}, written by version {}; this version reads format {FORMAT}",
                version.format, version.fencepost
            );
            return Err(Error::replay(path, problem));
        }
        serde_json::from_slice(&text).map_err(malformed)
    }

    /// Writes it as `DIR/NAME.json` and the trace, if there is one, as `DIR/NAME.trace.json`. The path of the first.
    pub fn write(&self, directory: &Path, name: &str, trace: Option<&Trace>) -> Result<PathBuf, Error> {
        let path = directory.join(format!("{name}.json"));
        if let Some(trace) = trace {
            write_json(&directory.join(format!("{name}.trace.json")), trace)?;
        }
        write_json(&path, self)?;
        Ok(path)
    }
}

/// Can files be written there? The directory is made if need be.
pub fn try_out(directory: &Path) -> Result<(), Error> {
    let failed = |cause| Error::Write { path: directory.to_owned(), cause };
    fs::create_dir_all(directory).map_err(failed)?;
    tempfile::NamedTempFile::new_in(directory).map(drop).map_err(failed)
}

/// Can this file be written, when there is something to write?
///
/// # Errors
/// Its directory cannot be written.
pub fn try_file(path: &Path) -> Result<(), Error> {
    try_out(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Behind the name of a finding whose smaller execution is shown: the one in which it was met first.
pub const FIRST: &str = "-first";

/// Removes what an earlier run left in the directory, so that nobody takes its findings for those of this one. Only
/// files of the names and the form that Fencepost writes, and of findings those behind the first `most`.
pub fn clear(directory: &Path, most: usize) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let finding = name.strip_prefix("finding-").and_then(|rest| rest.strip_suffix(".json"));
        let finding = finding.map(|rest| rest.strip_suffix(".trace").map_or((rest, false), |rest| (rest, true)));
        let finding = finding.map(|(rest, trace)| (rest.strip_suffix(FIRST).unwrap_or(rest), trace));
        let is_ours = match finding {
            Some((rest, _)) if rest.parse().is_ok_and(|number: usize| number <= most) => false,
            Some((rest, trace)) => number(rest) && begins(&path, if trace { "model" } else { "fencepost" }),
            None if most > 0 => false,
            None => {
                name == "run.json" && begins(&path, "fencepost")
                    || name == crate::finish::PAGE && begins(&path, "command")
            }
        };
        if is_ours {
            // What cannot be removed is written over, or said when that fails.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the exploration that an earlier run saved in the directory.
pub fn clear_saved(directory: &Path) {
    let path = directory.join(fencepost_mailbox::SAVED);
    if begins(&path, "fencepost") {
        // What was being written when somebody killed the writer, too.
        let _ = fs::remove_file(path.with_extension("json.new"));
        let _ = fs::remove_file(path);
    }
}

/// Is the file a JSON object whose first key is this?
fn begins(path: &Path, key: &str) -> bool {
    let mut start = [0; 64];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let text = String::from_utf8_lossy(&start[..read]);
    let rest = text.trim_start().strip_prefix('{').map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with(&format!("\"{key}\"")))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_vec(value).expect("recordings and traces are always JSON");
    text.push(b'\n');
    write_whole(path, &text)
}

/// Writes a file that is afterwards either complete or as before; the directory is made if need be.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        // Who may read the file is said by the user's mask, as for any other file.
        let everybody = fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().permissions(everybody).tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    fs::create_dir_all(directory)
        .map_err(|cause| Error::Write { path: directory.to_owned(), cause })
        .and_then(|()| write().map_err(|cause| Error::Write { path: path.to_owned(), cause }))
}
