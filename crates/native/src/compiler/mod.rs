//! `fencepost cc` and `fencepost c++`: the user's compiler, with instrumentation when it compiles and a dynamic runtime
//! when it links.
//!
//! [`plan`] decides, [`run`] does, [`become_compiler`] is both. A plan is a function of the arguments, the compiler,
//! the runtime's directory and the response files that the arguments name; nothing else is looked at.
//!
//! What is added goes in front of the user's arguments, so that theirs, coming later, win (`-g0`,
//! `-fno-sanitize=thread`). Questions to the compiler (`--version`, `-print-…`, no input at all) pass unchanged,
//! because build systems recognise compilers by the answers.
//!
//! - *To preprocess*: `-fsanitize=thread`, for its macros.
//! - *To compile*: `-fsanitize=thread`, volatile accesses told apart, `-g`; for gcc, calls of `memcpy` and the like as
//!   calls, which with clang they are anyway.
//! - *To link*, with gcc: `-fsanitize=thread`, which links `libtsan.so` from the first directory that has one, and
//!   Fencepost's is named first. With clang: Fencepost's `libtsan.so.2` by its path, because clang's own runtime comes
//!   only as an archive.
//!
//! Where there is something to compile or to preprocess, `fencepost.h` is on the include path, behind everything else.
//!
//! Linking with gcc's own runtime would not do: gcc 12 emits calls for volatile accesses (`__tsan_volatile_read4`)
//! that its runtime does not define. The directory is written into the program (`-rpath`), so that what a configure
//! script or a test suite builds also runs without Fencepost. Fencepost itself finds its runtime by the library path,
//! which comes first.

mod arguments;
mod cargo;
mod rustc;
mod single;
mod surroundings;

pub use cargo::{become_cargo, cargo, rust_flags};
pub use rustc::stand_in_for_rustc;
pub use single::{CompileError, compile_single, compile_single_in};
pub use surroundings::Surroundings;

use crate::embedded::include_directory;
use arguments::{Arguments, Debug, Stage};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file name of the runtime, by which gcc's is asked for too.
pub const RUNTIME: &str = "libtsan.so.2";

/// The name under which the linker looks for it when gcc says `-ltsan`.
const LINK_NAME: &str = "libtsan.so";

/// Makes a directory with the runtime fit for linking: gives it the name that the linker looks for.
///
/// # Errors
/// The name is missing and cannot be made.
pub fn prepare_runtime_directory(directory: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(RUNTIME, directory.join(LINK_NAME)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // In a directory that cannot be written the answer may be another one, though the name is there.
            if directory.join(LINK_NAME).exists() { Ok(()) } else { Err(error) }
        }
        _ => Ok(()),
    }
}

/// The language that the command is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `fencepost cc`.
    C,
    /// `fencepost c++`.
    Cxx,
}

impl Language {
    /// The environment variable that names another compiler.
    pub fn variable(self) -> &'static str {
        match self {
            Language::C => "FENCEPOST_CC",
            Language::Cxx => "FENCEPOST_CXX",
        }
    }

    /// The compiler where that variable says nothing.
    pub fn default_compiler(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
        }
    }

    /// The name of the command, for messages.
    pub fn command(self) -> &'static str {
        match self {
            Language::C => "fencepost cc",
            Language::Cxx => "fencepost c++",
        }
    }
}

/// Whose options a compiler understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// GCC.
    Gcc,
    /// Clang and its descendants.
    Clang,
}

/// The compiler behind the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    /// The language that it was chosen for.
    pub language: Language,
    /// The command: a program, perhaps with arguments (`ccache gcc`). Never empty.
    pub words: Vec<OsString>,
    /// Whose options it understands.
    pub family: Family,
}

