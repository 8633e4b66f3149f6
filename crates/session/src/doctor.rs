//! What is installed, what is missing, and how to get it.
//!
//! A compiler that answers is not enough: each compiles a small program with a data race, and `test` has to find it.
//! So everything between the compiler and a finding is tried, the way a user would use it.

use crate::request::TestRequest;
use crate::{Event, test};
use fencepost_native::compiler::{Surroundings, compile_single_in};
use fencepost_native::embedded::runtime_directory;
use fencepost_trace::FindingKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkup {
    /// What: a compiler, a debugger.
    pub name: &'static str,
    /// How it is.
    pub health: Health,
    /// Its version, or what is wrong with it.
    pub detail: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// It was tried, and does what it should.
    Works,
    /// It is not there.
    Missing,
    /// It is there, and does not do what it should.
    Broken,
}

impl Health {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Health::Works => "ok",
            Health::Missing => "missing",
            Health::Broken => "broken",
        }
    }
}

/// What came of all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// In the order in which they were tried.
    pub checkups: Vec<Checkup>,
}

impl Diagnosis {
    /// Can programs of some language be tested?
    pub fn is_usable(&self) -> bool {
        let compilers = |checkup: &&Checkup| COMPILERS.iter().any(|compiler| compiler.name == checkup.name);
        self.checkups.iter().filter(compilers).any(|checkup| checkup.health == Health::Works)
            && self.checkups.iter().all(|checkup| checkup.name != RUNTIME || checkup.health == Health::Works)
    }
}

const RUNTIME: &str = "runtime";

/// A compiler, and how it is told to be the one that is used.
struct Compiler {
    name: &'static str,
    variable: &'static str,
    file: &'static str,
    source: &'static str,
    package: &'static str,
}

/// Valid C and C++: the flag says that the data is there, but does not order it.
const RACE_C: &str = r"#include <pthread.h>
int data, flag;
static void *writer(void *arg) {
    data = 1;
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int seen = __atomic_load_n(&flag, __ATOMIC_RELAXED) ? data : 0;
    pthread_join(thread, 0);
    return seen > 1;
}
";

const RACE_RUST: &str = r"use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
struct Shared(UnsafeCell<i32>);
unsafe impl Sync for Shared {}
static DATA: Shared = Shared(UnsafeCell::new(0));
static FLAG: AtomicBool = AtomicBool::new(false);
fn main() {
    let writer = std::thread::spawn(|| {
        unsafe { *DATA.0.get() = 1 };
        FLAG.store(true, Relaxed);
    });
    if FLAG.load(Relaxed) {
        assert!(unsafe { *DATA.0.get() } <= 1);
    }
    writer.join().unwrap();
}
";

const COMPILERS: [Compiler; 5] = [
    Compiler { name: "gcc", variable: "FENCEPOST_CC", file: "race.c", source: RACE_C, package: "gcc" },
    Compiler { name: "g++", variable: "FENCEPOST_CXX", file: "race.cpp", source: RACE_C, package: "g++" },
    Compiler { name: "clang", variable: "FENCEPOST_CC", file: "race.c", source: RACE_C, package: "clang" },
    Compiler { name: "clang++", variable: "FENCEPOST_CXX", file: "race.cpp", source: RACE_C, package: "clang" },
    Compiler { name: "rustc", variable: "RUSTC", file: "race.rs", source: RACE_RUST, package: "rustc" },
];

/// Other programs, and what they are for.
const TOOLS: [(&str, &str, &str); 2] = [
    ("cargo", "`fencepost cargo` builds Rust packages with it", "cargo"),
    ("gdb", "`fencepost replay --gdb` needs it", "gdb"),
];

/// So many executions show the race: it is found in one of three.
const EXECUTIONS: u64 = 200;

/// Tries everything out.
pub fn doctor() -> Diagnosis {
    let mut checkups = vec![system()];
    let runtime = runtime_directory();
    checkups.push(match &runtime {
        Ok(directory) => works(RUNTIME, directory.display().to_string()),
        Err(error) => Checkup {
            name: RUNTIME,
            health: Health::Broken,
            detail: format!("cannot be unpacked: {error}"),
            advice: Some("set XDG_CACHE_HOME or HOME to a directory that is yours and can be written".to_owned()),
        },
    });
    if let Ok(runtime) = runtime {
        checkups.extend(COMPILERS.iter().map(|compiler| try_compiler(compiler, &runtime)));
    }
    checkups.extend(TOOLS.map(|(name, purpose, package)| {
        version(name).map_or_else(|| missing(name, purpose, package), |version| works(name, version))
    }));
    Diagnosis { checkups }
}

fn works(name: &'static str, detail: String) -> Checkup {
    Checkup { name, health: Health::Works, detail, advice: None }
}

fn missing(name: &'static str, purpose: &str, package: &str) -> Checkup {
    let advice = format!("{purpose}: install {package} (Debian, Ubuntu: apt-get install {package})");
    Checkup { name, health: Health::Missing, detail: "not found on the PATH".to_owned(), advice: Some(advice) }
}

/// What it says of its version, in one line, if it is there.
fn version(name: &str) -> Option<String> {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

fn system() -> Checkup {
    let name = "system";
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let detail = format!("{} {} on {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH);
    match cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        true => works(name, detail),
        false => Checkup {
            name,
            health: Health::Broken,
            detail,
            advice: Some("programs can be tested on Linux on x86-64; litmus tests everywhere".to_owned()),
        },
    }
}

fn try_compiler(compiler: &Compiler, runtime: &Path) -> Checkup {
    let name = compiler.name;
    let Some(version) = version(name) else {
        let purpose = format!("to test programs that are compiled with {name} ({}={name})", compiler.variable);
        return missing(name, &purpose, compiler.package);
    };
    match find_race(compiler, runtime) {
        Ok(()) => works(name, version),
        Err(problem) => Checkup {
            name,
            health: Health::Broken,
            detail: format!("{version}: {problem}"),
            advice: Some(format!("compile a small program with {name} -fsanitize=thread and see what it says")),
        },
    }
}

/// Compiles the program and has its race found.
fn find_race(compiler: &Compiler, runtime: &Path) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let directory = tempfile::tempdir().map_err(text)?;
    let file = directory.path().join(compiler.file);
    fs::write(&file, compiler.source).map_err(text)?;
    let mut surroundings = Surroundings::from_environment();
    surroundings.variables.insert(compiler.variable.to_owned(), compiler.name.to_owned());
    let program = compile_single_in(&surroundings, &file, directory.path(), runtime)
        .map_err(|error| format!("it does not compile a test program: {error}"))?;
    let mut request = TestRequest::new(program);
    request.campaign.work.executions = Some(EXECUTIONS);
    let outcome =
        test(&request, &mut |_: Event<'_>| {}).map_err(|error| format!("a test program does not run: {error}"))?;
    let raced = outcome.report.findings().iter().any(|finding| finding.kind == FindingKind::DataRace);
    if raced { Ok(()) } else { Err("the race in a test program was not found".to_owned()) }
}
