//! Violations of sequential consistency: the tables of Relaxer (table 1) and Orion (II, IV, V) for the programs of
//! examples/hunt.
//!
//! The hunts are those of the command, which is run and whose JSON is read; the graphs of the papers are made here
//! from executions that the native host runs. Where the papers wait in seconds, these wait in steps.

use fencepost_mailbox::{Frame, Record};
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, run_campaign};
use fencepost_predict::critical::{Graph, Limits};
use fencepost_predict::orion::{RaceGraph, possible};
use fencepost_predict::{Profile, relaxer};
use fencepost_trace::{CampaignSpec, Cycle, Event, EventKind, Model, Sampling, Scheduler};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The programs, and what they are compiled with.
const PROGRAMS: [(&str, &str, &str); 11] = [
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
];
const SHORT: &str = "msn, 3 threads";
const MODELS: [Model; 3] = [Model::Tso, Model::Pso, Model::Pslo];
/// How many executions the predictions are made from.
const EXECUTIONS: u64 = 100;
/// Orion's cap: of each program point and thread so many accesses are profiled.
const CAP: usize = 20;
/// The longest cycles that are looked for.
const LENGTH: usize = 8;
/// How long the paper's own enumeration may take here.
const PATIENCE: Duration = Duration::from_secs(5);

/// Prints the tables.
pub fn measure() {
    let Some(command) = command() else {
        println!("(The command `fencepost` is not beside this program: cargo build --release -p fencepost-cli.)");
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let programs: Vec<Program> = PROGRAMS
        .iter()
        .map(|(name, source, flags)| Program::new(&command, directory.path(), name, source, flags))
        .collect();
    let hunts: Vec<Vec<Json>> = programs
        .iter()
        .map(|program| MODELS.iter().map(|model| program.hunt(&command, *model, &["--no-fences"])).collect())
        .collect();
    relaxer_table(&programs, &hunts);
    orion_sizes(&command, &programs, &hunts);
    orion_probabilities(&command, &programs, &hunts);
    orion_times(&programs, &hunts);
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
    /// Which program points are stores.
    stores: BTreeSet<u32>,
}

impl Program {
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
        let mut program = Program {
            name: name.to_owned(),
            executable,
            lines,
            profiles: Vec::new(),
            profiling: Duration::ZERO,
            stores: BTreeSet::new(),
        };
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
                if kind == 1 || kind == 2 {
                    self.stores.insert(class);
                }
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
            .args(["--format", "json", "--model", model.name(), "--out"])
            .arg(out.path())
            .args(more)
            .args(if self.name == SHORT { &["--cycle-length", "5", "--executions", "20"][..] } else { &[] })
            .stderr(Stdio::null())
            .output()
            .expect("the command runs");
        serde_json::from_slice(&output.stdout).expect("its output is JSON")
    }
}

fn cycles(hunt: &Json) -> &[Json] {
    hunt["cycles"].as_array().map_or(&[], Vec::as_slice)
}

fn exposed(hunt: &Json) -> impl Iterator<Item = &Json> {
    cycles(hunt).iter().filter(|cycle| cycle["exposed"].as_u64() > Some(0))
}

/// The average chance of exposing a feasible cycle.
fn average<'a>(cycles: impl Iterator<Item = &'a Json>) -> String {
    let all: Vec<f64> = cycles.filter_map(|cycle| cycle["probability"].as_f64()).collect();
    if all.is_empty() { "-".to_owned() } else { format!("{:.2}", all.iter().sum::<f64>() / all.len() as f64) }
}

