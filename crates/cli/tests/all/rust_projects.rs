//! A cargo project, unmodified, as docs/native.md says.

use crate::common::{command, fencepost, finish};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A package with one program and no dependencies.
fn write_package(path: &Path, name: &str, main: &str) {
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    fs::write(path.join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(path.join("src")).unwrap();
    fs::write(path.join("src/main.rs"), main).unwrap();
}

#[test]
fn a_cargo_project_is_built_with_the_printed_flags() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let main = "\
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
static DATA: AtomicUsize = AtomicUsize::new(0);
static READY: AtomicUsize = AtomicUsize::new(0);
fn main() {
    let writer = std::thread::spawn(|| {
        DATA.store(42, Relaxed);
        READY.store(1, Relaxed);
    });
    if READY.load(Relaxed) == 1 {
        assert_eq!(DATA.load(Relaxed), 42);
    }
    writer.join().unwrap();
}
";
    write_package(path, "queue", main);
    let flags = fencepost(path, &["rustflags"]);
    assert_eq!(flags.status, 0, "{}", flags.stderr);
    let built = Command::new(env!("CARGO"))
        .current_dir(path)
        .args(["build", "-q", "--offline", "--target", "x86_64-unknown-linux-gnu", "--target-dir", "target"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", flags.stdout.trim())
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .output()
        .expect("cargo is there");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let program = "target/x86_64-unknown-linux-gnu/debug/queue";
    let run = finish(command(path).args(["test", program]));
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("standard library is not instrumented"), "{}", run.stderr);
    // The program's own line, not the one of core::sync::atomic that was inlined into it.
    assert!(run.stdout.contains("10: assert_eq!(DATA.load(Relaxed), 42);"), "{}", run.stdout);
    assert!(run.stdout.contains("stale: "), "{}", run.stdout);
}

/// Build scripts that are told of ThreadSanitizer compile something else than what is shipped (crossbeam's do).
#[test]
fn build_scripts_do_not_learn_that_code_is_instrumented() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    write_package(path, "script", "fn main() {}\n");
    let script = "\
fn main() {
    println!(\"cargo:warning=sanitize is {:?}\", std::env::var_os(\"CARGO_CFG_SANITIZE\"));
    println!(\"cargo:warning=arch is {:?}\", std::env::var_os(\"CARGO_CFG_TARGET_ARCH\"));
}
";
    fs::write(path.join("build.rs"), script).unwrap();
    let mut cargo = command(path);
    // The wrapper that the user has is called, too: this one does nothing but call the compiler.
    cargo.env("RUSTC_WRAPPER", "/usr/bin/env").env("CARGO", env!("CARGO"));
    let built = finish(cargo.args(["cargo", "build", "--offline", "--target-dir", "target"]));
    assert_eq!(built.status, 0, "{}", built.stderr);
    assert!(built.stderr.contains("sanitize is None"), "{}", built.stderr);
    assert!(built.stderr.contains("arch is Some(\"x86_64\")"), "{}", built.stderr);
    // It is instrumented all the same.
    let run = finish(command(path).args(["test", "target/x86_64-unknown-linux-gnu/debug/script", "--executions", "1"]));
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
}