impl Compiler {
    /// A compiler by its command, split at white space as make does. Its family is in its name; where it is not (`cc`),
    /// `resolve` may give the real name behind a program.
    pub fn named(language: Language, command: Option<&OsStr>, resolve: impl Fn(&OsStr) -> Option<PathBuf>) -> Compiler {
        let split = |command: &OsStr| -> Vec<OsString> {
            let words = command.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.map(|word| OsStr::from_bytes(word).to_owned()).collect()
        };
        let mut words = command.map(split).unwrap_or_default();
        if words.is_empty() {
            words.push(language.default_compiler().into());
        }
        let by_name = |name: &OsStr| {
            let name = Path::new(name).file_name()?.to_string_lossy();
            let gcc = name.contains("gcc") || name.contains("g++");
            if name.contains("clang") || name == "icx" || name == "icpx" {
                Some(Family::Clang)
            } else {
                gcc.then_some(Family::Gcc)
            }
        };
        let family = words
            .iter()
            .find_map(|word| by_name(word))
            .or_else(|| words.iter().filter_map(|word| resolve(word)).find_map(|path| by_name(path.as_os_str())));
        Compiler { language, words, family: family.unwrap_or(Family::Gcc) }
    }

    /// The compiler that the environment names, or the default.
    pub fn from_environment(language: Language) -> Compiler {
        Compiler::named(language, std::env::var_os(language.variable()).as_deref(), real_path)
    }

    /// Is the command Fencepost itself?
    fn is_fencepost(&self) -> bool {
        Path::new(&self.words[0]).file_name() == Some(OsStr::new("fencepost"))
    }
}

/// The file behind a program's name: found on the path, symbolic links resolved (`cc` is often one).
fn real_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return std::fs::canonicalize(program).ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|directory| std::fs::canonicalize(directory.join(program)).ok())
}

/// A command line, ready to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What the user should know, one line each, for standard error.
    pub warnings: Vec<String>,
    /// The environment variable by which another compiler can be named, for messages.
    pub variable: &'static str,
}

/// Why there is no sensible command line. `Display` is one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// A static program was asked for (by this option).
    Static(Language, String),
    /// Another sanitizer (this one) that cannot be combined was asked for.
    Sanitizer(Language, String),
    /// The environment names Fencepost itself as the compiler.
    Itself(Language),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Static(language, option) => write!(
                f,
                "{}: {option} cannot be used: Fencepost's runtime is a shared library; link without {option}",
                language.command()
            ),
            PlanError::Sanitizer(language, name) => write!(
                f,
                "{}: -fsanitize={name} cannot be combined with -fsanitize=thread, which Fencepost needs; build without \
                 it",
                language.command()
            ),
            PlanError::Itself(language) => write!(
                f,
                "{}: {1} names Fencepost itself: set {1} to a compiler such as {2}",
                language.command(),
                language.variable(),
                language.default_compiler()
            ),
        }
    }
}

impl std::error::Error for PlanError {}

