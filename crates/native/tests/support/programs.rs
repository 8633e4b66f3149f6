//! Programs of `tests/programs`, compiled as users compile theirs.

#![allow(dead_code, reason = "each test uses a part")]

use fencepost_native::embedded;
use fencepost_native::host::{Campaign, Results, run_campaign};
use fencepost_trace::Model;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// What `cxx.cpp` can do, by its first argument.
pub const FEATURES: [&str; 16] = [
    "thread_local",
    "exceptions",
    "mutex",
    "shared_mutex",
    "condition_variable",
    "call_once",
    "function_statics",
    "async",
    "jthread",
    "semaphore",
    "barrier",
    "latch",
    "atomic_wait",
    "iostreams",
    "sleeping",
    "shared_pointers",
];

/// The runtime that travels in the command.
pub fn runtime() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| embedded::runtime_directory().expect("it can be unpacked").join(embedded::NAME))
}

/// Compiles a program of the tests, or of the directory `from` of the repository; each only once.
pub fn compile_from(from: &str, name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();
    static LOCK: Mutex<()> = Mutex::new(());
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().expect("a directory for programs"));
    let program = directory.path().join(name);
    let _lock = LOCK.lock().unwrap_or_else(|e| e.into_inner());
    if program.exists() {
        return program;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(from).join(name);
    let mut command = Command::new(if name.ends_with(".cpp") { "g++" } else { "gcc" });
    if name.ends_with(".cpp") {
        command.arg("-std=c++20");
    }
    command.args(["-g", "-O1", "-fsanitize=thread", "-pthread"]).arg(&source).arg("-o").arg(&program);
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// So many executions of a program of the tests, with these arguments.
pub fn campaign(name: &str, arguments: &[&str], model: Model, executions: u64) -> Campaign {
    let mut campaign = Campaign::new(compile_from("tests/programs", name), runtime(), model, executions);
    campaign.arguments = arguments.iter().map(|a| (*a).to_owned()).collect();
    campaign
}

pub fn run(campaign: &Campaign) -> Results {
    run_campaign(campaign).expect("the campaign runs")
}
