//! Settings of packages and workspaces.
//!
//! A package has `[package.metadata.fencepost]` in its Cargo.toml, a workspace `.config/fencepost.toml`. What is typed
//! comes first, then the package's settings, then the workspace's.

use crate::args::Args;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What may be set.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Wishes {
    pub model: Option<String>,
    pub executions: Option<u64>,
    pub time: Option<String>,
    pub max_steps: Option<u64>,
    /// Names of tests that are left out: parts of them.
    pub skip: Vec<String>,
}

/// All there are.
#[derive(Debug, Default)]
pub struct Settings {
    /// By the package's identity, as cargo names it.
    packages: BTreeMap<String, Package>,
    workspace: Wishes,
    /// Where cargo builds.
    pub target: PathBuf,
    /// Does the workspace say how its tests are optimised?
    says_opt_level: bool,
}

/// A package of the workspace.
#[derive(Debug, Default)]
pub struct Package {
    pub name: String,
    /// Where its tests run.
    pub directory: PathBuf,
    /// Is it one of those that cargo tests if it is told of none?
    pub is_default: bool,
    /// Has it a library with doc tests?
    pub has_doc_tests: bool,
    /// Does rustdoc make one program of all of these, unless it is told otherwise?
    pub merges_doc_tests: bool,
    wishes: Wishes,
}

impl Settings {
    pub fn package(&self, id: &str) -> Option<&Package> {
        self.packages.get(id)
    }

    /// All packages, by identity.
    pub fn packages(&self) -> impl Iterator<Item = (&String, &Package)> {
        self.packages.iter()
    }

    /// Has cargo optimise a little, if nobody says otherwise. Without any optimisation an atomic operation is a
    /// function of the standard library, with lines of its own: reports would show those, and executions take twice as
    /// long.
    pub fn optimise(&self, command: &mut Command) {
        const OPTIMISE: &str = "CARGO_PROFILE_DEV_OPT_LEVEL";
        if !self.says_opt_level && std::env::var_os(OPTIMISE).is_none() {
            command.env(OPTIMISE, "1");
        }
    }

    /// What holds for a package's tests.
    pub fn of(&self, args: &Args, id: &str) -> Wishes {
        let own = self.packages.get(id).map(|package| package.wishes.clone()).unwrap_or_default();
        let common = &self.workspace;
        Wishes {
            model: args.model.clone().or(own.model).or_else(|| common.model.clone()),
            executions: args.executions.or(own.executions).or(common.executions),
            time: args.time.clone().or(own.time).or_else(|| common.time.clone()),
            max_steps: args.max_steps.or(own.max_steps).or(common.max_steps),
            skip: [&args.skip[..], &own.skip, &common.skip].concat(),
        }
    }
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Listed>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
    #[serde(default)]
    workspace_default_members: Vec<String>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    manifest_path: PathBuf,
    metadata: Option<serde_json::Value>,
    #[serde(default)]
    targets: Vec<Target>,
    #[serde(default)]
    edition: String,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    #[serde(default)]
    doctest: bool,
}

/// Asks cargo for the packages, and reads what they wish.
pub fn read(args: &Args) -> Result<Settings, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps"]).args(args.cargo.surroundings());
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cannot read cargo's metadata: {error}"))?;
    let target = args.cargo.target_dir.clone().unwrap_or(metadata.target_directory);
    let mut settings = Settings {
        workspace: of_workspace(&metadata.workspace_root)?,
        target,
        says_opt_level: says_opt_level(&metadata.workspace_root),
        ..Settings::default()
    };
    let default_members = metadata.workspace_default_members;
    for Listed { id, name, manifest_path, metadata, targets, edition } in metadata.packages {
        let wishes = match metadata.as_ref().and_then(|metadata| metadata.get("fencepost")) {
            Some(wishes) => Wishes::deserialize(wishes)
                .map_err(|error| format!("{}: [package.metadata.fencepost]: {error}", manifest_path.display()))?,
            None => Wishes::default(),
        };
        let directory = manifest_path.parent().unwrap_or(Path::new(".")).to_owned();
        let is_default = default_members.contains(&id);
        // Procedural macros are programs of the compiler's.
        let has_doc_tests =
            targets.iter().any(|target| target.doctest && target.kind.iter().any(|k| k != "proc-macro"));
        let merges_doc_tests = edition.parse::<u32>().is_ok_and(|edition| edition >= 2024);
        let package = Package { name, directory, is_default, has_doc_tests, merges_doc_tests, wishes };
        settings.packages.insert(id, package);
    }
    Ok(settings)
}

fn of_workspace(root: &Path) -> Result<Wishes, String> {
    let path = root.join(".config").join("fencepost.toml");
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|error| format!("{}: {}", path.display(), error.message())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Wishes::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Does the workspace's Cargo.toml say how tests are optimised?
fn says_opt_level(root: &Path) -> bool {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap_or_default();
    let profiles = manifest.get("profile").and_then(toml::Value::as_table);
    let says = |name: &str| profiles.and_then(|profiles| profiles.get(name)?.get("opt-level")).is_some();
    says("dev") || says("test")
}
