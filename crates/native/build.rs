//! Builds the runtime, so that it can travel inside the command.
//!
//! Cargo cannot yet depend on a shared library as a file, so that this script asks Cargo for it: a release build of
//! `fencepost-runtime` in a target directory of its own (the outer build holds the lock of the usual one).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    for name in ["runtime", "runtime-core", "mailbox", "explore", "predict", "engine", "memory", "trace"] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Shared by the debug and release builds of the command: target/PROFILE/build/PACKAGE/out.
    let target = out.ancestors().nth(4).unwrap_or(&out).join("embedded-runtime");
    let library = build(&crates.join("runtime").join("Cargo.toml"), &target);
    println!("cargo::rustc-env=FENCEPOST_EMBEDDED_RUNTIME={}", library.display());
}

fn build(manifest: &Path, target: &Path) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--lib", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(target);
    // Panics unwind: exceptions of the program pass through hooks that call back into it (`call_once`).
    command.args(["--config", "profile.release.panic=\"unwind\"", "--config", "profile.release.debug=false"]);
    // What the outer cargo set for its own compilers (clippy's driver among them) is not meant for this one.
    for variable in ["RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CLIPPY_ARGS"] {
        command.env_remove(variable);
    }
    let status = command.status().unwrap_or_else(|error| panic!("cannot run cargo to build the runtime: {error}"));
    assert!(status.success(), "the runtime does not build: {status}");
    target.join("release").join("libfencepost_runtime.so")
}
