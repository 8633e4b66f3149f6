//! Violations of sequential consistency: the tables and figures of Relaxer (table 1) and Orion (tables II, IV and V,
//! figures 6 and 7) for the programs of examples/hunt, with the papers' own numbers beside ours.
//!
//! The hunts are those of the command, which is run and whose JSON is read: `--method relaxer` and `--method orion`
//! predict and expose as the papers do, the default is ours. All have the same number of trials for each cycle. Where
//! the papers wait in seconds, these wait in steps. A trial is one execution; one of Relaxer's is a hundred.
//!
//! As many hunts are under way as there are cores, each on one; a row is printed as soon as its hunts have ended.

use crate::is_asked;
use fencepost_mailbox::{Frame, Record};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, run_campaign};
use fencepost_predict::Profile;
use fencepost_predict::critical::{Graph, Limits};
use fencepost_predict::orion::{Node, RaceGraph};
use fencepost_trace::{CampaignSpec, Event, EventKind, Model, Sampling, Scheduler};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The programs, and what they are compiled with.
const PROGRAMS: [(&str, &str, &str); 14] = [
    ("dekker", "dekker.c", ""),
    ("bakery", "bakery.c", ""),
    ("msn", "msn.c", ""),
    ("ms2", "ms2.c", ""),
    ("lazylist", "lazylist.c", ""),
    ("harris", "harris.c", ""),
    ("snark", "snark.c", ""),
    ("pthread", "pthread_cancel.c", ""),
    ("crypt", "crypt_util.c", ""),
    ("init", "charset.c", ""),
    // Its cycles are many: only the short ones are tried.
    (SHORT, "msn.c", "-DTHREADS=3"),
    // Nodes whose stores do not fit every buffer.
    ("msn, 20 words", "msn.c", "-DPAYLOAD=20"),
    ("ms2, 20 words", "ms2.c", "-DPAYLOAD=20"),
    ("ms2, 40 words", "ms2.c", "-DPAYLOAD=40"),
];
const SHORT: &str = "msn, 3 threads";
const MODELS: [Model; 3] = [Model::Tso, Model::Pso, Model::Pslo];
/// How many executions the predictions are made from.
const EXECUTIONS: u64 = 100;
/// How often each cycle is tried, whatever the method.
const TRIALS: &str = "4";
/// How many executions a trial of Relaxer's paper has.
const SCRIPT: i32 = 100;
/// Orion's cap: of each program point and thread so many accesses are profiled.
const CAP: usize = 20;
/// The longest cycles that are looked for.
const LENGTH: usize = 8;
/// How long the paper's own enumeration may take here.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how many steps a thread waits in Orion's algorithm; the third is its default, as the third of the paper's is.
const WAITS: [&str; 4] = ["50", "100", "200", "1000"];
const USUAL: usize = 2;
/// How many stores Orion's buffers hold.
const BUFFERS: [&str; 3] = ["16", "32", "64"];

/// Relaxer's table 1: lines, seconds of phase 1 and of phase 2 for each model, cycles predicted, and for each model
/// cycles confirmed, bugs, and the probability of confirming a cycle.
type Table1 = (&'static str, u32, [f64; 4], u32, [u32; 3], [u32; 3], [&'static str; 3]);
const TABLE_1: [Table1; 7] = [
    ("dekker", 39, [1.133, 1.904, 2.004, 2.477], 112, [47, 45, 69], [39, 38, 65], ["0.69", "0.81", "0.84"]),
    ("bakery", 31, [2.285, 4.346, 3.554, 5.409], 222, [36, 75, 100], [33, 68, 96], ["0.85", "0.84", "0.82"]),
    ("msn", 78, [2.037, 1.183, 1.380, 1.682], 459, [0, 117, 144], [0, 117, 144], ["-", "0.84", "0.72"]),
    ("ms2", 60, [1.033, 1.847, 2.438, 1.781], 75, [0, 2, 5], [0, 2, 5], ["-", "1.00", "0.57"]),
    ("lazylist", 116, [1.936, 2.675, 2.945, 3.122], 192, [0, 8, 10], [0, 8, 9], ["-", "0.96", "0.62"]),
    ("harris", 150, [4.366, 2.775, 3.393, 3.767], 172, [0, 54, 49], [0, 48, 49], ["-", "0.35", "0.68"]),
    ("snark", 143, [6.260, 1.664, 0.989, 1.180], 1800, [0, 647, 404], [0, 419, 191], ["-", "0.60", "0.59"]),
];

