//! Native programs against the litmus oracle: what a compiled program prints under a model are the states that herd7
//! computed.
//!
//! The tests of `tests/oracle` become C programs (their dialect is C already): the locations are globals, the threads
//! are POSIX threads, and `main` prints the final state after it has joined them. A translation unit holds a hundred
//! tests, of which the first argument chooses one, so that few compilations are enough. The programs are compiled
//! with `-fsanitize=thread` as any other and run by the host, under every model that the oracle knows for a test.
//!
//! - No state outside of the oracle's may ever be printed, and nothing may be found: no race, no crash.
//! - Where the oracle says that a test races (c11), a data race is found.
//! - The known shapes of two threads ([`SHAPES`]) show *all* the oracle's states within [`ENOUGH`] executions (under
//!   c11 those of `machine_at_least`, where it is given). For larger tests how many were met is printed.
//! - Under the models of hardware the shapes show the same states when they are written with plain `int`s.
//! - The same shapes in C++ with `std::atomic` and `std::thread`, and in Rust with `AtomicUsize`, show exactly the
//!   states of the oracle under c11.
//!
//! By default that is done for the shapes in `classic` and for a sample of all the rest. `FENCEPOST_FULL_ORACLE=1`
//! takes the whole corpus, 2,679 tests and 10,950 comparisons, and runs the shapes [`ENOUGH`] times even if all their
//! states were met earlier. It takes about twenty minutes on two cores; `--nocapture` shows how far it is:
//!
//! ```text
//! FENCEPOST_FULL_ORACLE=1 cargo test -p fencepost-native --test all oracle:: -- --nocapture
//! ```
//!
//! The executions are the same each time (the seed is fixed), so that a test which passes does not fail by chance.

use fencepost_mailbox::End;
use fencepost_native::compiler::{RUNTIME, compile_single};
use fencepost_native::embedded::runtime_directory;
use fencepost_native::host::{Campaign, Results, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Method, Model};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// Within so many executions a shape shows all its states.
const ENOUGH: u64 = 10_000;

/// How many executions other tests get.
const SOME: u64 = 1_000;

/// How many are enough where all states have been met by then, unless all tests are asked for.
const FEW: u64 = 320;

/// How many tests go into one translation unit.
const PER_UNIT: usize = 100;

/// Of the tests that are not shapes, one of so many is taken unless all are asked for.
const SAMPLE: usize = 30;

/// The shapes of at most two threads of which all states are demanded: the names up to the first `+` (`hw` in front
/// or not).
const SHAPES: &[&str] = &["SB", "MP", "LB", "S", "R", "2", "CoRR", "CoRW1", "CoRW2", "CoWR", "CoWR0", "CoWRW", "CoWW"];

/// Comparisons that are known to fail, with the reason: file, test, model. Each is checked to fail still, so that the
/// list cannot outlive the fault.
const KNOWN_WRONG: &[(&str, &str, Model)] = &[];

/// The values of a final state, in the order of [`Test::vars`].
type State = Vec<i64>;

/// What the oracle says of a test under a model.
#[derive(Clone)]
enum Expected {
    /// The program is undefined.
    Race,
    /// All final states, and those that a machine must reach.
    States { all: BTreeSet<State>, reachable: BTreeSet<State> },
}

/// A test of the corpus.
struct Test {
    /// The file that it is from.
    family: &'static str,
    name: String,
    vars: Vec<String>,
    /// The locations: name, type, initial value.
    locations: Vec<(String, String, i64)>,
    threads: Vec<Thread>,
    models: Vec<(Model, Expected)>,
    /// How many consistent execution graphs there are.
    graphs: Vec<(Model, u64)>,
}

/// A thread of a test: the text between its braces, and its parameters as type and name.
struct Thread {
    parameters: Vec<(String, String)>,
    body: Vec<String>,
}

impl Test {
    fn parse(family: &'static str, line: &str) -> Test {
        let json: Json = serde_json::from_str(line).expect("a line of the corpus is JSON");
        let text = |value: &Json| value.as_str().expect("a string").to_owned();
        let (init, threads) = parse_source(&text(&json["source"]));
        let locations = init.into_iter().map(|(name, value)| {
            let mut parameters = threads.iter().flat_map(|t| &t.parameters);
            let ty = parameters.find(|p| p.1 == name).map_or("atomic_int", |p| &p.0).to_owned();
            (name, ty, value)
        });
        let locations = locations.collect();
        let models = Model::ALL.into_iter().filter_map(|model| {
            let known = json["models"].get(model.name())?;
            if known["race"].as_bool() == Some(true) {
                return Some((model, Expected::Race));
            }
            let all = states(&known["states"]);
            let reachable = known.get("machine_at_least").map_or_else(|| all.clone(), states);
            Some((model, Expected::States { all, reachable }))
        });
        let models = models.collect();
        let graphs = Model::ALL.into_iter();
        let graphs = graphs.filter_map(|model| Some((model, json["models"].get(model.name())?["graphs"].as_u64()?)));
        let graphs = graphs.collect();
        let vars = json["vars"].as_array().expect("a list").iter().map(text).collect();
        Test { family, name: text(&json["name"]), vars, locations, threads, models, graphs }
    }

