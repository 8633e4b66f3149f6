//! `fencepost check` on programs that wait: on futexes, in C++'s and Rust's standard libraries, and in loops.
//!
//! The programs in `programs/waiting` say in their first lines how they are compiled, what is right to say of them,
//! and why.

mod common;

use common::{Output as Run, command, finish, have};
use std::path::{Path, PathBuf};

/// What is expected of a program, compiled with these options.
struct Expected {
    options: String,
    /// `pass`, `incomplete`, or the kind of what is found.
    verdict: String,
}

fn programs(ending: &str) -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/waiting");
    let entries = std::fs::read_dir(directory).expect("the programs are there");
    let mut list: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    list.retain(|path| path.extension().is_some_and(|found| found == ending));
    list.sort();
    assert!(list.len() > 1, "there are programs that end in {ending}");
    list
}

/// `// OPTIONS VERDICT: WHY`
fn expectations(program: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(program).expect("a program");
    let lines = text.lines().map_while(|line| line.strip_prefix("// "));
    let list: Vec<Expected> = lines
        .map(|line| {
            let (before, _) = line.split_once(": ").expect("a reason");
            let (options, verdict) = before.rsplit_once(' ').unwrap_or(("", before));
            Expected { options: options.to_owned(), verdict: verdict.to_owned() }
        })
        .collect();
    assert!(!list.is_empty(), "{} says what is expected", program.display());
    list
}

fn run(directory: &Path, verb: &str, program: &Path, options: &str, arguments: &[&str]) -> Run {
    finish(
        command(directory)
            .arg(verb)
            .arg(program)
            .args(["--format", "json", "--out"])
            .arg(directory.join("out"))
            .args(arguments)
            .env("CFLAGS", options)
            .env("CXXFLAGS", format!("-std=c++20 {options}")),
    )
}

/// What a run says, in the words of the programs.
fn said(run: &Run) -> String {
    let json = run.json();
    match json["verdict"].as_str() {
        Some("fail") => json["findings"][0]["kind"].as_str().expect("a kind").to_owned(),
        verdict => verdict.expect("a verdict").to_owned(),
    }
}

/// Checks all programs that end like this. What passes is also tested: what is right in every execution is so in
/// random ones.
fn check_all(ending: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut wrong = Vec::new();
    for program in programs(ending) {
        for Expected { options, verdict } in expectations(&program) {
            let mut hold = |verb: &str, arguments: &[&str], expected: &str| {
                let run = run(directory.path(), verb, &program, &options, arguments);
                let said = said(&run);
                if said != expected {
                    let name = program.display();
                    wrong.push(format!("{verb} {name} {options}: {said}, not {expected}\n{}", run.stderr));
                }
            };
            hold("check", &[], &verdict);
            if verdict == "pass" {
                hold("test", &["--executions", "300"], "pass");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn futexes_in_c() {
    check_all("c");
}

#[test]
fn the_c_plus_plus_library_and_loops_that_write() {
    check_all("cpp");
}

#[test]
fn the_rust_library() {
    if have("rustc") {
        check_all("rs");
    }
}

/// An execution that does not end and cannot be interrupted says nothing about the program: the host has killed it.
#[test]
fn what_the_host_kills_is_no_finding() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("deaf.c");
    let source = "#define _GNU_SOURCE\n#include <signal.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         int main(void) { unsigned long all = ~0ul; syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);\n\
         for (;;) __asm__ volatile(\"\"); }\n";
    std::fs::write(&program, source).expect("a file");
    for (verb, arguments) in [("check", &["--timeout", "1s"][..]), ("test", &["--timeout", "1s", "--executions", "1"])]
    {
        let run = run(directory.path(), verb, &program, "", arguments);
        assert_eq!(said(&run), "incomplete", "{verb}: {}", run.stderr);
        assert!(run.stderr.contains("was killed"), "{verb}: {}", run.stderr);
    }
}

/// An execution that does not end, but can be interrupted: the reason is the limit of time, and the place is said.
#[test]
fn what_takes_too_long_is_no_finding_and_no_proof() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("busy.c");
    let source = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x;\n\
         static void *f(void *u) { if (atomic_load(&x)) for (;;) __asm__ volatile(\"\"); return u; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); atomic_store(&x, 1); pthread_join(t, 0); }\n";
    std::fs::write(&program, source).expect("a file");
    let run = run(directory.path(), "check", &program, "", &["--timeout", "1s"]);
    assert_eq!(said(&run), "incomplete", "{}", run.stderr);
    assert!(run.stderr.contains("busy.c:4"), "{}", run.stderr);
}
