//! The test programs that cargo builds, and the tests in them.

use crate::args::Args;
use crate::settings::{Package, Settings};
use fencepost_native::compiler::cargo;
use fencepost_native::embedded::runtime_directory;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The identity of its package.
    pub package: String,
    /// The target: the library, a program, a file of `tests/`.
    pub name: String,
    /// The target is the package's library.
    pub is_library: bool,
    /// It is one doc test, and has no names of tests.
    pub is_doc_test: bool,
    pub executable: PathBuf,
}

/// A message of cargo's, as far as it is of interest.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds the test programs, instrumented.
pub fn build(args: &Args, settings: &Settings) -> Result<Vec<Program>, String> {
    let runtime = runtime_directory().map_err(|error| format!("the runtime cannot be unpacked: {error}"))?;
    let mut words: Vec<OsString> =
        ["test", "--no-run", "--message-format=json-render-diagnostics"].map(OsString::from).to_vec();
    words.extend(args.cargo.words());
    let mut command = cargo(&words, &runtime).map_err(|error| format!("{}: {error}", runtime.display()))?;
    settings.optimise(&mut command);
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build: see cargo's messages above".to_owned());
    }
    let messages = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    Ok(messages.filter_map(program).collect())
}

fn program(message: Message) -> Option<Program> {
    let is_test = message.reason == "compiler-artifact" && message.profile.is_some_and(|profile| profile.test);
    let (executable, target) = (message.executable.filter(|_| is_test)?, message.target?);
    let is_library = target.kind.iter().any(|kind| kind.ends_with("lib"));
    Some(Program { package: message.package_id, name: target.name, is_library, is_doc_test: false, executable })
}

/// A test to run.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: Program,
    /// The package and the target, as people name them.
    pub of: String,
    /// The name that the program knows it by.
    pub name: String,
}

/// Those that are run, and how many are not.
#[derive(Debug, Default)]
pub struct Tests {
    pub list: Vec<Test>,
    pub ignored: usize,
    pub filtered: usize,
}

/// The tests of these programs that the user wants.
pub fn select(args: &Args, settings: &Settings, programs: &[Program]) -> Result<Tests, String> {
    let mut tests = Tests::default();
    for program in programs {
        let package = settings.package(&program.package);
        let all = names(program, package, false)?;
        let ignored = names(program, package, true)?;
        let skip = settings.of(args, &program.package).skip;
        let of = match package {
            Some(package) if program.is_library => package.name.clone(),
            Some(package) => format!("{}::{}", package.name, program.name),
            None => program.name.clone(),
        };
        for name in all {
            let is_wanted = args.filters.is_empty()
                || args.filters.iter().any(|filter| if args.exact { name == *filter } else { name.contains(filter) });
            let is_skipped = skip.iter().any(|part| if args.exact { name == *part } else { name.contains(part) });
            let is_ignored = ignored.contains(&name);
            if !is_wanted || is_skipped {
                tests.filtered += 1;
            } else if is_ignored && !args.ignored && !args.include_ignored || !is_ignored && args.ignored {
                tests.ignored += usize::from(is_ignored);
            } else {
                tests.list.push(Test { program: program.clone(), of: of.clone(), name });
            }
        }
    }
    Ok(tests)
}

/// The names of a program's tests. It runs by itself for that, not under control.
fn names(program: &Program, package: Option<&Package>, ignored: bool) -> Result<Vec<String>, String> {
    let mut command = Command::new(&program.executable);
    command.args(["--list", "--format", "terse"]).stdin(Stdio::null());
    if ignored {
        command.arg("--ignored");
    }
    command.current_dir(package.map_or(Path::new("."), |package| &package.directory));
    let shown = program.executable.display();
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown} does not list its tests (--list): is it built without Rust's own test harness?"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