/// Orion's table II: lines, racy variables and instructions, accesses, edges, size of the graph, cycles, those left for
/// tso and pso, exposed with buffers of 16, 32 and 64, and by Relaxer.
const TABLE_2: [(&str, &str); 10] = [
    ("dekker", "20 | 3 | 6 | 27 | 18 | 1.82 | 10 | 3, 0 | 3, 0 | 3, 0 | 3, 0 | 3"),
    ("bakery", "30 | 2 | 4 | 164 | 409 | 41.4 | 2556 | 1, 0 | 1, 0 | 1, 0 | 1, 0 | 1"),
    ("msn", "80 | 4 | 6 | 63 | 247 | 25.2 | 27659 | 3, 5 | 1, 0 | 1, 2 | 1, 2 | 1"),
    ("ms2", "80 | 4 | 5 | 49 | 164 | 16.5 | 32958 | 0, 2 | 0, 0 | 0, 1 | 0, 1 | 1"),
    ("lazylist", "120 | 3 | 3 | 14 | 12 | 1.21 | 2 | 0, 2 | 0, 1 | 0, 2 | 0, 2 | 2"),
    ("harris", "160 | 2 | 2 | 12 | 8 | 0.83 | 1 | 0, 1 | 0, 0 | 0, 0 | 0, 1 | 1"),
    ("snark", "150 | 2 | 4 | 45 | 173 | 20.6 | 1655 | 0, 3 | 0, 1 | 0, 1 | 0, 1 | 1"),
    ("pthread", "66 | 4 | 7 | 23 | 102 | 10.3 | 4072 | 17, 3 | 16, 3 | 16, 3 | 16, 3 | 9"),
    ("crypt", "88 | 3 | 12 | 28 | 168 | 17 | 18549 | 29, 10 | 19, 8 | 19, 8 | 19, 8 | 24"),
    ("init", "65 | 2 | 7 | 20 | 96 | 9.75 | 534 | 1, 1 | 1, 1 | 1, 1 | 1, 1 | 2"),
];

/// Orion's table IV: violations and the chance of exposing one, by length and stalling time (0.5, 1, 2 and 10 s).
const TABLE_4: [(&str, u64, &str); 15] = [
    ("dekker", 4, "3 | 0.68 | 0.74 | 0.67 | 0.66"),
    ("bakery", 4, "1 | 1 | 1 | 1 | 1"),
    ("msn", 4, "1 | 0.37 | 0.39 | 0.31 | 0.32"),
    ("msn", 5, "1 | 0.85 | 0.9 | 0.9 | 0.91"),
    ("msn", 6, "1 | 0.37 | 0.17 | 0.12 | 0"),
    ("ms2", 4, "1 | 0.1 | 0.17 | 0.17 | 0.09"),
    ("lazylist", 4, "2 | 0.58 | 0.56 | 0.51 | 0.55"),
    ("harris", 4, "1 | 0.43 | 0.4 | 0.36 | 0.31"),
    ("snark", 4, "1 | 0.88 | 0.83 | 0.92 | 0.84"),
    ("pthread", 4, "9 | 0.72 | 0.73 | 0.9 | 0.75"),
    ("pthread", 6, "9 | 0.65 | 0.6 | 0.65 | 0.49"),
    ("pthread", 8, "1 | 0.08 | 0.03 | 0.02 | 0.02"),
    ("crypt", 4, "24 | 0.46 | 0.53 | 0.56 | 0.28"),
    ("crypt", 6, "3 | 0.9 | 0.4 | 0.91 | 0.7"),
    ("init", 4, "2 | 0.89 | 0.94 | 0.91 | 0.96"),
];

/// Orion's table V: seconds for profiling, graphs, detection and exposure.
const TABLE_5: [(&str, usize, &str); 27] = [
    ("dekker", 4, "0.713 | 0.009 | 0.006 | 1.355"),
    ("bakery", 4, "0.741 | 0.035 | 66.404 | 3.487"),
    ("bakery", 5, "0.741 | 0.035 | 2777.116 | 3.487"),
    ("msn", 4, "0.703 | 0.014 | 1.41 | 3.874"),
    ("msn", 5, "0.703 | 0.014 | 35.629 | 10.813"),
    ("msn", 6, "0.703 | 0.014 | 2623.907 | 3.695"),
    ("msn", 7, "0.703 | 0.014 | 28800 | -"),
    ("ms2", 4, "0.718 | 0.012 | - | 2.114"),
    ("ms2", 5, "0.718 | 0.012 | 5.85 | -"),
    ("ms2", 6, "0.718 | 0.012 | 173.184 | -"),
    ("ms2", 7, "0.718 | 0.012 | 5100.765 | -"),
    ("lazylist", 4, "0.703 | 0.004 | 0.005 | 1.684"),
    ("lazylist", 5, "0.703 | 0.004 | 0.003 | -"),
    ("lazylist", 6, "0.703 | 0.004 | 0.004 | -"),
    ("harris", 4, "0.735 | 0.004 | 0.004 | 1.792"),
    ("snark", 4, "0.726 | 0.009 | 1.181 | 13.698"),
    ("snark", 5, "0.726 | 0.009 | 32.564 | 13.698"),
    ("pthread", 4, "0.648 | 0.006 | 0.151 | 1.843"),
    ("pthread", 6, "0.648 | 0.006 | 4.08 | 2.2"),
    ("pthread", 7, "0.648 | 0.006 | 40.043 | -"),
    ("pthread", 8, "0.648 | 0.006 | 355.437 | 2.948"),
    ("crypt", 4, "0.647 | 0.01 | 1.092 | 4.268"),
    ("crypt", 5, "0.647 | 0.01 | 18.149 | -"),
    ("crypt", 6, "0.647 | 0.01 | 439.572 | 4.9"),
    ("crypt", 7, "0.647 | 0.01 | 9157.144 | -"),
    ("init", 4, "0.638 | 0.007 | 0.359 | 2.472"),
    ("init", 5, "0.638 | 0.007 | 3.611 | -"),
];

