//! Loops under exploration: those that wait end, those that count do not, and nothing is lost.

use fencepost_engine::Threads;
use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor};
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Model, ThreadId};
use std::collections::BTreeSet;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

#[derive(Default, Debug)]
struct Found {
    states: BTreeSet<Vec<i64>>,
    executions: u64,
    deadlocks: u64,
    livelocks: u64,
    limits: u64,
}

impl Visitor<LitmusProgram> for Found {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        self.executions += 1;
        self.states.insert(program.state(|at| graph.final_value_at(at).unwrap_or_else(|| program.initial(at))));
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &LitmusProgram, _: &Graph, stuck: Stuck) -> Flow {
        match stuck {
            Stuck::Deadlock(_) => self.deadlocks += 1,
            Stuck::Livelock(_) => self.livelocks += 1,
            Stuck::Limit => self.limits += 1,
            Stuck::Redundant => {}
        }
        Flow::Continue(())
    }
    fn failed(&mut self, _: &LitmusProgram, _: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        panic!("{thread} {failure:?}");
    }
    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        panic!("a race");
    }
}

fn explore(source: &str, model: Model, max_events: usize) -> Found {
    let test = LitmusTest::parse("loop", source.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let options = Options { max_events, ..Options::new(model) };
    Explorer::new(test.program(), options).expect("it has axioms").explore(Found::default).expect("it is deterministic")
}

#[test]
fn a_loop_that_waits_is_explored_as_if_it_waited_for_the_value() {
    // The reader goes on only after it has seen the flag; under c11 and pso it may then still miss the data.
    let source = r"
        C wait
        { [x]=0; [y]=0; }
        P0 (atomic_int* x, atomic_int* y) {
          atomic_store_explicit(x, 1, memory_order_relaxed);
          atomic_store_explicit(y, 1, memory_order_relaxed);
        }
        P1 (atomic_int* x, atomic_int* y) {
          while (atomic_load_explicit(y, memory_order_relaxed) == 0) { }
          int r0 = atomic_load_explicit(x, memory_order_relaxed);
        }
        exists (1:r0=0)";
    for (model, stale) in [(Model::Sc, false), (Model::Tso, false), (Model::Pso, true), (Model::C11, true)] {
        let found = explore(source, model, 1000);
        let expected: BTreeSet<Vec<i64>> = if stale { [vec![0], vec![1]].into() } else { [vec![1]].into() };
        assert_eq!(found.states, expected, "{model}");
        assert_eq!(
            (found.executions, found.livelocks, found.limits),
            (expected.len() as u64, 0, 0),
            "{model} {found:?}"
        );
    }
}

#[test]
fn a_loop_that_waits_for_nothing_is_a_livelock() {
    let source = r"
        C livelock
        { [x]=0; }
        P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        P1 (atomic_int* x) { while (atomic_load_explicit(x, memory_order_relaxed) != 2) { } }
        exists (x=1)";
    for model in MODELS {
        let found = explore(source, model, 1000);
        assert_eq!((found.executions, found.limits), (0, 0), "{model} {found:?}");
        assert!(found.livelocks > 0, "{model} {found:?}");
    }
}

#[test]
fn a_loop_that_counts_is_no_waiting_loop() {
    // Three tries, each of which reads 0 or 1, once 1 always 1: the number of tries that failed is 0 to 3.
    let source = r"
        C bounded
        { [x]=0; }
        P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        P1 (atomic_int* x) {
          int r0 = 0;
          while (r0 < 3 && atomic_load_explicit(x, memory_order_relaxed) == 0) { r0 = r0 + 1; }
        }
        exists (1:r0=3)";
    for model in MODELS {
        let found = explore(source, model, 1000);
        let expected: BTreeSet<Vec<i64>> = (0..=3).map(|n| vec![n]).collect();
        assert_eq!(found.states, expected, "{model}");
        assert_eq!((found.executions, found.livelocks, found.limits), (4, 0, 0), "{model} {found:?}");
    }
}

#[test]
fn a_loop_without_end_that_counts_hits_the_limit_and_says_so() {
    let source = r"
        C endless
        { [x]=0; }
        P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        P1 (atomic_int* x) {
          int r0 = 0;
          while (atomic_load_explicit(x, memory_order_relaxed) == 0) { r0 = r0 + 1; }
        }
        exists (1:r0=0)";
    let found = explore(source, Model::C11, 20);
    assert!(found.limits > 0 && found.executions >= 10, "{found:?}");
}

#[test]
fn a_lock_that_spins_on_compare_exchange_excludes() {
    let thread = |n: u32| {
        format!(
            "P{n} (atomic_int* l, int* x) {{
               int e = 0;
               while (!atomic_compare_exchange_strong_explicit(l, &e, 1, memory_order_acquire, memory_order_relaxed)) \
               {{ e = 0; }}
               int r0 = *x;
               *x = r0 + 1;
               atomic_store_explicit(l, 0, memory_order_release);
             }}\n"
        )
    };
    let source = format!("C lock\n{{ [l]=0; [x]=0; }}\n{}{}{}exists (x=3)", thread(0), thread(1), thread(2));
    for model in MODELS {
        let found = explore(&source, model, 1000);
        // Six orders of three threads, in each of which all three increments count.
        assert_eq!(found.executions, 6, "{model} {found:?}");
        assert_eq!(found.states, [vec![3]].into(), "{model}");
        assert_eq!((found.livelocks, found.deadlocks, found.limits), (0, 0, 0), "{model} {found:?}");
    }
}

/// It comes back to where it was, in the same state, and has read nothing: nobody can end that.
#[test]
fn a_thread_that_goes_around_an_empty_loop_is_a_livelock() {
    let source = r"
        C hang
        { [x]=0; }
        P0 (atomic_int* x) { while (1) { } }
        P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        exists (x=1)";
    let found = explore(source, Model::Sc, 100);
    assert_eq!((found.livelocks, found.limits), (1, 0), "{found:?}");
}

/// It is never in the same state twice, and a limit is all there is.
#[test]
fn a_thread_that_only_counts_is_cut_off() {
    let source = r"
        C count
        { [x]=0; }
        P0 (atomic_int* x) { int i = 0; while (i < 1000000) { i = i + 1; } }
        P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        exists (x=1)";
    let found = explore(source, Model::Sc, 100);
    assert!(found.limits > 0 && found.livelocks == 0, "{found:?}");
}
