//! The doc tests of libraries: `cargo fencepost test --doc`.
//!
//! rustdoc compiles each of them into a program, and runs it. It is asked to keep these programs, and to instrument
//! them; each is then a test. Which test is which is read from what rustdoc prints. An example that is to panic passes
//! there, and fails whenever it is run by itself: such ones are left out, and so are those that are not to be run.

use crate::args::Args;
use crate::programs::{Program, Test, Tests};
use crate::settings::{Package, Settings};
use fencepost_native::compiler::{cargo, rust_flags};
use fencepost_native::embedded::runtime_directory;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often an example has to fail by itself before it is taken to be one that should.
const RUNS: usize = 3;

/// The doc tests that the user wants.
pub fn select(args: &Args, settings: &Settings) -> Result<Tests, String> {
    let mut tests = Tests::default();
    for (id, package) in settings.packages().filter(|(id, package)| is_wanted(args, id, package)) {
        if !package.has_doc_tests {
            continue;
        }
        let skip = settings.of(args, id).skip;
        let kept = settings.target.join("fencepost").join("doctests").join(&package.name);
        // What earlier versions of the package have left means nothing.
        if kept.exists() {
            std::fs::remove_dir_all(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
        }
        let said = build(args, settings, package, &kept)?;
        for line in said.lines() {
            let Some(said) = Said::read(line) else { continue };
            let executable = said.executable(&kept);
            let is_example = !said.is_only_compiled && executable.is_file();
            let part_of = |part: &String| if args.exact { said.name == *part } else { said.name.contains(part) };
            if !said.passed && !executable.is_file() {
                return Err(format!("{} does not compile", said.name));
            } else if !args.filters.is_empty() && !args.filters.iter().any(part_of) || skip.iter().any(part_of) {
                tests.filtered += 1;
            } else if !is_example || said.passed && always_fails(&executable, package) {
                tests.ignored += 1;
            } else {
                let program = Program {
                    package: id.clone(),
                    name: "doc".to_owned(),
                    is_library: true,
                    is_doc_test: true,
                    executable,
                };
                tests.list.push(Test { program, of: package.name.clone(), name: said.name.to_owned() });
            }
        }
    }
    Ok(tests)
}

/// Is the package among those that cargo is to test?
fn is_wanted(args: &Args, id: &str, package: &Package) -> bool {
    let named = |specs: &[String]| {
        specs.iter().any(|spec| {
            *spec == package.name || spec == id || spec.split_once('@').is_some_and(|(name, _)| name == package.name)
        })
    };
    let chosen = match (args.cargo.workspace, args.cargo.package.is_empty()) {
        (true, _) => true,
        (false, false) => named(&args.cargo.package),
        (false, true) => package.is_default,
    };
    chosen && !named(&args.cargo.exclude)
}

/// Has rustdoc compile the doc tests of a package, and keep the programs. What it prints.
fn build(args: &Args, settings: &Settings, package: &Package, kept: &Path) -> Result<String, String> {
    let runtime = runtime_directory().map_err(|error| format!("the runtime cannot be unpacked: {error}"))?;
    let mut words: Vec<OsString> = ["test", "--doc"].map(OsString::from).to_vec();
    words.extend(args.cargo.for_package(&package.name));
    let mut command = cargo(&words, &runtime).map_err(|error| format!("{}: {error}", runtime.display()))?;
    settings.optimise(&mut command);
    let flags = flags(package, &runtime, kept);
    command.env("CARGO_ENCODED_RUSTDOCFLAGS", flags).stdin(Stdio::null()).stderr(Stdio::inherit());
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() && !said.lines().any(|line| Said::read(line).is_some()) {
        return Err("the doc tests do not build: see cargo's messages above".to_owned());
    }
    Ok(said)
}

/// The user's flags for rustdoc, and ours.
fn flags(package: &Package, runtime: &Path, kept: &Path) -> OsString {
    const SEPARATOR: &str = "\x1f";
    let mut flags = std::env::var_os("CARGO_ENCODED_RUSTDOCFLAGS").unwrap_or_default();
    if flags.is_empty() {
        let words = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
        flags = words.split_ascii_whitespace().collect::<Vec<_>>().join(SEPARATOR).into();
    }
    let mut add = |flag: OsString| {
        if !flags.is_empty() {
            flags.push(SEPARATOR);
        }
        flags.push(flag);
    };
    rust_flags(runtime).into_iter().for_each(&mut add);
    // Places in the source, and atomics without calls of the library: as for all other tests.
    let usual = ["-Cdebuginfo=line-tables-only", "-Copt-level=1", "-Zunstable-options"];
    usual.into_iter().map(OsString::from).for_each(&mut add);
    if package.merges_doc_tests {
        add("--merge-doctests=no".into());
    }
    add("--persist-doctests".into());
    add(kept.into());
    flags
}

/// What rustdoc says of a doc test: `test src/lib.rs - item (line 6) ... ok`.
#[derive(PartialEq, Eq, Debug)]
struct Said<'a> {
    name: &'a str,
    /// It is not to be run, not to compile, or ignored.
    is_only_compiled: bool,
    passed: bool,
}

impl<'a> Said<'a> {
    fn read(line: &'a str) -> Option<Said<'a>> {
        let (said, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        let end = said.rfind(" (line ")?;
        let close = end + said[end..].find(')')? + 1;
        let (name, rest) = said.split_at(close);
        let is_only_compiled = rest.starts_with(" - compile") || verdict.starts_with("ignored");
        Some(Said { name, is_only_compiled, passed: !verdict.starts_with("FAILED") })
    }

    /// Where rustdoc has put its program.
    fn executable(&self, kept: &Path) -> PathBuf {
        let file = self.name.split(" - ").next().unwrap_or_default();
        let line = self.name.rsplit_once("(line ").map_or("", |(_, line)| line.trim_end_matches(')'));
        let file: String = file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        kept.join(format!("{file}_{line}_0")).join("rust_out")
    }
}

/// Does an example fail by itself, although rustdoc is content with that?
fn always_fails(executable: &Path, package: &Package) -> bool {
    (0..RUNS).all(|_| {
        let mut command = Command::new(executable);
        command.current_dir(&package.directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| !status.success())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rustdoc_says_of_a_doc_test_is_read() {
        let said = |name, is_only_compiled, passed| Some(Said { name, is_only_compiled, passed });
        assert_eq!(Said::read("test src/lib.rs - f (line 6) ... ok"), said("src/lib.rs - f (line 6)", false, true));
        let failed = "test src/lib.rs - (line 1) ... FAILED";
        assert_eq!(Said::read(failed), said("src/lib.rs - (line 1)", false, false));
        let compiled = "test src/lib.rs - f::g (line 8) - compile fail ... ok";
        assert_eq!(Said::read(compiled), said("src/lib.rs - f::g (line 8)", true, true));
        assert_eq!(Said::read("test a.rs - f (line 2) ... ignored"), said("a.rs - f (line 2)", true, true));
        assert_eq!(Said::read("test result: ok. 6 passed; 0 failed"), None);
        assert_eq!(Said::read("running 7 tests"), None);
    }

    #[test]
    fn programs_are_where_rustdoc_puts_them() {
        let said = Said::read("test src/a-b/lib.rs - f (line 21) ... ok").expect("it is one");
        assert_eq!(said.executable(Path::new("/kept")), Path::new("/kept/src_a_b_lib_rs_21_0/rust_out"));
    }
}
