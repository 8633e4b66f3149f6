//! `fencepost cargo`: an unmodified Rust package, its programs and its tests.

use crate::common::{command, fencepost, finish};
use std::fs;
use std::path::Path;
use std::process::Command;

const MANIFEST: &str = r#"[package]
name = "mailbox"
version = "0.1.0"
edition = "2021"
build = "build.rs"

[workspace]
"#;

/// A message that is sent before it is written. The flag of a build script shows that such scripts run as always.
const LIBRARY: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::*};

pub static DATA: AtomicUsize = AtomicUsize::new(0);
pub static FLAG: AtomicUsize = AtomicUsize::new(0);

pub fn send() {
    DATA.store(1, Relaxed);
    FLAG.store(1, if cfg!(right) { Release } else { Relaxed });
}

pub fn receive() -> Option<usize> {
    (FLAG.load(Acquire) == 1).then(|| DATA.load(Relaxed))
}

#[test]
fn what_is_received_was_sent() {
    let sender = std::thread::spawn(send);
    assert_ne!(receive(), Some(0));
    sender.join().unwrap();
}
"#;

const PROGRAM: &str = "fn main() {
    let sender = std::thread::spawn(mailbox::send);
    assert_ne!(mailbox::receive(), Some(0));
    sender.join().unwrap();
}
";

const BUILD_SCRIPT: &str = r#"fn main() {
    println!("cargo:rustc-check-cfg=cfg(right)");
    if std::env::var_os("RIGHT").is_some() {
        println!("cargo:rustc-cfg=right");
    }
    println!("cargo:rerun-if-env-changed=RIGHT");
}
"#;

fn package(directory: &Path) {
    fs::create_dir(directory.join("src")).expect("a directory");
    for (file, text) in
        [("Cargo.toml", MANIFEST), ("src/lib.rs", LIBRARY), ("src/main.rs", PROGRAM), ("build.rs", BUILD_SCRIPT)]
    {
        fs::write(directory.join(file), text).expect("a file");
    }
}

#[test]
fn a_package_is_built_and_tested() {
    let directory = tempfile::tempdir().expect("a directory");
    package(directory.path());
    let target = directory.path().join("target");
    let cargo = |arguments: &[&str], right: bool| {
        let mut cargo = command(directory.path());
        cargo.arg("cargo").args(arguments).env("CARGO_TARGET_DIR", &target);
        cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS").env_remove("CARGO");
        if right {
            cargo.env("RIGHT", "1");
        }
        let built = finish(&mut cargo);
        assert_eq!(built.status, 0, "{}", built.stderr);
        built.stderr
    };
    let program = target.join(format!("{}-unknown-linux-gnu/debug/mailbox", std::env::consts::ARCH));
    for right in [false, true] {
        cargo(&["build", "--offline"], right);
        let run = fencepost(directory.path(), &["test".as_ref(), program.as_os_str()]);
        assert_eq!(run.status, if right { 0 } else { 1 }, "{}{}", run.stdout, run.stderr);
        if !right {
            assert!(run.stdout.contains("panic"), "{}", run.stdout);
        }
    }
    let said = cargo(&["test", "--offline", "--no-run", "--lib"], false);
    // `Executable unittests src/lib.rs (PATH)`
    let (_, tests) = said.trim_end().rsplit_once('(').expect("cargo names what it has built");
    let run = fencepost(directory.path(), &["test", tests.trim_end_matches(')')]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("what_is_received_was_sent"), "{}", run.stdout);
}

const SUITE: &str = r#"
use mailbox::{receive, send};
use std::thread::spawn;

#[test]
fn a_race_of_two() {
    let sender = spawn(send);
    assert_ne!(receive(), Some(0));
    sender.join().unwrap();
}

#[test]
fn nothing_to_find() {
    assert_eq!(spawn(|| 1).join().unwrap(), 1);
}

// Who counts what refers to the thread that waits is code without instrumentation.
#[test]
fn scoped_threads_are_no_race() {
    std::thread::scope(|scope| {
        scope.spawn(|| ());
    });
}

#[test]
#[should_panic]
fn panics() {
    panic!("as it should");
}

#[test]
#[ignore]
fn ignored() {}
"#;

