//! Concurrent libraries that nobody here wrote, as Debian packages them: used as documented and, for some, against
//! the documentation.
//!
//! What is expected of each is written down with the reason for it. A library that is not installed is left out with
//! a note.

use crate::common::{Output, command, fencepost, finish, left_out};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A program of `tests/third_party`, compiled.
struct Program {
    name: String,
    directory: TempDir,
}

impl Program {
    /// Nothing where the package that the program is about is not installed.
    fn new(source: &str, flags: &[&str], (package, header): (&str, &str)) -> Option<Program> {
        let language = if source.ends_with(".c") { "c" } else { "c++" };
        let mut look = Command::new("gcc");
        look.args(["-fsyntax-only", "-x", language, "-include", header, "/dev/null"]).stderr(Stdio::null());
        if !look.status().is_ok_and(|status| status.success()) {
            left_out(package);
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/third_party").join(source);
        let compiler = if language == "c" { "cc" } else { "c++" };
        let mut build = command(directory.path());
        let built = finish(build.args([compiler, "-g", "-O1", "-o", "program"]).arg(path).args(flags));
        assert_eq!(built.status, 0, "{}", built.stderr);
        let variants: String =
            flags.iter().filter(|flag| flag.starts_with("-D")).map(|flag| format!(" {flag}")).collect();
        Some(Program { name: format!("{source}{variants}"), directory })
    }

    /// Runs it 2,000 times.
    fn test(&self, model: &str) -> Findings {
        self.test_with(&["--model", model])
    }

    fn test_with(&self, more: &[&str]) -> Findings {
        self.test_some(2000, more)
    }

    fn test_some(&self, executions: u64, more: &[&str]) -> Findings {
        let number = executions.to_string();
        let options = [&["--executions", &number, "--keep-going", "--format", "json"], more].concat();
        let run = fencepost(self.directory.path(), &[&["test", "./program"], &options[..]].concat());
        assert!(run.status <= 1, "{}", run.stderr);
        let report = run.json();
        assert_eq!(report["executions"], executions);
        let list = report["findings"].as_array().expect("a list").clone();
        assert_eq!(run.status == 0, list.is_empty(), "{}", run.stderr);
        // For docs/field.md.
        let rate = executions as f64 / report["seconds"].as_f64().expect("a number");
        println!("{} {}: {rate:.0} executions/s, {} findings", self.name, more.join(" "), list.len());
        Findings { list, run }
    }
}

struct Findings {
    list: Vec<Json>,
    run: Output,
}

impl Findings {
    fn none(&self) {
        assert!(self.list.is_empty(), "{:#?}", self.list);
    }

    fn kinds(&self) -> BTreeSet<&str> {
        self.list.iter().map(|finding| finding["kind"].as_str().expect("a kind")).collect()
    }

    /// The files in which the races are, by their last name: for each race, both.
    fn races(&self) -> BTreeSet<[String; 2]> {
        let file = |label: &Json| {
            let path = label["file"].as_str().expect("a file");
            path.rsplit('/').next().expect("a name").to_owned()
        };
        let races = self.list.iter().filter(|finding| finding["kind"] == "data-race");
        races
            .map(|race| {
                let mut files: Vec<String> = race["labels"].as_array().expect("two places").iter().map(file).collect();
                files.sort();
                files.try_into().expect("two places")
            })
            .collect()
    }

