//! `fencepost cargo`: an unmodified Rust package, its programs and its tests.

mod common;

use common::{command, fencepost, finish};
use std::fs;
use std::path::Path;

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
