//! Very many executions in one process: it does not grow, and the last one is what it would be alone.

#[path = "support/programs.rs"]
mod programs;

use fencepost_mailbox::Restart;
use fencepost_trace::Model;
use programs::{campaign, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a process holds of the system.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Holdings {
    mappings: usize,
    threads: usize,
    files: usize,
    /// Memory, in kilobytes.
    memory: u64,
}

impl Holdings {
    /// Of this process; `None` if it has ended.
    fn of(process: &Path) -> Option<Holdings> {
        let count = |name: &str| Some(std::fs::read_dir(process.join(name)).ok()?.count());
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Holdings {
            mappings: std::fs::read_to_string(process.join("maps")).ok()?.lines().count(),
            threads: count("task")?,
            files: count("fd")?,
            memory: memory.trim().trim_end_matches(" kB").parse().ok()?,
        })
    }
}

/// The process that runs this program.
fn process_of(program: &Path) -> Option<std::path::PathBuf> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    processes.into_iter().find(|process| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program))
}

/// Runs so many executions in one worker and watches what it holds.
fn endure(name: &str, model: Model, executions: u64) {
    let mut campaign = campaign(name, &[], model, executions);
    campaign.request.restart = Restart::InPlace;
    campaign.request.status_is_finding = false;
    let program = std::fs::canonicalize(&campaign.program).expect("it was compiled");
    let done = AtomicBool::new(false);
    let (results, held) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut held = Vec::new();
            while !done.load(Ordering::Relaxed) {
                held.extend(process_of(&program).and_then(|process| Holdings::of(&process)));
                std::thread::sleep(Duration::from_millis(20));
            }
            held
        });
        let results = run(&campaign);
        done.store(true, Ordering::Relaxed);
        (results, watcher.join().expect("it watches to the end"))
    });
    assert_eq!(results.executions, executions, "{name}");
    assert_eq!(results.found, [], "{name}");
    // The last execution was compared with a fresh process, which ran nothing else.
    assert!(results.digests.contains_key(&(executions - 1)), "{name}: {:?}", results.digests);
    assert_eq!(results.warnings, [""; 0], "{name}");
    assert_eq!(results.irreversible, None, "{name}");
    // The first looks are at a process that is still being made, the last ones at the process that compares. In
    // between it must hold what it held when a tenth was done: memory within what a leak of a few bytes in each
    // execution would take, the rest to the piece.
    let (early, late) = (&held[held.len() / 10], &held[held.len() * 9 / 10]);
    assert!(held.len() > 20, "{name}: it was looked at often enough: {}", held.len());
    assert_eq!((early.mappings, early.threads, early.files), (late.mappings, late.threads, late.files), "{name}");
    assert!(late.memory <= early.memory + 4096, "{name}: {early:?} {late:?}");
}

#[test]
fn many_executions_of_c_leave_nothing_behind() {
    endure("store_buffering_atomic.c", Model::C11, 200_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_executions_of_c_leave_nothing_behind() {
    endure("store_buffering_atomic.c", Model::C11, 1_000_000);
}

#[test]
fn many_executions_of_cxx_leave_nothing_behind() {
    endure("strings.cpp", Model::C11, 30_000);
    endure("strings.cpp", Model::Tso, 15_000);
}
