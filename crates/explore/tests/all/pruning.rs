//! Long executions under c11: conservative pruning changes nothing, a window only takes away, and either bounds memory.

use crate::common::script::{APART, OVERLAPPING, Recipe, Script, random_script};
use fencepost_engine::{Actor, Execution, Pending, Random, Strategy, Threads, run};
use fencepost_memory::{C11, Pslo, Source, axioms};
use fencepost_trace::execution_seed as seed_of;
use fencepost_trace::{
    Access, FenceOrder, Guard, Label, Limits, LoadOrder, Location, Op, Outcome, Reply, RmwOrder, Size, StoreOrder,
    ThreadId, Trace, Update, Value,
};

/// Answers at random, and notes what it could have answered.
struct Noting {
    random: Random,
    offered: Vec<Vec<Source>>,
}

impl Strategy for Noting {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.offered.push(vec![Source { event: fencepost_trace::EventId::INIT, value: Value(actors.len() as u128) }]);
        self.random.actor(actors, pending)
    }

    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize {
        self.offered.push(sources.to_vec());
        self.random.source(thread, sources)
    }

    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32 {
        self.random.variant(thread, ways)
    }
}

/// A script whose first thread creates the others before it does anything itself, and waits for them in the end.
struct Family(Script);

impl Family {
    fn new(mut script: Script) -> Family {
        let others = script.threads.len() as u32 - 1;
        let first = &mut script.threads[0];
        first.splice(0..0, (0..others).map(|_| Op::Spawn));
        first.extend((1..=others).map(|t| Op::Join(ThreadId(t))));
        Family(script)
    }
}

impl Threads for Family {
    fn start(&mut self) -> u32 {
        self.0.start();
        1
    }
    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        self.0.resume(thread, reply)
    }
    fn initial(&self, at: Location) -> Value {
        self.0.initial(at)
    }
    fn label(&self, thread: ThreadId) -> u32 {
        self.0.label(thread)
    }
    fn describe(&self, label: u32) -> Label {
        self.0.describe(label)
    }
    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

/// One execution: its trace, and all that was offered on the way.
fn execute(machine: C11, program: &mut impl Threads, seed: u64) -> (Trace, Vec<Vec<Source>>, usize) {
    let mut execution = Execution::new(machine);
    let mut strategy = Noting { random: Random::new(seed), offered: Vec::new() };
    let outcome = run(&mut execution, program, &mut strategy, Limits::default());
    assert_eq!(outcome, Outcome::Finished);
    (execution.trace(|label| program.describe(label)), strategy.offered, execution.machine().kept())
}

/// Are the stores of each list of `some` in `all`, in the same order?
fn is_part(some: &Trace, all: &Trace) -> bool {
    some.coherence.iter().all(|part| {
        let whole = all.coherence.iter().find(|c| c.address == part.address).expect("the same locations");
        part.stores.iter().all(|store| whole.stores.contains(store))
    })
}

fn compare(program: &mut impl Threads, seed: u64) -> (usize, usize) {
    let (all, offered, kept) = execute(C11::default(), program, seed);
    let (mut pruned, offered_pruned, kept_pruned) = execute(C11::pruned(0), program, seed);
    assert_eq!(offered, offered_pruned, "seed {seed}: pruning has changed what is possible");
    assert!(is_part(&pruned, &all), "seed {seed}");
    pruned.coherence.clone_from(&all.coherence);
    assert_eq!(all, pruned, "seed {seed}");
    (kept, kept_pruned)
}

const RECIPES: [Recipe; 5] = [
    Recipe { threads: 3, operations: 4, locations: APART, plain: false },
    Recipe { threads: 3, operations: 30, locations: APART, plain: true },
    Recipe { threads: 4, operations: 60, locations: &[(0x100, Size::B4)], plain: false },
    Recipe { threads: 2, operations: 120, locations: APART, plain: true },
    Recipe { threads: 3, operations: 30, locations: OVERLAPPING, plain: false },
];

/// The same answers are possible at every step, and the same happens, whether stores are given back or not.
#[test]
fn conservative_pruning_changes_nothing() {
    let (mut kept, mut kept_pruned) = (0, 0);
    for (number, recipe) in (0..).zip(RECIPES) {
        for i in 0..150 {
            let mut random = Random::new(seed_of(number, i));
            let script = random_script(&mut random, recipe);
            for round in 0..4 {
                // All threads from the start, which know nothing of each other; and a thread that creates and awaits
                // the others.
                let (all, few) = compare(&mut script.clone(), seed_of(i, round));
                kept += all;
                kept_pruned += few;
                let (all, few) = compare(&mut Family::new(script.clone()), seed_of(i, round));
                kept += all;
                kept_pruned += few;
            }
        }
    }
    assert!(kept_pruned * 2 < kept, "of {kept} stores and fences {kept_pruned} were kept: pruning does nothing");
}

/// With a window there is less to choose from, and what happens satisfies the axioms.
#[test]
fn a_window_permits_nothing_new() {
    let (mut free, mut windowed) = (0, 0);
    for (number, recipe) in (0..).zip(RECIPES.into_iter().take(4)) {
        for i in 0..150 {
            let mut script = random_script(&mut Random::new(seed_of(number, i)), recipe);
            for window in [0, 3, 10] {
                let (trace, offered, _) = execute(C11::default().with_window(Some(window)), &mut script, i);
                axioms::check(&trace).unwrap_or_else(|violation| panic!("window {window}: {violation}\n{trace:#?}"));
                windowed += offered.iter().map(Vec::len).sum::<usize>();
                // Giving back what the window hides changes nothing either.
                let (pruned, offered_pruned, _) = execute(C11::pruned(0).with_window(Some(window)), &mut script, i);
                assert_eq!(offered, offered_pruned, "window {window}, program {i}");
                assert_eq!(trace.choices, pruned.choices);
                let (_, offered, _) = execute(C11::default(), &mut script, i);
                free += offered.iter().map(Vec::len).sum::<usize>();
            }
        }
    }
    assert!(windowed < free, "{windowed} and {free} answers: a window takes nothing away");
}

