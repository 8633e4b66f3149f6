//! Builds the runtime, so that it can travel inside the command.
//!
//! Cargo cannot yet depend on a shared library as a file, so that this script asks Cargo for it: a release build of
//! `fencepost-runtime` in a target directory of its own (the outer build holds the lock of the usual one).

use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Names a `libfencepost_runtime.so` to take as it is: for packagers who build it apart, and to check the crates above
/// the runtime without minutes of building it.
const PREBUILT: &str = "FENCEPOST_PREBUILT_RUNTIME";

/// With `1`, the runtime looks whether its state is entered twice; with `0` it does not. Otherwise it does in debug
/// builds of the command, and so in tests.
const CHECKED: &str = "FENCEPOST_CHECKED";

fn main() {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    for name in ["runtime", "runtime-core", "mailbox", "explore", "safety", "predict", "engine", "memory", "trace"] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Beside the outer build's directory, which is target/PROFILE/build/PACKAGE/out, and by profile: a release build
    // takes its time to make a faster one.
    let profile = env::var("PROFILE").expect("cargo sets it");
    let target = out.ancestors().nth(4).unwrap_or(&out).join("embedded-runtime").join(&profile);
    println!("cargo::rerun-if-env-changed={PREBUILT}");
    println!("cargo::rerun-if-env-changed={CHECKED}");
    let library = env::var_os(PREBUILT)
        .map_or_else(|| build(&crates.join("runtime").join("Cargo.toml"), &target, &profile), PathBuf::from);
    pack(&fs::read(&library).unwrap_or_else(|error| panic!("cannot read {}: {error}", library.display())), &out);
}

/// Makes the library small, since it is part of the command, and says what it is, since that is looked at whenever the
/// command starts.
fn pack(library: &[u8], out: &Path) {
    // A debug build's own code is slow, and nobody carries it far.
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let level = if release { Compression::best() } else { Compression::fast() };
    let mut encoder = DeflateEncoder::new(Vec::new(), level);
    encoder.write_all(library).expect("memory can be written");
    let packed = out.join("runtime.deflate");
    fs::write(&packed, encoder.finish().expect("memory can be written")).expect("cargo's directory can be written");
    let digest: String = Sha256::digest(library).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=FENCEPOST_PACKED_RUNTIME={}", packed.display());
    println!("cargo::rustc-env=FENCEPOST_RUNTIME_DIGEST={digest}");
}

fn build(manifest: &Path, target: &Path, profile: &str) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    let mut command = Command::new(cargo);
    command
        .args(["build", "--locked", "--release", "--lib", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target);
    // Panics unwind: exceptions of the program pass through hooks that call back into it (`call_once`).
    command.args(["--config", "profile.release.panic=\"unwind\""]);
    if profile == "release" {
        // An execution crosses five crates at every operation: calls between them are a sixth of its time.
        command.args(["--config", "profile.release.lto=\"fat\"", "--config", "profile.release.codegen-units=1"]);
    }
    if env::var(CHECKED).map_or(profile == "debug", |wanted| wanted == "1") {
        command.args(["--features", "checked"]);
    }
    // What the outer cargo set for its own compilers (clippy's driver among them) is not meant for this one.
    for variable in ["RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CLIPPY_ARGS"] {
        command.env_remove(variable);
    }
    let status = command.status().unwrap_or_else(|error| panic!("cannot run cargo to build the runtime: {error}"));
    assert!(status.success(), "the runtime does not build: {status}");
    target.join("release").join("libfencepost_runtime.so")
}
