//! One source file to one instrumented program: what `fencepost test queue.c` does first.

use super::{
    Compiler, Family, Language, PlanError, RunError, Surroundings, plan, prepare_runtime_directory, read_response_file,
    real_path,
};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Why a file was not compiled. `Display` is one line; the compiler's own messages have gone to standard error.
#[derive(Debug)]
pub enum CompileError {
    /// There is no such file.
    Missing(PathBuf),
    /// The name does not end like that of a C, C++ or Rust file.
    UnknownLanguage(PathBuf),
    /// The environment names a compiler that cannot be used, or options that cannot be used.
    Plan(PlanError),
    /// The compiler could not be started.
    Run(RunError),
    /// The compiler refused the file.
    Refused(PathBuf, ExitStatus),
    /// The directory for the program cannot be made, or that of the runtime cannot be made ready.
    Output(PathBuf, io::Error),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Missing(path) => write!(f, "{}: no such file: check the path", path.display()),
            CompileError::UnknownLanguage(path) => {
                write!(
                    f,
                    "{}: not a .c, .cc, .cpp or .rs file: compile it yourself and give the program",
                    path.display()
                )
            }
            CompileError::Plan(error) => error.fmt(f),
            CompileError::Run(error) => error.fmt(f),
            CompileError::Refused(path, _) => {
                write!(f, "{} does not compile: see the compiler's messages above", path.display())
            }
            CompileError::Output(path, error) => write!(f, "{}: cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for CompileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompileError::Plan(error) => Some(error),
            CompileError::Run(error) => Some(error),
            CompileError::Output(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Compiles a single C, C++ or Rust file, by the ending of its name, and gives the path of the program: the file's name
/// without its ending, in `out_dir`, which is made if it is not there.
///
/// The compilers are those of `fencepost cc` and `c++`, and `RUSTC` or rustc. As for make, `CFLAGS`, `CXXFLAGS`,
/// `LDFLAGS` and `LDLIBS` add options, and `RUSTFLAGS` for Rust; they come last and win. What the compiler says goes
/// to standard error, so that standard output stays the caller's.
///
/// # Errors
/// There is no such file, no such compiler, or it does not compile.
pub fn compile_single(file: &Path, out_dir: &Path, runtime_dir: &Path) -> Result<PathBuf, CompileError> {
    compile_single_in(&Surroundings::from_environment(), file, out_dir, runtime_dir)
}

/// The same in other surroundings than those of this process.
///
/// # Errors
/// As above.
pub fn compile_single_in(
    surroundings: &Surroundings,
    file: &Path,
    out_dir: &Path,
    runtime_dir: &Path,
) -> Result<PathBuf, CompileError> {
    let kind = Kind::of(file).ok_or_else(|| CompileError::UnknownLanguage(file.to_owned()))?;
    let there = surroundings.directory.as_ref().map_or_else(|| file.to_owned(), |directory| directory.join(file));
    if !there.is_file() {
        return Err(CompileError::Missing(file.to_owned()));
    }
    std::fs::create_dir_all(out_dir).map_err(|error| CompileError::Output(out_dir.to_owned(), error))?;
    let program = out_dir.join(file.file_stem().unwrap_or(OsStr::new("program")));
    let (mut command, name, variable) = match kind {
        Kind::C => c_family(Language::C, (surroundings, "CFLAGS"), file, &program, runtime_dir)?,
        Kind::Cxx => c_family(Language::Cxx, (surroundings, "CXXFLAGS"), file, &program, runtime_dir)?,
        Kind::Rust => rust(surroundings, file, &program, runtime_dir),
    };
    if let Some(directory) = &surroundings.directory {
        command.current_dir(directory);
    }
    let status = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|error| CompileError::Run(RunError::new(&name, variable, error)))?;
    if status.success() { Ok(program) } else { Err(CompileError::Refused(file.to_owned(), status)) }
}

enum Kind {
    C,
    Cxx,
    Rust,
}

impl Kind {
    fn of(file: &Path) -> Option<Kind> {
        match file.extension()?.to_str()? {
            "c" => Some(Kind::C),
            "cc" | "cpp" | "cxx" | "c++" | "C" | "cp" => Some(Kind::Cxx),
            "rs" => Some(Kind::Rust),
            _ => None,
        }
    }
}

/// A command to run, with the name of its program and the variable that names another.
type Prepared = (Command, OsString, &'static str);

fn c_family(
    language: Language,
    (surroundings, flags): (&Surroundings, &str),
    file: &Path,
    program: &Path,
    runtime_dir: &Path,
) -> Result<Prepared, CompileError> {
    let mut arguments: Vec<OsString> = ["-g", "-O1", "-pthread"].map(OsString::from).to_vec();
    arguments.extend(surroundings.words(flags));
    arguments.extend(surroundings.words("LDFLAGS"));
    arguments.extend([not_an_option(file).into(), "-o".into(), program.into()]);
    arguments.extend(surroundings.words("LDLIBS"));
    prepare_runtime_directory(runtime_dir).map_err(|error| CompileError::Output(runtime_dir.to_owned(), error))?;
    let command = surroundings.variables.get(language.variable());
    let compiler = Compiler::named(language, command.map(|command| command.as_ref()), real_path);
    if compiler.family == Family::Gcc {
        // It would take the first round of a loop out of it, and a loop that waits would be two places where a thread
        // waits.
        arguments.insert(0, "-fno-tree-ch".into());
    }
    let invocation = plan(&compiler, &arguments, runtime_dir, &read_response_file).map_err(CompileError::Plan)?;
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.arguments);
    Ok((command, invocation.program, invocation.variable))
}

fn rust(surroundings: &Surroundings, file: &Path, program: &Path, runtime_dir: &Path) -> Prepared {
    let rustc = surroundings.variables.get("RUSTC").map_or_else(|| "rustc".into(), OsString::from);
    let flags = surroundings.words("RUSTFLAGS");
    let mut command = Command::new(&rustc);
    // Sanitizers are unstable options; stable compilers take them when told that this is meant.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(super::cargo::rust_flags(runtime_dir));
    command.args(["-g", "-Copt-level=1", "-Cdebug-assertions=on", "--crate-type=bin", "--crate-name"]);
    command.arg(crate_name(file));
    if !flags.iter().any(|flag| flag.to_string_lossy().starts_with("--edition")) {
        command.args(["--edition", "2021"]);
    }
    command.args(flags).arg("-o").arg(program).arg(not_an_option(file));
    (command, rustc, "RUSTC")
}

/// The name of the crate: the file's, with what crates may not have replaced.
fn crate_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.chars().all(|c| c == '_') {
        format!("p{name}")
    } else {
        name
    }
}

/// A path that no compiler takes for an option or a response file.
fn not_an_option(file: &Path) -> PathBuf {
    let starts_like_one = matches!(file.as_os_str().as_encoded_bytes().first(), Some(b'-' | b'@'));
    if starts_like_one { Path::new(".").join(file) } else { file.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_names_are_names() {
        for (file, expected) in
            [("queue.rs", "queue"), ("my-queue.v2.rs", "my_queue_v2"), ("2q.rs", "p2q"), ("-.rs", "p_")]
        {
            assert_eq!(crate_name(Path::new(file)), expected, "{file}");
        }
    }

    #[test]
    fn file_names_are_not_taken_for_options() {
        assert_eq!(not_an_option(Path::new("-c.c")), Path::new("./-c.c"));
        assert_eq!(not_an_option(Path::new("@a.c")), Path::new("./@a.c"));
        assert_eq!(not_an_option(Path::new("a.c")), Path::new("a.c"));
    }
}