    /// Is this one of the small ones of which all states are demanded?
    fn is_shape(&self) -> bool {
        let name = self.name.strip_prefix("hw").unwrap_or(&self.name);
        let shape = name.split_once('+').map_or(name, |(shape, _)| shape);
        self.threads.len() <= 2 && SHAPES.contains(&shape)
    }

    /// The registers of a thread that are part of the state.
    fn registers(&self, thread: usize) -> impl Iterator<Item = &str> {
        self.vars.iter().filter_map(move |v| v.split_once(':').filter(|v| v.0 == thread.to_string())).map(|v| v.1)
    }
}

fn states(list: &Json) -> BTreeSet<State> {
    let values = |state: &Json| {
        let values = state.as_array().expect("a state is a list").iter();
        values.map(|v| v.as_i64().expect("a value is a number")).collect()
    };
    list.as_array().expect("a list of states").iter().map(values).collect()
}

/// The initial state and the threads. Only what the corpus has: the text is laid out as its generator does.
fn parse_source(source: &str) -> (Vec<(String, i64)>, Vec<Thread>) {
    let mut init = Vec::new();
    let mut threads: Vec<Thread> = Vec::new();
    let mut inside = false;
    for line in source.lines() {
        if inside && line == "}" {
            inside = false;
        } else if inside {
            threads.last_mut().expect("a thread").body.push(line.to_owned());
        } else if line.starts_with('{') {
            let items = line.trim_matches(['{', '}', ' ']).split(';').map(str::trim).filter(|item| !item.is_empty());
            init.extend(items.map(|item| {
                let (name, value) = item.split_once('=').expect("a location and its value");
                (name.trim_matches(['[', ']', ' ']).to_owned(), value.trim().parse().expect("a number"))
            }));
        } else if line.starts_with('P') && line.ends_with('{') {
            inside = true;
            let list = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).expect("parameters").0;
            let parameter = |text: &str| {
                let (ty, name) = text.split_once('*').expect("a pointer");
                (ty.trim().to_owned(), name.trim().to_owned())
            };
            threads.push(Thread { parameters: list.split(',').map(parameter).collect(), body: Vec::new() });
        }
    }
    assert!(!inside && !threads.is_empty() && !init.is_empty(), "a test that is laid out in another way:\n{source}");
    (init, threads)
}

/// Is the whole corpus asked for?
fn full() -> bool {
    std::env::var_os("FENCEPOST_FULL_ORACLE").is_some_and(|value| value == "1")
}

fn corpus() -> Vec<Test> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle");
    let mut tests = Vec::new();
    for family in ["classic", "hw", "generated"] {
        let text = fs::read_to_string(directory.join(family).with_extension("jsonl")).expect("the corpus");
        tests.extend(text.lines().map(|line| Test::parse(family, line)));
    }
    tests
}

/// The languages that a test can be written in.
#[derive(Clone, Copy)]
enum Language {
    C,
    Cxx,
    Rust,
}

impl Language {
    /// A program that runs the test whose number is its first argument.
    fn program(self, tests: &[&Test]) -> String {
        let mut text = match self {
            Language::C => C_START,
            Language::Cxx => CXX_START,
            Language::Rust => RUST_START,
        }
        .to_owned();
        for (number, test) in tests.iter().enumerate() {
            let part = match self {
                Language::C => c_test(number, test),
                Language::Cxx => cxx_test(number, test),
                Language::Rust => rust_test(number, test),
            };
            text += &part.expect("a String takes everything");
        }
        let all: Vec<String> = (0..tests.len()).map(|number| format!("t{number}")).collect();
        let all = all.join(", ");
        match self {
            Language::C | Language::Cxx => format!(
                "{text}\ntypedef void (*test)(void);\nstatic const test tests[] = {{{all}}};\n\
                 int main(int argc, char **argv) {{ tests[atoi(argv[argc - 1])](); return 0; }}\n"
            ),
            Language::Rust => format!(
                "{text}\nstatic TESTS: &[fn()] = &[{all}];\nfn main() {{\n    \
                 let number: usize = std::env::args().nth(1).unwrap().parse().unwrap();\n    TESTS[number]();\n}}\n"
            ),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "cpp",
            Language::Rust => "rs",
        }
    }
}

