//! The subcommands, one file each: its options and what it does.
//!
//! A new one is a file here, with a struct `Args` (whose documentation is the help) and a function `run`, and a line
//! below.

mod cargo;
mod cc;
mod check;
mod cxx;
mod hunt;
mod include;
mod litmus;
mod replay;
mod rustflags;
mod shared;
mod test;

pub use shared::write_run;

use crate::error::{Error, Status};
use crate::screen::Screen;
use clap::Subcommand;

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident: $file:ident,)*) => {
        /// What to do.
        #[derive(Subcommand, Debug)]
        pub enum Command {
            $($(#[$attribute])* $name($file::Args),)*
        }

        /// Does it.
        pub fn run(command: Command, screen: &mut Screen) -> Result<Status, Error> {
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
    Replay: replay,
    Cc: cc,
    #[command(name = "c++")]
    Cxx: cxx,
    Cargo: cargo,
    Include: include,
    Rustflags: rustflags,
}