/// Each test alone, those that are wanted, with the settings of the package: the message that is sent before it is
/// written is found, in the library's own test and in that of `tests/`.
#[test]
fn each_test_of_a_package_is_run_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    package(directory.path());
    let manifest = format!("{MANIFEST}\n[package.metadata.fencepost]\nexecutions = 300\nskip = [\"nothing\"]\n");
    fs::write(directory.path().join("Cargo.toml"), manifest).expect("a file");
    fs::create_dir(directory.path().join("tests")).expect("a directory");
    fs::write(directory.path().join("tests").join("suite.rs"), SUITE).expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-fencepost"));
        command.current_dir(directory.path()).args(["fencepost", "test", "--offline"]).args(arguments);
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS").env_remove("CARGO");
        command.env("CARGO_TARGET_DIR", directory.path().join("target"));
        finish(&mut command)
    };
    let all = run(&["--junit", "junit.xml"]);
    assert_eq!(all.status, 1, "{}{}", all.stdout, all.stderr);
    // Four of the suite and one of the library, without the one that is skipped, and the one that is ignored.
    let counts = "2 passed, 2 failed, 1 ignored, 1 filtered out";
    assert!(all.stdout.contains("4 tests, ") && all.stdout.contains(counts), "{}", all.stdout);
    assert!(all.stderr.contains("mailbox what_is_received_was_sent"), "{}", all.stderr);
    assert!(all.stdout.contains("--- mailbox::suite a_race_of_two"), "{}", all.stdout);
    let junit = fs::read_to_string(directory.path().join("junit.xml")).expect("it is written");
    assert!(junit.contains("tests=\"4\" failures=\"2\" errors=\"0\""), "{junit}");
    let one = run(&["--exact", "panics"]);
    assert_eq!(one.status, 0, "{}{}", one.stdout, one.stderr);
    assert!(one.stdout.contains("1 test, 300 executions: 1 passed"), "{}", one.stdout);
    fs::write(directory.path().join("tests").join("broken.rs"), "fn").expect("a file");
    assert_eq!(run(&[]).status, 2);
}

const EXAMPLES: &str = r#"
/// ```
/// let sender = std::thread::spawn(mailbox::send);
/// assert_ne!(mailbox::receive(), Some(0));
/// sender.join().unwrap();
/// ```
pub fn example() {}

/// ```
/// assert_eq!(std::thread::spawn(|| 1).join().unwrap(), 1);
/// ```
/// ```should_panic
/// panic!("as it should");
/// ```
/// ```no_run
/// loop {}
/// ```
pub fn others() {}
"#;

/// With `--doc` the examples of the documentation are tests: one loses a message, one is right. What is to panic or not
/// to be run is left out. In the edition of 2024 rustdoc would make one program of all of them.
#[test]
fn the_examples_of_the_documentation_are_tests() {
    for edition in ["2021", "2024"] {
        let directory = tempfile::tempdir().expect("a directory");
        package(directory.path());
        let manifest = MANIFEST.replace("2021", edition);
        fs::write(directory.path().join("Cargo.toml"), manifest).expect("a file");
        fs::write(directory.path().join("src/lib.rs"), LIBRARY.to_owned() + EXAMPLES).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-fencepost"));
        command.current_dir(directory.path()).args(["fencepost", "test", "--offline", "--doc", "--executions", "300"]);
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS").env_remove("CARGO");
        command.env("CARGO_TARGET_DIR", directory.path().join("target"));
        let all = finish(&mut command);
        assert_eq!(all.status, 1, "{}{}", all.stdout, all.stderr);
        let counts = "1 passed, 1 failed, 2 ignored";
        assert!(all.stdout.contains("2 tests, ") && all.stdout.contains(counts), "{}{}", all.stdout, all.stderr);
        assert!(all.stdout.contains("--- mailbox src/lib.rs - example"), "{}", all.stdout);
    }
}

/// A published crate with threads in its tests, and an ordering of it that is needed.
struct Suite {
    package: &'static str,
    version: &'static str,
    /// Which of its tests: docs/rust.md says why not all.
    tests: &'static [&'static str],
    /// In this file this becomes that, wherever it stands.
    weaker: (&'static str, &'static str, &'static str),
    /// The tests that find it have this in their names.
    finds: &'static str,
}

