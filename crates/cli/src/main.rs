//! The command `fencepost`.
//!
//! What was typed ([`args`]) becomes one of the [`commands`], which does its work and says how it ended: with a
//! [`Status`](error::Status) or an [`Error`](error::Error). Both are exit statuses, and nothing else ends the process.

mod args;
mod campaign;
mod commands;
mod digest;
mod error;
mod exhaustive;
mod hunt;
mod in_order;
mod limits;
mod native;
mod progress;
mod recording;
mod screen;
mod subject;
mod suppressions;
mod tally;
mod target;
mod witness;

use std::process::ExitCode;

fn main() -> ExitCode {
    let result = args::parse().and_then(|cli| commands::run(cli.command, &mut screen::Screen::new(cli.screen)));
    match result {
        Ok(status) => status.into(),
        Err(error) => {
            screen::complain(&error);
            error.status().into()
        }
    }
}
