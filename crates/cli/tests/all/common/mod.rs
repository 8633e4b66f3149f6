//! Running the built command.

pub mod browser;

use serde_json::Value as Json;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a run of the command left behind.
pub struct Output {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The one JSON document on stdout.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("not JSON ({e}): {}{}", self.stdout, self.stderr))
    }

    /// The JSON documents on stdout, one a line.
    pub fn lines(&self) -> Vec<Json> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
    }

    /// It could not do its work, and said why in one line.
    pub fn refused(&self) -> &str {
        assert_eq!(self.status, 2, "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("fencepost: "), "{}", self.stderr);
        self.stderr.trim_end()
    }
}

/// Is a tool there? If not, what needs it is left out.
pub fn have(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        left_out(tool);
    }
    found
}

/// Something that a test needs is not installed. Where everything must be tested, as in CI, that is a failure.
pub fn left_out(what: &str) {
    assert!(std::env::var_os("FENCEPOST_REQUIRE_TOOLS").is_none(), "{what} is not installed");
    println!("skipped: {what} is not installed");
}

/// The command, in a directory.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env_remove("TSAN_OPTIONS")
        .stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn fencepost<A: AsRef<OsStr>>(directory: &Path, args: &[A]) -> Output {
    finish(command(directory).args(args))
}

/// Runs it with this on its standard input.
pub fn fencepost_with_input(directory: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = command(directory)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
    output(child.wait_with_output().expect("the command ends"))
}

pub fn finish(command: &mut Command) -> Output {
    output(command.output().expect("the command starts"))
}

fn output(output: std::process::Output) -> Output {
    Output {
        status: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The litmus tests that come with the repository.
pub fn classics() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus")
}

/// A directory with copies of some of them.
pub fn copies(names: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for name in names {
        let file = format!("{name}.litmus");
        std::fs::copy(classics().join(&file), directory.path().join(&file)).expect("the test is there");
    }
    directory
}

/// A document without what is different in every run.
pub fn timeless(mut document: Json) -> Json {
    document.as_object_mut().expect("an object").remove("seconds");
    document
}