const C_START: &str = r##"/* gcc warns of fences, because its own runtime does not know them, and of a failure
   order that is stronger than the success order, which C17 permits. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#pragma GCC diagnostic ignored "-Winvalid-memory-model"
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *(*routine)(void *);
static void run(int count, const routine *routines) {
    pthread_t threads[4];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, routines[i], NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
"##;

const CXX_START: &str = r##"#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#endif
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
"##;

const RUST_START: &str = "use std::sync::atomic::{AtomicUsize, Ordering, fence};\n";

/// The components of the state as expressions.
fn components(test: &Test, register: impl Fn(usize, &str) -> String, location: impl Fn(&str) -> String) -> Vec<String> {
    let component = |var: &String| match var.split_once(':') {
        Some((thread, name)) => register(thread.parse().expect("the number of a thread"), name),
        None => location(var),
    };
    test.vars.iter().map(component).collect()
}

fn print_statement(parts: &[String]) -> String {
    format!("printf(\"{}\\n\", {});", vec!["%d"; parts.len()].join(" "), parts.join(", "))
}

fn c_test(number: usize, test: &Test) -> Result<String, std::fmt::Error> {
    let t = format!("t{number}");
    let mut text = String::new();
    writeln!(text, "\n/* {} of {} */", test.name, test.family)?;
    for (name, ty, value) in &test.locations {
        writeln!(text, "{ty} {t}_{name} = {value};")?;
    }
    for (index, thread) in test.threads.iter().enumerate() {
        let parameters: Vec<String> = thread.parameters.iter().map(|(ty, name)| format!("{ty} *{name}")).collect();
        let arguments: Vec<String> = thread.parameters.iter().map(|(_, name)| format!("&{t}_{name}")).collect();
        for register in test.registers(index) {
            writeln!(text, "int {t}_{index}_{register};")?;
        }
        writeln!(text, "static void {t}_P{index}({}) {{", parameters.join(", "))?;
        for line in &thread.body {
            writeln!(text, "{line}")?;
        }
        for register in test.registers(index) {
            writeln!(text, "  {t}_{index}_{register} = {register};")?;
        }
        writeln!(text, "}}")?;
        let call = arguments.join(", ");
        writeln!(text, "static void *{t}_thread{index}(void *unused) {{ {t}_P{index}({call}); return unused; }}")?;
    }
    let routines: Vec<String> = (0..test.threads.len()).map(|index| format!("{t}_thread{index}")).collect();
    let location = |name: &str| match test.locations.iter().find(|l| l.0 == name) {
        Some((_, ty, _)) if ty == "int" => format!("{t}_{name}"),
        _ => format!("atomic_load_explicit(&{t}_{name}, memory_order_relaxed)"),
    };
    let parts = components(test, |thread, name| format!("{t}_{thread}_{name}"), location);
    writeln!(text, "static void {t}(void) {{")?;
    writeln!(text, "    static const routine routines[] = {{{}}};", routines.join(", "))?;
    writeln!(text, "    run({}, routines);\n    {}\n}}", test.threads.len(), print_statement(&parts))?;
    Ok(text)
}

/// A statement of the simple tests that are written in other languages too.
enum Simple<'a> {
    Store { location: &'a str, value: &'a str, order: &'a str },
    Load { register: &'a str, location: &'a str, order: &'a str },
    Fence { order: &'a str },
}

impl<'a> Simple<'a> {
    fn parse(line: &'a str) -> Option<Simple<'a>> {
        let (function, rest) = line.trim().split_once('(')?;
        let arguments: Vec<&str> = rest.strip_suffix(");")?.split(',').map(str::trim).collect();
        let order = |text: &'a str| text.strip_prefix("memory_order_");
        match (function, arguments.as_slice()) {
            ("atomic_store_explicit", &[location, value, o]) => {
                Some(Simple::Store { location, value, order: order(o)? })
            }
            ("atomic_thread_fence", &[o]) => Some(Simple::Fence { order: order(o)? }),
            (_, &[location, o]) => {
                let register = function.strip_prefix("int ")?.strip_suffix(" = atomic_load_explicit")?;
                Some(Simple::Load { register, location, order: order(o)? })
            }
            _ => None,
        }
    }

    fn demand(line: &'a str) -> Simple<'a> {
        Simple::parse(line).unwrap_or_else(|| panic!("not a simple statement: {line}"))
    }
}

/// The test with plain `int`s in the place of relaxed atomics: to hardware the same. Not all tests can be written so:
/// a compiler may keep the value of a plain location, so that a thread may access each location only once.
fn with_plain_ints(test: &Test) -> Option<Test> {
    let mut threads = Vec::new();
    for thread in &test.threads {
        let mut accessed = BTreeSet::new();
        let mut body = Vec::new();
        for line in &thread.body {
            let (location, text) = match Simple::parse(line)? {
                Simple::Store { location, value, order: "relaxed" } => (location, format!("  *{location} = {value};")),
                Simple::Load { register, location, order: "relaxed" } => {
                    (location, format!("  int {register} = *{location};"))
                }
                Simple::Fence { .. } => {
                    body.push(line.clone());
                    continue;
                }
                _ => return None,
            };
            if !accessed.insert(location) {
                return None;
            }
            body.push(text);
        }
        let parameters = thread.parameters.iter().map(|(_, name)| ("int".to_owned(), name.clone())).collect();
        threads.push(Thread { parameters, body });
    }
    Some(Test {
        family: test.family,
        name: test.name.clone(),
        vars: test.vars.clone(),
        locations: test.locations.iter().map(|(name, _, value)| (name.clone(), "int".to_owned(), *value)).collect(),
        threads,
        models: test.models.iter().filter(|(model, _)| model.is_hardware()).cloned().collect(),
        graphs: test.graphs.clone(),
    })
}

fn cxx_test(number: usize, test: &Test) -> Result<String, std::fmt::Error> {
    let t = format!("t{number}");
    let mut text = String::new();
    writeln!(text, "\n// {} of {}", test.name, test.family)?;
    for (name, _, value) in &test.locations {
        writeln!(text, "std::atomic<int> {t}_{name}{{{value}}};")?;
    }
    for (index, thread) in test.threads.iter().enumerate() {
        test.registers(index).try_for_each(|register| writeln!(text, "int {t}_{index}_{register};"))?;
        writeln!(text, "static void {t}_thread{index}() {{")?;
        for line in &thread.body {
            let line = match Simple::demand(line) {
                Simple::Store { location, value, order } => {
                    format!("{t}_{location}.store({value}, std::memory_order_{order})")
                }
                Simple::Load { register, location, order } => {
                    format!("int {register} = {t}_{location}.load(std::memory_order_{order})")
                }
                Simple::Fence { order } => format!("std::atomic_thread_fence(std::memory_order_{order})"),
            };
            writeln!(text, "    {line};")?;
        }
        for register in test.registers(index) {
            writeln!(text, "    {t}_{index}_{register} = {register};")?;
        }
        writeln!(text, "}}")?;
    }
    let threads: Vec<String> = (0..test.threads.len()).map(|index| format!("std::thread({t}_thread{index})")).collect();
    let location = |name: &str| format!("{t}_{name}.load(std::memory_order_relaxed)");
    let parts = components(test, |thread, name| format!("{t}_{thread}_{name}"), location);
    writeln!(text, "static void {t}() {{\n    std::thread threads[] = {{{}}};", threads.join(", "))?;
    writeln!(text, "    for (auto &thread : threads) thread.join();\n    std::{}\n}}", print_statement(&parts))?;
    Ok(text)
}

/// In Rust the threads meet before they begin. To start one takes dozens of operations there, and threads that are
/// chosen at random at each of them would nearly always have ended before the second one after them exists: with
/// `seq_cst`, IRIW then shows 8 of its 15 states in 10,000 executions. Which states there can be is not changed by
/// it.
fn rust_test(number: usize, test: &Test) -> Result<String, std::fmt::Error> {
    let global = |name: &str| format!("T{number}_{}", name.to_uppercase());
    let ordering = |order: &str| match order {
        "relaxed" => "Ordering::Relaxed",
        "acquire" => "Ordering::Acquire",
        "release" => "Ordering::Release",
        "acq_rel" => "Ordering::AcqRel",
        "seq_cst" => "Ordering::SeqCst",
        _ => panic!("Rust has no such order: {order}"),
    };
    let mut text = String::new();
    writeln!(text, "\n// {} of {}", test.name, test.family)?;
    for (name, _, value) in &test.locations {
        writeln!(text, "static {}: AtomicUsize = AtomicUsize::new({value});", global(name))?;
    }
    for (index, thread) in test.threads.iter().enumerate() {
        let registers: Vec<&str> = test.registers(index).collect();
        writeln!(text, "fn t{number}_thread{index}() -> Vec<usize> {{")?;
        for line in &thread.body {
            let line = match Simple::demand(line) {
                Simple::Store { location, value, order } => {
                    format!("{}.store({value}, {})", global(location), ordering(order))
                }
                Simple::Load { register, location, order } => {
                    format!("let {register} = {}.load({})", global(location), ordering(order))
                }
                Simple::Fence { order } => format!("fence({})", ordering(order)),
            };
            writeln!(text, "    {line};")?;
        }
        writeln!(text, "    vec![{}]\n}}", registers.join(", "))?;
    }
    let threads: Vec<String> =
        (0..test.threads.len()).map(|index| format!("std::thread::spawn(t{number}_thread{index})")).collect();
    let register = |thread: usize, name: &str| {
        let position = test.registers(thread).position(|r| r == name).expect("a register of the state");
        format!("results[{thread}][{position}]")
    };
    let parts = components(test, register, |name| format!("{}.load(Ordering::Relaxed)", global(name)));
    writeln!(text, "fn t{number}() {{\n    let threads = [{}];", threads.join(", "))?;
    writeln!(text, "    let results = threads.map(|thread| thread.join().unwrap());\n    let _ = &results;")?;
    let format = vec!["{}"; parts.len()].join(" ");
    writeln!(text, "    println!(\"{format}\", {});\n}}", parts.join(", "))?;
    Ok(text)
}

/// Tests as a program.
struct Unit<'a> {
    tests: Vec<&'a Test>,
    program: PathBuf,
    runtime: PathBuf,
}

impl<'a> Unit<'a> {
    fn compile(language: Language, tests: &[&'a Test], directory: &Path, name: &str) -> Unit<'a> {
        // Once only: it unpacks a file, and its name is not made for two threads of one process.
        static RUNTIME_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
        let runtime = RUNTIME_DIRECTORY.get_or_init(|| runtime_directory().expect("the runtime can be unpacked"));
        let source = directory.join(name).with_extension(language.ending());
        fs::write(&source, language.program(tests)).expect("a file");
        let program = compile_single(&source, directory, runtime).unwrap_or_else(|error| panic!("{error}"));
        Unit { tests: tests.to_vec(), program, runtime: runtime.join(RUNTIME) }
    }

    /// Compares a test of this unit with the oracle.
    fn compare(&self, number: usize, model: Model, effort: Effort) -> Comparison {
        let test = self.tests[number];
        let expected = &test.models.iter().find(|m| m.0 == model).expect("the oracle knows the model").1;
        let mut comparison = Comparison::default();
        let mut first = 0;
        for end in [effort.least, effort.most] {
            if end > first {
                let results = self.run(number, model, first, end - first);
                comparison.add(results.unwrap_or_else(|error| panic!("{} {model}: {error}", test.name)), expected);
                first = end;
            }
            if comparison.missing(expected).is_empty() || !comparison.wrong.is_empty() {
                break;
            }
        }
        comparison
    }

    /// Explores a test of this unit: as many executions as the oracle has graphs, with exactly its states.
    fn explore(&self, number: usize, model: Model) -> Result<(), String> {
        let test = self.tests[number];
        let mut campaign = Campaign::new(&self.program, &self.runtime, model, u64::MAX);
        campaign.arguments = vec![number.to_string()];
        campaign.request.keep_outputs = true;
        let timeout = campaign.timeout.as_nanos() as u64;
        campaign.request.campaign = CampaignSpec::Explore {
            jobs: 1,
            deadline: None,
            timeout,
            findings: u64::MAX,
            method: Method::Graph,
            remember: None,
        };
        let results = run_campaign(&campaign).map_err(|error| error.to_string())?;
        let Some((_, Expected::States { all, .. })) = test.models.iter().find(|m| m.0 == model) else {
            let raced = results.found.iter().any(|found| found.report.kind == FindingKind::DataRace);
            return if raced { Ok(()) } else { Err("no data race".to_owned()) };
        };
        let graphs = test.graphs.iter().find(|g| g.0 == model).expect("the oracle has counted").1;
        let explored = results.explored.map(|e| (e.complete, e.executions));
        if explored != Some((true, graphs)) {
            return Err(format!("{explored:?} of {graphs} graphs; {:?}", results.notes));
        }
        let state = |text: &String| -> State {
            text.split_whitespace().map(|number| number.parse().expect("a program prints numbers")).collect()
        };
        let states: BTreeSet<State> = results.outputs.keys().map(state).collect();
        if states != *all || !results.found.is_empty() {
            let outside: Vec<_> = states.difference(all).take(3).collect();
            let missing: Vec<_> = all.difference(&states).take(3).collect();
            return Err(format!("outside {outside:?}, missing {missing:?}; {} findings", results.found.len()));
        }
        Ok(())
    }

    fn run(&self, number: usize, model: Model, first: u64, count: u64) -> std::io::Result<Results> {
        let mut campaign = Campaign::new(&self.program, &self.runtime, model, count);
        campaign.arguments = vec![number.to_string()];
        campaign.request.first = first;
        campaign.request.keep_outputs = true;
        run_campaign(&campaign)
    }
}

/// How many executions: at least so many, and up to so many while states are missing.
#[derive(Clone, Copy)]
struct Effort {
    least: u64,
    most: u64,
}

/// What a test has shown.
#[derive(Default)]
struct Comparison {
    executions: u64,
    seen: BTreeMap<State, u64>,
    raced: bool,
    /// What may not be, in words.
    wrong: Vec<String>,
}

impl Comparison {
    fn add(&mut self, results: Results, expected: &Expected) {
        self.executions += results.executions;
        for found in &results.found {
            match (found.report.kind, expected) {
                (FindingKind::DataRace, Expected::Race) => self.raced = true,
                (kind, _) => self.wrong.push(format!("{kind} in {} executions: {}", found.count, found.report.message)),
            }
        }
        let Expected::States { all, .. } = expected else { return };
        if results.ended != BTreeMap::from([(End::Exit, results.executions)]) {
            self.wrong.push(format!("executions end in other ways: {:?}", results.ended));
        }
        for (text, count) in results.outputs {
            let state: Result<State, _> = text.split_whitespace().map(str::parse).collect();
            match state {
                Ok(state) if all.contains(&state) => *self.seen.entry(state).or_default() += count,
                _ => self.wrong.push(format!("printed {text:?} in {count} executions")),
            }
        }
        let printed: u64 = self.seen.values().sum();
        if self.wrong.is_empty() && printed != self.executions {
            self.wrong.push(format!("{} executions printed {printed} states", self.executions));
        }
    }

    /// What the machine should have reached.
    fn missing(&self, expected: &Expected) -> Vec<String> {
        match expected {
            Expected::Race if self.raced => Vec::new(),
            Expected::Race => vec!["a data race".to_owned()],
            Expected::States { reachable, .. } => {
                reachable.iter().filter(|s| !self.seen.contains_key(*s)).map(|s| format!("{s:?}")).collect()
            }
        }
    }
}

/// What all comparisons gave together, for one model.
#[derive(Default)]
struct Tally {
    comparisons: usize,
    complete: usize,
    races: usize,
    executions: u64,
    states: usize,
    met: usize,
    /// The rarest state of a shape: how often in how many executions, and whose it is.
    rarest: Option<(f64, String)>,
}

/// Does `work` for all numbers below `count`, on all cores.
fn on_all_cores(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    work(number);
                }
            });
        }
    });
}