/// Prints the tables.
pub fn measure() {
    let Some(bench) = Bench::new() else { return };
    // In the order in which rows need them.
    let mut order: Vec<(usize, Hunt)> = Vec::new();
    let mut plan = |hunts: &[Hunt]| {
        (0..bench.programs.len()).for_each(|i| order.extend(hunts.iter().map(|hunt| (i, *hunt))));
    };
    let models = |of: fn(usize) -> Hunt, count: usize| (0..count).map(of).collect::<Vec<Hunt>>();
    plan(&[models(Hunt::Relaxer, 3), models(Hunt::Ours, 3)].concat());
    BUFFERS.iter().for_each(|buffer| plan(&[0, 1].map(|m| Hunt::Orion(m, buffer, WAITS[USUAL], false))));
    WAITS.iter().for_each(|steps| plan(&[0, 1].map(|m| Hunt::Orion(m, BUFFERS[2], steps, false))));
    plan(&[0, 1].map(|m| Hunt::Orion(m, BUFFERS[2], WAITS[USUAL], true)));
    // Of variants of a program the papers say nothing: how long threads wait is not asked of them.
    order.retain(|(i, hunt)| bench.programs[*i].is_of_papers() || !hunt.is_unusual());
    bench.run(order, |hunts| {
        relaxer_table(&bench.programs, hunts);
        orion_sizes(&bench.programs, hunts);
        exposure_table(&bench.programs, hunts);
        orion_probabilities(&bench.programs, hunts);
        orion_times(&bench.programs, hunts);
        exposure_times(&bench.programs, hunts);
        impact(&bench.programs, hunts);
    });
}

/// Prints how often trials expose the cycles that are feasible.
pub fn measure_exposure() {
    let Some(bench) = Bench::new() else { return };
    let each = |i: usize| {
        let orion = [0, 1].map(|m| Hunt::Orion(m, BUFFERS[2], WAITS[USUAL], false));
        [0, 1, 2]
            .map(Hunt::Ours)
            .into_iter()
            .chain([0, 1, 2].map(Hunt::Relaxer))
            .chain(orion)
            .map(move |hunt| (i, hunt))
    };
    let order = (0..bench.programs.len()).flat_map(each).collect();
    bench.run(order, |hunts| exposure_table(&bench.programs, hunts));
}

/// A hunt of a program: how, and under which model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Hunt {
    Ours(usize),
    Relaxer(usize),
    /// With a buffer, with steps that a thread waits, and with all pairs reordered or one.
    Orion(usize, &'static str, &'static str, bool),
}

impl Hunt {
    fn model(self) -> Model {
        let (Hunt::Ours(m) | Hunt::Relaxer(m) | Hunt::Orion(m, ..)) = self;
        MODELS[m]
    }

    /// Does a thread wait for another number of steps than usual, or is everything reordered?
    fn is_unusual(self) -> bool {
        matches!(self, Hunt::Orion(_, _, steps, all) if all || steps != WAITS[USUAL])
    }

    fn arguments(self) -> Vec<&'static str> {
        match self {
            Hunt::Ours(_) => Vec::new(),
            Hunt::Relaxer(_) => vec!["--method", "relaxer"],
            Hunt::Orion(_, buffer, patience, all) => {
                let mut arguments = vec!["--method", "orion", "--buffer", buffer, "--patience", patience];
                arguments.extend(all.then_some("--all-reorderings"));
                arguments
            }
        }
    }
}

/// What is measured.
struct Bench {
    command: PathBuf,
    programs: Vec<Program>,
    /// Where the programs are.
    _directory: tempfile::TempDir,
}

/// What hunts came to, as they end.
#[derive(Default)]
struct Hunts {
    ended: Mutex<BTreeMap<(usize, Hunt), Arc<Json>>>,
    changed: Condvar,
}

impl Hunts {
    /// Waits for it.
    fn of(&self, program: usize, hunt: Hunt) -> Arc<Json> {
        let mut ended = self.ended.lock().expect("nobody panics");
        loop {
            if let Some(json) = ended.get(&(program, hunt)) {
                return json.clone();
            }
            ended = self.changed.wait(ended).expect("nobody panics");
        }
    }

    /// The same of several models.
    fn each(&self, program: usize, models: usize, hunt: impl Fn(usize) -> Hunt) -> Vec<Arc<Json>> {
        (0..models).map(|m| self.of(program, hunt(m))).collect()
    }

    /// Orion's, under tso and pso.
    fn orion(&self, program: usize, buffer: &'static str, steps: &'static str) -> Vec<Arc<Json>> {
        self.each(program, 2, |m| Hunt::Orion(m, buffer, steps, false))
    }
}