/// The sources of a crate as they were published, copied to `to`.
fn published(package: &str, version: &str, to: &Path) {
    let project = tempfile::tempdir().expect("a directory");
    let head = "[package]\nname = \"copy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let manifest = format!("{head}\n[dependencies]\n{package} = \"={version}\"\n");
    fs::write(project.path().join("Cargo.toml"), manifest).expect("a file");
    fs::create_dir(project.path().join("src")).expect("a directory");
    fs::write(project.path().join("src/lib.rs"), "").expect("a file");
    let mut metadata = Command::new(env!("CARGO"));
    let described = finish(metadata.current_dir(project.path()).args(["metadata", "-q", "--format-version", "1"]));
    let described = described.json();
    let packages = described["packages"].as_array().expect("a list");
    let own = packages.iter().find(|one| one["name"] == package).and_then(|one| one["manifest_path"].as_str());
    let from = Path::new(own.expect("the crate is there")).parent().expect("a directory");
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.expect("cp is there").success());
    // It stands alone, wherever it lies.
    let manifest = to.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest") + "\n[workspace]\n";
    fs::write(manifest, text).expect("a file");
}

/// No false alarm in the tests of a published crate, and an ordering that is weakened is found.
///
///     cargo test --release -p fencepost-cli --test all cargo:: -- --ignored --nocapture
fn check(suite: Suite) {
    let Suite { package, version, tests, weaker: (file, strong, weak), finds } = suite;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(package);
    published(package, version, &path);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-fencepost"));
        command.current_dir(&path).args(["fencepost", "test", "--time", "60s"]).args(tests).args(arguments);
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS").env_remove("CARGO");
        command.env("CARGO_TARGET_DIR", directory.path().join("target"));
        finish(&mut command)
    };
    let all = run(&["--executions", "100"]);
    let said = all.stdout.lines().last().unwrap_or_default();
    println!("{package} {version}: {said}");
    assert!(matches!(all.status, 0 | 3) && said.contains(" 0 failed"), "{}{}", all.stdout, all.stderr);
    let source = fs::read_to_string(path.join(file)).expect("a file");
    assert!(source.contains(strong), "{package}: {strong}");
    fs::write(path.join(file), source.replace(strong, weak)).expect("a file");
    let weakened = run(&["--executions", "1000", finds]);
    let said = weakened.stdout.lines().last().unwrap_or_default();
    println!("{package} {version}, {file} weakened: {said}");
    assert_eq!(weakened.status, 1, "{}{}", weakened.stdout, weakened.stderr);
}

#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_arc_swap() {
    check(Suite {
        package: "arc-swap",
        version: "1.9.1",
        tests: &[],
        weaker: ("src/lib.rs", "self.ptr.swap(new, Ordering::SeqCst)", "self.ptr.swap(new, Ordering::Relaxed)"),
        finds: "tests_default::publish",
    });
}

#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_bus() {
    check(Suite {
        package: "bus",
        version: "2.4.1",
        tests: &["--skip", "aggressive_iteration", "--skip", "it_iterates"],
        weaker: ("src/lib.rs", "store(tail, atomic::Ordering::Release)", "store(tail, atomic::Ordering::Relaxed)"),
        finds: "it_can_count",
    });
}

#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_concurrent_queue() {
    check(Suite {
        package: "concurrent-queue",
        version: "2.5.0",
        tests: &["--test", "bounded", "--test", "single", "--test", "unbounded"],
        weaker: ("src/bounded.rs", "store(tail + 1, Ordering::Release)", "store(tail + 1, Ordering::Relaxed)"),
        finds: "spsc",
    });
}

#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_crossbeam_queue() {
    check(Suite {
        package: "crossbeam-queue",
        version: "0.3.12",
        tests: &[],
        weaker: ("src/array_queue.rs", "store(tail + 1, Ordering::Release)", "store(tail + 1, Ordering::Relaxed)"),
        finds: "spsc",
    });
}

/// Without the two tests that rely on 100 and 500 ms being long enough.
#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_parking_lot() {
    check(Suite {
        package: "parking_lot",
        version: "0.12.5",
        tests: &["--skip", "test_issue_129", "--skip", "times_out_before_false"],
        weaker: (
            "src/raw_mutex.rs",
            "exchange(LOCKED_BIT, 0, Ordering::Release, Ordering::Relaxed)",
            "exchange(LOCKED_BIT, 0, Ordering::Relaxed, Ordering::Relaxed)",
        ),
        finds: "mutex::tests::lots_and_lots",
    });
}

#[test]
#[ignore = "needs the registry, and takes minutes"]
fn the_tests_of_once_cell() {
    check(Suite {
        package: "once_cell",
        version: "1.21.3",
        tests: &[],
        weaker: ("src/imp_std.rs", "self.queue.load(Ordering::Acquire)", "self.queue.load(Ordering::Relaxed)"),
        finds: "sync_once_cell::wait",
    });
}
