//! `fencepost cc`: the C compiler, for programs that are to be tested.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_native::compiler::{Language, become_compiler};
use std::ffi::OsString;

/// Compile C as gcc does (or as the compiler that FENCEPOST_CC names), with instrumentation and with the runtime
/// linked in.
///
/// Stands in for CC in any build system. All arguments go to the compiler.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    /// Arguments of the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

pub fn run(args: Args, _: &mut Screen) -> Result<Status, Error> {
    compile(Language::C, &args.arguments)
}

/// Becomes the compiler; comes back only if that fails.
pub fn compile(language: Language, arguments: &[OsString]) -> Result<Status, Error> {
    let directory = super::runtime()?;
    Err(Error::refused(become_compiler(language, arguments, &directory).to_string()))
}