/// Compares all tests of the units under their models, prints how that went, and panics if anything is wrong.
fn compare_all(title: &str, units: &[Unit], models: &[Model], effort: impl Fn(&Test) -> Effort + Sync, demand: Demand) {
    let start = Instant::now();
    let mut work = Vec::new();
    for unit in units {
        for (number, test) in unit.tests.iter().enumerate() {
            work.extend(test.models.iter().map(|m| m.0).filter(|m| models.contains(m)).map(|m| (unit, number, m)));
        }
    }
    let tallies = Mutex::new(BTreeMap::<&str, Tally>::new());
    let failures = Mutex::new(Vec::new());
    let done = AtomicUsize::new(0);
    on_all_cores(work.len(), |item| {
        let (unit, number, model) = work[item];
        let test = unit.tests[number];
        let expected = &test.models.iter().find(|m| m.0 == model).expect("from this list").1;
        let comparison = unit.compare(number, model, effort(test));
        let missing = comparison.missing(expected);
        let all_demanded = demand == Demand::AllStates || test.is_shape() || matches!(expected, Expected::Race);
        let mut wrong = comparison.wrong.clone();
        if all_demanded && !missing.is_empty() {
            wrong.push(format!("not met in {} executions: {}", comparison.executions, missing.join(", ")));
        }
        let known = KNOWN_WRONG.contains(&(test.family, &test.name, model));
        let name = format!("{} of {} under {model}", test.name, test.family);
        if known == wrong.is_empty() {
            let what = if known { "is right now: take it from KNOWN_WRONG".to_owned() } else { wrong.join("; ") };
            println!("{title}: {name}: {what}");
            failures.lock().expect("not poisoned").push(format!("{name}: {what}"));
        }
        tallies.lock().expect("not poisoned").entry(model.name()).or_default().add(
            test,
            &comparison,
            expected,
            missing.len(),
        );
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(500) {
            println!("{title}: {done} of {} comparisons after {:.0} s", work.len(), start.elapsed().as_secs_f64());
        }
    });
    println!("{title}: {} comparisons in {:.1} s", work.len(), start.elapsed().as_secs_f64());
    for (model, tally) in tallies.into_inner().expect("not poisoned") {
        println!(
            "  {model:4}: {} tests ({} races), all states met in {}; {} of {} states; {} executions; rarest of a \
             shape: {}",
            tally.comparisons,
            tally.races,
            tally.complete,
            tally.met,
            tally.states,
            tally.executions,
            tally.rarest.map_or("none".to_owned(), |(share, whose)| format!("{:.3} % ({whose})", share * 100.0)),
        );
    }
    let failures = failures.into_inner().expect("not poisoned");
    assert!(failures.is_empty(), "{} comparisons fail:\n{}", failures.len(), failures.join("\n"));
}

