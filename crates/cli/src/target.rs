//! What a campaign runs: from a path on the command line to a program.

use crate::digest;
use crate::error::{Error, plain};
use crate::native::Program;
use crate::subject::Subject;
use fencepost_litmus::LitmusTest;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// A program that can be tested.
pub enum Target {
    /// A litmus test, and the digest of its file.
    Litmus { subject: Box<Subject>, digest: String },
    /// An executable, or a source file that has been compiled.
    Native(Box<Program>),
}

impl Target {
    /// Finds out what `path` is and makes it ready.
    pub fn load(path: &Path, arguments: &[String]) -> Result<Target, Error> {
        if path.extension().is_none_or(|extension| extension != "litmus") {
            check_is_file(path)?;
            return Program::load(path, arguments).map(|program| Target::Native(Box::new(program)));
        }
        let bytes = read_target(path)?;
        if !arguments.is_empty() {
            return Err(Error::Usage("a litmus test takes no arguments".to_owned()));
        }
        Target::litmus(&path.display().to_string(), &bytes)
    }

    /// A litmus test of that name.
    pub fn litmus(name: &str, bytes: &[u8]) -> Result<Target, Error> {
        let test = LitmusTest::parse(name, bytes).map_err(|error| Error::Litmus { file: name.to_owned(), error })?;
        Ok(Target::Litmus { subject: Box::new(Subject::new(test)), digest: digest::of_bytes(bytes) })
    }
}

/// Reads a target; says what it is if it is no file.
pub fn read_target(path: &Path) -> Result<Vec<u8>, Error> {
    check_is_file(path)?;
    fs::read(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })
}

fn check_is_file(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::target(path.display(), "it is a directory: name a file, or use `fencepost litmus` for many"))
        }
        Ok(_) => Ok(()),
        Err(cause) => Err(Error::target(path.display(), plain(&cause))),
    }
}

/// Reads standard input.
pub fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // One byte more than a test can have, so that the parser refuses the rest.
    let most = fencepost_litmus::MAX_BYTES as u64 + 1;
    match io::stdin().lock().take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(cause) => Err(Error::Read { path: "standard input".into(), cause }),
    }
}
