//! Exploration by what is read: the tables of the paper on maximal causality reduction for TSO and PSO (Huang and
//! Huang, OOPSLA 2016) beside ours, time per execution, how questions are answered, and the family that it wins
//! exponentially.
//!
//! With `--features z3` (Debian: libz3-dev) Z3 is asked the same questions.

use crate::check::{compile, explore_by};
use crate::counting::Counts;
use crate::is_asked;
use crate::native::verdict;
use crate::{check, shapes};
use fencepost_explore::causal::{Equivalence, Explorer};
use fencepost_explore::graph::{self, Flow, Options};
use fencepost_litmus::LitmusTest;
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::Results;
use fencepost_trace::{Method, Model};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The models that it is for.
pub const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];
/// What one execution may take, in microseconds.
const MOST: f64 = 200.0;
/// How many of a hundred questions are to be answered without the solver.
const LEAST: f64 = 95.0;
/// With fewer executions starting the program is most of the time.
const FEWEST: u64 = 100;
/// Runs of one exploration, unless they take so many seconds together.
const RUNS: usize = 15;
const ENOUGH: f64 = 5.0;
/// So long one exploration may take, in seconds.
const PATIENCE: u64 = 20;

/// Prints all of them.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    let bench = Bench { directory: directory.path().to_owned(), runtime };
    bench.counts();
    bench.errors();
    bench.races();
    bench.speed();
    family();
}

/// Prints the time per execution alone.
pub fn measure_speed() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    Bench { directory: directory.path().to_owned(), runtime }.speed_alone();
}

/// Programs whose time is measured beside those of `check`.
const MORE: [(&str, &str); 6] = [
    ("mcr_example", "-DN=3"),
    ("mcr_example", "-DN=4"),
    ("treiber", "-DN=2"),
    ("treiber", "-DN=3"),
    ("airline", "-DN=4 -DFIXED"),
    ("crawler", "-DNDEBUG"),
];

struct Bench {
    directory: PathBuf,
    runtime: PathBuf,
}

