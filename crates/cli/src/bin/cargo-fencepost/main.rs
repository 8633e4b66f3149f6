//! `cargo fencepost`: the tests of a Rust package, each under many controlled executions.
//!
//! Cargo builds the test programs as always, with instrumentation ([`programs`], [`doctests`]); each of their tests is
//! then a program of its own, run by the command `fencepost` beside this one ([`runner`]), several at once. What comes
//! of it is shown as test runners show it ([`summary`]), and for CI systems as JUnit XML ([`junit`]).

#![forbid(unsafe_code)]

mod args;
mod doctests;
mod junit;
mod programs;
mod runner;
mod settings;
mod summary;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = fencepost_native::compiler::stand_in_for_rustc() {
        return code;
    }
    let status = args::parse().and_then(|args| {
        let settings = settings::read(&args)?;
        let tests = if args.cargo.doc {
            doctests::select(&args, &settings)?
        } else {
            let programs = programs::build(&args, &settings)?;
            programs::select(&args, &settings, &programs)?
        };
        let results = runner::run(&args, &settings, &tests);
        if let Some(path) = &args.junit {
            std::fs::write(path, junit::render(&results)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(summary::conclude(&results, tests.ignored, tests.filtered))
    });
    match status {
        Ok(status) => ExitCode::from(status),
        Err(problem) => {
            eprintln!("cargo fencepost: {problem}");
            ExitCode::from(2)
        }
    }
}
