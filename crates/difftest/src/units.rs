//! Many programs in one executable: to compile is what takes longest.

use crate::native::Native;
use crate::program::{Language, Program};
use crate::truths::SPENT;
use crate::write;
use fencepost_native::compiler::{RUNTIME, compile_single};
use fencepost_native::embedded::runtime_directory;
use fencepost_native::worker::Server;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

/// An executable that holds programs.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The executable.
    pub executable: PathBuf,
    /// The runtime that it is run with.
    pub runtime: PathBuf,
    /// How often its programs come back to a yield at most in a loop that ends by itself. Generated ones do not;
    /// `std::atomic::wait` gives way four times before it sleeps.
    pub rounds: u32,
    /// The same programs for the machine itself.
    pub native: Option<Native>,
    /// A process of it that carries out requests.
    pub server: Arc<Server>,
}

impl Unit {
    /// Writes and compiles these programs, and if so wanted for the machine itself.
    pub fn build(
        language: Language,
        programs: &[Program],
        directory: &Path,
        name: &str,
        native: bool,
    ) -> io::Result<Unit> {
        // Once only: it unpacks a file, and its name is not made for two threads of one process.
        static RUNTIME_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
        let runtime = RUNTIME_DIRECTORY.get_or_init(|| runtime_directory().expect("the runtime can be unpacked"));
        let source = directory.join(name).with_extension(language.ending());
        fs::write(&source, write::unit(language, programs))?;
        let executable = SPENT
            .on(0, || compile_single(&source, directory, runtime))
            .map_err(|error| io::Error::other(error.to_string()))?;
        let rounds = if language == Language::C { 1 } else { 6 };
        let runtime = runtime.join(RUNTIME);
        let server = Arc::new(Server::start(&executable, &runtime)?);
        let native = if native { Native::build(language, programs, directory, name)? } else { None };
        Ok(Unit { executable, runtime, rounds, native, server })
    }
}

/// Tells the compilers what the programs need. Before there are other threads.
pub fn prepare_environment() {
    // Nobody reads the names of anything here.
    for (name, more) in [("CFLAGS", " -g0"), ("CXXFLAGS", " -g0 -std=c++20")] {
        let mut flags = std::env::var_os(name).unwrap_or_default();
        flags.push(more);
        // SAFETY: nobody else reads or writes the environment now, as the caller promises.
        unsafe { std::env::set_var(name, flags) };
    }
}
