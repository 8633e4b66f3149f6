//! Cancellation, streams, waiting for files, jumps, signals: what threads of POSIX may do besides locking.

use crate::programs::{campaign, run};
use fencepost_trace::Model;

const CASES: [&str; 17] = [
    "cancel_where_it_asks",
    "cancel_in_a_wait",
    "cancel_in_sleep",
    "cancel_at_a_semaphore",
    "cancel_at_any_time",
    "cancel_when_it_agrees",
    "exits",
    "keeps_a_stream",
    "selects",
    "polls",
    "waits_for_events",
    "waits_in_vain",
    "jumps_everywhere",
    "asks_for_a_stack",
    "signals_a_thread",
    "names_and_places",
    "inherits_priority",
];

/// Every case of a program ends well in every execution under every model, in place and without a warning.
fn works_under_every_model(program: &str, cases: &[&str]) {
    for case in cases {
        for model in Model::ALL {
            let results = run(&campaign(program, &[case], model, 100));
            assert_eq!(results.found, [], "{case} under {model}");
            assert_eq!(results.statuses.get(&0), Some(&100), "{case} under {model}");
            assert!(!results.forked && results.warnings.is_empty(), "{case} under {model}: {:?}", results.warnings);
        }
    }
}

#[test]
fn what_posix_lets_threads_do_works_under_every_model() {
    works_under_every_model("posix.c", &CASES);
}

/// glibc makes these of its own POSIX threads, past all hooks of those.
#[test]
fn the_threads_of_c11_are_controlled_under_every_model() {
    let cases = ["locks", "recursive", "waits", "times", "once", "keys", "detaches"];
    works_under_every_model("c11_threads.c", &cases);
}

/// On a real machine nobody knows who of them is first.
#[test]
fn threads_that_sleep_equally_long_wake_in_any_order() {
    for model in [Model::C11, Model::Tso] {
        let equal = run(&campaign("sleepers.c", &[], model, 200));
        assert_eq!(equal.statuses.len(), 6, "{model}: {:?}", equal.statuses);
        // The last has the shortest time. Time may pass before the others even begin to sleep, but only in every
        // fourth execution.
        let unequal = run(&campaign("sleepers.c", &["unequal"], model, 100));
        let usual = unequal.statuses.get(&(2 * 9 + 3)).copied().unwrap_or(0);
        assert!((60..100).contains(&usual), "{model}: {:?}", unequal.statuses);
    }
}

/// What one thread prints while it keeps the stream is not torn apart.
#[test]
fn a_stream_that_is_kept_is_kept() {
    let mut campaign = campaign("posix.c", &["keeps_a_stream"], Model::C11, 300);
    campaign.request.keep_outputs = true;
    let results = run(&campaign);
    assert!(results.outputs.len() > 1, "{:?}", results.outputs);
    for text in results.outputs.keys() {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["1.5 together", "1.5 together", "2.25 alone"]);
    }
}

#[test]
fn a_thread_that_leaves_destroys_its_objects() {
    for model in Model::ALL {
        let results = run(&campaign("leaving.cpp", &[], model, 100));
        assert_eq!(results.found, [], "{model}");
        assert_eq!(results.statuses.get(&0), Some(&100), "{model}");
    }
}