impl Bench {
    fn new() -> Option<Bench> {
        let Some(command) = command() else {
            println!("(The command `fencepost` is not beside this program: cargo build --release -p fencepost-cli.)");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let programs = PROGRAMS
            .iter()
            .filter(|(name, ..)| is_asked(name))
            .map(|(name, source, flags)| Program::new(&command, directory.path(), name, source, flags))
            .collect();
        Some(Bench { command, programs, _directory: directory })
    }

    /// Makes these hunts, in this order, while tables are printed.
    fn run(&self, order: Vec<(usize, Hunt)>, print: impl FnOnce(&Hunts)) {
        let (hunts, next) = (Hunts::default(), AtomicUsize::new(0));
        let mut seen = BTreeSet::new();
        let order: Vec<(usize, Hunt)> = order.into_iter().filter(|hunt| seen.insert(*hunt)).collect();
        let work = || {
            while let Some((i, hunt)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let json = Arc::new(self.programs[*i].hunt(&self.command, hunt.model(), &hunt.arguments()));
                hunts.ended.lock().expect("nobody panics").insert((*i, *hunt), json);
                hunts.changed.notify_all();
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            (0..cores).for_each(|_| _ = scope.spawn(work));
            print(&hunts);
        });
    }
}

/// The command, as it lies beside this program after a build.
fn command() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let beside = here.parent()?.join("fencepost");
    std::env::var_os("FENCEPOST").map(PathBuf::from).or(Some(beside)).filter(|path| path.exists())
}

struct Program {
    name: String,
    executable: PathBuf,
    lines: usize,
    profiles: Vec<Profile>,
    /// How long it took to run the program for the profiles.
    profiling: Duration,
}

impl Program {
    /// Is it one of the papers', not a variant?
    fn is_of_papers(&self) -> bool {
        TABLE_2.iter().any(|(name, _)| *name == self.name)
    }

    fn new(command: &Path, directory: &Path, name: &str, source: &str, flags: &str) -> Program {
        let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/hunt").join(source);
        let executable = directory.join(name.replace([' ', ','], "_"));
        let status = Command::new(command)
            .args(["cc", "-O1", "-g", "-w"])
            .args(flags.split_whitespace())
            .arg("-o")
            .args([&executable, &from])
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{source} does not compile");
        let text = std::fs::read_to_string(&from).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        let (profiles, profiling) = (Vec::new(), Duration::ZERO);
        let mut program = Program { name: name.to_owned(), executable, lines, profiles, profiling };
        program.profile();
        program
    }

    fn profile(&mut self) {
        let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
        let mut campaign = Campaign::new(&self.executable, runtime, Model::Sc, EXECUTIONS);
        campaign.request.campaign = CampaignSpec::Sample { seed: 1, sampling: Sampling::with(Scheduler::Random) };
        campaign.request.keep_traces = true;
        campaign.request.max_steps = 100_000;
        let start = Instant::now();
        let results = run_campaign(&campaign).expect("the program runs");
        self.profiling = start.elapsed();
        let mut names: BTreeMap<(Frame, u8), u32> = BTreeMap::new();
        for record in results.traces {
            let Record::Trace { trace, places, .. } = record else { continue };
            let name = |event: &Event| {
                let kind = match event.kind {
                    EventKind::Load { .. } => 0,
                    EventKind::Store { .. } => 1,
                    EventKind::Rmw { .. } => 2,
                    _ => 3,
                };
                let fresh = names.len() as u32;
                let class = *names.entry((places[event.label as usize].clone(), kind)).or_insert(fresh);
                (class, class)
            };
            let profile = Profile::new(&trace, name);
            self.profiles.push(profile);
        }
    }

    fn hunt(&self, command: &Path, model: Model, more: &[&str]) -> Json {
        let out = tempfile::tempdir().expect("a directory");
        let output = Command::new(command)
            .arg("hunt")
            .arg(&self.executable)
            .args(["--format", "json", "--no-fences", "--jobs", "1", "--trials", TRIALS])
            .args(["--model", model.name(), "--out"])
            .arg(out.path())
            .args(more)
            .args(longest().iter().flat_map(|time| ["--time", time.as_str()]))
            .args(if self.name == SHORT { &["--cycle-length", "5", "--executions", "20"][..] } else { &[] })
            .stderr(Stdio::null())
            .output()
            .expect("the command runs");
        serde_json::from_slice(&output.stdout).expect("its output is JSON")
    }
}

/// How long a hunt may take, if FENCEPOST_BENCH_TIME says so; what was stopped by that is marked. Every hunt ends
/// by itself, and what it comes to must not depend on what else the machine does.
fn longest() -> Option<String> {
    std::env::var("FENCEPOST_BENCH_TIME").ok()
}

/// Was it stopped before its end?
fn is_cut(hunt: &Json) -> bool {
    hunt["complete"] == false
}

fn cycles(hunt: &Json) -> &[Json] {
    hunt["cycles"].as_array().map_or(&[], Vec::as_slice)
}

fn exposed(hunt: &Json) -> impl Iterator<Item = &Json> {
    cycles(hunt).iter().filter(|cycle| cycle["exposed"].as_u64() > Some(0))
}

