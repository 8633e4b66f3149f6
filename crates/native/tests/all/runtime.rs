//! Programs under the runtime: what they can do, and how they end.
//!
//! Each test compiles a program of `tests/programs` with the stock compiler and `-fsanitize=thread`, and runs
//! thousands of executions of it. Seeds are fixed, so that a test gives the same every time; where it says that
//! something is met, the expected number is a hundred times what is asked for, so that another generator would meet
//! it too.

use fencepost_mailbox::{End, Restart};
use fencepost_native::embedded;
use fencepost_native::host::{Campaign, Results, run_campaign};
use fencepost_trace::{CampaignSpec, FindingKind, Model, Sampling, StrategySpec};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The runtime that travels in the command.
fn runtime() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| embedded::runtime_directory().expect("it can be unpacked").join(embedded::NAME))
}

/// Compiles a program; each only once.
fn compile(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().expect("a directory for programs"));
    let program = directory.path().join(name);
    let _lock = LOCK.lock().unwrap_or_else(|e| e.into_inner());
    if program.exists() {
        return program;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let mut command = match source.extension().and_then(|e| e.to_str()) {
        Some("c") => Command::new("gcc"),
        Some("cpp") => {
            let mut command = Command::new("g++");
            command.arg("-std=c++20");
            command
        }
        Some("rs") => {
            let library = directory.path().join("libtsan.so.2");
            if !library.exists() {
                std::os::unix::fs::symlink(runtime(), &library).expect("a link to the runtime");
            }
            let mut command = Command::new("rustc");
            // The flag for a sanitizer is one of nightly's; this variable makes a stable compiler take it.
            command.env("RUSTC_BOOTSTRAP", "1").args(["-Zsanitizer=thread", "-Zexternal-clangrt", "-g", "-O"]);
            command.arg("-Cunsafe-allow-abi-mismatch=sanitizer");
            command.arg(format!("-Clink-arg=-L{}", directory.path().display())).arg("-Clink-arg=-l:libtsan.so.2");
            command
        }
        _ => panic!("no compiler for {name}"),
    };
    if source.extension().is_some_and(|e| e != "rs") {
        command.args(["-g", "-O1", "-fsanitize=thread", "-pthread"]);
    }
    let output = command.arg(&source).arg("-o").arg(&program).output().expect("the compiler runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn campaign(name: &str, model: Model, executions: u64) -> Campaign {
    Campaign::new(compile(name), runtime(), model, executions)
}

fn run(campaign: &Campaign) -> Results {
    run_campaign(campaign).expect("the campaign runs")
}

fn statuses(results: &Results) -> BTreeSet<u8> {
    results.statuses.keys().copied().collect()
}

fn kinds(results: &Results) -> BTreeSet<FindingKind> {
    results.found.iter().map(|f| f.report.kind).collect()
}

#[test]
fn store_buffering_with_atomics_has_the_states_of_each_model() {
    // Sequential consistency forbids that both threads read 0; every other model allows it for relaxed atomics.
    for model in Model::ALL {
        let results = run(&campaign("store_buffering_atomic.c", model, 10_000));
        let expected: &[u8] = if model == Model::Sc { &[1, 2, 3] } else { &[0, 1, 2, 3] };
        assert_eq!(results.executions, 10_000);
        assert_eq!(statuses(&results), expected.iter().copied().collect(), "{model}");
    }
}

#[test]
fn plain_ints_have_the_states_of_the_hardware() {
    let table: [(&str, Model, &[u8]); 8] = [
        ("store_buffering_plain.c", Model::Sc, &[1, 2, 3]),
        ("store_buffering_plain.c", Model::Tso, &[0, 1, 2, 3]),
        ("store_buffering_plain.c", Model::Pso, &[0, 1, 2, 3]),
        ("store_buffering_plain.c", Model::Pslo, &[0, 1, 2, 3]),
        // The message without its contents (2) needs stores, or loads, out of order.
        ("message_passing_plain.c", Model::Sc, &[0, 1, 3]),
        ("message_passing_plain.c", Model::Tso, &[0, 1, 3]),
        ("message_passing_plain.c", Model::Pso, &[0, 1, 2, 3]),
        ("message_passing_plain.c", Model::Pslo, &[0, 1, 2, 3]),
    ];
    for (program, model, expected) in table {
        let results = run(&campaign(program, model, 10_000));
        assert_eq!(statuses(&results), expected.iter().copied().collect(), "{program} under {model}");
    }
}

#[test]
fn the_same_seed_gives_the_same_executions() {
    for model in [Model::C11, Model::Tso] {
        let once = campaign("store_buffering_atomic.c", model, 3_000);
        let first = run(&once);
        let again = run(&once);
        let spread = run(&Campaign { jobs: 3, ..once.clone() });
        let mut other_seed = once.clone();
        other_seed.request.campaign = CampaignSpec::Sample { seed: 2, sampling: Sampling::default() };
        for same in [&again, &spread] {
            assert_eq!(first.statuses, same.statuses);
            assert_eq!(first.steps, same.steps);
            assert_eq!(first.found, same.found);
        }
        assert_ne!(first.statuses, run(&other_seed).statuses);
    }
}

#[test]
fn a_fork_gives_what_a_restart_in_place_gives() {
    for (program, model) in [("store_buffering_atomic.c", Model::C11), ("store_buffering_plain.c", Model::Tso)] {
        let in_place = campaign(program, model, 300);
        let mut forked = in_place.clone();
        forked.request.restart = Restart::Fork;
        let (in_place, forked) = (run(&in_place), run(&forked));
        assert_eq!(in_place.statuses, forked.statuses);
        assert_eq!(in_place.steps, forked.steps);
        assert_eq!(in_place.found, forked.found);
    }
}

#[test]
fn a_replay_gives_the_same_execution() {
    let campaign = campaign("store_buffering_atomic.c", Model::C11, 100);
    let results = run(&campaign);
    for found in &results.found {
        let replayed = |_| {
            fencepost_native::host::replay(&campaign, StrategySpec::Follow { choices: found.report.choices.clone() })
                .expect("it replays")
        };
        let (first, second) = (replayed(0), replayed(1));
        assert_eq!(first.found[0].report.message, found.report.message);
        assert_eq!(first.traces.len(), 1);
        assert_eq!(first.traces, second.traces, "byte for byte");
    }
}

/// Runs `ends.c`, which ends as it is told in some executions and well in the others.
fn ends(how: &str) -> Results {
    ends_after(how, Restart::InPlace)
}

fn ends_after(how: &str, restart: Restart) -> Results {
    let mut campaign = campaign("ends.c", Model::C11, 200);
    campaign.request.restart = restart;
    campaign.arguments = vec![how.to_owned()];
    campaign.timeout = Duration::from_millis(300);
    campaign.request.max_steps = 10_000;
    if how == "loop" {
        campaign.request.count = 6;
    }
    let results = run(&campaign);
    assert_eq!(results.executions, campaign.request.count, "{how}: the campaign goes on");
    results
}

#[test]
fn ends_are_told_apart() {
    let table = [
        ("assert", End::Assertion, FindingKind::Assertion),
        ("abort", End::Abort, FindingKind::Abort),
        ("segfault", End::Crash, FindingKind::Crash),
        ("divide", End::Crash, FindingKind::Crash),
        ("deadlock", End::Deadlock, FindingKind::Deadlock),
        ("status", End::Exit, FindingKind::ExitStatus),
        ("quick", End::Exit, FindingKind::ExitStatus),
        ("spin", End::Livelock, FindingKind::Livelock),
        ("double-free", End::Exit, FindingKind::DoubleFree),
        ("use-after-free", End::Exit, FindingKind::UseAfterFree),
        ("overflow", End::Exit, FindingKind::HeapOverflow),
        ("die", End::Died, FindingKind::Crash),
    ];
    for (how, end, kind) in table {
        let results = ends(how);
        assert_eq!(kinds(&results), [kind].into(), "{how}: {:?}", results.found);
        assert!(results.ended.contains_key(&end), "{how}: {:?}", results.ended);
        assert!(results.statuses.contains_key(&0), "{how}: other executions end well: {:?}", results.ended);
    }
}

#[test]
fn misuse_of_the_heap_is_found_under_every_model() {
    for model in [Model::Sc, Model::Tso, Model::Pso, Model::Pslo] {
        for (how, kind) in [
            ("double-free", FindingKind::DoubleFree),
            ("use-after-free", FindingKind::UseAfterFree),
            ("overflow", FindingKind::HeapOverflow),
        ] {
            let mut campaign = campaign("ends.c", model, 200);
            campaign.arguments = vec![how.to_owned()];
            let results = run(&campaign);
            assert_eq!(kinds(&results), [kind].into(), "{model} {how}: {:?}", results.found);
        }
        let mut campaign = campaign("handed_over.c", model, 200);
        campaign.arguments = vec!["early".to_owned()];
        let results = run(&campaign);
        assert_eq!(kinds(&results), [FindingKind::UseAfterFree].into(), "{model}: {:?}", results.found);
        let [read, free] = &results.found[0].report.stacks[..] else { panic!("who reads and who has freed") };
        assert_eq!((read.access.name(), free.access.name()), ("read", "free"));
        assert_eq!((read.thread, free.thread), (2, 1));
    }
}

/// A store may wait in a buffer while the block is handed over and freed, if the model lets it; none that is right is
/// called wrong.
#[test]
fn blocks_that_are_handed_over_properly_are_no_findings() {
    for model in [Model::C11, Model::Sc, Model::Tso, Model::Pso, Model::Pslo] {
        for how in ["right", "own"] {
            let mut campaign = campaign("handed_over.c", model, 1_000);
            campaign.arguments = vec![how.to_owned()];
            let results = run(&campaign);
            assert_eq!(results.found, [], "{model} {how}");
            assert_eq!(results.ended.get(&End::Exit), Some(&1_000), "{model} {how}: {:?}", results.ended);
        }
    }
}

/// A loop without an operation may be a long computation, and a bounded one ends: neither is called a livelock, and
/// the user hears where it was.
#[test]
fn what_a_limit_cuts_off_is_no_finding() {
    for (how, end) in [("loop", End::Timeout), ("count", End::StepLimit)] {
        let results = ends(how);
        assert_eq!(results.found, [], "{how}");
        assert!(results.ended.contains_key(&end), "{how}: {:?}", results.ended);
        let (_, late, stacks) = &results.cut_off[0];
        assert_eq!(*late, how == "loop", "{how}");
        assert!(stacks.iter().any(|stack| stack.thread == 0 && !stack.frames.is_empty()), "{how}: {stacks:?}");
    }
}

/// Under the hardware models a plain access is an operation too: loops over plain variables are endless if nobody is
/// left who could change them. What waits in a buffer comes, however long the schedule holds it back, and what only
/// takes long ends.
#[test]
fn endless_loops_over_plain_variables_are_livelocks_and_others_are_not() {
    for model in [Model::Sc, Model::Tso, Model::Pso, Model::Pslo] {
        for (how, some, all) in [
            ("comes", false, false),
            ("buffered", false, false),
            ("long", false, false),
            ("a text of several words", false, false),
            ("never", true, true),
            // Under every model the waiter's own store may come last, or the other's.
            ("lost", true, false),
        ] {
            let mut campaign = campaign(
                "plain_waits.c",
                model,
                if ["long", "a text of several words"].contains(&how) { 5 } else { 60 },
            );
            campaign.arguments = vec![how.to_owned()];
            campaign.request.max_steps = 500_000;
            let results = run(&campaign);
            let endless = results.ended.get(&End::Livelock).copied().unwrap_or(0);
            let well = results.ended.get(&End::Exit).copied().unwrap_or(0);
            // Nothing is cut off.
            assert_eq!(endless + well, campaign.request.count, "{model} {how}: {:?}", results.ended);
            assert_eq!((endless > 0, well == 0), (some, all), "{model} {how}: {:?}", results.ended);
            if let Some(found) = results.found.first() {
                // Its answers lead to the loop, and the same look at it follows.
                let answers = StrategySpec::Follow { choices: found.report.choices.clone() };
                let again = fencepost_native::host::replay(&campaign, answers).expect("it replays");
                assert_eq!(kinds(&again), [FindingKind::Livelock].into(), "{model} {how}");
            }
        }
    }
}

#[test]
fn ends_are_told_apart_in_child_processes_too() {
    for (how, end) in [("assert", End::Assertion), ("segfault", End::Crash), ("loop", End::Timeout), ("die", End::Died)]
    {
        let (in_place, forked) = (ends(how), ends_after(how, Restart::Fork));
        assert!(forked.ended.contains_key(&end), "{how}: {:?}", forked.ended);
        assert_eq!(in_place.ended, forked.ended, "{how}");
    }
}

#[test]
fn a_failure_says_where_and_what_was_printed() {
    let results = ends("assert");
    let report = &results.found[0].report;
    assert!(report.message.text.contains("!seen"), "{}", report.message);
    assert_eq!(report.stdout, "seen 1\n", "although it was never flushed");
    assert!(report.stderr.contains("Assertion `!seen' failed"), "{}", report.stderr);
    assert!(report.stacks[0].frames[0].module.ends_with("ends.c"), "the program is named as its source");
    assert_eq!(ends("status").statuses[&3], results.ended[&End::Assertion], "the same seeds, the same schedules");
}

#[test]
fn a_deadlock_shows_every_thread_that_waits() {
    let results = ends("deadlock");
    assert_eq!(results.found[0].report.stacks.len(), 2);
    assert!(results.found[0].report.stacks.iter().all(|s| s.access.name() == "wait" && !s.frames.is_empty()));
}

#[test]
fn a_race_on_a_plain_int_is_found_with_both_places() {
    let results = run(&campaign("race.c", Model::C11, 100));
    assert_eq!(kinds(&results), [FindingKind::DataRace].into());
    assert!(results.found.iter().any(|f| f.count == 100), "clocks show it whatever the schedule");
    for found in &results.found {
        let [one, other] = &found.report.stacks[..] else { panic!("two accesses race") };
        assert_ne!(one.thread, other.thread);
        assert!([one, other].iter().all(|s| s.frames[0].module.ends_with("race.c") && s.frames[0].offset != 0));
    }
}

#[test]
fn what_the_kernel_keeps_is_put_back() {
    let mut campaign = campaign("kernel_state.c", Model::C11, 1_000);
    campaign.arguments = vec!["argument".to_owned()];
    campaign.request.keep_outputs = true;
    let in_place = run(&campaign);
    assert_eq!(in_place.found, []);
    assert_eq!(in_place.outputs.len(), 1, "the same addresses and numbers every time: {:?}", in_place.outputs);
    campaign.request.restart = Restart::Fork;
    campaign.request.count = 50;
    assert_eq!(run(&campaign).outputs.keys().next(), in_place.outputs.keys().next());
}

#[test]
fn pthread_objects_work_under_every_model() {
    for model in Model::ALL {
        let results = run(&campaign("pthreads.c", model, 500));
        assert_eq!(results.found, [], "{model}");
        assert_eq!(results.statuses.get(&0), Some(&500), "{model}");
    }
}

#[test]
fn features_of_cxx_work_under_every_model() {
    for feature in crate::programs::FEATURES {
        for model in Model::ALL {
            // libstdc++ counts down with release only and then looks whether anybody waits: under pslo it may miss a
            // thread that sleeps, and that is found.
            if feature == "latch" && model == Model::Pslo {
                continue;
            }
            let mut campaign = campaign("cxx.cpp", model, 200);
            campaign.arguments = vec![feature.to_owned()];
            let results = run(&campaign);
            assert_eq!(results.found, [], "{feature} under {model}");
            assert_eq!(results.statuses.get(&0), Some(&200), "{feature} under {model}");
            let again = run(&campaign);
            assert_eq!(results.steps, again.steps, "{feature} under {model} is deterministic");
        }
    }
}

#[test]
fn rust_programs_run() {
    let mut sb = campaign("standard_library.rs", Model::C11, 2_000);
    sb.arguments = vec!["store_buffering".to_owned()];
    assert_eq!(statuses(&run(&sb)), [0, 1, 2, 3].into());
    for what in ["condvar", "channel", "scope", "sleep", "once"] {
        for model in Model::ALL {
            let mut campaign = campaign("standard_library.rs", model, 500);
            campaign.arguments = vec![what.to_owned()];
            let results = run(&campaign);
            assert_eq!(results.found, [], "{what} under {model}");
            assert_eq!(results.statuses.get(&0), Some(&500), "{what} under {model}");
        }
    }
}