/// The command line for these arguments.
///
/// `runtime_directory` holds Fencepost's [`RUNTIME`] and is [prepared](prepare_runtime_directory); `read` gives the
/// contents of a response file (`@file`).
///
/// # Errors
/// The arguments ask for what cannot work with Fencepost.
///
/// ```
/// use fencepost_native::compiler::{Compiler, Language, plan};
///
/// let gcc = Compiler::named(Language::C, None, |_| None);
/// let arguments = ["-c", "queue.c"].map(Into::into);
/// let invocation = plan(&gcc, &arguments, "/runtime".as_ref(), &|_| None).unwrap();
/// assert_eq!(invocation.program, "gcc");
/// assert_eq!(invocation.arguments[0], "-fsanitize=thread");
/// assert!(invocation.arguments.ends_with(&["-idirafter", "/runtime/include", "-c", "queue.c"].map(Into::into)));
/// ```
pub fn plan(
    compiler: &Compiler,
    arguments: &[OsString],
    runtime_directory: &Path,
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> Result<Invocation, PlanError> {
    if compiler.is_fencepost() {
        return Err(PlanError::Itself(compiler.language));
    }
    let parsed = Arguments::parse(arguments, read);
    if parsed.stage != Stage::Query {
        if let Some(sanitizer) = &parsed.conflicting_sanitizer {
            return Err(PlanError::Sanitizer(compiler.language, sanitizer.clone()));
        }
        if let (Stage::Link, Some(option)) = (parsed.stage, &parsed.static_link) {
            return Err(PlanError::Static(compiler.language, option.clone()));
        }
    }

    let mut warnings = Vec::new();
    let mut own = compiler.words[1..].to_vec();
    let mut users = arguments.to_vec();
    if parsed.stage != Stage::Query {
        own.extend(match compiler.family {
            Family::Gcc => for_gcc(&parsed, runtime_directory),
            Family::Clang => for_clang(&parsed, runtime_directory),
        });
        if parsed.compiles {
            // After everything else: it must not come before a header of the program's.
            own.extend(["-idirafter".into(), include_directory(runtime_directory).into()]);
        }
        if let Some(option) = &parsed.static_runtime {
            users = parsed.without(|argument| argument == option.as_str());
            warnings.push(format!(
                "{}: ignoring {option}: Fencepost replaces the runtime, which must be dynamic",
                compiler.language.command()
            ));
        }
        // Asked to link for ThreadSanitizer, clang would put its own runtime into the program.
        if compiler.family == Family::Clang && parsed.stage == Stage::Link && parsed.asks_for_thread_sanitizer {
            let option = parsed.static_runtime.as_deref();
            users = parsed.without_thread_sanitizer(option);
        }
    }
    own.extend(users);
    Ok(Invocation {
        program: compiler.words[0].clone(),
        arguments: own,
        warnings,
        variable: compiler.language.variable(),
    })
}

/// The functions that gcc expands after it has instrumented the code, so that nobody would see what they do to
/// memory. Only where they are called by these names: what headers of the library call `__builtin_memcpy` is expanded
/// all the same. Those that only read a string (`strlen`) are not among them, because programs use them in constant
/// expressions; gcc 12 calls them.
const NOT_EXPANDED: [&str; 12] = [
    "memset", "memcpy", "memmove", "mempcpy", "memcmp", "bcmp", "bzero", "strcpy", "stpcpy", "strncpy", "strcat",
    "strncat",
];

/// Makes gcc call the functions that access memory.
fn calls_are_calls() -> impl Iterator<Item = OsString> {
    let expanded = NOT_EXPANDED.iter().map(|name| format!("-fno-builtin-{name}").into());
    // Comparisons with constants, and what the system's gcc makes of all of them by default.
    expanded.chain(["--param=builtin-string-cmp-inline-length=0", "-U_FORTIFY_SOURCE"].map(OsString::from))
}

fn for_gcc(parsed: &Arguments, runtime_directory: &Path) -> Vec<OsString> {
    let mut own: Vec<OsString> = vec!["-fsanitize=thread".into()];
    if parsed.compiles {
        own.extend(calls_are_calls());
    }
    if matches!(parsed.stage, Stage::Compile | Stage::Link) {
        // At link time too: with -flto that is when the code is made.
        own.push("--param=tsan-distinguish-volatile=1".into());
        // "atomic_thread_fence is not supported": with Fencepost it is.
        own.push("-Wno-tsan".into());
    }
    own.extend(debug_option(parsed));
    if parsed.stage == Stage::Link && parsed.links_default_libraries {
        let mut search = OsString::from("-L");
        search.push(runtime_directory);
        own.push(search);
        own.extend(run_path(runtime_directory));
    }
    own
}

fn for_clang(parsed: &Arguments, runtime_directory: &Path) -> Vec<OsString> {
    let mut own: Vec<OsString> = Vec::new();
    // clang warns of options that it does not use, and -Werror makes errors of that: nothing is added for nothing.
    let volatile = |own: &mut Vec<OsString>| {
        if !parsed.distinguishes_volatile {
            own.extend(["-mllvm".into(), "-tsan-distinguish-volatile=1".into()]);
        }
        // Without this, of `x++` only the store is announced: to ThreadSanitizer that is enough.
        if !parsed.announces_reads {
            own.extend(["-mllvm".into(), "-tsan-instrument-read-before-write=1".into()]);
        }
    };
    match parsed.stage {
        Stage::Query => {}
        Stage::Preprocess => own.extend(parsed.compiles.then(|| "-fsanitize=thread".into())),
        Stage::Compile if parsed.compiles => {
            own.push("-fsanitize=thread".into());
            volatile(&mut own);
        }
        // In one step with linking the driver must not know, or it links its own runtime; cc1 must.
        Stage::Link if parsed.compiles && !parsed.forbids_thread_sanitizer => {
            own.extend(["-Xclang".into(), "-fsanitize=thread".into()]);
            volatile(&mut own);
        }
        Stage::Compile | Stage::Link => {}
    }
    own.extend(debug_option(parsed));
    if parsed.stage == Stage::Link && parsed.links_default_libraries {
        own.extend(runtime_by_path(runtime_directory));
    }
    own
}

/// Links the runtime by its path, first of all libraries, so that its functions are found before those of libc, and
/// even if nothing refers to it yet.
fn runtime_by_path(directory: &Path) -> Vec<OsString> {
    let mut own =
        vec!["-Wl,--push-state,--no-as-needed".into(), directory.join(RUNTIME).into(), "-Wl,--pop-state".into()];
    own.extend(run_path(directory));
    own
}

/// Where the program looks for the runtime. In this form the directory may have commas.
fn run_path(directory: &Path) -> [OsString; 4] {
    ["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), directory.into()]
}

/// `-g`, where code is made and the user did not say anything about it.
fn debug_option(parsed: &Arguments) -> Option<OsString> {
    let makes_code = matches!(parsed.stage, Stage::Compile | Stage::Link) && (parsed.compiles || parsed.assembles);
    (makes_code && parsed.debug == Debug::Unsaid).then(|| "-g".into())
}

/// Why the compiler could not be started. `Display` is one line.
#[derive(Debug)]
pub enum RunError {
    /// There is no such program (the first field); the second is the variable that names another.
    Missing(OsString, &'static str),
    /// It could not be started.
    Failed(OsString, io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Missing(program, variable) => write!(
                f,
                "{}: no such compiler: install it, or name another one in {variable}",
                Path::new(program).display()
            ),
            RunError::Failed(program, error) => {
                write!(f, "{} cannot be started: {error}", Path::new(program).display())
            }
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Missing(..) => None,
            RunError::Failed(_, error) => Some(error),
        }
    }
}

impl RunError {
    fn new(program: &OsStr, variable: &'static str, error: io::Error) -> RunError {
        match error.kind() {
            io::ErrorKind::NotFound => RunError::Missing(program.to_owned(), variable),
            _ => RunError::Failed(program.to_owned(), error),
        }
    }
}

/// Becomes the compiler: its output, its signals and its exit status are this process's. Returns only if it could not
/// be started. Warnings are the caller's to print.
pub fn run(invocation: &Invocation) -> RunError {
    let error = Command::new(&invocation.program).args(&invocation.arguments).exec();
    RunError::new(&invocation.program, invocation.variable, error)
}

/// Why the command ended without becoming the compiler. `Display` is one line.
#[derive(Debug)]
pub enum CommandError {
    /// The arguments cannot work.
    Plan(PlanError),
    /// The directory of the runtime cannot be prepared.
    Runtime(PathBuf, io::Error),
    /// The compiler cannot be started.
    Run(RunError),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Plan(error) => error.fmt(f),
            CommandError::Runtime(directory, error) => {
                write!(f, "{}: the runtime cannot be made ready for linking: {error}", directory.display())
            }
            CommandError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CommandError::Plan(error) => Some(error),
            CommandError::Runtime(_, error) => Some(error),
            CommandError::Run(error) => Some(error),
        }
    }
}

/// The whole of `fencepost cc` and `fencepost c++`: chooses the compiler by the environment, prints warnings to
/// standard error, and becomes the compiler. Returns only if that failed.
pub fn become_compiler(language: Language, arguments: &[OsString], runtime_directory: &Path) -> CommandError {
    let compiler = Compiler::from_environment(language);
    let invocation = match plan(&compiler, arguments, runtime_directory, &read_response_file) {
        Ok(invocation) => invocation,
        Err(error) => return CommandError::Plan(error),
    };
    if let Err(error) = prepare_runtime_directory(runtime_directory) {
        return CommandError::Runtime(runtime_directory.to_owned(), error);
    }
    for warning in &invocation.warnings {
        eprintln!("{warning}");
    }
    CommandError::Run(run(&invocation))
}

/// Reads a response file: the `read` of [`plan`] for real use.
pub fn read_response_file(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

#[cfg(test)]
mod tests;