/// Can tso reorder it?
fn is_tso(cycle: &Json) -> bool {
    cycle["models"].as_array().is_some_and(|models| models.iter().any(|model| model == "tso"))
}

/// As Orion counts: what tso can reorder, and what only pso can.
fn tso_pso(hunts: &[Arc<Json>], of: fn(&Json) -> Vec<&Json>) -> String {
    let pso = of(&hunts[1]).into_iter().filter(|cycle| !is_tso(cycle)).count();
    let cut = if hunts[..2].iter().any(|hunt| is_cut(hunt)) { "*" } else { "" };
    format!("{}, {pso}{cut}", of(&hunts[0]).len())
}

/// The same cycles: what was exposed under tso, and under pso what only that can reorder.
fn exposed_once(hunts: &[Arc<Json>]) -> Vec<&Json> {
    exposed(&hunts[0]).chain(exposed(&hunts[1]).filter(|cycle| !is_tso(cycle))).collect()
}

/// The average chance of exposing a feasible cycle.
fn average<'a>(cycles: impl Iterator<Item = &'a Json>, of: impl Fn(f64) -> f64) -> String {
    let all: Vec<f64> = cycles.filter_map(|cycle| cycle["probability"].as_f64()).map(of).collect();
    if all.is_empty() { "-".to_owned() } else { format!("{:.2}", all.iter().sum::<f64>() / all.len() as f64) }
}

fn harmful(hunt: &Json) -> usize {
    cycles(hunt).iter().filter(|cycle| cycle["outcome"] == "harmful").count()
}

/// Seconds for each trial, prediction aside.
fn time(hunt: &Json) -> Option<f64> {
    let trials: u64 = cycles(hunt).iter().filter_map(|cycle| cycle["trials"].as_u64()).sum();
    let seconds = hunt["seconds"].as_f64()? - hunt["prediction_seconds"].as_f64()?;
    (trials > 0).then(|| seconds / trials as f64)
}

fn relaxer_table(programs: &[Program], hunts: &Hunts) {
    println!(
        "Relaxer's table 1: the paper's numbers, `--method relaxer` (algorithm 1, cycles of length 4, {TRIALS} \
         executions for each), and ours (critical cycles of at most {LENGTH} accesses that the model can reorder, \
         {TRIALS} executions). A trial of the paper is a script of {SCRIPT} executions, of which it has 30 for each \
         cycle: its probability is that of a script. Phase 2: the paper's time of a script, and ours of an execution, \
         solving and campaign included. Bugs: cycles that do harm. Probability: of a confirmed cycle, on average; \
         of `--method relaxer` for a script and, in parentheses, for an execution; of ours for an execution. With a \
         star: stopped before its end.\n"
    );
    println!("| benchmark | model | predicted | confirmed | bugs | probability |");
    println!("|---|---|---|---|---|---|");
    let mut times: Vec<String> = Vec::new();
    for (i, program) in programs.iter().enumerate() {
        let paper = TABLE_1.iter().find(|row| row.0 == program.name);
        for (m, model) in MODELS.iter().enumerate() {
            let (theirs, ours) = (&*hunts.of(i, Hunt::Relaxer(m)), &*hunts.of(i, Hunt::Ours(m)));
            let cut = |hunt: &Json| if is_cut(hunt) { "*" } else { "" };
            let phase1 = |hunt: &Json| {
                let prediction = hunt["prediction_seconds"].as_f64().unwrap_or(0.0);
                format!("{:.2}", program.profiling.as_secs_f64() + prediction)
            };
            let phase2 = |hunt| time(hunt).map_or_else(|| "-".to_owned(), |time| format!("{:.2}", 1000.0 * time));
            let dash = || "-".to_owned();
            times.push(format!(
                "| {} | {model} | {}, {} | {}, {}, {} | {}, {}, {} |",
                program.name,
                paper.map_or_else(dash, |row| row.1.to_string()),
                program.lines,
                paper.map_or_else(dash, |row| row.2[0].to_string()),
                phase1(theirs),
                phase1(ours),
                paper.map_or_else(dash, |row| (1000.0 * row.2[m + 1]).round().to_string()),
                phase2(theirs),
                phase2(ours),
            ));
            println!(
                "| {} | {model} | {}, {}, {} | {}, {}{}, {}{} | {}, {}, {} | {}, {} ({}), {} |",
                program.name,
                paper.map_or_else(dash, |row| row.3.to_string()),
                cycles(theirs).len(),
                cycles(ours).len(),
                paper.map_or_else(dash, |row| row.4[m].to_string()),
                exposed(theirs).count(),
                cut(theirs),
                exposed(ours).count(),
                cut(ours),
                paper.map_or_else(dash, |row| row.5[m].to_string()),
                harmful(theirs),
                harmful(ours),
                paper.map_or_else(dash, |row| row.6[m].to_owned()),
                average(exposed(theirs), |p| 1.0 - (1.0 - p).powi(SCRIPT)),
                average(exposed(theirs), |p| p),
                average(exposed(ours), |p| p),
            );
        }
    }
    println!("\nThe same, lines of code and times.\n");
    println!("| benchmark | model | LOC | phase 1 (s) | phase 2 (ms) |");
    println!("|---|---|---|---|---|");
    times.iter().for_each(|row| println!("{row}"));
    println!();
}