/// Whose states must all be met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// Those of the shapes.
    Shapes,
    /// Those of every test.
    AllStates,
}

impl Tally {
    fn add(&mut self, test: &Test, comparison: &Comparison, expected: &Expected, missing: usize) {
        self.comparisons += 1;
        self.executions += comparison.executions;
        self.complete += usize::from(missing == 0);
        match expected {
            Expected::Race => self.races += 1,
            Expected::States { reachable, .. } => {
                self.states += reachable.len();
                self.met += reachable.len() - missing;
            }
        }
        if let Some(least) = comparison.seen.values().min().filter(|_| test.is_shape()) {
            let share = *least as f64 / comparison.executions as f64;
            if self.rarest.as_ref().is_none_or(|rarest| share < rarest.0) {
                self.rarest = Some((share, test.name.clone()));
            }
        }
    }
}

#[test]
fn c_programs_show_the_states_of_the_oracle() {
    let full = full();
    let corpus = corpus();
    let known = |test: &Test| KNOWN_WRONG.iter().any(|k| k.0 == test.family && k.1 == test.name);
    let races = |test: &Test| test.models.iter().any(|m| matches!(m.1, Expected::Race));
    let shape = |test: &Test| test.family == "classic" && test.is_shape();
    let chosen = corpus.iter().enumerate();
    let chosen = chosen.filter(|(i, test)| full || shape(test) || known(test) || races(test) || i % SAMPLE == 0);
    let chosen: Vec<&Test> = chosen.map(|(_, test)| test).collect();

    let directory = tempfile::tempdir().expect("a directory");
    let start = Instant::now();
    let pieces: Vec<&[&Test]> = chosen.chunks(PER_UNIT).collect();
    let units: Vec<Mutex<Option<Unit>>> = pieces.iter().map(|_| Mutex::new(None)).collect();
    on_all_cores(pieces.len(), |piece| {
        let unit = Unit::compile(Language::C, pieces[piece], directory.path(), &format!("unit{piece}"));
        *units[piece].lock().expect("not poisoned") = Some(unit);
    });
    let units: Vec<Unit> =
        units.into_iter().map(|unit| unit.into_inner().expect("not poisoned").expect("compiled")).collect();
    println!("C: {} tests compiled in {:.1} s", chosen.len(), start.elapsed().as_secs_f64());

    let effort = |test: &Test| match (test.is_shape(), full) {
        (true, true) => Effort { least: ENOUGH, most: ENOUGH },
        (true, false) => Effort { least: FEW, most: ENOUGH },
        (false, true) => Effort { least: SOME, most: SOME },
        (false, false) => Effort { least: FEW, most: SOME },
    };
    compare_all("C", &units, &Model::ALL, effort, Demand::Shapes);
}

