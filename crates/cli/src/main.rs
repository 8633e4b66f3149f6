//! The command `fencepost`.
//!
//! What was typed ([`args`]) becomes one of the [`commands`], which asks `fencepost_session` for its work, and shows
//! what comes of it on the [`screen`]. How it ended is a [`Status`](error::Status) or an [`Error`](error::Error). Both
//! are exit statuses, and nothing else ends the process.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod progress;
mod screen;
mod signals;

use std::process::ExitCode;

/// The first thread's stack is as small as the user's limit says; this is what it usually is.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    if let Some(code) = fencepost_native::compiler::stand_in_for_rustc() {
        return code;
    }
    signals::survive_limits();
    match std::thread::Builder::new().stack_size(STACK).spawn(run) {
        Ok(thread) => thread.join().unwrap_or(error::Status::Failed.into()),
        Err(_) => run(),
    }
}

fn run() -> ExitCode {
    let result = args::parse().and_then(|cli| commands::run(cli.command, &mut screen::Screen::new(cli.screen)?));
    match result {
        Ok(status) => status.into(),
        Err(error) => {
            screen::complain(&error);
            error.status().into()
        }
    }
}
