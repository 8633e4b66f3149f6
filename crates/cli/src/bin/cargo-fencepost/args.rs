//! What was typed.

use clap::{Parser, ValueEnum};
use fencepost_trace::Model;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// Run the tests of a Rust package, each under many controlled executions
#[derive(Parser, Debug)]
#[command(name = "cargo-fencepost", bin_name = "cargo fencepost", version, max_term_width = 100)]
#[command(
    after_help = "Each test is run alone, as `fencepost test|check|hunt` runs a program. Settings of a package: \
    [package.metadata.fencepost] in its Cargo.toml with model, executions, time, max-steps, skip; of a workspace: the \
    same in .config/fencepost.toml.\n\nExit status: 0 nothing found, 1 something was found, 2 the tests could not be \
    run, 3 nothing found but a limit stopped some of them.\n\nExample: cargo fencepost test --executions 5000 queue::"
)]
pub struct Args {
    /// What is done with each test: test (random executions), check (every execution), hunt (violations of sequential
    /// consistency)
    #[arg(value_enum, hide_possible_values = true)]
    pub command: Command,
    /// Only tests with one of these in their names
    pub filters: Vec<String>,
    /// The names are whole names
    #[arg(long)]
    pub exact: bool,
    /// No tests with this in their names; may be given several times
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
    /// Only tests that are marked #[ignore]
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,
    /// Also tests that are marked #[ignore]
    #[arg(long)]
    pub include_ignored: bool,
    /// The memory model [default: c11; hunt: tso]
    #[arg(long, value_name = "MODEL", value_parser = model, help_heading = "Work and limits")]
    pub model: Option<String>,
    /// Executions of each test [default: 1000; check: all]
    #[arg(long, value_name = "N", help_heading = "Work and limits")]
    pub executions: Option<u64>,
    /// How long each test may take at most: 30s, 5m
    #[arg(long, value_name = "TIME", help_heading = "Work and limits")]
    pub time: Option<String>,
    /// Cut an execution off after so many steps
    #[arg(long, value_name = "N", help_heading = "Work and limits")]
    pub max_steps: Option<u64>,
    /// The seed: the same seed gives the same executions
    #[arg(long, value_name = "N", help_heading = "Work and limits")]
    pub seed: Option<u64>,
    /// So many tests at once [default: as many as there are cores]
    #[arg(long, short, value_name = "N", help_heading = "Work and limits")]
    pub jobs: Option<usize>,
    /// Where findings and their executions are written [default: fencepost in the target directory]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write JUnit XML to a file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

/// What cargo is told.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "What is built, as in cargo test")]
pub struct CargoArgs {
    /// Packages to test
    #[arg(long, short, value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long)]
    pub workspace: bool,
    /// Packages to leave out
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,
    /// The unit tests of the library
    #[arg(long)]
    pub lib: bool,
    /// The unit tests of this program
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// The unit tests of all programs
    #[arg(long)]
    pub bins: bool,
    /// This test target
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// All test targets
    #[arg(long)]
    pub tests: bool,
    /// This example
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// All targets
    #[arg(long)]
    pub all_targets: bool,
    /// The doc tests of the library, and nothing else
    #[arg(long, conflicts_with_all = ["lib", "bin", "bins", "test", "tests", "example", "all_targets"])]
    pub doc: bool,
    /// Features to enable
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// All features
    #[arg(long)]
    pub all_features: bool,
    /// Not the default features
    #[arg(long)]
    pub no_default_features: bool,
    /// Optimised
    #[arg(long, short)]
    pub release: bool,
    /// A profile
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Path of Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for what is built
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,
    /// Cargo.lock stays as it is
    #[arg(long)]
    pub locked: bool,
    /// Without the network
    #[arg(long)]
    pub offline: bool,
    /// Both
    #[arg(long)]
    pub frozen: bool,
    /// An option of cargo's configuration
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
    /// An unstable option of cargo, such as build-std: the standard library is then instrumented as well
    #[arg(short = 'Z', value_name = "OPTION")]
    pub unstable: Vec<String>,
}

/// What is done with each test.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Test,
    Check,
    Hunt,
}

impl Command {
    pub fn name(self) -> &'static str {
        match self {
            Command::Test => "test",
            Command::Check => "check",
            Command::Hunt => "hunt",
        }
    }
}

impl CargoArgs {
    /// As arguments of `cargo test`.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let lists = [
            ("--package", &self.package),
            ("--exclude", &self.exclude),
            ("--bin", &self.bin),
            ("--test", &self.test),
            ("--example", &self.example),
        ];
        lists.iter().for_each(|(name, list)| list.iter().for_each(|v| words.extend([(*name).into(), v.into()])));
        let flags = [
            ("--workspace", self.workspace),
            ("--lib", self.lib),
            ("--bins", self.bins),
            ("--tests", self.tests),
            ("--all-targets", self.all_targets),
        ];
        words.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| OsString::from(*name)));
        words.extend(self.manner());
        words
    }

    /// The same for one package, whatever its targets.
    pub fn for_package(&self, name: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--package".into(), name.into()];
        words.extend(self.manner());
        words
    }

    /// How it is built.
    fn manner(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let lists = [("--features", &self.features), ("--config", &self.config)];
        lists.iter().for_each(|(name, list)| list.iter().for_each(|v| words.extend([(*name).into(), v.into()])));
        let flags = [
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--release", self.release),
        ];
        words.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| OsString::from(*name)));
        self.unstable.iter().for_each(|option| words.extend(["-Z".into(), option.into()]));
        self.profile.iter().for_each(|profile| words.extend(["--profile".into(), profile.into()]));
        self.target_dir.iter().for_each(|path| words.extend(["--target-dir".into(), path.into()]));
        words.extend(self.surroundings());
        words
    }

    /// What every command of cargo takes.
    pub fn surroundings(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        self.manifest_path.iter().for_each(|path| words.extend(["--manifest-path".into(), path.into()]));
        let flags = [("--locked", self.locked), ("--offline", self.offline), ("--frozen", self.frozen)];
        words.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| OsString::from(*name)));
        words
    }
}

/// A model by its name, which `fencepost` is given. Better refused now than by each test.
fn model(name: &str) -> Result<String, String> {
    Model::from_str(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}

/// The command line. Cargo puts the name of the subcommand first.
pub fn parse() -> Result<Args, String> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "fencepost") {
        words.remove(1);
    }
    Ok(Args::parse_from(words))
}
