//! How a command ends: the exit statuses, and what is said when it could not do its work.

use fencepost_report::Verdict;
use fencepost_report::text::clean;
use fencepost_session::{Error as SessionError, plain};
use std::fmt;
use std::io;
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

impl From<Verdict> for Status {
    fn from(verdict: Verdict) -> Status {
        match verdict {
            Verdict::Pass => Status::Clean,
            Verdict::Fail => Status::Found,
            Verdict::Incomplete => Status::Incomplete,
        }
    }
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
    /// Help or version: text for stdout, not an error but for the plumbing.
    Help(String),
    /// Standard output cannot be written.
    Stdout(io::Error),
    /// The work itself.
    Work(SessionError),
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Error {
        Error::Work(error)
    }
}

impl Error {
    /// The command line makes no sense.
    pub fn usage(problem: impl Into<String>) -> Error {
        Error::Work(SessionError::Usage(problem.into()))
    }

    /// A compiler that cannot be run; the message says which.
    pub fn refused(problem: impl Into<String>) -> Error {
        Error::Work(SessionError::Refused(problem.into()))
    }

    /// What to say about it, in one line; nothing if nobody listens any more.
    pub fn line(&self) -> Option<String> {
        match self {
            Error::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe => None,
            Error::Help(_) => None,
            _ => Some(clean(&self.to_string()).into_owned()),
        }
    }

    /// Does nobody read what is printed any more?
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
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
            Error::Help(message) => f.write_str(message),
            Error::Stdout(cause) => write!(f, "cannot write to standard output: {}", plain(cause)),
            Error::Work(error) => error.fmt(f),
        }
    }
}