/// Under the models of hardware, `x = 1; r = y;` shows what relaxed atomics show.
#[test]
fn plain_ints_show_the_states_of_hardware() {
    let corpus = corpus();
    let tests = corpus.iter().filter(|test| test.family == "hw" && (full() || test.is_shape()));
    let tests: Vec<Test> = tests.filter_map(with_plain_ints).collect();
    assert!(tests.len() >= 14, "only {} tests can be written so", tests.len());
    let directory = tempfile::tempdir().expect("a directory");
    let unit = Unit::compile(Language::C, &tests.iter().collect::<Vec<_>>(), directory.path(), "plain");
    let least = if full() { SOME } else { FEW };
    let effort = |_: &Test| Effort { least, most: ENOUGH };
    compare_all("plain C", &[unit], &Model::ALL, effort, Demand::Shapes);
}

/// Explores all tests of the units under all of these models that the oracle knows.
fn explore_all(title: &str, units: &[Unit], models: &[Model]) {
    let start = Instant::now();
    let mut work = Vec::new();
    for unit in units {
        for (number, test) in unit.tests.iter().enumerate() {
            work.extend(test.models.iter().map(|m| m.0).filter(|m| models.contains(m)).map(|m| (unit, number, m)));
        }
    }
    let failures = Mutex::new(Vec::new());
    on_all_cores(work.len(), |item| {
        let (unit, number, model) = work[item];
        if let Err(wrong) = unit.explore(number, model) {
            failures.lock().expect("not poisoned").push(format!("{} {model}: {wrong}", unit.tests[number].name));
        }
    });
    println!("{title}: {} explorations in {:.1} s", work.len(), start.elapsed().as_secs_f64());
    let failures = failures.into_inner().expect("not poisoned");
    assert!(failures.is_empty(), "{} explorations are wrong:\n{}", failures.len(), failures.join("\n"));
}