fn relaxer_table(programs: &[Program], hunts: &[Vec<Json>]) {
    println!(
        "Relaxer's table 1. Predicted: by its algorithm 1, length 4; ours: critical cycles of at most {LENGTH} \
         accesses that the model can reorder. Phase 2: the whole hunt, \
         solving included. Confirmed: brought about in some trial. Probability: the average share of trials that \
         brought a confirmed cycle about.\n"
    );
    println!(
        "| benchmark | LOC | phase 1 (s) | phase 2 per trial (ms) tso, pso, pslo | predicted, Relaxer | ours tso, pso, \
         pslo | \
         confirmed tso, pso, pslo | bugs tso, pso, pslo | probability tso, pso, pslo |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut sum, mut count) = (0.0, 0);
    for (program, hunts) in programs.iter().zip(hunts) {
        let start = Instant::now();
        let mut predicted: BTreeSet<Cycle> = BTreeSet::new();
        program.profiles.iter().for_each(|profile| predicted.extend(relaxer::cycles(profile, Some(4))));
        let phase1 = program.profiling + start.elapsed();
        let each = |value: &dyn Fn(&Json) -> String| hunts.iter().map(value).collect::<Vec<_>>().join(", ");
        let time = |hunt: &Json| {
            let trials: u64 = cycles(hunt).iter().filter_map(|cycle| cycle["trials"].as_u64()).sum();
            let seconds = hunt["seconds"].as_f64().unwrap_or(0.0);
            if trials == 0 { "-".to_owned() } else { format!("{:.2}", 1000.0 * seconds / trials as f64) }
        };
        let harmful =
            |hunt: &Json| cycles(hunt).iter().filter(|cycle| cycle["outcome"] == "harmful").count().to_string();
        println!(
            "| {} | {} | {:.2} | {} | {} | {} | {} | {} | {} |",
            program.name,
            program.lines,
            phase1.as_secs_f64(),
            each(&time),
            predicted.len(),
            each(&|hunt| cycles(hunt).len().to_string()),
            each(&|hunt| exposed(hunt).count().to_string()),
            each(&harmful),
            each(&|hunt| average(exposed(hunt))),
        );
        for cycle in hunts.iter().flat_map(exposed) {
            sum += cycle["probability"].as_f64().unwrap_or(0.0);
            count += 1;
        }
    }
    println!(
        "\nAverage probability over all {count} feasible cycles: {:.3} (Orion's: 0.65, Relaxer's: 0.35 to 1.0).\n",
        sum / f64::from(count.max(1))
    );
}

fn orion_sizes(command: &Path, programs: &[Program], hunts: &[Vec<Json>]) {
    println!(
        "Orion's table II. The graph is that of the execution with most edges. Exposed by its algorithm, 4 trials \
         each, buffers of 16, 32 and 64.\n"
    );
    println!(
        "| code | LOC | racy var | racy ins | dyn. accesses | edges | cycles, figure 4 | tso, pso | WB 16 tso, pso | \
         WB 32 | WB 64 | Relaxer | ours |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (program, hunts) in programs.iter().zip(hunts) {
        let graphs: Vec<RaceGraph> = program.profiles.iter().map(|profile| RaceGraph::new(profile, CAP)).collect();
        let Some(graph) = graphs.iter().max_by_key(|graph| graph.edges()) else { continue };
        let (variables, points) = graph.racing();
        let mut all: BTreeSet<Cycle> = BTreeSet::new();
        let start = Instant::now();
        for graph in &graphs {
            if start.elapsed() < PATIENCE {
                all.extend(graph.cycles(4));
            }
        }
        let of = |model| all.iter().filter(|c| possible(c, model, |class| program.stores.contains(&class))).count();
        let run = |more: &[&str]| -> String {
            let counts = [Model::Tso, Model::Pso].map(|model| {
                let more: Vec<&str> = [&["--no-fences", "--trials", "4"], more].concat();
                exposed(&program.hunt(command, model, &more)).count().to_string()
            });
            counts.join(", ")
        };
        println!(
            "| {} | {} | {variables} | {points} | {} | {} | {} | {}, {} | {} | {} | {} | {} | {}, {} |",
            program.name,
            program.lines,
            graph.accesses,
            graph.edges(),
            all.len(),
            of(Model::Tso),
            of(Model::Pso),
            run(&["--method", "orion", "--buffer", "16"]),
            run(&["--method", "orion", "--buffer", "32"]),
            run(&["--method", "orion", "--buffer", "64"]),
            run(&["--method", "relaxer"]),
            exposed(&hunts[0]).count(),
            exposed(&hunts[1]).count(),
        );
    }
    println!();
}

fn orion_probabilities(command: &Path, programs: &[Program], hunts: &[Vec<Json>]) {
    println!(
        "Orion's table IV: the chance of exposing a cycle that is feasible, tso and pso together, by how long a thread \
         waits (steps).\n"
    );
    println!("| code | length | SCV | 50 | 100 | 200 | 1000 | ours |");
    println!("|---|---|---|---|---|---|---|---|");
    for (program, hunts) in programs.iter().zip(hunts) {
        let waits = ["50", "100", "200", "1000"].map(|steps| {
            [Model::Tso, Model::Pso].map(|model| {
                program.hunt(
                    command,
                    model,
                    &["--no-fences", "--trials", "4", "--method", "orion", "--patience", steps],
                )
            })
        });
        let lengths: BTreeSet<u64> =
            hunts[..2].iter().flat_map(exposed).filter_map(|cycle| cycle["length"].as_u64()).collect();
        for length in lengths {
            let of = |hunt: &'_ Json| -> Vec<Json> {
                exposed(hunt).filter(|cycle| cycle["length"].as_u64() == Some(length)).cloned().collect()
            };
            let ours: Vec<Json> = hunts[..2].iter().flat_map(of).collect();
            let theirs: Vec<String> =
                waits.iter().map(|hunts| average(hunts.iter().flat_map(of).collect::<Vec<_>>().iter())).collect();
            println!(
                "| {} | {length} | {} | {} | {} |",
                program.name,
                ours.len(),
                theirs.join(" | "),
                average(ours.iter())
            );
        }
    }
    println!();
}

fn orion_times(programs: &[Program], hunts: &[Vec<Json>]) {
    println!(
        "Orion's table V, in seconds. Detection: all critical cycles up to the length, under pslo, from {EXECUTIONS} \
         executions; beside it Orion's search of its \
         graphs. Lengths that add no cycle are left out.\n"
    );
    println!("| code | profiling | graphs | length | detection | Orion's detection | exposure per trial |");
    println!("|---|---|---|---|---|---|---|");
    let mut total = Duration::ZERO;
    for (program, hunts) in programs.iter().zip(hunts) {
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
            if found.cycles.len() == std::mem::replace(&mut before, found.cycles.len()) {
                continue;
            }
            let theirs = if late { "gave up".to_owned() } else { format!("{:.3}", start.elapsed().as_secs_f64()) };
            let trials: u64 = hunts.iter().flat_map(cycles).filter_map(|cycle| cycle["trials"].as_u64()).sum();
            let seconds: f64 = hunts.iter().filter_map(|hunt| hunt["seconds"].as_f64()).sum();
            println!(
                "| {} | {:.3} | {:.3} | {length} ({} cycles) | {:.3} | {theirs} | {:.4} |",
                program.name,
                program.profiling.as_secs_f64(),
                creation.as_secs_f64(),
                found.cycles.len(),
                direct.as_secs_f64(),
                seconds / trials.max(1) as f64
            );
        }
    }
    println!(
        "\nAll cycles up to length {LENGTH} of all programs: {:.3} s (Orion's search: hours for some).",
        total.as_secs_f64()
    );
}
