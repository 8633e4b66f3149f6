//! `fencepost include`: where `fencepost.h` is.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_native::embedded::include_directory;

/// Print the directory of fencepost.h and fencepost.rs, for build systems that do not use `fencepost cc`.
///
/// With them a test marks its operations and says what it observes: see --spec of `fencepost test`.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(_: Args, screen: &mut Screen) -> Result<Status, Error> {
    let directory = super::runtime()?;
    screen.print(&format!("{}\n", include_directory(&directory).display()))?;
    Ok(Status::Clean)
}
