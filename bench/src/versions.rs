//! Two versions of `fencepost` beside each other: what they explore and find, and how long that takes.
//!
//! `FENCEPOST_BENCH_VERSIONS` names their executables, the earlier one first. Each row runs both in turns and on one
//! core, and the best of a few rounds counts. Times are processor time.

use crate::check::{self, PROGRAMS};
use crate::litmus;
use crate::native::{self, children_seconds, stay_on_one_core};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "FENCEPOST_BENCH_VERSIONS";
const MODELS: [&str; 4] = ["sc", "tso", "pso", "c11"];
/// Programs without a bug, and how many random executions of each are timed.
const CLEAN: [(&str, u64); 8] = [
    ("message.c", 20_000),
    ("stack.c", 20_000),
    ("counter.c", 20_000),
    ("words.cpp", 5_000),
    ("channel.cpp", 5_000),
    ("matrix.c", 2),
    ("sieve.c", 2),
    ("lists.cpp", 2),
];
/// Executions of each program of the gallery, whose findings are compared.
const EXECUTIONS: u64 = 300;
const ROUNDS: usize = 3;

/// Prints the tables.
pub fn measure() {
    let Some(versions) = versions() else {
        println!("{VARIABLE}='BEFORE AFTER' names two executables of fencepost, to be compared.");
        return;
    };
    stay_on_one_core();
    let directory = tempfile::tempdir().expect("a directory");
    let pair = Pair { versions, directory: directory.path().to_owned() };
    let mut ratios = Vec::new();
    pair.explorations(&mut ratios);
    pair.random(&mut ratios);
    pair.litmus(&mut ratios);
    pair.findings();
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("Time after over time before, geometric mean of {} rows: {mean:.3}", ratios.len());
}

fn versions() -> Option<[Version; 2]> {
    let value = std::env::var(VARIABLE).ok()?;
    let versions: Option<Vec<Version>> = value.split_whitespace().map(Version::new).collect();
    versions?.try_into().ok()
}

/// An executable, and the options that the first versions do not have: they know one method of exploration, and show
/// findings as they were met.
struct Version {
    path: PathBuf,
    graph: &'static [&'static str],
    as_met: &'static [&'static str],
}

impl Version {
    /// `None` if it does not start.
    fn new(path: &str) -> Option<Version> {
        let knows = |subcommand: &str, option: &str| {
            let help = Command::new(path).args([subcommand, "--help"]).output().ok()?;
            Some(String::from_utf8_lossy(&help.stdout).contains(option))
        };
        let graph: &[&str] = if knows("check", "--method")? { &["--method", "graph"] } else { &[] };
        let as_met: &[&str] = if knows("test", "--no-minimize")? { &["--no-minimize"] } else { &[] };
        Some(Version { path: path.into(), graph, as_met })
    }
}

struct Pair {
    versions: [Version; 2],
    directory: PathBuf,
}

impl Pair {
    fn explorations(&self, ratios: &mut Vec<f64>) {
        println!("Exhaustive exploration (`check --method graph --jobs 1`).\n");
        println!("| program | model | executions before | after | seconds before | after | after/before |");
        println!("|---|---|---|---|---|---|---|");
        for (name, defines) in PROGRAMS {
            let program = check::compile(&self.directory, name, defines);
            for model in MODELS {
                let rounds = self.rounds(|fencepost| {
                    let flags = [&["--model", model, "--jobs", "1"], fencepost.graph].concat();
                    let result = self.run(fencepost, "check", &flags, &program);
                    format!("{} {}", result["executions"], result["verdict"])
                });
                rounds.print(&format!("{name} {defines} | {model}"), ratios);
            }
        }
        println!();
    }

