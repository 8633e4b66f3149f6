//! What cannot be compared, or is known to be wrong, in one place: the fixed programs of the tests leave it out. When
//! something here is repaired, take its line away; the tests then hold it.

use crate::program::{Feature, Language};
use crate::scripts::Part;

/// Features of native programs, with the language (`None`: any) and the reason.
pub const FEATURES: &[(Option<Language>, Feature, &str)] = &[
    (None, Feature::Pipes, "check says that it is incomplete where several threads use a pipe"),
    (None, Feature::Cancel, "to the reference, asking a thread to end conflicts with nothing that the thread does"),
    (None, Feature::Spinning, "the reference has no end for loops that wait without giving way"),
];

/// Parts of scripts, with the reason.
pub const PARTS: &[(Part, &str)] = &[];

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
