//! `fencepost cargo`: an unmodified Rust package, its programs and its tests.

mod common;

use common::{command, fencepost, finish};
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
    // Three of the suite and one of the library, without the one that is skipped, and the one that is ignored.
    assert!(all.stdout.contains("3 tests, ") && all.stdout.contains("1 passed, 2 failed, 1 ignored, 1 filtered out"));
    assert!(all.stderr.contains("mailbox what_is_received_was_sent"), "{}", all.stderr);
    assert!(all.stdout.contains("--- mailbox::suite a_race_of_two"), "{}", all.stdout);
    let junit = fs::read_to_string(directory.path().join("junit.xml")).expect("it is written");
    assert!(junit.contains("tests=\"3\" failures=\"2\" errors=\"0\""), "{junit}");
    let one = run(&["--exact", "panics"]);
    assert_eq!(one.status, 0, "{}{}", one.stdout, one.stderr);
    assert!(one.stdout.contains("1 test, 300 executions: 1 passed"), "{}", one.stdout);
    fs::write(directory.path().join("tests").join("broken.rs"), "fn").expect("a file");
    assert_eq!(run(&[]).status, 2);
}
