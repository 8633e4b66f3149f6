//! A fixed set of programs on which exploration, every choice of the machine and random executions agree. What is known
//! to be wrong is left out of them: see [`known`]. Many more programs: `cargo run --release -p fencepost-difftest --
//! --minutes 60`.

use fencepost_difftest::generate::Recipe;
use fencepost_difftest::program::Language;
use fencepost_difftest::run::{Plan, run};
use fencepost_difftest::truths::Effort;
use fencepost_difftest::{known, scripts, units};
use fencepost_trace::Model;
use std::sync::Once;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

/// Exploration and machine are two implementations of one definition: they end in the same places, and no graph is met
/// twice.
#[test]
fn scripts_end_in_the_same_places() {
    let parts = known::parts();
    let mut finished = 0;
    // The last ones were explored in part by sources or by values.
    for seed in (1..=400).chain([929_060, 941_963, 944_959, 945_698]) {
        let script = scripts::script(seed, &parts);
        for model in MODELS {
            let compared = scripts::compare(&script, model);
            assert_eq!(compared.difference, None, "seed {seed}, {model}: {script:#?}");
            finished += u32::from(!compared.unfinished);
        }
    }
    // A comparison with a reference that did not end says little: most must have ended.
    assert!(finished > 1_400, "{finished} of 1616");
}

/// What is not known to be wrong.
fn recipe(language: Language) -> Recipe {
    Recipe { features: known::features(language), ..Recipe::new(language) }
}

fn agree(recipe: Recipe, models: &[Model], programs: u64) {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(units::prepare_environment);
    let plan = Plan {
        recipes: vec![recipe],
        models: models.to_vec(),
        seed: 1,
        programs,
        until: None,
        effort: Effort { executions: 1_000, enumerations: 2_000, ..Effort::default() },
        jobs: 2,
        save: None,
        shrinks: false,
        enough: 3,
        words: String::new(),
    };
    let summary = run(&plan, &|text| println!("{text}")).expect("programs compile and run");
    assert!(summary.found.is_empty(), "{} disagreements, printed above", summary.found.len());
    assert_eq!(summary.programs, programs);
    let unfinished: u64 = summary.unfinished.values().map(|cases| cases.count).sum();
    assert!(unfinished * 2 < summary.comparisons, "too many references did not end: {:?}", summary.unfinished);
    let incomplete: u64 = summary.incomplete.values().map(|cases| cases.count).sum();
    assert!(incomplete * 4 < summary.comparisons, "too many explorations are incomplete: {:?}", summary.incomplete);
}

/// In C, over atomics, fences, racing accesses, the heap, semaphores, barriers, keys, thread-local variables and the
/// ways to begin and end threads: `check` has the outcomes of the machine, and `test` has no others.
#[test]
fn c_programs_agree() {
    agree(recipe(Language::C), &MODELS, 48);
}

/// The same in C++20.
#[test]
fn cxx_programs_agree() {
    agree(recipe(Language::Cxx), &MODELS, 12);
}

/// The same in Rust. To create a thread takes dozens of accesses there, so that the reference comes to an end for the
/// smallest programs only, and under pso for none.
#[test]
fn rust_programs_agree() {
    let small = Recipe { threads: 2, statements: 4, ..recipe(Language::Rust) };
    agree(small, &[Model::Sc, Model::Tso, Model::C11], 6);
}
