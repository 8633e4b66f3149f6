//! The corpus of litmus tests on the atomics of the libraries, beside what herd7 says.

use fencepost_litmus::{LitmusProgram, LitmusTest};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A test has something that cannot be said with Rust's atomics.
pub(crate) struct Unsupported;

type State = Vec<i64>;

/// Who has not finished after so many executions is stopped.
const MOST: u64 = 20_000;

/// The states that were seen, and whether the exploration came to its end.
type Seen = Result<(BTreeSet<State>, u64, bool), Unsupported>;

/// How an answer compares with the corpus.
#[derive(Default)]
struct Tally {
    exact: u64,
    /// States that are not allowed.
    wrong: u64,
    /// States that are missing, although the exploration was complete.
    missing: u64,
    unfinished: u64,
    executions: u64,
}

impl Tally {
    /// Counts an answer, and says what is to be said of it.
    fn add(&mut self, seen: &(BTreeSet<State>, u64, bool), allowed: &BTreeSet<State>) -> &'static str {
        let (states, executions, complete) = seen;
        self.executions += executions;
        let (count, word) = if !states.is_subset(allowed) {
            (&mut self.wrong, "not allowed")
        } else if !complete {
            (&mut self.unfinished, "not finished")
        } else if states != allowed {
            (&mut self.missing, "missing")
        } else {
            (&mut self.exact, "exact")
        };
        *count += 1;
        word
    }

    fn print(&self, name: &str) {
        let Tally { exact, wrong, missing, unfinished, executions } = self;
        println!("| {name} | {exact} | {wrong} | {missing} | {unfinished} | {executions} |");
    }
}

fn ours(program: &LitmusProgram) -> Seen {
    let (program, seen) = (program.clone(), Arc::new(Mutex::new((BTreeSet::new(), false))));
    let all = Arc::clone(&seen);
    let config = fencepost::Config::new().max_executions(MOST);
    let summary = config.run(move || record(super::ours::execute(&program), &all));
    let summary = summary.map_err(|_| Unsupported)?;
    finish(&seen, summary.executions, summary.complete)
}

#[cfg(feature = "peers")]
fn looms(program: &LitmusProgram) -> Seen {
    let (program, seen) = (program.clone(), Arc::new(Mutex::new((BTreeSet::new(), false))));
    let all = Arc::clone(&seen);
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let mut builder = loom::model::Builder::new();
    builder.max_permutations = Some(MOST as usize);
    builder.max_branches = 100_000;
    builder.check(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        record(super::looms::execute(&program), &all);
    });
    let executions = count.load(std::sync::atomic::Ordering::Relaxed);
    // It stops before the last one.
    finish(&seen, executions, executions + 1 < MOST)
}

#[cfg(not(feature = "peers"))]
fn looms(_: &LitmusProgram) -> Seen {
    Err(Unsupported)
}

type Shared = Mutex<(BTreeSet<State>, bool)>;

fn record(outcome: Result<State, Unsupported>, all: &Shared) {
    let mut all = all.lock().expect("nobody panics with it");
    match outcome {
        Ok(state) => drop(all.0.insert(state)),
        Err(Unsupported) => all.1 = true,
    }
}

fn finish(seen: &Shared, executions: u64, complete: bool) -> Seen {
    let seen = seen.lock().expect("nobody panics with it");
    if seen.1 { Err(Unsupported) } else { Ok((seen.0.clone(), executions, complete)) }
}

/// All tests of a family without plain accesses, with their states under C/C++20.
fn tests(family: &str) -> Vec<(LitmusTest, BTreeSet<State>)> {
    let path = format!("{}/../../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
    let parse = |line: &str| {
        let test: serde_json::Value = serde_json::from_str(line).expect("one test a line");
        let (name, source) = (test["name"].as_str()?, test["source"].as_str()?);
        let states = serde_json::from_value(test["models"]["c11"]["states"].clone()).ok()?;
        let litmus = LitmusTest::parse(name, source.as_bytes()).ok()?;
        (!litmus.program().uses_plain_shared()).then_some((litmus, states))
    };
    text.lines().filter_map(parse).collect()
}

/// `every`: only each so many-th test.
pub(crate) fn measure(every: usize, details: bool) {
    println!("| library | exact | states not allowed | states missing | not finished | executions |");
    println!("|---|---|---|---|---|---|");
    let (mut own, mut loom, mut skipped) = (Tally::default(), Tally::default(), 0);
    let mut lines = Vec::new();
    for (litmus, allowed) in ["classic", "generated", "hw"].iter().flat_map(|f| tests(f)).step_by(every) {
        let program = litmus.program();
        let Ok(seen) = ours(&program) else {
            skipped += 1;
            continue;
        };
        let mine = own.add(&seen, &allowed);
        let theirs = looms(&program).map_or("-", |seen| loom.add(&seen, &allowed));
        lines.push(format!("{}: ours {mine}, loom {theirs}", litmus.name()));
    }
    own.print("Fencepost");
    loom.print("loom");
    println!("\nleft out, for Rust has no word for it: {skipped}");
    if details {
        lines.iter().for_each(|line| println!("{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the model permits is what the library's types show, in as many executions as there are graphs or more: who
    /// joins and who looks at the end are events, too.
    #[test]
    fn the_library_is_exact_on_the_corpus() {
        let (mut tally, mut wrong) = (Tally::default(), Vec::new());
        for (litmus, allowed) in ["classic", "generated", "hw"].iter().flat_map(|family| tests(family)) {
            let Ok(seen) = ours(&litmus.program()) else {
                wrong.push(format!("{}: it cannot be said, or fails", litmus.name()));
                continue;
            };
            match tally.add(&seen, &allowed) {
                "exact" => {}
                word => wrong.push(format!("{}: {word}", litmus.name())),
            }
        }
        assert!(wrong.is_empty(), "{} differ, {} are exact:\n{}", wrong.len(), tally.exact, wrong.join("\n"));
        assert!(tally.exact > 2_000, "{} tests have no plain accesses", tally.exact);
    }
}
