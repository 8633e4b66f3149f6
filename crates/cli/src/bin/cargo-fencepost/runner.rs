//! Each test alone, several at once.

use crate::args::Args;
use crate::programs::{Test, Tests};
use crate::settings::Settings;
use crate::summary;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Executions of each test, unless somebody says otherwise: a second or less.
const EXECUTIONS: u64 = 1_000;

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Pass,
    Fail,
    Incomplete,
    /// It could not be run.
    Broken,
}

/// What came of a test.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub of: String,
    pub name: String,
    pub verdict: Verdict,
    pub executions: u64,
    pub seconds: f64,
    /// The kinds of what was found.
    pub kinds: Vec<String>,
    /// The report for people.
    pub text: String,
}

/// Runs all of them, in the order in which they come to an end shown, in the order of the list returned.
pub fn run(args: &Args, settings: &Settings, tests: &Tests) -> Vec<Outcome> {
    let list = &tests.list;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(cores).clamp(1, list.len().max(1));
    let out = args.out.clone().unwrap_or_else(|| settings.target.join("fencepost"));
    let out = std::path::absolute(&out).unwrap_or(out);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; list.len()]);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = list.get(number) else { break };
                    // Where several tests share the cores, each has one.
                    let workers = (cores / jobs).max(1);
                    let outcome = run_one(args, settings, test, &out, workers);
                    let mut outcomes = outcomes.lock().expect("nobody panics here");
                    summary::show(&outcome);
                    outcomes[number] = Some(outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("nobody panics here").into_iter().flatten().collect()
}

/// The command that does the work lies beside this one.
fn fencepost() -> PathBuf {
    let here = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("fencepost")));
    here.filter(|path| path.is_file()).unwrap_or_else(|| "fencepost".into())
}

fn run_one(args: &Args, settings: &Settings, test: &Test, out: &Path, workers: usize) -> Outcome {
    let wishes = settings.of(args, &test.program.package);
    let directory = out.join(file_name(&test.of)).join(file_name(&test.name));
    let mut command = Command::new(fencepost());
    command.arg(args.command.name()).arg(&test.program.executable);
    let report = directory.join("run.json");
    command.arg("--out").arg(&directory).args(["--jobs", &workers.to_string()]);
    let executions = wishes.executions.or((args.command == crate::args::Command::Test).then_some(EXECUTIONS));
    let options = [
        ("--model", wishes.model),
        ("--executions", executions.map(|n| n.to_string())),
        ("--time", wishes.time),
        ("--max-steps", wishes.max_steps.map(|n| n.to_string())),
        ("--seed", args.seed.map(|n| n.to_string())),
    ];
    options.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).for_each(|(name, value)| {
        command.args([*name, value.as_str()]);
    });
    if !test.program.is_doc_test {
        command.args(["--", "--exact", &test.name, "--test-threads=1", "--include-ignored"]);
    }
    if let Some(package) = settings.package(&test.program.package) {
        command.current_dir(&package.directory);
        // As cargo has it when it runs tests.
        command.env("CARGO_MANIFEST_DIR", &package.directory).env("CARGO_PKG_NAME", &package.name);
    }
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let seconds = start.elapsed().as_secs_f64();
    let (status, text) = match output {
        Ok(output) => {
            let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
            (output.status.code(), String::from_utf8_lossy(said).into_owned())
        }
        Err(error) => (None, format!("cannot run fencepost: {error}")),
    };
    let verdict = match status {
        Some(0) => Verdict::Pass,
        Some(1) => Verdict::Fail,
        Some(3) => Verdict::Incomplete,
        _ => Verdict::Broken,
    };
    let report: Value =
        std::fs::read(report).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let executions = if verdict == Verdict::Broken { 0 } else { report["executions"].as_u64().unwrap_or(0) };
    let findings = report["findings"].as_array().filter(|_| verdict == Verdict::Fail);
    let kinds = findings.into_iter().flatten().filter_map(|f| f["kind"].as_str().map(str::to_owned)).collect();
    Outcome { of: test.of.clone(), name: test.name.clone(), verdict, executions, seconds, kinds, text }
}

/// A name that a directory can have.
fn file_name(name: &str) -> String {
    name.replace("::", ".").replace(|c: char| !c.is_alphanumeric() && !"._-".contains(c), "_")
}