/// Old values under pslo: the same are offered whether an execution is recorded or not, and fewer are kept.
#[test]
fn old_values_that_nobody_can_read_are_forgotten() {
    let (mut kept, mut kept_few) = (0, 0);
    let recipe = Recipe { threads: 3, operations: 250, locations: &[(0x100, Size::B4)], plain: true };
    for i in 0..60 {
        let script = random_script(&mut Random::new(seed_of(9, i)), recipe);
        for family in [false, true] {
            let run = |recording: bool| {
                let mut execution = Execution::new(Pslo::default());
                execution.set_recording(recording);
                let mut strategy = Noting { random: Random::new(i), offered: Vec::new() };
                let outcome = match family {
                    true => run(&mut execution, &mut Family::new(script.clone()), &mut strategy, Limits::default()),
                    false => run(&mut execution, &mut script.clone(), &mut strategy, Limits::default()),
                };
                assert_eq!(outcome, Outcome::Finished);
                (strategy.offered, execution.machine().kept())
            };
            let (all, few) = (run(true), run(false));
            assert_eq!(all.0, few.0, "program {i}");
            kept += all.1;
            kept_few += few.1;
        }
    }
    assert!(kept_few * 2 < kept, "of {kept} stores {kept_few} were kept");
}

const X: Location = Location { address: 0x100, size: Size::B4 };
const Y: Location = Location { address: 0x200, size: Size::B4 };

fn load(at: Location, order: LoadOrder) -> Op {
    Op::Access(Access::Load { at, order, guard: Guard::Any })
}

fn store(at: Location, order: StoreOrder, value: u128) -> Op {
    Op::Access(Access::Store { at, order, value: Value(value) })
}

fn add(at: Location, order: RmwOrder) -> Op {
    Op::Access(Access::Rmw { at, order, update: Update::Add(Value(1)), guard: Guard::Any })
}

/// How much is kept at the end of a long execution of `threads`, which a first thread creates and awaits.
fn kept(threads: Vec<Vec<Op>>, machine: C11) -> usize {
    let mut all = vec![Vec::new()];
    all.extend(threads);
    let mut execution = Execution::with_monitor(machine, ());
    execution.set_recording(false);
    let mut family = Family::new(Script::new(all));
    let outcome = run(&mut execution, &mut family, &mut Random::new(7), Limits { max_steps: u64::MAX });
    assert_eq!(outcome, Outcome::Finished);
    execution.machine().kept()
}

fn repeat(times: usize, body: &[Op]) -> Vec<Op> {
    body.iter().copied().cycle().take(times * body.len()).collect()
}

const LONG: usize = 50_000;
/// A few locations with twice as many stores as are worth a look, and those of creating and ending threads.
const BOUND: usize = 8 * C11::FEW;

/// Two threads that increase a counter: each has seen all but the newest of it.
#[test]
fn a_relaxed_counter_takes_no_memory() {
    let thread = repeat(LONG, &[add(X, RmwOrder::Relaxed)]);
    let kept = kept(vec![thread.clone(), thread], C11::pruned(C11::FEW));
    assert!(kept < BOUND, "{kept}");
}

#[test]
fn threads_that_synchronise_take_no_memory() {
    let one = [store(X, StoreOrder::Release, 1), load(Y, LoadOrder::Acquire), add(Y, RmwOrder::AcqRel)];
    let two = [load(X, LoadOrder::Acquire), store(X, StoreOrder::SeqCst, 2), add(Y, RmwOrder::AcqRel)];
    let kept = kept(vec![repeat(LONG, &one), repeat(LONG, &two)], C11::pruned(C11::FEW));
    assert!(kept < BOUND, "{kept}");
}

#[test]
fn fences_take_no_memory() {
    let fence = Op::Access(Access::Fence { order: FenceOrder::SeqCst });
    let one = [store(X, StoreOrder::Relaxed, 1), fence, load(Y, LoadOrder::Relaxed)];
    let two = [store(Y, StoreOrder::Relaxed, 1), fence, load(X, LoadOrder::Relaxed)];
    let kept = kept(vec![repeat(LONG, &one), repeat(LONG, &two)], C11::pruned(C11::FEW));
    assert!(kept < BOUND, "{kept}");
}

/// Threads that only store have nothing that orders them: all of it can be read, unless a window says otherwise.
#[test]
fn a_window_bounds_threads_that_do_not_synchronise() {
    let fence = Op::Access(Access::Fence { order: FenceOrder::SeqCst });
    let threads = || {
        vec![
            repeat(LONG / 10, &[store(X, StoreOrder::Relaxed, 1)]),
            repeat(LONG / 10, &[fence, load(Y, LoadOrder::Relaxed)]),
        ]
    };
    assert!(kept(threads(), C11::pruned(C11::FEW)) > LONG / 10);
    let kept = kept(threads(), C11::pruned(C11::FEW).with_window(Some(100)));
    assert!(kept < BOUND + 400, "{kept}");
}
