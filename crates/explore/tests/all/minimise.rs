//! Smaller executions that show the same: they do show it, replay, and have nothing in them that is not needed.

use fencepost_explore::minimise::{Attempt, Effort, Ended, Minimised, minimise_execution};
use fencepost_explore::{Executed, execute};
use fencepost_litmus::LitmusTest;
use fencepost_trace::{EventKind, Model, Plan};

/// Store buffering, with loops in front that have nothing to do with it.
const BUFFERING: &str = r"
    C buffering
    { [x]=0; [y]=0; [z]=0; }
    P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
      int n = 0;
      while (n < 6) { atomic_fetch_add_explicit(z, 1, memory_order_relaxed); n = n + 1; }
      atomic_store_explicit(x, 1, memory_order_relaxed);
      int r0 = atomic_load_explicit(y, memory_order_relaxed);
    }
    P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
      int n = 0;
      while (n < 6) { atomic_fetch_add_explicit(z, 1, memory_order_relaxed); n = n + 1; }
      atomic_store_explicit(y, 1, memory_order_relaxed);
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
    }
    exists (0:r0=0 /\ 1:r0=0)
";

/// Both threads add 1 in two steps; between them anything may happen.
const LOST: &str = r"
    C lost
    { [x]=0; [y]=0; }
    P0 (atomic_int* x, atomic_int* y) {
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(x, r0 + 1, memory_order_relaxed);
      int r1 = atomic_load_explicit(y, memory_order_relaxed);
    }
    P1 (atomic_int* x, atomic_int* y) {
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(x, r0 + 1, memory_order_relaxed);
      int r1 = atomic_load_explicit(y, memory_order_relaxed);
    }
    exists (0:r0=0 /\ 1:r0=0)
";

/// The flag is seen, and what was written before it is not.
const MESSAGE: &str = r"
    C message
    { [x]=0; [y]=0; }
    P0 (atomic_int* x, atomic_int* y) {
      atomic_store_explicit(x, 1, memory_order_relaxed);
      atomic_store_explicit(y, 1, memory_order_relaxed);
    }
    P1 (atomic_int* x, atomic_int* y) {
      int r0 = 0;
      while (r0 == 0) r0 = atomic_load_explicit(y, memory_order_relaxed);
      int r1 = atomic_load_explicit(x, memory_order_relaxed);
    }
    exists (1:r1=0)
";

/// All loads of an execution, as thread and value.
fn loads(executed: &Executed) -> Vec<(u32, u128)> {
    let load = |kind: &EventKind| match kind {
        EventKind::Load { value, .. } => Some(value.0),
        _ => None,
    };
    executed.trace.events.iter().filter_map(|event| Some((event.thread.0, load(&event.kind)?))).collect()
}

/// Every thread's load (of one location, or the first) reads 0.
fn both_read_zero(executed: &Executed) -> bool {
    let first = |thread| loads(executed).into_iter().find(|(other, _)| *other == thread).map(|(_, value)| value);
    first(0) == Some(0) && first(1) == Some(0)
}

/// The last load reads 0.
fn last_reads_zero(executed: &Executed) -> bool {
    loads(executed).last().is_some_and(|(_, value)| *value == 0)
}

/// How many operations threads performed.
fn operations(executed: &Executed) -> u64 {
    let is_one = |kind: &EventKind| !matches!(kind, EventKind::Commit { .. });
    executed.trace.events.iter().filter(|event| is_one(&event.kind)).count() as u64
}

const EFFORT: Effort = Effort { executions: 2_000, steps: 1_000_000 };

