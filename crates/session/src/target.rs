//! What a campaign runs: from a path to a program.

use crate::digest;
use crate::error::{Error, plain};
use crate::litmus::LitmusCase;
use crate::native::Program;
use fencepost_litmus::LitmusTest;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// A program that can be tested.
pub enum Target {
    /// A litmus test.
    Litmus(Rc<LitmusCase>),
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
        parse_litmus(&path.display().to_string(), &bytes).map(|case| Target::Litmus(Rc::new(case)))
    }
}

/// A litmus test of that name.
pub fn parse_litmus(name: &str, bytes: &[u8]) -> Result<LitmusCase, Error> {
    let test = LitmusTest::parse(name, bytes).map_err(|error| Error::Litmus { file: name.to_owned(), error })?;
    Ok(LitmusCase::new(test, digest::of_bytes(bytes)))
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