    fn random(&self, ratios: &mut Vec<f64>) {
        println!("Random executions (`test --jobs 1`).\n");
        println!("| program | model | executions before | after | seconds before | after | after/before |");
        println!("|---|---|---|---|---|---|---|");
        for (name, executions) in CLEAN {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name);
            let program = native::compile(&self.directory, &source, name, &["-g", "-fsanitize=thread"]);
            let executions = executions.to_string();
            for model in ["c11", "tso"] {
                let rounds = self.rounds(|fencepost| {
                    let flags = ["--model", model, "--jobs", "1", "--executions", &executions];
                    let result = self.run(fencepost, "test", &flags, &program);
                    format!("{} {}", result["executions"], result["verdict"])
                });
                rounds.print(&format!("{name} | {model}"), ratios);
            }
        }
        println!();
    }

    fn litmus(&self, ratios: &mut Vec<f64>) {
        println!("Litmus tests, all states (`litmus`); the results are the number of lines printed and a digest.\n");
        println!("| tests | model | before | after | seconds before | after | after/before |");
        println!("|---|---|---|---|---|---|---|");
        let tests = self.directory.join("litmus");
        std::fs::create_dir(&tests).expect("a directory");
        for (number, source) in litmus::corpus().into_iter().enumerate() {
            std::fs::write(tests.join(format!("{number:04}.litmus")), source).expect("a litmus test");
        }
        for model in MODELS {
            let rounds = self.rounds(|fencepost| {
                let mut command = Command::new(&fencepost.path);
                command.args(["litmus", "--model", model, "--jobs", "1"]).arg(&tests);
                let output = command.current_dir(&self.directory).output().expect("fencepost starts");
                let text = String::from_utf8_lossy(&output.stdout);
                let timeless = text.lines().filter(|line| !line.contains("second")).collect::<Vec<_>>();
                format!("{} {:08x}", timeless.len(), digest(&timeless))
            });
            rounds.print(&format!("tests/oracle | {model}"), ratios);
        }
        println!();
    }

    /// What both find in the programs of the gallery, and whether they recorded the same executions.
    fn findings(&self) {
        println!("Findings of {EXECUTIONS} random executions (kind, first execution, how often), and how many of the");
        println!("executions that were recorded for replay are made of the same choices.\n");
        println!("| program | model | same | before | after | same choices |");
        println!("|---|---|---|---|---|---|");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let entries = std::fs::read_dir(root.join("examples/gallery")).expect("the gallery");
        let mut sources: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        sources.retain(|path| path.extension().is_some_and(|e| e == "c" || e == "cpp"));
        sources.sort();
        let include = format!("-I{}", root.join("crates/native/include").display());
        for source in &sources {
            let name = source.file_name().and_then(OsStr::to_str).expect("a name");
            let flags = ["-g", "-fsanitize=thread", "-Wno-tsan", &include];
            let program = native::compile(&self.directory, source, name, &flags);
            for model in ["c11", "tso"] {
                let [before, after] = [0, 1].map(|version| self.found(&self.versions[version], model, &program));
                let alike = before.recorded.iter().zip(&after.recorded).filter(|(a, b)| a == b).count();
                let all = before.recorded.len().max(after.recorded.len());
                let same = if before.text == after.text { "yes" } else { "**no**" };
                println!("| {name} | {model} | {same} | {} | {} | {alike} of {all} |", before.text, after.text);
            }
        }
        println!();
    }

    fn found(&self, fencepost: &Version, model: &str, program: &Path) -> Found {
        let executions = EXECUTIONS.to_string();
        let flags = [&["--model", model, "--executions", &executions, "--keep-going"], fencepost.as_met].concat();
        let result = self.run(fencepost, "test", &flags, program);
        let findings = result["findings"].as_array().into_iter().flatten();
        let mut found: Vec<(String, Value)> = findings
            .map(|f| {
                let kind = f["kind"].as_str().unwrap_or("?");
                let text = format!("{kind} {}×{}", f["first_execution"], f["count"]);
                let file = self.directory.join(f["replay"].as_str().unwrap_or_default());
                let recorded = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                (text, recorded.map_or(Value::Null, |recorded| recorded["plan"]["choices"].clone()))
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let (text, recorded): (Vec<String>, Vec<Value>) = found.into_iter().unzip();
        Found { text: text.join(", "), recorded }
    }

    /// Runs both versions in turns.
    fn rounds(&self, run: impl Fn(&Version) -> String) -> Rounds {
        let mut rounds = Rounds { seconds: [f64::MAX; 2], results: [const { String::new() }; 2] };
        for _ in 0..ROUNDS {
            for (version, fencepost) in self.versions.iter().enumerate() {
                let begin = children_seconds();
                rounds.results[version] = run(fencepost);
                rounds.seconds[version] = rounds.seconds[version].min(children_seconds() - begin);
            }
        }
        rounds
    }

    /// The report of one run.
    fn run(&self, fencepost: &Version, subcommand: &str, flags: &[&str], program: &Path) -> Value {
        let mut command = Command::new(&fencepost.path);
        command.arg(subcommand).args(flags).args(["--format", "json"]).arg(program).current_dir(&self.directory);
        let output = command.output().expect("fencepost starts");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{command:?}: {error}\n{}", String::from_utf8_lossy(&output.stderr));
        })
    }
}

/// What a version has found: its findings in short, and the choices that were recorded for each.
struct Found {
    text: String,
    recorded: Vec<Value>,
}

/// What a number of rounds showed: the least time of each version, and its last result.
struct Rounds {
    seconds: [f64; 2],
    results: [String; 2],
}

impl Rounds {
    fn print(&self, label: &str, ratios: &mut Vec<f64>) {
        let [before, after] = &self.seconds;
        let [first, second] = &self.results;
        let mark = if first == second { "" } else { "**" };
        println!("| {label} | {first} | {mark}{second}{mark} | {before:.3} | {after:.3} | {:.2} |", after / before);
        ratios.push(after / before);
    }
}

/// A small digest of lines of text (FNV-1a).
fn digest(lines: &[&str]) -> u32 {
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0x811c_9dc5, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
