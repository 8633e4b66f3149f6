//! `fencepost man`: manual pages, made from the same definitions as the help.

use crate::args::Cli;
use crate::error::{Error, Status};
use crate::screen::Screen;
use clap::CommandFactory;
use fencepost_session::write_whole;
use std::path::PathBuf;

/// Write manual pages: fencepost.1 and one for each command.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: fencepost man ~/.local/share/man/man1; man fencepost-check")]
pub struct Args {
    /// The directory to write them to; it is made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let pages: Vec<_> = std::iter::once(root.clone()).chain(root.get_subcommands().cloned()).collect();
    for page in pages {
        // "fencepost-check": the name that the page has in itself, too.
        let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(Error::Stdout)?;
        let path = args.directory.join(format!("{name}.1"));
        write_whole(&path, &text)?;
        screen.print(&format!("{}\n", path.display()))?;
    }
    Ok(Status::Clean)
}
