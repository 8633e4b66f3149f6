//! Findings of `test` are shown as small executions: never longer than those that were met first, the same whatever the
//! number of workers, and both replay.

use crate::common::fencepost;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// The programs of a folder of examples.
fn programs(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(format!("{EXAMPLES}/{folder}")).expect("the examples are there");
    let mut programs: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|ending| ["c", "cpp", "rs"].iter().any(|e| ending == *e)));
    programs.sort();
    programs
}

/// The findings of a run, as JSON.
fn findings(directory: &Path, arguments: &[&str]) -> Vec<Json> {
    let run = fencepost(directory, &[&["test", "--format", "json"], arguments].concat());
    assert!(run.status < 2, "{arguments:?}: {}", run.stderr);
    let report: Json = serde_json::from_str(&run.stdout).expect("JSON");
    report["findings"].as_array().expect("a list").clone()
}

fn operations(needs: &Json) -> u64 {
    needs["operations"].as_u64().expect("a number")
}

/// Not longer; and what is told of both is there to be replayed. Says whether there was anything to leave out.
pub fn gets_smaller(directory: &Path, finding: &Json, program: &str) -> bool {
    let Some(first) = finding.get("first_met") else { return false };
    let (now, then) = (operations(&finding["needs"]), operations(&first["needs"]));
    assert!(now <= then, "{program}: {now} operations, {then} when it was met first");
    for file in [&finding["replay"], &first["replay"]] {
        let again = fencepost(directory, &["replay", file.as_str().expect("a file")]);
        // 1: the finding is there again.
        assert_eq!(again.status, 1, "{program}: {file}: {}", again.stderr);
    }
    true
}

/// The programs of the hunt fail under tso or pso only, where stores have to be late: not in every run of `test`.
#[test]
#[ignore = "takes minutes"]
fn executions_of_the_hunt_do_not_get_longer() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut smaller = 0;
    for program in &programs("hunt") {
        for model in ["tso", "pso"] {
            let found = findings(directory.path(), &[program.to_str().expect("a name"), "--model", model]);
            smaller += found
                .first()
                .map_or(0, |found| usize::from(gets_smaller(directory.path(), found, &program.to_string_lossy())));
        }
    }
    assert!(smaller > 3, "{smaller}");
}

/// Store buffering: one thread after the other, and the last one reads too early. Under tso a store is late instead.
#[test]
fn what_is_essential_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, noise;
static int a, b;
static void busy(void) {
    for (int i = 0; i < 10; i++) atomic_fetch_add_explicit(&noise, 1, memory_order_relaxed);
}
static void *one(void *p) {
    busy();
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    a = atomic_load_explicit(&y, memory_order_relaxed);
    return p;
}
static void *two(void *p) {
    busy();
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    b = atomic_load_explicit(&x, memory_order_relaxed);
    return p;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(a || b);
}
"#;
    std::fs::write(directory.path().join("sb.c"), program).expect("a file");
    let c11 = findings(directory.path(), &["sb.c"]);
    let needs = &c11[0]["needs"];
    // Main creates both, waits, one runs, the other runs, main goes on: three switches, and one read that is stale.
    let numbers = |needs: &Json| {
        ["context_switches", "stale_reads", "delayed_stores"].map(|name| needs[name].as_u64().expect("a number"))
    };
    assert_eq!(numbers(needs), [3, 1, 0], "{}", c11[0]);
    let tso = findings(directory.path(), &["sb.c", "--model", "tso"]);
    let [switches, stale, delayed] = numbers(&tso[0]["needs"]);
    assert!(stale == 0 && delayed >= 1 && switches <= 4, "{}", tso[0]);
}

/// How many workers there are changes nothing, and without minimising there is one execution only.
#[test]
fn the_number_of_workers_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = format!("{EXAMPLES}/gallery/ms_queue.c");
    let with =
        |jobs: &str| findings(directory.path(), &[&program, "--jobs", jobs, "--keep-going", "--executions", "200"]);
    let (one, three) = (with("1"), with("3"));
    assert!(one.iter().any(|finding| finding.get("first_met").is_some()), "{one:?}");
    assert_eq!(one, three);
    let plain = findings(directory.path(), &[&program, "--no-minimize"]);
    assert!(plain.iter().all(|finding| finding.get("first_met").is_none()), "{plain:?}");
    assert!(!directory.path().join("fencepost-out/finding-1-first.json").exists(), "what was there is gone");
}

/// A litmus test is minimised, too.
#[test]
fn litmus_tests_are_minimised() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = PathBuf::from(format!("{EXAMPLES}/message_passing.litmus"));
    for seed in ["1", "2", "3", "4"] {
        for finding in findings(directory.path(), &[program.to_str().expect("a name"), "--seed", seed]) {
            assert!(finding.get("needs").is_some(), "{finding}");
            gets_smaller(directory.path(), &finding, &program.to_string_lossy());
        }
    }
}