/// The models that are explored by axioms.
const EXPLORED: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

/// With plain ints too, exploration gives exactly the oracle's graphs and states.
#[test]
fn plain_ints_are_explored_exactly() {
    let corpus = corpus();
    let tests = corpus.iter().enumerate().filter(|(i, test)| full() || test.is_shape() || i % SAMPLE == 0);
    let tests: Vec<Test> = tests.filter_map(|(_, test)| with_plain_ints(test)).collect();
    assert!(tests.len() >= 20, "only {} tests can be written so", tests.len());
    let directory = tempfile::tempdir().expect("a directory");
    let pieces: Vec<Vec<&Test>> = tests.chunks(PER_UNIT).map(|tests| tests.iter().collect()).collect();
    let unit = |i: usize| Unit::compile(Language::C, &pieces[i], directory.path(), &format!("plain{i}"));
    let units: Vec<Unit> = (0..pieces.len()).map(unit).collect();
    explore_all("plain C", &units, &EXPLORED);
}

/// And with atomics, of all orders.
#[test]
fn atomics_are_explored_exactly() {
    let corpus = corpus();
    let chosen = corpus.iter().enumerate().filter(|(i, _)| full() || i % (2 * SAMPLE) == 3);
    let chosen: Vec<&Test> = chosen.map(|(_, test)| test).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let compile = |(i, tests)| Unit::compile(Language::C, tests, directory.path(), &format!("atomic{i}"));
    let units: Vec<Unit> = chosen.chunks(PER_UNIT).enumerate().map(compile).collect();
    explore_all("C", &units, &EXPLORED);
}

