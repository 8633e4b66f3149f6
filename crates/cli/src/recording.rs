//! Executions on disk: what `replay` reads and every other command writes.

use crate::digest;
use crate::error::Error;
use crate::native::Program;
use crate::witness::Witness;
use fencepost_mailbox::Restart;
use fencepost_trace::{Finding, Plan};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
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
    pub command: String,
    /// The program, as it was named.
    pub target: String,
    /// The program's bytes.
    pub target_digest: String,
    /// The execution.
    pub plan: Plan,
    /// Its trace.
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
    /// How it was put back to its beginning.
    pub restart: Restart,
}

impl Recording {
    pub fn new(command: &str, target: &str, target_digest: &str, witness: &Witness) -> Recording {
        Recording {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            command: command.to_owned(),
            target: target.to_owned(),
            target_digest: target_digest.to_owned(),
            plan: witness.plan.clone(),
            trace_digest: digest::of_trace(&witness.trace),
            native: None,
            finding: None,
        }
    }

    /// The execution of a litmus test that shows `finding`.
    pub fn of(
        command: &str,
        target: &str,
        target_digest: &str,
        plan: Plan,
        trace_digest: String,
        finding: &Finding,
    ) -> Recording {
        Recording {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            command: command.to_owned(),
            target: target.to_owned(),
            target_digest: target_digest.to_owned(),
            plan,
            trace_digest,
            native: None,
            finding: Some(finding.clone()),
        }
    }

    /// The execution of a native program that shows `finding`.
    pub fn native(
        command: &str,
        program: &Program,
        plan: Plan,
        restart: Restart,
        trace_digest: String,
        finding: &Finding,
    ) -> Recording {
        Recording {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            command: command.to_owned(),
            target: program.name.clone(),
            target_digest: program.digest.clone(),
            plan,
            trace_digest,
            native: Some(Native { arguments: program.arguments.clone(), restart }),
            finding: Some(finding.clone()),
        }
    }

    /// Writes it, without a trace beside it.
    pub fn write_alone(&self, path: &Path) -> Result<(), Error> {
        write_json(path, self)
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

    /// Writes it as `DIR/NAME.json` and the trace as `DIR/NAME.trace.json`. The path of the first.
    pub fn write(&self, directory: &Path, name: &str, witness: &Witness) -> Result<PathBuf, Error> {
        let path = directory.join(format!("{name}.json"));
        write_json(&directory.join(format!("{name}.trace.json")), &witness.trace)?;
        write_json(&path, self)?;
        Ok(path)
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_vec(value).expect("recordings and traces are always JSON");
    text.push(b'\n');
    write_whole(path, &text)
}

/// Writes a file that is afterwards either complete or as before; the directory is made if need be.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    fs::create_dir_all(directory)
        .map_err(|cause| Error::Write { path: directory.to_owned(), cause })
        .and_then(|()| write().map_err(|cause| Error::Write { path: path.to_owned(), cause }))
}
