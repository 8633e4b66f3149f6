//! Which litmus tests there are to explore.

use crate::error::{Error, plain};
use crate::target::read_target;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Something that was named.
pub enum Input {
    File(PathBuf),
    Stdin,
    /// It has no tests: its name, and why.
    Broken(String, String),
}

impl Input {
    /// Its name and its bytes.
    pub fn read(&self) -> Result<(String, Vec<u8>), Error> {
        match self {
            Input::File(path) => Ok((path.display().to_string(), read_target(path)?)),
            Input::Stdin => Ok(("-".to_owned(), read_stdin()?)),
            Input::Broken(name, problem) => Err(Error::target(name, problem)),
        }
    }
}

/// All files, in the order in which they are named; those of a directory in the order of their names.
pub fn inputs_of(paths: &[PathBuf]) -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = inputs.len();
            search(path, &mut inputs);
            if inputs.len() == before {
                inputs.push(broken(path, "no *.litmus file in this directory"));
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    inputs
}

fn broken(path: &Path, problem: impl Into<String>) -> Input {
    Input::Broken(path.display().to_string(), problem.into())
}

fn search(directory: &Path, inputs: &mut Vec<Input>) {
    let entries = fs::read_dir(directory).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(cause) => return inputs.push(broken(directory, plain(&cause))),
    };
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = entry.path();
        // Links to directories are not followed: they may lead back.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, inputs);
        } else if path.extension().is_some_and(|extension| extension == "litmus") && path.is_file() {
            inputs.push(Input::File(path));
        }
    }
}

fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // One byte more than a test can have, so that the parser refuses the rest.
    let most = fencepost_litmus::MAX_BYTES as u64 + 1;
    match io::stdin().lock().take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(cause) => Err(Error::Read { path: "standard input".into(), cause }),
    }
}