/// Of executions under another model the comparison says that they are wrong, or that something is missing.
#[test]
fn the_comparison_tells_models_apart() {
    let corpus = corpus();
    let mp = corpus.iter().find(|test| test.name == "MP+Wrlx-Wrlx+Rrlx-Rrlx").expect("message passing");
    let directory = tempfile::tempdir().expect("a directory");
    let unit = Unit::compile(Language::C, &[mp], directory.path(), "mp");
    let says = |ran: Model, oracle: Model| {
        let expected = &mp.models.iter().find(|m| m.0 == oracle).expect("the oracle knows it").1;
        let mut comparison = Comparison::default();
        comparison.add(unit.run(0, ran, 0, SOME).expect("it runs"), expected);
        (comparison.wrong.len(), comparison.missing(expected).len())
    };
    assert_eq!(says(Model::Pso, Model::Pso), (0, 0));
    assert_eq!(says(Model::Pso, Model::Tso), (1, 0));
    assert_eq!(says(Model::Tso, Model::Pso), (0, 1));
}

/// The shapes that are written in C++ and Rust too: each relaxed, with release and acquire, and sequentially
/// consistent.
const IN_OTHER_LANGUAGES: &[&str] = &[
    "SB+Wrlx-Rrlx+Wrlx-Rrlx",
    "SB+Wrel-Racq+Wrel-Racq",
    "SB+Wsc-Rsc+Wsc-Rsc",
    "SB+Wrlx-Fsc-Rrlx+Wrlx-Fsc-Rrlx",
    "MP+Wrlx-Wrlx+Rrlx-Rrlx",
    "MP+Wrel-Wrel+Racq-Racq",
    "MP+Wsc-Wsc+Rsc-Rsc",
    "IRIW+Wrlx+Wrlx+Rrlx-Rrlx+Rrlx-Rrlx",
    "IRIW+Wrel+Wrel+Racq-Racq+Racq-Racq",
    "IRIW+Wsc+Wsc+Rsc-Rsc+Rsc-Rsc",
    "2+2W+Wrlx-Wrlx+Wrlx-Wrlx",
    "2+2W+Wrel-Wrel+Wrel-Wrel",
    "2+2W+Wsc-Wsc+Wsc-Wsc",
    "CoRR+Wrlx+Rrlx-Rrlx",
    "CoRR+Wrel+Racq-Racq",
    "CoRR+Wsc+Rsc-Rsc",
];

fn shapes_in(language: Language, title: &str) {
    let corpus = corpus();
    let find = |name: &&str| {
        let test = corpus.iter().find(|test| test.family == "classic" && test.name == **name);
        test.unwrap_or_else(|| panic!("{name} is in the corpus"))
    };
    let tests: Vec<&Test> = IN_OTHER_LANGUAGES.iter().map(find).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let unit = Unit::compile(language, &tests, directory.path(), "shapes");
    let least = if full() { ENOUGH } else { FEW };
    let effort = |_: &Test| Effort { least, most: ENOUGH };
    compare_all(title, &[unit], &[Model::C11], effort, Demand::AllStates);
}

#[test]
fn cxx_atomics_show_exactly_the_states_of_the_oracle() {
    shapes_in(Language::Cxx, "C++");
}

#[test]
fn rust_atomics_show_exactly_the_states_of_the_oracle() {
    shapes_in(Language::Rust, "Rust");
}
