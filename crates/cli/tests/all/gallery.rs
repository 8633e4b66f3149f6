//! The programs of `examples/gallery`: every bug is found, as what the program's comment says, and no correct twin
//! gives a finding.

use super::minimise::gets_smaller;
use crate::common::browser::{is_in_order, opened};
use crate::common::{command, finish};
use serde_json::Value as Json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Each program, and what its bug may be found as.
const GALLERY: [(&str, &[&str]); 17] = [
    ("barrier.c", &["data-race"]),
    ("bounded_ring.rs", &["data-race"]),
    ("chase_lev.c", &["data-race", "assertion"]),
    ("dekker_fences.cpp", &["data-race"]),
    ("double_checked_locking.cpp", &["data-race"]),
    ("hazard_pointers.cpp", &["use-after-free", "data-race"]),
    ("linux_rwlock.c", &["data-race"]),
    ("mcs_lock.cpp", &["data-race"]),
    ("mpmc_queue.cpp", &["data-race"]),
    ("ms_queue.c", &["data-race"]),
    ("rcu.c", &["use-after-free", "data-race"]),
    ("rwlock.c", &["assertion"]),
    ("seqlock.c", &["assertion"]),
    ("spsc_queue.cpp", &["deadlock"]),
    ("ticket_lock.c", &["data-race"]),
    ("treiber_stack.c", &["assertion"]),
    ("work_stealing.rs", &["panic"]),
];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/gallery")
}

/// Runs a program of the gallery with default flags: exit status and report.
fn test(place: &Path, program: &str, fixed: bool, executions: &str, more: &[&OsStr]) -> (i32, Json) {
    let mut run = command(place);
    run.arg("test").arg(directory().join(program)).args(["--executions", executions, "--format", "json"]).args(more);
    for (variable, fix) in [("CFLAGS", "-DFIXED"), ("CXXFLAGS", "-DFIXED"), ("RUSTFLAGS", "--cfg fixed")] {
        run.env_remove(variable);
        if fixed {
            run.env(variable, fix);
        }
    }
    let output = finish(&mut run);
    assert!(output.status <= 1, "{program}: {}", output.stderr);
    (output.status, output.json())
}

#[test]
fn the_table_is_complete() {
    let mut there: Vec<String> = std::fs::read_dir(directory())
        .expect("the gallery is there")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != "README.md")
        .collect();
    there.sort();
    assert_eq!(there, GALLERY.map(|(program, _)| program));
}

/// Each is found in more than 1 of 100 executions (`fencepost-bench gallery`): missed in 1,000 with a probability
/// below 10^-4, and the seed is always the same. Most are met in executions that can be made smaller: chance switches
/// threads at many places that do not matter. The page of each can be looked at.
#[test]
fn every_bug_is_found_within_1000_executions() {
    let place = tempfile::tempdir().expect("a directory");
    let mut pages = Vec::new();
    let mut smaller = 0;
    for (program, kinds) in GALLERY {
        let page = place.path().join(format!("{program}.html"));
        let (status, report) = test(place.path(), program, false, "1000", &["--html".as_ref(), page.as_ref()]);
        pages.push(page);
        assert_eq!(status, 1, "{program}: nothing found");
        for finding in report["findings"].as_array().expect("a list") {
            let kind = finding["kind"].as_str().expect("a kind");
            assert!(kinds.contains(&kind), "{program}: found as {kind}: {finding:#}");
        }
        assert_eq!(report["failing_executions"], 1, "{program}: it stops at the first");
        smaller += usize::from(gets_smaller(place.path(), &report["findings"][0], program));
    }
    assert!(2 * smaller > GALLERY.len(), "{smaller}");
    let seen = opened(&pages).unwrap_or_default();
    seen.iter().zip(GALLERY).for_each(|(page, (program, _))| is_in_order(page, program));
}

#[test]
fn no_correct_twin_gives_a_finding() {
    let place = tempfile::tempdir().expect("a directory");
    for (program, _) in GALLERY {
        let (status, report) = test(place.path(), program, true, "2000", &[]);
        assert_eq!(status, 0, "{program}: {:#}", report["findings"]);
        assert_eq!((&report["executions"], &report["failing_executions"]), (&2000.into(), &0.into()), "{program}");
    }
}