/// The message is written before the flag, and the flag is stored relaxed: to release it is enough, since the load
/// acquires. Where no value goes from one thread to the other, no order of an operation helps, and nothing is told.
#[test]
fn a_fix_is_told_where_one_was_tried() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = |order: &str, wait: &str| {
        format!(
            "#include <pthread.h>\n#include <stdatomic.h>\nstatic int message;\nstatic atomic_int flag;\n\
             static void *writer(void *p) {{\n    message = 42;\n    \
             atomic_store_explicit(&flag, 1, memory_order_{order});\n    return p;\n}}\n\
             static void *reader(void *p) {{\n    {wait}\n    return message == 42 ? p : 0;\n}}\n\
             int main(void) {{\n    pthread_t s, t;\n    pthread_create(&s, 0, writer, 0);\n    \
             pthread_create(&t, 0, reader, 0);\n    pthread_join(s, 0);\n    pthread_join(t, 0);\n}}\n"
        )
    };
    let wait = "if (!atomic_load_explicit(&flag, memory_order_acquire)) return p;";
    let test = |text: String| {
        std::fs::write(directory.path().join("message.c"), text).expect("a file");
        findings(directory.path(), &["message.c"])
    };
    let racy = test(program("relaxed", wait));
    assert_eq!(racy[0]["fix"]["text"], "make the store at message.c:7 release", "{}", racy[0]);
    assert!(racy[0]["fix"]["executions"].as_u64() >= Some(1_000), "{}", racy[0]);
    assert!(test(program("release", wait)).is_empty(), "and so it is");
    let lost = test(program("release", ""));
    assert!(lost[0].get("fix").is_none(), "{}", lost[0]);
}

/// Store buffering under tso takes a fence in each of two functions: with one alone the other store can still be late.
/// With both in the program nothing is found. Under pso a message can be overtaken by its flag, and one fence between
/// the two stores is enough. Where threads only come in another order no fence helps, and nothing is told.
#[test]
fn fences_are_told_where_they_were_tried() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = |one: &str, two: &str, end: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
             static atomic_int x, y;\nstatic int a = 1, b = 1;\n\
             #define SET(v) atomic_store_explicit(&v, 1, memory_order_relaxed)\n\
             #define GET(v) atomic_load_explicit(&v, memory_order_relaxed)\n\
             #define FENCE atomic_thread_fence(memory_order_seq_cst)\n\
             static void *one(void *p) {{\n{one}\n    return p;\n}}\n\
             static void *two(void *p) {{\n{two}\n    return p;\n}}\n\
             int main(void) {{\n    pthread_t s, t;\n    pthread_create(&s, 0, one, 0);\n    \
             pthread_create(&t, 0, two, 0);\n    pthread_join(s, 0);\n    pthread_join(t, 0);\n{end}\n}}\n"
        )
    };
    let test = |text: String, model: &str| {
        std::fs::write(directory.path().join("fences.c"), text).expect("a file");
        findings(directory.path(), &["fences.c", "--model", model])
    };
    let fix = |found: &[Json]| found[0]["fix"]["text"].as_str().unwrap_or_default().to_owned();
    let buffers = |fence: &str| {
        program(
            &format!("    SET(x);\n    {fence};\n    a = GET(y);"),
            &format!("    SET(y);\n    {fence};\n    b = GET(x);"),
            "    assert(a || b);",
        )
    };
    let found = test(buffers(""), "tso");
    let text = fix(&found);
    for part in ["put a seq_cst fence right before the load at fences.c:12", "the load at fences.c:18", "fences.c:10"] {
        assert!(text.contains(part), "{}", found[0]);
    }
    assert!(found[0]["fix"]["executions"].as_u64() >= Some(1_000), "{}", found[0]);
    assert!(found[0]["reason"][0].as_str().is_some_and(|why| why.contains("still in its buffer")), "{}", found[0]);
    assert!(test(buffers("FENCE"), "tso").is_empty(), "and so it is");
    let message = program("    SET(x);\n    SET(y);", "    if (GET(y)) b = GET(x);", "    assert(b);");
    let found = test(message, "pso");
    let text = "put a release fence right before the store at fences.c:11, so that the store at fences.c:10 is visible";
    assert!(fix(&found).starts_with(text), "{}", found[0]);
    let found = test(program("    SET(x);", "    a = GET(x);", "    assert(a);"), "tso");
    assert!(found[0].get("fix").is_none(), "{}", found[0]);
}