/// Minimises random executions that show it; each must show it again from its answers, and be no longer.
fn minimised(source: &str, model: Model, effort: Effort, shows: fn(&Executed) -> bool) -> Vec<Minimised> {
    let test = LitmusTest::parse("test.litmus", source.as_bytes()).expect("a test");
    let mut program = test.program();
    let mut all = Vec::new();
    // Each of these outcomes has a chance of at least one in two hundred.
    for seed in 0..20_000 {
        let plan = Plan::random(model, 1, seed);
        let first = execute(&mut program, &plan).expect("a plan of a machine");
        if !shows(&first) {
            continue;
        }
        let (most, choices) = (operations(&first), first.trace.choices.clone());
        let small = minimise_execution(&mut program, &plan, choices, effort, |_, executed| {
            shows(executed).then(|| operations(executed))
        });
        let small = small.expect("the first shows it");
        let again = execute(&mut program, &Plan::follow(model, small.best.choices.clone())).expect("a plan");
        assert!(shows(&again), "seed {seed}");
        assert_eq!(again.trace.choices, small.best.choices, "seed {seed}");
        assert!(small.best.operations <= most, "seed {seed}: {} of {most}", small.best.operations);
        all.push(small);
        if all.len() == 8 {
            break;
        }
    }
    assert_eq!(all.len(), 8, "executions that show it are met");
    all
}

fn sizes(all: &[Minimised]) -> Vec<(u32, u32)> {
    let size = |Attempt { script, .. }: &Attempt| (script.switches(), script.oddities());
    all.iter().map(|one| size(&one.best)).collect()
}

/// One thread after the other, and the second reads what was there before: one switch, one stale read. Without the
/// stale read one of them would read 1, without a switch there is one thread only.
#[test]
fn store_buffering_needs_a_switch_and_a_stale_read() {
    let all = minimised(BUFFERING, Model::C11, EFFORT, both_read_zero);
    assert_eq!(sizes(&all), [(1, 1); 8]);
    assert!(all.iter().all(|one| one.ended == Ended::Settled));
}

/// Under tso it is a store that stays in its buffer while the other thread runs.
#[test]
fn store_buffering_needs_a_switch_and_a_delayed_store() {
    let all = minimised(BUFFERING, Model::Tso, EFFORT, both_read_zero);
    assert_eq!(sizes(&all), [(1, 1); 8]);
}

/// What switches alone can do: the first thread reads, the second runs, the first writes. With a stale read it is one
/// switch and one oddity, which is as many together; which of the two it becomes depends on where the search begins.
#[test]
fn a_lost_update_needs_two_switches_or_a_stale_read() {
    let sc = minimised(LOST, Model::Sc, EFFORT, both_read_zero);
    let c11 = minimised(LOST, Model::C11, EFFORT, both_read_zero);
    // Of the second thread nothing more than its load has to come before the first thread's store, and what follows
    // is one switch back: the execution goes on to its end.
    assert!(sizes(&sc).iter().all(|size| *size == (2, 0)), "{:?}", sizes(&sc));
    assert!(sizes(&c11).iter().all(|(switches, oddities)| switches + oddities == 2), "{:?}", sizes(&c11));
    assert!(sizes(&c11).contains(&(2, 0)), "{:?}", sizes(&c11));
}

/// Rounds of a loop that waits are not needed.
#[test]
fn a_message_that_is_not_there_needs_no_rounds() {
    for one in minimised(MESSAGE, Model::C11, EFFORT, last_reads_zero) {
        // Two stores, one load of the flag, one of the message; and what is decided in the end.
        assert_eq!(one.best.operations, 4, "{one:?}");
        assert_eq!((one.best.script.switches(), one.best.script.reads.len()), (1, 1), "{one:?}");
    }
}

/// The same execution becomes the same smaller one, and an effort is not exceeded.
#[test]
fn nothing_depends_on_chance() {
    let few = Effort { executions: 5, steps: 1_000_000 };
    let (one, other) = (
        minimised(BUFFERING, Model::Tso, EFFORT, both_read_zero),
        minimised(BUFFERING, Model::Tso, EFFORT, both_read_zero),
    );
    assert_eq!(one, other);
    let bounded = minimised(BUFFERING, Model::C11, few, both_read_zero);
    assert!(bounded.iter().all(|one| one.executions <= 5));
    assert!(bounded.iter().any(|one| one.ended == Ended::Effort), "five executions are not enough for all");
}