    /// All races are between accesses in these files, and there are some.
    fn races_are_in(&self, files: &[&str]) {
        let races = self.races();
        assert!(!races.is_empty());
        assert!(races.iter().flatten().all(|file| files.contains(&file.as_str())), "{races:?}");
    }
}

const SPSC: (&str, &str) = ("libboost-dev", "boost/lockfree/spsc_queue.hpp");
const QUEUE: (&str, &str) = ("libboost-dev", "boost/lockfree/queue.hpp");
const STACK: (&str, &str) = ("libboost-dev", "boost/lockfree/stack.hpp");
const MOODYCAMEL: (&str, &str) = ("libconcurrentqueue-dev", "concurrentqueue/concurrentqueue.h");
const TBB: (&str, &str) = ("libtbb-dev", "tbb/concurrent_hash_map.h");
const URCU: (&str, &str) = ("liburcu-dev", "urcu/wfcqueue.h");
const CK: (&str, &str) = ("libck-dev", "ck_ring.h");

#[test]
fn boost_spsc_queue_is_right() {
    let Some(program) = Program::new("boost_spsc.cpp", &[], SPSC) else { return };
    ["c11", "tso", "pso"].into_iter().for_each(|model| program.test(model).none());
}

/// Two threads fill the same slot: a race in the queue's buffer, and an element is lost.
#[test]
fn boost_spsc_queue_with_two_producers_is_wrong() {
    let Some(program) = Program::new("boost_spsc.cpp", &["-DWRONG"], SPSC) else { return };
    let found = program.test("c11");
    assert!(found.kinds().is_superset(&["data-race", "assertion"].into()), "{:?}", found.kinds());
    assert!(found.races().contains(&["spsc_queue.hpp", "spsc_queue.hpp"].map(str::to_owned)), "{:?}", found.races());
}

/// The files of boost, and of the standard library's atomics, between which nodes are handed on.
const BOOST_NODES: [&str; 6] =
    ["queue.hpp", "stack.hpp", "freelist.hpp", "tagged_ptr_ptrcompression.hpp", "copy_payload.hpp", "atomic"];

/// While no node is used twice, nothing is wrong.
#[test]
fn boost_stack_is_right_without_reuse() {
    let Some(program) = Program::new("boost_stack.cpp", &["-DONE"], STACK) else { return };
    ["c11", "tso", "pso"].into_iter().for_each(|model| program.test(model).none());
}

/// The races are boost's own. `pop` reads `next` of the top node before its compare-and-swap, `allocate` that of the
/// first free node: plain reads, while another thread may have taken the node and write its `next`, plainly too
/// (`link_nodes_atomic`, `deallocate`). The tag makes the compare-and-swap fail then, so that the value is not used:
/// undefined behaviour by the standard, and harmless where reads do not tear. Nothing is lost, and on the hardware
/// models, which know no undefined behaviour, there is no finding.
#[test]
fn boost_stack_has_races_of_its_own_when_nodes_are_reused() {
    for flags in [&[][..], &["-DFIXED"]] {
        let Some(program) = Program::new("boost_stack.cpp", flags, STACK) else { return };
        let found = program.test("c11");
        assert_eq!(found.kinds(), ["data-race"].into());
        found.races_are_in(&BOOST_NODES);
        ["sc", "tso", "pso"].into_iter().for_each(|model| program.test(model).none());
    }
}

/// `unsynchronized_push` beside other threads loses elements, or gives them out twice: in a third of all executions. In
/// a few of them the stack has become a circle, whose elements are collected until the time is over.
#[test]
fn boost_stack_with_unsynchronized_push_is_wrong() {
    let Some(program) = Program::new("boost_stack.cpp", &["-DWRONG"], STACK) else { return };
    for model in ["c11", "sc"] {
        let findings = program.test_some(200, &["--model", model, "--timeout", "500ms"]);
        assert!(findings.kinds().contains("assertion"), "{model}");
    }
}

/// The races are boost's own, as in the stack: `deallocate` writes `next` plainly, and another thread may be reading
/// it. In a few executions in 2,000 under c11 an element is lost as well. `push` reads `tail_`, then `next` of that
/// node, then `tail_` again, all acquiring; where the node has been freed meanwhile, `next` is null again, written by
/// the plain store, with which an acquiring load does not synchronise. So the second look at `tail_` may be as old as
/// the first, and the compare-and-swap appends the new node to a free one. A release store in `deallocate` forbids
/// it, and so do sc, tso and pso: there is no finding under them.
#[test]
fn boost_queue_has_races_of_its_own() {
    for flags in [&[][..], &["-DFIXED"]] {
        let Some(program) = Program::new("boost_queue.cpp", flags, QUEUE) else { return };
        let found = program.test("c11");
        assert!(found.kinds().is_subset(&["data-race", "assertion"].into()), "{:?}", found.kinds());
        found.races_are_in(&BOOST_NODES);
        ["sc", "tso", "pso"].into_iter().for_each(|model| program.test(model).none());
    }
}

#[test]
fn moodycamel_queue_is_right() {
    let Some(program) = Program::new("concurrentqueue.cpp", &[], MOODYCAMEL) else { return };
    program.test("c11").none();
    program.test("tso").none();
}

#[test]
fn moodycamel_blocking_queue_is_right() {
    let Some(program) = Program::new("blocking_concurrentqueue.cpp", &[], MOODYCAMEL) else { return };
    program.test("c11").none();
}

/// A token is for one thread at a time.
#[test]
fn moodycamel_queue_with_a_shared_token_is_wrong() {
    let Some(program) = Program::new("concurrentqueue.cpp", &["-DWRONG"], MOODYCAMEL) else { return };
    let found = program.test("c11");
    assert!(found.kinds().is_superset(&["data-race", "assertion"].into()), "{:?}", found.kinds());
    let inside = ["concurrentqueue.h", "concurrentqueue.h"].map(str::to_owned);
    assert!(found.races().contains(&inside), "{:?}", found.races());
}

/// The containers of oneTBB are in its headers; the library itself is not instrumented, and gives them memory only.
#[test]
fn tbb_queue_is_right() {
    let Some(program) = Program::new("tbb_queue.cpp", &["-ltbb"], TBB) else { return };
    let found = program.test("c11");
    found.none();
    assert!(found.run.stderr.contains("libtbb.so.12 is not instrumented"), "{}", found.run.stderr);
}

#[test]
fn tbb_hash_map_is_right() {
    let Some(program) = Program::new("tbb_hash_map.cpp", &["-ltbb"], TBB) else { return };
    program.test("c11").none();
}

/// Without its accessor an element is not locked.
#[test]
fn tbb_hash_map_without_accessor_is_wrong() {
    let Some(program) = Program::new("tbb_hash_map.cpp", &["-DWRONG", "-ltbb"], TBB) else { return };
    let races = program.test("c11").races();
    assert!(races.contains(&["tbb_hash_map.cpp", "tbb_hash_map.cpp"].map(str::to_owned)), "{races:?}");
}

/// Tasks are handed from thread to thread by code in the library, which is not instrumented: under c11 that order is
/// not known, and races would be reported that are none. Under sc the order does not matter.
#[test]
fn tbb_algorithms_are_right_under_sc() {
    let Some(program) = Program::new("tbb_parallel.cpp", &["-ltbb"], TBB) else { return };
    program.test("sc").none();
}

/// The atomics of liburcu are inline assembly, which is performed. Its volatile loads follow a pointer: the hardware
/// orders what they depend on, and so does c11 where volatile accesses are acquire and release.
#[test]
fn liburcu_queue_is_right() {
    let Some(program) = Program::new("urcu_queue.c", &["-lurcu-common"], URCU) else { return };
    for options in [&["--model", "tso"][..], &["--model", "pso"], &["--volatile", "acqrel"]] {
        let found = program.test_with(options);
        found.none();
        assert!(!found.run.stderr.contains("is hidden"), "{}", found.run.stderr);
    }
}

/// Read-side critical sections and grace periods do work where only the order of execution counts.
#[test]
fn liburcu_grace_periods_are_right_under_sc() {
    let flags = ["-D_LGPL_SOURCE", "-lurcu-mb", "-lurcu-common"];
    let Some(program) = Program::new("urcu_read_copy_update.c", &flags, URCU) else { return };
    program.test("sc").none();
}

/// Concurrency Kit reads and writes its indices in inline assembly, with plain `mov`: neither the instrumentation nor
/// a look for locked instructions finds them, and the slots that they order look like races. ThreadSanitizer reports
/// the same one.
#[test]
fn concurrency_kit_hides_its_accesses() {
    let Some(program) = Program::new("ck_ring.c", &[], CK) else { return };
    let found = program.test("c11");
    assert_eq!(found.races(), [["ck_ring.h", "ck_ring.h"].map(str::to_owned)].into());
}
