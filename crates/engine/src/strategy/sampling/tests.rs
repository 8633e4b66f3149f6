//! What all schedulers have in common.

use super::*;
use crate::{Execution, Fibers, run};
use fencepost_memory::C11;
use fencepost_trace::{Limits, LoadOrder, Location, Outcome, Size, StoreOrder, Value};

const X: Location = Location { address: 0x100, size: Size::B4 };
const Y: Location = Location { address: 0x200, size: Size::B4 };

/// Three threads that write and read two variables.
fn program() -> Fibers {
    Fibers::new(|thread| {
        let body = |first: Location, second: Location| {
            move |thread: &crate::Fiber<'_>| {
                for i in 0..5 {
                    thread.store(first, StoreOrder::Relaxed, Value(i));
                    thread.load(second, LoadOrder::Relaxed);
                }
            }
        };
        let children = [thread.spawn(body(X, Y)), thread.spawn(body(Y, X))];
        body(X, X)(thread);
        children.into_iter().for_each(|child| thread.join(child));
    })
}

fn choices(sampler: &mut Sampler<'_>, program: &mut Fibers) -> Vec<u32> {
    let mut execution = Execution::new(C11::default());
    assert_eq!(run(&mut execution, program, sampler, Limits::default()), Outcome::Finished);
    execution.choices().to_vec()
}

#[test]
fn the_same_seed_gives_the_same_choices_and_another_gives_others() {
    let mut program = program();
    for scheduler in Scheduler::ALL {
        let sampling = Sampling::with(scheduler);
        let mut of = |seed| choices(&mut Sampler::new(Model::C11, seed, &sampling, None), &mut program);
        let all: Vec<Vec<u32>> = (0..20).map(&mut of).collect();
        assert!((0..20).all(|seed| of(seed) == all[seed as usize]), "{scheduler}");
        // Each has some twenty choices: that all are the same for two seeds is rare, for twenty it does not happen.
        assert!(all.iter().any(|choices| *choices != all[0]), "{scheduler}");
    }
}

#[test]
fn a_sampler_that_is_used_again_remembers_nothing() {
    let mut program = program();
    let mut used = Sampler::new(Model::C11, 99, &Sampling::default(), None);
    for seed in 0..50 {
        // In turns, so that each scheduler follows each of the others.
        let sampling = Sampling::with(Scheduler::ALL[seed as usize % Scheduler::ALL.len()]);
        used.begin(seed, &sampling);
        let again = choices(&mut used, &mut program);
        assert_eq!(again, choices(&mut Sampler::new(Model::C11, seed, &sampling, None), &mut program), "{sampling:?}");
    }
}

#[test]
fn a_goal_is_read_as_soon_as_it_can_be() {
    let mut sampler = Sampler::new(Model::C11, 1, &Sampling::default(), None);
    let goal = Pair { store: 4, load: 7, own: false };
    sampler.begin(1, &Sampling { goal: Some(goal), ..Sampling::with(Scheduler::Random) });
    let sources = [1, 2, 3].map(|event| Source { event: EventId(event), value: Value(0) });
    // The second of the stores is the one that is wished for.
    let origin = |event: EventId| (ThreadId(9), if event == EventId(2) { 4 } else { 5 });
    let access = Access::Load { at: X, order: LoadOrder::Relaxed, guard: fencepost_trace::Guard::Any };
    assert_eq!(sampler.source_of(ThreadId(0), &access, 7, &sources, &origin), 1);
    assert_eq!(sampler.goal, None, "once is enough");
}

#[test]
fn what_is_offered_and_what_is_read_is_noted() {
    let coverage = Coverage::new();
    coverage.begin(0);
    let mut sampler = Sampler::new(Model::C11, 1, &Sampling::default(), Some(&coverage));
    let sources = [1, 2].map(|event| Source { event: EventId(event), value: Value(0) });
    let origin = |event: EventId| (ThreadId(event.0), event.0 + 10);
    let access = Access::Load { at: X, order: LoadOrder::Relaxed, guard: fencepost_trace::Guard::Any };
    let read = sampler.source_of(ThreadId(1), &access, 7, &sources, &origin);
    sampler.has_read(ThreadId(1), 7, &|| origin(sources[read].event));
    let pair = |event: u32| Pair { store: event + 10, load: 7, own: event == 1 };
    assert_eq!(coverage.pairs().map(|(pair, _)| pair).collect::<Vec<_>>(), [pair(read as u32 + 1)]);
    // The other one is wanted by a later execution.
    coverage.begin(1);
    assert_eq!(coverage.wanted(), Some(pair(2 - read as u32)));
}
