//! A cargo project, unmodified, as docs/native.md says.

mod common;

use common::{command, fencepost, finish};
use std::fs;
use std::process::Command;

#[test]
fn a_cargo_project_is_built_with_the_printed_flags() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    fs::write(path.join("Cargo.toml"), "[package]\nname = \"queue\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .unwrap();
    fs::create_dir(path.join("src")).unwrap();
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
    fs::write(path.join("src/main.rs"), main).unwrap();
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
