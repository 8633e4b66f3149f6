//! Bugs that were shipped: published crates, by version, with small programs that use them as documented.
//!
//! Each version with the bug is found by the default flags, and the version that mends it is clean. The crates come
//! from the registry, so that these tests are not run by default:
//!
//!     cargo test -p fencepost-cli --test all museum:: -- --ignored --nocapture
//!
//! With `FENCEPOST_MIRI` set to the path of a nightly toolchain that has Miri, Miri runs the versions with the bugs.

use crate::common::{command, finish};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A crate, the version with the bug, the one without, and what the program needs of it.
struct Exhibit {
    package: &'static str,
    buggy: &'static str,
    mended: &'static str,
    options: &'static str,
    source: &'static str,
    /// What is found.
    kind: &'static str,
}

/// The program with `version` of the crate, as a package.
///
/// Some versions have been withdrawn: no new program gets them, but who has them in Cargo.lock does.
fn prepare(exhibit: &Exhibit, version: &str) -> tempfile::TempDir {
    let Exhibit { package, mended, options, source, .. } = exhibit;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let manifest = |version: &str| {
        let head = "[package]\nname = \"exhibit\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
        format!("{head}\n[dependencies.{package}]\nversion = \"={version}\"\n{options}\n")
    };
    fs::create_dir(path.join("src")).expect("a directory");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/museum").join(source);
    fs::copy(program, path.join("src/main.rs")).expect("the program is part of the repository");
    fs::write(path.join("Cargo.toml"), manifest(mended)).expect("a file");
    let locked = Command::new(env!("CARGO")).current_dir(path).args(["generate-lockfile", "-q"]).output();
    let locked = locked.expect("cargo is there");
    assert!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));
    fs::write(path.join("Cargo.toml"), manifest(version)).expect("a file");
    let lock = fs::read_to_string(path.join("Cargo.lock")).expect("a lock file");
    fs::write(path.join("Cargo.lock"), with_version(&lock, package, mended, version)).expect("a file");
    directory
}

/// Builds the program with `version` of the crate, and tests it.
fn test(exhibit: &Exhibit, version: &str) -> crate::common::Output {
    let directory = prepare(exhibit, version);
    let (path, package) = (directory.path(), exhibit.package);
    let mut build = command(path);
    let built =
        finish(build.args(["cargo", "build", "-q", "--target-dir", "target"]).env("CARGO_PROFILE_DEV_OPT_LEVEL", "1"));
    assert_eq!(built.status, 0, "{package} {version}: {}", built.stderr);
    finish(command(path).args(["test", "target/x86_64-unknown-linux-gnu/debug/exhibit", "--format", "json"]))
}

/// Miri's word on the program: it runs once for each of 64 seeds, or to the first that shows something.
fn ask_miri(exhibit: &Exhibit, version: &str, toolchain: &Path) {
    const SEEDS: u32 = 64;
    let directory = prepare(exhibit, version);
    let package = exhibit.package;
    let path = std::env::join_paths([toolchain.join("bin"), "/usr/bin".into(), "/bin".into()]).expect("a path");
    for seed in 0..SEEDS {
        // By its path: cargo looks for its commands among those of rustup first.
        let mut miri = Command::new(toolchain.join("bin/cargo-miri"));
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_TOOLCHAIN"] {
            miri.env_remove(name);
        }
        miri.env("CARGO", toolchain.join("bin/cargo")).env("RUSTC", toolchain.join("bin/rustc")).env("PATH", &path);
        miri.current_dir(directory.path()).args(["miri", "run", "-q"]);
        // What one thread alone does wrong is another matter: rules of aliasing, and what is never given back.
        let flags = format!("-Zmiri-seed={seed} -Zmiri-disable-stacked-borrows -Zmiri-ignore-leaks");
        let ran = miri.env("MIRIFLAGS", flags).output().expect("Miri is there");
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let lines = said.lines().filter(|line| line.starts_with("error") || line.contains("panicked at"));
            let lines: Vec<_> = lines.take(2).collect();
            return println!("{package} {version}: Miri, seed {seed}: {}", lines.join(" | "));
        }
    }
    println!("{package} {version}: Miri: nothing with {SEEDS} seeds");
}

