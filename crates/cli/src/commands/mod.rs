//! The subcommands, one file each: its options and what it does.
//!
//! A new one is a file here, with a struct `Args` (whose documentation is the help) and a function `run`, and a line
//! below.

mod cargo;
mod cc;
mod check;
mod completions;
mod cxx;
mod doctor;
mod hunt;
mod include;
mod litmus;
mod man;
mod replay;
mod report;
mod rustflags;
mod safe;
mod test;

use crate::error::{Error, Status};
use crate::screen::Screen;
use crate::signals;
use clap::Subcommand;
use fencepost_native::embedded::runtime_directory;
use fencepost_session::Error as SessionError;
use std::path::PathBuf;

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident: $file:ident,)*) => {
        /// What to do.
        #[derive(Subcommand, Debug)]
        pub enum Command {
            $($(#[$attribute])* $name($file::Args),)*
        }

        /// Does it.
        pub fn run(command: Command, screen: &mut Screen) -> Result<Status, Error> {
            if command.works_by_itself() {
                signals::catch();
            }
            match command {
                $(Command::$name(args) => $file::run(args, screen),)*
            }
        }
    };
}

commands! {
    Litmus: litmus,
    Test: test,
    Check: check,
    Hunt: hunt,
    Safe: safe,
    Replay: replay,
    Report: report,
    Cc: cc,
    #[command(name = "c++")]
    Cxx: cxx,
    Cargo: cargo,
    Include: include,
    Rustflags: rustflags,
    Doctor: doctor,
    Completions: completions,
    Man: man,
}

impl Command {
    /// Does it work for a while? The others make way for a compiler, whose business signals are.
    fn works_by_itself(&self) -> bool {
        !matches!(self, Command::Cc(_) | Command::Cxx(_) | Command::Cargo(_))
    }
}

/// Where the runtime is, unpacked if need be.
fn runtime() -> Result<PathBuf, Error> {
    let problem = |error| SessionError::target("the runtime", format!("cannot be unpacked: {error}"));
    Ok(runtime_directory().map_err(problem)?)
}
