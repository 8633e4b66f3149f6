//! The command `fencepost`.
//!
//! What was typed ([`args`]) becomes one of the [`commands`], which asks `fencepost_session` for its work, and shows
//! what comes of it on the [`screen`]. How it ended is a [`Status`](error::Status) or an [`Error`](error::Error). Both are
//! exit statuses, and nothing else ends the process.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod progress;
mod screen;

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
