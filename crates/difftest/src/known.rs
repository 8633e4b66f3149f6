//! What `check` is known to get wrong today, in one place: the fixed programs of the tests leave it out. When something
//! here is repaired, take its line away; the tests then hold it.

use crate::program::{Feature, Language};
use crate::scripts::Part;

/// Features of native programs, with the language (`None`: any) and the reason.
pub const FEATURES: &[(Option<Language>, Feature, &str)] = &[
    (None, Feature::WeakCas, "check does not explore the spurious failure of a weak compare-exchange"),
    (
        None,
        Feature::CasMemory,
        "check does not see what a failed compare-exchange writes to its expected object in memory",
    ),
    (None, Feature::Volatile, "under c11 a thread's last volatile store is not seen by check"),
    (None, Feature::Exit, "check does not explore when the process ends relative to other threads"),
    (None, Feature::Detach, "the same, where main returns while a thread still runs"),
    (None, Feature::Futex, "a futex on which somebody waits for ever is a livelock to check, and a deadlock"),
    (None, Feature::Timed, "time is a choice to check, not to test"),
    (None, Feature::Sleep, "the same"),
    (None, Feature::Pipes, "check does not explore the order of reads and writes of pipes"),
    (None, Feature::Cancel, "check does not explore cancellation"),
    (
        None,
        Feature::Asserts,
        "an execution that fails ends the exploration of the stores that other threads still had to make",
    ),
    (None, Feature::Spinning, "the reference has no end for loops that wait without giving way"),
    (None, Feature::Locks, "guarded accesses lose executions"),
    (None, Feature::TryLocks, "the same"),
    (None, Feature::RwLocks, "the same"),
    (None, Feature::SpinLocks, "the same"),
    (None, Feature::Condvars, "the same"),
    (None, Feature::Once, "the same"),
    (Some(Language::Rust), Feature::Channels, "what the uninstrumented part of std does is not seen by check"),
    (Some(Language::Rust), Feature::Barriers, "the same"),
    (Some(Language::Cxx), Feature::Semaphores, "futexes, as above"),
    (Some(Language::Cxx), Feature::Barriers, "futexes, as above"),
    (Some(Language::Cxx), Feature::Channels, "futexes, as above"),
];

/// Parts of scripts, with the reason.
pub const PARTS: &[(Part, &str)] = &[
    (Part::Locks, "guarded accesses lose executions"),
    (Part::TryLocks, "the same"),
    (Part::RwLocks, "the same"),
    (Part::Condvars, "the same"),
    (Part::Once, "the same"),
    (Part::Fails, "an execution that fails ends the exploration of the stores that other threads still had to make"),
];

/// The features that are left in a language.
pub fn features(language: Language) -> Vec<Feature> {
    let wrong = |feature: &Feature| {
        FEATURES.iter().any(|(of, known, _)| known == feature && of.is_none_or(|of| of == language))
    };
    Feature::ALL.iter().copied().filter(|feature| !wrong(feature)).collect()
}

/// The parts of scripts that are left.
pub fn parts() -> Vec<Part> {
    Part::ALL.into_iter().filter(|part| PARTS.iter().all(|(known, _)| known != part)).collect()
}
