//! What the tests of this crate share: a directory to build programs in, and a stand-in for the runtime.

#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory that goes away with the test.
pub struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file in a directory")).expect("a directory");
        fs::write(&path, contents).expect("a file");
        path
    }

    /// Runs a command in the directory, with arguments split at spaces. Panics with its messages if it fails.
    pub fn run(&self, line: &str) -> Output {
        let output = self.try_run(line);
        assert!(output.status.success(), "{line}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        output
    }

    pub fn try_run(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command");
        Command::new(program).args(words).current_dir(self.path()).output().expect("the command can be started")
    }

    /// Builds the stand-in for the runtime and gives its directory.
    pub fn runtime(&self) -> PathBuf {
        self.file("runtime/stub.c", include_str!("libtsan_stub.c"));
        self.run("gcc -O1 -fPIC -shared -Wl,-soname,libtsan.so.2 runtime/stub.c -o runtime/libtsan.so.2");
        self.path().join("runtime")
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

/// The libraries that a program names, in order.
pub fn needed(program: &Path) -> Vec<String> {
    let output = Command::new("readelf").arg("-dW").arg(program).output().expect("readelf");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned()))
        .collect()
}