/// The graph as the paper would write it: nodes and edges.
fn kilobytes(graph: &RaceGraph) -> f64 {
    (graph.nodes.len() * size_of::<Node>() + graph.edges() * 2 * size_of::<u32>()) as f64 / 1024.0
}

fn orion_sizes(programs: &[Program], hunts: &Hunts) {
    println!(
        "Orion's table II: `--method orion` with buffers of 16, 32 and 64, {TRIALS} trials each, beside `--method \
         relaxer` and ours; in a second line the paper's (100 trials). The graph is that of the execution with most \
         edges. Cycles: of all executions, figure 4, up to length {LENGTH}. Pairs: cycles that tso can reorder, and \
         those that only pso can.\n"
    );
    println!(
        "| code | LOC | racy var | racy ins | accesses | edges | KB | cycles | left | WB 16 | WB 32 | WB 64 | \
         Relaxer | ours |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut totals = vec![0; BUFFERS.len()];
    for (i, program) in programs.iter().enumerate() {
        let graphs: Vec<RaceGraph> = program.profiles.iter().map(|profile| RaceGraph::new(profile, CAP)).collect();
        let Some(graph) = graphs.iter().max_by_key(|graph| graph.edges()) else { continue };
        let (variables, points) = graph.racing();
        let mut all = BTreeSet::new();
        let start = Instant::now();
        let length = if program.name == SHORT { 5 } else { LENGTH };
        for graph in graphs.iter().take_while(|_| start.elapsed() < PATIENCE) {
            all.extend(graph.cycles(length));
        }
        let buffers: Vec<Vec<Arc<Json>>> = BUFFERS.iter().map(|buffer| hunts.orion(i, buffer, WAITS[USUAL])).collect();
        for (total, hunts) in totals.iter_mut().zip(&buffers) {
            *total += exposed_once(hunts).len();
        }
        let exposed_of: fn(&Json) -> Vec<&Json> = |hunt| exposed(hunt).collect();
        let all_of: fn(&Json) -> Vec<&Json> = |hunt| cycles(hunt).iter().collect();
        let each: Vec<String> = buffers.iter().map(|hunts| tso_pso(hunts, exposed_of)).collect();
        println!(
            "| {} | {} | {variables} | {points} | {} | {} | {:.1} | {} | {} | {} | {} | {} |",
            program.name,
            program.lines,
            graph.accesses,
            graph.edges(),
            kilobytes(graph),
            all.len(),
            tso_pso(&buffers[2], all_of),
            each.join(" | "),
            tso_pso(&hunts.each(i, 2, Hunt::Relaxer), exposed_of),
            tso_pso(&hunts.each(i, 2, Hunt::Ours), exposed_of),
        );
        if let Some((_, paper)) = TABLE_2.iter().find(|(name, _)| *name == program.name) {
            println!("| (paper) | {paper} | |");
        }
    }
    println!(
        "\nExposed in all, with buffers of 16, 32 and 64: {}, {}, {} (the paper's: 55, 59, 60).\n",
        totals[0], totals[1], totals[2]
    );
}

fn orion_probabilities(programs: &[Program], hunts: &Hunts) {
    println!(
        "Orion's table IV: the chance that `--method orion` exposes a cycle that it exposes at all, under tso, and \
         under pso what only that can reorder (as the paper counts), by how long a thread waits: {} steps, and the \
         paper's 0.5, 1, 2 and 10 seconds. Likeliest: the same \
         (third column) of as many cycles as the paper has, those that are exposed most often. Ours: of all cycles \
         that ours exposes.\n",
        WAITS.join(", ")
    );
    println!(
        "| code | length | SCV | {} | likeliest | ours: SCV | p | paper: SCV | 0.5 s | 1 s | 2 s | 10 s |",
        WAITS.join(" | ")
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let of = |hunts: &[Arc<Json>], length: u64| -> Vec<Json> {
        let all = exposed_once(hunts).into_iter();
        all.filter(|cycle| cycle["length"].as_u64() == Some(length)).cloned().collect()
    };
    // All that was exposed, by how long threads wait, and by ours.
    let mut all: Vec<Vec<Json>> = vec![Vec::new(); WAITS.len() + 1];
    for (i, program) in programs.iter().enumerate().filter(|(_, program)| program.is_of_papers()) {
        let waits: Vec<Vec<Arc<Json>>> = WAITS.iter().map(|steps| hunts.orion(i, BUFFERS[2], steps)).collect();
        let ours = hunts.each(i, 2, Hunt::Ours);
        for (all, hunts) in all.iter_mut().zip(waits.iter().chain([&ours])) {
            all.extend(exposed_once(hunts).into_iter().cloned());
        }
        for length in 4..=LENGTH as u64 {
            let paper = TABLE_4.iter().find(|(name, other, _)| *name == program.name && *other == length);
            let (theirs, solved) = (of(&waits[USUAL], length), of(&ours, length));
            if paper.is_none() && theirs.is_empty() && solved.is_empty() {
                continue;
            }
            let each: Vec<String> = waits.iter().map(|hunts| average(of(hunts, length).iter(), |p| p)).collect();
            // As many as the paper has.
            let number = paper.and_then(|(_, _, numbers)| numbers.split(' ').next()?.parse().ok()).unwrap_or(0);
            let mut likely: Vec<f64> = theirs.iter().filter_map(|cycle| cycle["probability"].as_f64()).collect();
            likely.sort_by(|a, b| b.total_cmp(a));
            likely.truncate(number);
            let likeliest = match likely.len() {
                n if n == number && n > 0 => format!("{:.2}", likely.iter().sum::<f64>() / n as f64),
                _ => "-".to_owned(),
            };
            println!(
                "| {} | {length} | {} | {} | {likeliest} | {} | {} | {} |",
                program.name,
                theirs.len(),
                each.join(" | "),
                solved.len(),
                average(solved.iter(), |p| p),
                paper.map_or("- | - | - | - | -", |(_, _, numbers)| numbers),
            );
        }
    }
    let each: Vec<String> = all.iter().map(|cycles| average(cycles.iter(), |p| p)).collect();
    let (waits, ours) = each.split_at(WAITS.len());
    println!("| average | | | {} | | | {} | | 0.59 | 0.58 | 0.65 | 0.47 |\n", waits.join(" | "), ours[0]);
}

fn orion_times(programs: &[Program], hunts: &Hunts) {
    println!(
        "Orion's table V, in seconds. Detection: all critical cycles up to the length, under pslo, from {EXECUTIONS} \
         executions; beside it Orion's search of its graphs. Exposure: of a trial. Lengths that add no cycle and \
         that the paper does not have are left out.\n"
    );
    println!(
        "| code | length | profiling | graphs | detection | Orion | exposure | paper: profiling | graph | detection \
         | exposure |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut total = Duration::ZERO;
    for (i, program) in programs.iter().enumerate() {
        let hunts = hunts.each(i, 3, Hunt::Ours);
        let start = Instant::now();
        let graphs: Vec<RaceGraph> = program.profiles.iter().map(|profile| RaceGraph::new(profile, CAP)).collect();
        let creation = start.elapsed();
        let (mut late, mut before) = (false, 0);
        for length in 4..=LENGTH {
            let start = Instant::now();
            let limits = Limits { length: Some(length), ..Limits::default() };
            let found = Graph::new(&program.profiles, Model::Pslo).cycles(limits);
            let direct = start.elapsed();
            if length == LENGTH {
                total += direct;
            }
            let start = Instant::now();
            for graph in &graphs {
                late |= start.elapsed() > PATIENCE;
                if !late {
                    graph.cycles(length);
                }
            }
            let search = if late { "gave up".to_owned() } else { format!("{:.3}", start.elapsed().as_secs_f64()) };
            let paper = TABLE_5.iter().find(|(name, other, _)| *name == program.name && *other == length);
            let same = found.cycles.len() == std::mem::replace(&mut before, found.cycles.len());
            if same && paper.is_none() {
                continue;
            }
            let times: Vec<f64> = hunts.iter().filter_map(|hunt| time(hunt)).collect();
            let exposure = times.iter().sum::<f64>() / times.len().max(1) as f64;
            println!(
                "| {} | {length} ({} cycles) | {:.3} | {:.3} | {:.3} | {search} | {exposure:.4} | {} |",
                program.name,
                found.cycles.len(),
                program.profiling.as_secs_f64(),
                creation.as_secs_f64(),
                direct.as_secs_f64(),
                paper.map_or("- | - | - | -", |(_, _, numbers)| numbers),
            );
        }
    }
    println!(
        "\nAll cycles up to length {LENGTH} of all programs: {:.3} s (Orion's search: hours for some).\n",
        total.as_secs_f64()
    );
}

/// The numbers of the programs that are the papers'.
fn of_papers(programs: &[Program]) -> impl Iterator<Item = usize> {
    programs.iter().enumerate().filter(|(_, program)| program.is_of_papers()).map(|(i, _)| i)
}

fn exposure_times(programs: &[Program], hunts: &Hunts) {
    println!(
        "Orion's figure 6: the average time of a trial of `--method orion`, by how long a thread waits. The paper's \
         are those for 0.5, 1, 2 and 10 seconds.\n"
    );
    println!("| steps | ms per trial | paper (s) |");
    println!("|---|---|---|");
    for (steps, paper) in WAITS.iter().zip(["2.33", "2.44", "3.9", "13.6"]) {
        let all = of_papers(programs).flat_map(|i| hunts.orion(i, BUFFERS[2], steps));
        let times: Vec<f64> = all.filter_map(|hunt| time(&hunt)).collect();
        let average = 1000.0 * times.iter().sum::<f64>() / times.len().max(1) as f64;
        println!("| {steps} | {average:.3} | {paper} |");
    }
    println!();
}

fn impact(programs: &[Program], hunts: &Hunts) {
    println!(
        "Orion's figure 7: what becomes of the cycles that it predicts, tso and pso together, with one pair reordered \
         and with all (`--all-reorderings`).\n"
    );
    println!(
        "| reordered | predicted | harmful | benign | not exposed | share exposed | probability | paper's probability |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, reorder, paper) in [("one pair", false, "0.65"), ("all pairs", true, "0.61")] {
        let of = |i: usize| hunts.each(i, 2, |m| Hunt::Orion(m, BUFFERS[2], WAITS[USUAL], reorder));
        let all: Vec<Arc<Json>> = of_papers(programs).flat_map(of).collect();
        let list: Vec<&Json> = all.iter().flat_map(|hunt| cycles(hunt)).collect();
        let count = |outcome: &str| list.iter().filter(|cycle| cycle["outcome"] == outcome).count();
        let (harmful, benign) = (count("harmful"), count("benign"));
        println!(
            "| {name} | {} | {harmful} | {benign} | {} | {:.2} | {} | {paper} |",
            list.len(),
            list.len() - harmful - benign,
            (harmful + benign) as f64 / list.len().max(1) as f64,
            average(all.iter().flat_map(|hunt| exposed(hunt)), |p| p),
        );
    }
    println!();
}

/// A cycle by its accesses, wherever it begins: place, what is done, and whether the next access is the same thread's.
type Name = Vec<(u64, u64, String, bool)>;

fn name(cycle: &Json) -> Name {
    let labels = cycle["labels"].as_array().map_or(&[][..], Vec::as_slice);
    let n = labels.len();
    let access = |i: usize| {
        let (label, next) = (&labels[i % n], &labels[(i + 1) % n]);
        let number = |name: &str| label[name].as_u64().unwrap_or(0);
        let same = label["thread"] == next["thread"];
        (number("line"), number("column"), label["access"].as_str().unwrap_or_default().to_owned(), same)
    };
    (0..n).map(|first| (first..first + n).map(access).collect::<Name>()).min().unwrap_or_default()
}

fn exposure_table(programs: &[Program], hunts: &Hunts) {
    println!(
        "How often a trial of ours exposes a feasible cycle, {TRIALS} trials each. Feasible: whatever ours, `--method \
         relaxer` or `--method orion` has exposed under the model or a stronger one, or the exploration has met. What \
         the trials of ours missed counts as 0. In parentheses: how many of the feasible ones are critical.\n"
    );
    println!("| code | feasible: tso, pso, pslo | missed | probability | of critical ones |");
    println!("|---|---|---|---|---|");
    let probability = |cycle: &Json| match (cycle["method"].as_str(), cycle["probability"].as_f64()) {
        // No trial exposed it.
        (Some("explored"), _) | (_, None) => 0.0,
        (_, Some(probability)) => probability,
    };
    let (mut total, mut critical): (Vec<f64>, Vec<f64>) = Default::default();
    for (i, program) in programs.iter().enumerate() {
        let (mut feasible, mut missed, mut shortest) = ([0; 3], [0; 3], [0; 3]);
        let (mut own, mut own_critical): (Vec<f64>, Vec<f64>) = Default::default();
        let mut known: BTreeSet<Name> = BTreeSet::new();
        for m in 0..MODELS.len() {
            let ours = hunts.of(i, Hunt::Ours(m));
            let mut others = vec![ours.clone(), hunts.of(i, Hunt::Relaxer(m))];
            others.extend((m < 2).then(|| hunts.of(i, Hunt::Orion(m, BUFFERS[2], WAITS[USUAL], false))));
            others.iter().for_each(|hunt| known.extend(exposed(hunt).map(name)));
            let of: BTreeMap<Name, f64> = exposed(&ours).map(|cycle| (name(cycle), probability(cycle))).collect();
            let is_critical = |cycle: &&Json| cycle["longer"] != true;
            let predicted: BTreeSet<Name> = cycles(&ours).iter().filter(is_critical).map(name).collect();
            for name in &known {
                let chance = of.get(name).copied().unwrap_or(0.0);
                let is_critical = predicted.contains(name);
                feasible[m] += 1;
                missed[m] += usize::from(chance == 0.0);
                shortest[m] += usize::from(is_critical);
                own.push(chance);
                own_critical.extend(is_critical.then_some(chance));
            }
        }
        let list = |counts: [usize; 3]| counts.map(|count| count.to_string()).join(", ");
        let (all, without) = (mean(&own), mean(&own_critical));
        let (feasible, missed, shortest) = (list(feasible), list(missed), list(shortest));
        println!("| {} | {feasible} ({shortest}) | {missed} | {all} | {without} |", program.name);
        total.extend(own);
        critical.extend(own_critical);
    }
    let missed = total.iter().filter(|p| **p == 0.0).count();
    let (all, without) = (mean(&total), mean(&critical));
    println!("| all | {} ({}) | {missed} | {all} | {without} |\n", total.len(), critical.len());
}

fn mean(list: &[f64]) -> String {
    if list.is_empty() { "-".to_owned() } else { format!("{:.3}", list.iter().sum::<f64>() / list.len() as f64) }
}
