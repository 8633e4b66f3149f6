//! The machines against the corpus: every choice of a machine is tried, and the final states are compared with those
//! that herd7 allows.

use crate::common::{Expected, State, corpus, report};
use fencepost_engine::Threads;
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::Flow;
use fencepost_explore::{Executed, execute};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::axioms;
use fencepost_trace::{Limits, Model, Outcome, Plan};
use std::collections::BTreeSet;

fn state(program: &LitmusProgram, executed: &Executed) -> State {
    assert_eq!(executed.trace.outcome, Outcome::Finished);
    program.state(|at| executed.trace.final_value(at, program.initial(at)))
}

/// Does what was found lie between what must be reached and what is allowed? Equality is required but for c11.
fn compare(states: &BTreeSet<State>, expected: &Expected) -> Result<(), String> {
    let extra = states.difference(&expected.states).count();
    let missing = expected.machine_at_least.difference(states).count();
    if extra + missing == 0 { Ok(()) } else { Err(format!("{extra} states too many, {missing} missing")) }
}

fn check_all_choices(family: &str, models: &[Model]) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in corpus(family).into_iter().filter(|c| c.litmus.memory_operations() <= 8) {
        for model in models.iter().copied() {
            let Some(expected) = case.expected(model) else { continue };
            checked += 1;
            let mut program = case.litmus.program();
            let mut states = BTreeSet::new();
            let mut race = false;
            let all = enumerate(&mut program, model, None, Limits::default(), u64::MAX, |program, executed| {
                states.insert(state(program, executed));
                race |= !executed.races.is_empty();
                Flow::Continue(())
            });
            assert!(all.complete);
            let verdict = if race != expected.race {
                Err(format!("race {race} instead of {}", expected.race))
            } else if race {
                Ok(())
            } else {
                compare(&states, &expected)
            };
            if let Err(difference) = verdict {
                wrong.push(format!("{} {model}: {difference}", case.litmus.name()));
            }
        }
    }
    assert!(checked > 100, "the corpus is there");
    report(checked, &wrong);
}

#[test]
fn classic() {
    check_all_choices("classic", &[Model::Sc, Model::Tso, Model::Pso, Model::C11]);
}

#[test]
fn hw() {
    check_all_choices("hw", &Model::ALL);
}

#[test]
fn generated() {
    check_all_choices("generated", &[Model::Sc, Model::Tso, Model::Pso, Model::C11]);
}

/// Larger tests, at random: nothing that is not allowed is ever seen. Where the oracle has no pslo, pslo is compared
/// with nothing but its own axioms. With `FENCEPOST_FULL_ORACLE=1` ten times as often.
#[test]
fn random_executions_of_larger_tests_stay_inside() {
    let (mut checked, mut wrong) = (0, Vec::new());
    let executions = if std::env::var_os("FENCEPOST_FULL_ORACLE").is_some() { 10_000 } else { 1_000 };
    for family in ["classic", "hw", "generated"] {
        for case in corpus(family).into_iter().filter(|c| c.litmus.memory_operations() > 8) {
            for model in Model::ALL {
                let Some(expected) = case.expected(model) else { continue };
                checked += 1;
                let mut program = case.litmus.program();
                for i in 0..executions {
                    let executed = execute(&mut program, &Plan::random(model, 1, i)).expect("a machine runs");
                    let state = state(&program, &executed);
                    if !expected.states.contains(&state) {
                        wrong.push(format!("{} {model}: {state:?} is not allowed", case.litmus.name()));
                        break;
                    }
                    if i < 20
                        && let Err(violation) = axioms::check(&executed.trace)
                    {
                        wrong.push(format!("{} {model}: {violation}", case.litmus.name()));
                        break;
                    }
                }
            }
        }
    }
    assert!(checked > 100, "the corpus is there");
    report(checked, &wrong);
}
