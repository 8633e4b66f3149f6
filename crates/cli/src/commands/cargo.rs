//! `fencepost cargo`: cargo, for Rust programs that are to be tested.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_native::compiler::become_cargo;
use std::ffi::OsString;

/// Build a Rust package as cargo does, with instrumentation and with the runtime linked in.
///
/// `fencepost cargo build --release` leaves programs in target/TRIPLE/release; `fencepost cargo test --no-run` names
/// the test programs that it built. Any of them is a target of `fencepost test`. All arguments go to cargo.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    /// Arguments of cargo
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

pub fn run(args: Args, _: &mut Screen) -> Result<Status, Error> {
    let directory = super::runtime()?;
    Err(Error::refused(become_cargo(&args.arguments, &directory).to_string()))
}
