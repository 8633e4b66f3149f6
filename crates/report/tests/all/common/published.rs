//! Schemas that others publish. They are not copied into this repository: a package that carries one is named in
//! `Cargo.toml`, for a configuration that nobody compiles, and its sources are read where cargo keeps them.

use super::schema::Schema;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The schema of SARIF 2.1.0 as OASIS publishes it, or nothing if cargo cannot get hold of the package that has it.
/// Where everything must be tested, as in CI, that is a failure.
pub fn sarif() -> Option<Schema> {
    let schema = sources("serde-sarif").and_then(|sources| {
        let text = std::fs::read_to_string(sources.join("src/schema.json")).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    });
    match schema {
        Ok(schema) => Some(Schema::of(schema)),
        Err(why) => {
            assert!(std::env::var_os("FENCEPOST_REQUIRE_TOOLS").is_none(), "no schema of SARIF: {why}");
            println!("skipped: no schema of SARIF: {why}");
            None
        }
    }
}

/// Where the sources of a package are. Cargo fetches them if need be.
fn sources(package: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target, "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .env("RUSTFLAGS", "--cfg fencepost_published_schemas")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    let found = packages.iter().find(|found| found["name"] == package).ok_or(format!("{package} is not known"))?;
    let manifest = found["manifest_path"].as_str().ok_or("cargo does not say where it is")?;
    Path::new(manifest).parent().map(Path::to_owned).ok_or_else(|| "a package without a place".to_owned())
}
