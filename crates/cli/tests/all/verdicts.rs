//! Programs with the verdict that is right beside them: `verdicts/*`, in C, C++ and Rust; in `verdicts/waiting` those
//! that wait on futexes, in C++'s and Rust's standard libraries, and in loops.
//!
//! A program begins with comments: why the verdict is what it is, and for each command a line
//!
//! ```text
//! // fencepost check --model tso [CFLAGS=-DN=3]: fail assertion
//! // fencepost check: pass, 6 executions
//! // fencepost check: pass, exactly 6 executions
//! // fencepost check: fail assertion | incomplete
//! ```
//!
//! with a verdict, the kinds that must be among the findings, and how many executions there are at the most. Each
//! program runs once for each line, and is compiled once for each set of variables.

use crate::common::{Output, command, finish};
use fencepost_native::compiler::{Surroundings, compile_single_in};
use fencepost_native::embedded::runtime_directory;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// One line that says what must be.
#[derive(Clone, Debug)]
struct Expectation {
    command: String,
    arguments: Vec<String>,
    variables: BTreeMap<String, String>,
    alternatives: Vec<Verdict>,
}

/// A verdict, the kinds of findings, the least and the greatest number of executions.
#[derive(Clone, Debug)]
struct Verdict {
    verdict: String,
    kinds: Vec<String>,
    executions: RangeInclusive<u64>,
}

/// What a program says of itself.
fn expectations(source: &str) -> Vec<Expectation> {
    source.lines().filter_map(|line| line.strip_prefix("// fencepost ")).map(expectation).collect()
}

fn expectation(line: &str) -> Expectation {
    let (command, expected) = line.rsplit_once(": ").expect("a command, a colon, a verdict");
    let (command, variables) = match command.split_once(" [") {
        Some((command, variables)) => (command, variables.trim_end_matches(']')),
        None => (command, ""),
    };
    let mut words = command.split_whitespace().map(str::to_owned);
    let variable = variables.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Expectation {
        command: words.next().expect("a command"),
        arguments: words.collect(),
        variables: variable.into_iter().collect(),
        alternatives: expected.split(" | ").map(verdict).collect(),
    }
}

fn verdict(text: &str) -> Verdict {
    let (text, executions) = match text.split_once(", ") {
        Some((text, number)) => {
            let (least, number) = (number.starts_with("exactly "), number.trim_start_matches("exactly "));
            let number = number.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
            (text, if least { number } else { 0 }..=number)
        }
        None => (text, 0..=u64::MAX),
    };
    let mut words = text.split_whitespace().map(str::to_owned);
    Verdict { verdict: words.next().expect("a verdict"), kinds: words.collect(), executions }
}

/// A program, with the lines that are about it as it is compiled with the same variables.
struct Work {
    program: PathBuf,
    lines: Vec<Expectation>,
}

impl Work {
    /// Compiles it as the command does when it is given the source, and runs each line; says what is wrong.
    fn differences(&self, runtime: &Path) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let mut surroundings = Surroundings::from_environment();
        surroundings.variables.extend(self.lines[0].variables.clone());
        let executable = compile_single_in(&surroundings, &self.program, directory.path(), runtime)
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        self.lines.iter().filter_map(|line| self.differs(line, &executable)).collect()
    }

    fn differs(&self, line: &Expectation, executable: &Path) -> Option<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let mut fencepost = command(directory.path());
        fencepost.arg(&line.command).arg(executable).args(["--format", "json", "--out"]).arg(directory.path());
        let output = finish(fencepost.args(&line.arguments));
        let met = line.alternatives.iter().any(|expected| fits(&output, expected));
        (!met).then(|| {
            let (program, status) = (self.program.display(), output.status);
            format!("{program} {line:?}\nstatus {status}\n{}{}", output.stdout, output.stderr)
        })
    }
}

fn fits(output: &Output, expected: &Verdict) -> bool {
    // 2: the command could not do its work, and there is no document.
    if output.status == 2 {
        return false;
    }
    let json = output.json();
    let findings = json["findings"].as_array().expect("a list");
    let count = |kind: &String| findings.iter().filter(|finding| finding["kind"] == kind.as_str()).count();
    let has = |kind: &String| count(kind) >= expected.kinds.iter().filter(|other| *other == kind).count();
    json["verdict"] == expected.verdict.as_str()
        && expected.kinds.iter().all(has)
        && json["executions"].as_u64().is_some_and(|number| expected.executions.contains(&number))
}

/// The programs of a folder.
fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(folder).expect("the programs").map(|entry| entry.expect("a file").path());
    let is_program = |path: &PathBuf| path.extension().is_some_and(|ending| ending != "h");
    let mut programs: Vec<PathBuf> = entries.filter(is_program).collect();
    programs.sort();
    programs
}

#[test]
fn every_program_gets_the_verdict_that_is_right() {
    hold_all(programs("verdicts"));
}

#[test]
fn so_does_every_program_that_waits() {
    hold_all(programs("verdicts/waiting"));
}

fn hold_all(programs: Vec<PathBuf>) {
    let mut work: Vec<Work> = Vec::new();
    for program in programs {
        let lines = expectations(&std::fs::read_to_string(&program).expect("a program"));
        assert!(!lines.is_empty(), "{} says nothing of its verdict", program.display());
        let first = work.len();
        for line in lines {
            match work[first..].iter_mut().find(|work| work.lines[0].variables == line.variables) {
                Some(work) => work.lines.push(line),
                None => work.push(Work { program: program.clone(), lines: vec![line] }),
            }
        }
    }
    // Once for both tests: its name is not made for two threads of one process.
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| runtime_directory().expect("the runtime can be unpacked"));
    let (work, wrong) = (Mutex::new(work), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(next) = work.lock().expect("no panic").pop() else { break };
                    let differences = next.differences(runtime);
                    wrong.lock().expect("no panic").extend(differences);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
