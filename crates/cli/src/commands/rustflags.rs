//! `fencepost rustflags`: what makes cargo build a program that can be tested.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_native::compiler::rust_flags;

/// Print the options with which rustc builds a program that can be tested, for RUSTFLAGS.
///
/// RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(fencepost rustflags)" cargo build --target x86_64-unknown-linux-gnu
///
/// RUSTC_BOOTSTRAP lets a stable compiler take them; with --target, build scripts and macros are built without.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(_: Args, screen: &mut Screen) -> Result<Status, Error> {
    let directory = super::runtime()?;
    let flags: Vec<String> = rust_flags(&directory).iter().map(|flag| flag.to_string_lossy().into_owned()).collect();
    // Cargo takes what is between spaces for an option of its own.
    if let Some(flag) = flags.iter().find(|flag| flag.contains(char::is_whitespace)) {
        return Err(Error::refused(format!("RUSTFLAGS cannot have spaces, but this option has: {flag}")));
    }
    screen.print(&format!("{}\n", flags.join(" ")))?;
    Ok(Status::Clean)
}