/// Program, macros, what the paper has under sc, tso and pso, and why ours is different.
type Row = (&'static str, &'static str, Option<[u64; 3]>, &'static str);

const BOUNDS: &str = "other program text: waits are bounded, one round; seq_cst, so that nothing is reordered";
const WEAK: &str = "the same with weaker orders: stores are delayed, as in the paper's programs";
const FIGURE: &str = "the figure's text is lost, the loops around it differ";

/// Tables 1 and 3.
const COUNTS: &[Row] = &[
    ("mcr_example", "-DN=1", Some([2, 2, 10]), ""),
    ("mcr_example", "-DN=2", Some([43, 43, 89]), FIGURE),
    ("mcr_example", "-DN=3", Some([296, 296, 819]), FIGURE),
    ("mcr_example", "-DN=4", Some([2767, 2767, 8420]), FIGURE),
    ("mcr_example", "-DN=2 -DSTOP", Some([43, 43, 89]), "the error ends the thread, which the paper leaves open"),
    ("mcr_example", "-DN=3 -DSTOP", Some([296, 296, 819]), "the same"),
    ("dekker", "", Some([62, 98, 155]), BOUNDS),
    ("dekker", "-DWEAK -DNDEBUG", Some([62, 98, 155]), WEAK),
    ("lamport", "", Some([14, 91, 102]), BOUNDS),
    ("lamport", "-DWEAK -DNDEBUG", Some([14, 91, 102]), WEAK),
    ("bakery", "", Some([77, 158, 165]), BOUNDS),
    ("bakery", "-DWEAK -DNDEBUG", Some([77, 158, 165]), WEAK),
    ("peterson", "", Some([13, 18, 19]), BOUNDS),
    ("peterson", "-DWEAK -DNDEBUG", Some([13, 18, 19]), WEAK),
    ("stack_unsafe", "-DNDEBUG -DN=2", Some([29, 46, 108]), "other program text: the error does not end it"),
    ("rv_example", "-DNDEBUG", Some([57, 64, 70]), "other program text; the paper does not give it"),
    ("lamport", "-DN=3", None, "8,175 reads-from classes, 20,741 graphs"),
];

/// Table 4: in which execution the error shows; none is a dash.
const ERRORS: &[(&str, &str, [Option<u64>; 3], &str)] = &[
    ("dekker", "-DBROKEN", [Some(10), Some(4), Some(5)], "an error put in that shows under sc"),
    ("dekker", "-DWEAK", [None, Some(4), Some(5)], "weaker orders only: right under sc"),
    ("lamport", "-DBROKEN", [Some(2), Some(2), Some(3)], "an error put in that shows under sc"),
    ("lamport", "-DWEAK", [None, Some(2), Some(3)], "weaker orders only"),
    ("bakery", "-DBROKEN", [Some(8), Some(8), Some(15)], "an error put in that shows under sc"),
    ("bakery", "-DWEAK", [None, Some(8), Some(15)], "weaker orders only"),
    ("peterson", "-DBROKEN", [Some(7), Some(2), Some(3)], "an error put in that shows under sc"),
    ("peterson", "-DWEAK", [None, Some(2), Some(3)], "weaker orders only"),
    ("stack_unsafe", "", [Some(2), Some(2), Some(2)], ""),
    ("rv_example", "", [Some(53), Some(54), Some(39)], "other program text: the error is less deep"),
    ("mcr_example", "-DN=1 -DERROR", [None, None, Some(3)], "the paper says 3 of all executions"),
];

/// Table 5: executions and data races.
const RACES: &[(&str, &str, [u64; 3], u64)] = &[
    ("account", "-DN=1", [7, 12, 12], 3),
    ("airline", "-DN=2", [8, 11, 11], 0),
    ("string_buffer", "", [3, 3, 3], 0),
    ("allocation", "", [30, 30, 30], 0),
    ("ping_pong", "", [411, 483, 527], 7),
    ("crawler", "", [178, 103, 116], 6),
];

fn three(values: [Option<u64>; 3]) -> String {
    values.map(|value| value.map_or("-".to_owned(), |value| value.to_string())).join(" / ")
}

impl Bench {
    fn explore(&self, method: Method, name: &str, defines: &str, model: Model) -> (Results, f64) {
        let program = compile(&self.directory, name, defines);
        self.run(method, &program, model, u64::MAX)
    }

    fn run(&self, method: Method, program: &Path, model: Model, executions: u64) -> (Results, f64) {
        explore_by(method, program, &self.runtime, model, executions, Some(PATIENCE))
    }

    fn counts(&self) {
        println!("Tables 1 and 3: executions under sc / tso / pso.\n");
        println!("| program | paper | ours | why they differ |\n|---|---|---|---|");
        for (name, defines, paper, why) in COUNTS {
            let ours = MODELS.map(|model| {
                let (results, _) = self.explore(Method::Causal, name, defines, model);
                let explored = results.explored.expect("an exploration says what it explored");
                (explored.complete && results.found.is_empty()).then_some(explored.executions)
            });
            let paper = paper.map_or(String::new(), |paper| three(paper.map(Some)));
            println!("| {name} {defines} | {paper} | {} | {why} |", three(ours));
        }
        println!();
    }

    fn errors(&self) {
        println!("Table 4: the execution, by number, that shows the error, under sc / tso / pso.\n");
        println!("| program | paper | ours | remark |\n|---|---|---|---|");
        for (name, defines, paper, why) in ERRORS {
            let ours = MODELS.map(|model| {
                let (results, _) = self.explore(Method::Causal, name, defines, model);
                results.found.iter().map(|found| found.first_execution + 1).min()
            });
            println!("| {name} {defines} | {} | {} | {why} |", three(*paper), three(ours));
        }
        println!();
    }

    fn races(&self) {
        println!(
            "Table 5: executions under sc / tso / pso, to the first error and in all, and data races, the paper's the \
             same under all three. Ours are counted by pairs of program points; the paper's programs are Java's.\n"
        );
        println!(
            "| program | paper | ours | to the first error | races, paper | races, ours |\n|---|---|---|---|---|---|"
        );
        for (name, defines, paper, races) in RACES {
            let program = compile(&self.directory, name, defines);
            let mut first = [None; 3];
            let mut ours = [None; 3];
            let mut met = [None; 3];
            for (i, model) in MODELS.into_iter().enumerate() {
                let (results, _) = self.run(Method::Causal, &program, model, u64::MAX);
                ours[i] = results.explored.map(|explored| explored.executions);
                first[i] = results.found.iter().map(|found| found.first_execution + 1).min();
                let points = results.races.iter().map(|(one, other)| {
                    let mut points = [&one.frames, &other.frames];
                    points.sort();
                    points
                });
                met[i] = Some(points.collect::<BTreeSet<_>>().len() as u64);
            }
            let (paper, ours, first, met) = (three(paper.map(Some)), three(ours), three(first), three(met));
            println!("| {name} {defines} | {paper} | {ours} | {first} | {races} | {met} |");
        }
        println!();
    }

    fn speed(&self) {
        println!(
            "Time per execution, solver included, without what starting the program takes: processor time on one core, \
             the least of up to {RUNS} runs. Of explorations with {FEWEST} executions or more. Saturation: questions \
             answered without the solver, of 100.\n"
        );
        println!(
            "| program | model | graphs | rf | causal | in vain | µs | at most {MOST} | saturation | at least {LEAST} |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
        for (name, defines) in check::PROGRAMS.into_iter().chain(MORE) {
            let program = compile(&self.directory, name, defines);
            for model in MODELS {
                self.speed_of(&format!("{name} {defines}"), &program, model);
            }
        }
        println!();
    }

    /// The same without a look at the other methods.
    fn speed_alone(&self) {
        println!("| program | model | causal | in vain | µs | at most {MOST} | saturation | at least {LEAST} |");
        println!("|---|---|---|---|---|---|---|---|");
        for (name, defines) in check::PROGRAMS.into_iter().chain(MORE).filter(|(name, _)| is_asked(name)) {
            let program = compile(&self.directory, name, defines);
            for model in MODELS {
                if let Some(row) = self.time(&program, model) {
                    println!("| {name} {defines} | {model} | {row} |");
                }
            }
        }
        println!();
    }

    fn speed_of(&self, name: &str, program: &Path, model: Model) {
        let (graphs, _) = self.run(Method::Graph, program, model, u64::MAX);
        let (rf, _) = self.run(Method::Rf, program, model, u64::MAX);
        if let Some(row) = self.time(program, model) {
            println!("| {name} | {model} | {} | {} | {row} |", count(&graphs), count(&rf));
        }
    }

    /// Time per execution by values, and how questions are answered; none if there are too few to tell.
    fn time(&self, program: &Path, model: Model) -> Option<String> {
        let (causal, mut seconds) = self.run(Method::Causal, program, model, u64::MAX);
        let explored = causal.explored.expect("an exploration says what it explored");
        if explored.executions < FEWEST {
            return None;
        }
        let (_, mut start) = self.run(Method::Causal, program, model, 1);
        // What others do on the machine only makes it longer: the shortest of several runs is the program's own time.
        let mut spent = seconds;
        for _ in 1..RUNS {
            if spent > ENOUGH {
                break;
            }
            let (_, again) = self.run(Method::Causal, program, model, u64::MAX);
            spent += again;
            seconds = seconds.min(again);
            start = start.min(self.run(Method::Causal, program, model, 1).1);
        }
        let answers = explored.answers.unwrap_or_default();
        let micros = (seconds - start).max(0.0) * 1e6 / explored.executions as f64;
        let share = 100.0 * answers.saturation as f64 / (answers.saturation + answers.solver).max(1) as f64;
        Some(format!(
            "{} | {} | {micros:.0} | {} | {share:.1} | {}",
            count(&causal),
            answers.in_vain,
            verdict(micros <= MOST),
            verdict(share >= LEAST),
        ))
    }
}

/// How many executions it has met, and whether those were all.
fn count(results: &Results) -> String {
    let explored = results.explored.expect("an exploration says what it explored");
    format!("{}{}", if explored.complete { "" } else { "> " }, explored.executions)
}

/// Many writers and one reader.
fn family() {
    println!("n threads store to one location and one reads it once, under pso; graphs for at most ten seconds.\n");
    println!("| n | causal | at most n + 1 | graphs |\n|---|---|---|---|");
    for n in 2..=10 {
        let test = LitmusTest::parse("writers", shapes::writers(n).as_bytes()).expect("the shapes parse");
        // What memory holds in the end is not asked for.
        let explorer = Explorer::new(test.program(), Options::new(Model::Pso), Equivalence::Values);
        let causal = explorer.and_then(|mut explorer| explorer.explore(Counts::default)).expect("it can be explored");
        let mut graphs = graph::Explorer::new(test.program(), Options::new(Model::Pso)).expect("pso has axioms");
        let (begun, mut complete) = (Instant::now(), true);
        let between = |_: &mut graph::Explorer<_>| {
            complete = begun.elapsed() < Duration::from_secs(10);
            if complete { Flow::Continue(()) } else { Flow::Break(()) }
        };
        let counted = graphs.explore_with(Counts::default, between).expect("it can be explored");
        let more = if complete { "" } else { "> " };
        let fine = verdict(causal.executions <= n as u64 + 1);
        println!("| {n} | {} | {fine} | {more}{} |", causal.executions, counted.executions);
    }
    println!();
}

/// Asks Z3 the same questions.
#[cfg(feature = "z3")]
pub fn questions() {
    crate::with_z3::compare();
}

/// Asks Z3 the same questions.
#[cfg(not(feature = "z3"))]
pub fn questions() {
    println!("Z3 is asked the same questions with `--features z3` (Debian: libz3-dev).");
}
