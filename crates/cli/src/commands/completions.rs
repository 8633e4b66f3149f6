//! `fencepost completions`: what shells need to complete commands and options.

use crate::args::Cli;
use crate::error::{Error, Status};
use crate::screen::Screen;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a script with which a shell completes commands and options.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: fencepost completions bash > ~/.local/share/bash-completion/completions/fencepost")]
pub struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fencepost", &mut script);
    screen.print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Clean)
}
