//! How a command ends: the exit statuses, and what is said when it could not do its work.

use fencepost_explore::graph::ExploreError;
use fencepost_litmus::ParseError;
use fencepost_report::text::clean;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a command ended that did its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Finished, nothing found.
    Clean,
    /// Something was found.
    Found,
    /// Some of the work could not be done; what and why has been said.
    Failed,
    /// Nothing found, but a limit stopped the work.
    Incomplete,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Clean => 0,
            Status::Found => 1,
            Status::Failed => 2,
            Status::Incomplete => 3,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Error {
    /// The command line makes no sense.
    Usage(String),
    /// Help or version: text for stdout, not an error but for the plumbing.
    Help(String),
    /// A file cannot be read.
    Read { path: PathBuf, cause: io::Error },
    /// A file cannot be written.
    Write { path: PathBuf, cause: io::Error },
    /// Standard output cannot be written.
    Stdout(io::Error),
    /// A target that cannot be run.
    Target { target: String, problem: String },
    /// A target or a compiler that cannot be run; the message says which.
    Refused(String),
    /// A litmus test with a mistake.
    Litmus { file: String, error: ParseError },
    /// A program that cannot be explored.
    Explore { target: String, error: ExploreError },
    /// A replay that cannot be trusted.
    Replay { file: PathBuf, problem: String },
}

impl Error {
    /// The target cannot be run.
    pub fn target(target: impl fmt::Display, problem: impl Into<String>) -> Error {
        Error::Target { target: target.to_string(), problem: problem.into() }
    }

    /// The replay file is of no use.
    pub fn replay(file: &Path, problem: impl Into<String>) -> Error {
        Error::Replay { file: file.to_owned(), problem: problem.into() }
    }

    /// What to say about it, in one line; nothing if nobody listens any more.
    pub fn line(&self) -> Option<String> {
        match self {
            Error::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe => None,
            Error::Help(_) => None,
            _ => Some(clean(&self.to_string()).into_owned()),
        }
    }

    /// The exit status.
    pub fn status(&self) -> Status {
        match self {
            // Whoever closed the pipe has seen enough.
            Error::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Status::Clean,
            Error::Help(_) => Status::Clean,
            _ => Status::Failed,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(message) | Error::Help(message) | Error::Refused(message) => f.write_str(message),
            Error::Read { path, cause } => write!(f, "cannot read {}: {}", path.display(), plain(cause)),
            Error::Write { path, cause } => write!(f, "cannot write {}: {}", path.display(), plain(cause)),
            Error::Stdout(cause) => write!(f, "cannot write to standard output: {}", plain(cause)),
            Error::Target { target, problem } => write!(f, "{target}: {problem}"),
            Error::Litmus { file, error } => write!(f, "{file}:{error}"),
            Error::Explore { target, error } => write!(f, "{target}: {error}"),
            Error::Replay { file, problem } => write!(f, "cannot replay {}: {problem}", file.display()),
        }
    }
}

/// An error of the system without its number.
pub fn plain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is not a directory".to_owned(),
        io::ErrorKind::StorageFull => "no space left on the device".to_owned(),
        _ => cause.to_string(),
    }
}
