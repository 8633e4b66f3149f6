//! Why a request could not be worked on.

use fencepost_explore::graph::ExploreError;
use fencepost_litmus::ParseError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no result, or why some of it could not be written.
#[derive(Debug)]
pub enum Error {
    /// The request makes no sense.
    Usage(String),
    /// A file cannot be read.
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A file cannot be written.
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A target that cannot be run.
    Target {
        /// Its name.
        target: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A target or a compiler that cannot be run; the message says which.
    Refused(String),
    /// A litmus test with a mistake.
    Litmus {
        /// Its file.
        file: String,
        /// The mistake.
        error: ParseError,
    },
    /// A program that cannot be explored.
    Explore {
        /// Its name.
        target: String,
        /// Why.
        error: ExploreError,
    },
    /// A replay that cannot be trusted.
    Replay {
        /// The recording.
        file: PathBuf,
        /// Why.
        problem: String,
    },
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(message) | Error::Refused(message) => f.write_str(message),
            Error::Read { path, cause } => write!(f, "cannot read {}: {}", path.display(), plain(cause)),
            Error::Write { path, cause } => write!(f, "cannot write {}: {}", path.display(), plain(cause)),
            Error::Target { target, problem } => write!(f, "{target}: {problem}"),
            Error::Litmus { file, error } => write!(f, "{file}:{error}"),
            Error::Explore { target, error } => write!(f, "{target}: {error}"),
            Error::Replay { file, problem } => write!(f, "cannot replay {}: {problem}", file.display()),
        }
    }
}

impl std::error::Error for Error {}

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