/// A lock file with another version of a package. Its checksum goes: it is that of the other.
fn with_version(lock: &str, package: &str, from: &str, to: &str) -> String {
    let sections = lock.split("[[package]]").map(|section| {
        if !section.contains(&format!("\nname = \"{package}\"\nversion = \"{from}\"\n")) || from == to {
            return section.to_owned();
        }
        let kept = section.lines().filter(|line| !line.starts_with("checksum"));
        let lines: Vec<_> =
            kept.map(|line| line.replace(&format!("version = \"{from}\""), &format!("version = \"{to}\""))).collect();
        lines.join("\n") + "\n"
    });
    sections.collect::<Vec<_>>().join("[[package]]")
}

/// The bug is found, and is not found in the version that mends it.
fn check(exhibit: Exhibit) {
    let found = test(&exhibit, exhibit.buggy);
    assert_eq!(found.status, 1, "{}{}", found.stdout, found.stderr);
    let finding = &found.json()["findings"][0];
    assert_eq!(finding["kind"], exhibit.kind, "{finding}");
    let Exhibit { package, buggy, mended, .. } = exhibit;
    println!("{package} {buggy}: {} in execution {}", exhibit.kind, finding["first_execution"]);
    let clean = test(&exhibit, mended);
    assert_eq!(clean.status, 0, "{}{}", clean.stdout, clean.stderr);
    println!("{package} {mended}: nothing in {} executions", clean.json()["executions"]);
    if let Some(toolchain) = std::env::var_os("FENCEPOST_MIRI") {
        ask_miri(&exhibit, buggy, Path::new(&toolchain));
    }
}

#[test]
#[ignore = "needs the registry"]
fn arc_swap() {
    check(Exhibit {
        package: "arc-swap",
        buggy: "1.8.1",
        mended: "1.9.1",
        options: "",
        source: "arc_swap.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn crossbeam_channel() {
    check(Exhibit {
        package: "crossbeam-channel",
        buggy: "0.5.14",
        mended: "0.5.15",
        options: "",
        source: "crossbeam_channel.rs",
        kind: "double-free",
    });
}

#[test]
#[ignore = "needs the registry"]
fn crossbeam_deque() {
    check(Exhibit {
        package: "crossbeam-deque",
        buggy: "0.8.0",
        mended: "0.8.1",
        options: "",
        source: "crossbeam_deque.rs",
        kind: "panic",
    });
}

#[test]
#[ignore = "needs the registry"]
fn internment() {
    check(Exhibit {
        package: "internment",
        buggy: "0.3.12",
        mended: "0.4.0",
        options: "",
        source: "internment.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn oneshot() {
    check(Exhibit {
        package: "oneshot",
        buggy: "0.1.11",
        mended: "0.1.13",
        options: "",
        source: "oneshot.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn spin() {
    check(Exhibit { package: "spin", buggy: "0.9.7", mended: "0.9.9", options: "", source: "spin.rs", kind: "panic" });
}

#[test]
#[ignore = "needs the registry"]
fn spin_rwlock() {
    check(Exhibit {
        package: "spin",
        buggy: "0.5.1",
        mended: "0.5.2",
        options: "",
        source: "spin_rwlock.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn thread_local() {
    check(Exhibit {
        package: "thread_local",
        buggy: "1.1.3",
        mended: "1.1.4",
        options: "",
        source: "thread_local.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn tokio_broadcast() {
    check(Exhibit {
        package: "tokio",
        buggy: "1.44.1",
        mended: "1.44.2",
        options: "default-features = false\nfeatures = [\"sync\"]",
        source: "tokio_broadcast.rs",
        kind: "data-race",
    });
}

#[test]
#[ignore = "needs the registry"]
fn tokio_local() {
    check(Exhibit {
        package: "tokio",
        buggy: "1.8.0",
        mended: "1.8.1",
        options: "default-features = false\nfeatures = [\"rt\"]",
        source: "tokio_local.rs",
        kind: "panic",
    });
}

#[test]
#[ignore = "needs the registry"]
fn tokio_oneshot() {
    check(Exhibit {
        package: "tokio",
        buggy: "1.13.0",
        mended: "1.13.1",
        options: "default-features = false\nfeatures = [\"sync\"]",
        source: "tokio_oneshot.rs",
        kind: "data-race",
    });
}

#[test]
fn a_lock_file_gets_the_other_version_of_one_package() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"s\"\nchecksum = \"c\"\n\n\
                [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"d\"\n";
    let other = with_version(lock, "a", "1.0.0", "0.9.0");
    assert!(other.contains("\nname = \"a\"\nversion = \"0.9.0\"\nsource = \"s\"\n"), "{other}");
    assert!(
        !other.contains("\"c\"") && other.contains("name = \"b\"\nversion = \"1.0.0\"\nchecksum = \"d\""),
        "{other}"
    );
}
