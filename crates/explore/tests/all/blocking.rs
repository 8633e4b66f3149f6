//! What waits and what ends the process, under exploration: every execution, and none twice.

use fencepost_engine::{Fiber, Fibers};
use fencepost_explore::graph::{End, Explorer, Flow, Options, Races, Stuck, Visitor, replay_steps, steps_to_end};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::op::Sync;
use fencepost_trace::{Failure, LoadOrder, Location, Model, Op, Outcome, Size, StoreOrder, ThreadId, Value};
use std::collections::BTreeSet;

const X: Location = Location { address: 0x1000, size: Size::B4 };
const Y: Location = Location { address: 0x1010, size: Size::B4 };
const ORDER: Location = Location { address: 0x1020, size: Size::B4 };
const A: u64 = 0x2000;
const B: u64 = 0x2040;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

/// What an exploration has met.
#[derive(Default, Debug)]
struct Met {
    executions: u64,
    blocked: u64,
    failures: u64,
    deadlocks: u64,
    /// The last values of [`ORDER`].
    orders: BTreeSet<u128>,
    /// Who has ended the process, how, and what it takes to get there.
    ends: Vec<(End, Vec<fencepost_trace::GraphStep>)>,
}

impl Visitor<Fibers> for Met {
    fn execution(&mut self, _: &Fibers, graph: &Graph) -> Flow {
        self.executions += 1;
        self.orders.extend(graph.final_value_at(ORDER).map(|value| value.0));
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &Fibers, _: &Graph, stuck: Stuck) -> Flow {
        self.blocked += 1;
        self.deadlocks += u64::from(matches!(stuck, Stuck::Deadlock(_)));
        assert_ne!(stuck, Stuck::Limit, "no test reaches the limit");
        Flow::Continue(())
    }
    fn failed(&mut self, _: &Fibers, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.failures += 1;
        Flow::Continue(())
    }
    fn ended(&mut self, program: &Fibers, graph: &Graph, end: End, others: &[ThreadId]) -> Flow {
        self.ends.push((end, steps_to_end(graph, end.thread, others)));
        match end.failure {
            Some(failure) => self.failed(program, graph, end.thread, failure),
            None => self.execution(program, graph),
        }
    }
    fn race(&mut self, _: &Fibers, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Continue(())
    }
}

fn explore(model: Model, main: impl Fn(&Fiber<'_>) + 'static) -> Met {
    let options = Options { races: Races::Ignore, ..Options::new(model) };
    let mut explorer = Explorer::new(Fibers::new(main), options).expect("it has axioms");
    explorer.explore(Met::default).unwrap_or_else(|e| panic!("{model}: {e}"))
}

fn lock(thread: &Fiber<'_>, mutex: u64) {
    thread.sync(Sync::Lock { mutex });
}

fn unlock(thread: &Fiber<'_>, mutex: u64) {
    thread.sync(Sync::Unlock { mutex });
}

/// `lock(a); order = 10 * order + id; lock(b); unlock(a); unlock(b)`: the order in which `a` is taken is all that can
/// differ, so that there are as many executions as permutations. Nobody waits for anything that does not come.
#[test]
fn every_order_of_taking_a_lock_hand_over_hand_is_explored_once() {
    for (threads, permutations) in [(3, 6), (4, 24), (5, 120)] {
        for model in MODELS {
            let met = explore(model, move |main| {
                let body = |id: u128| {
                    move |thread: &Fiber<'_>| {
                        lock(thread, A);
                        let order = thread.load(ORDER, LoadOrder::Relaxed).0;
                        thread.store(ORDER, StoreOrder::Relaxed, Value(10 * order + id));
                        lock(thread, B);
                        unlock(thread, A);
                        unlock(thread, B);
                    }
                };
                let all: Vec<_> = (1..=threads).map(|id| main.spawn(body(id))).collect();
                all.into_iter().for_each(|thread| main.join(thread));
            });
            assert_eq!(met.orders.len(), permutations, "{model} {met:?}");
            assert_eq!((met.executions, met.blocked), (permutations as u64, 0), "{model}");
        }
    }
}

/// A read before a lock that another thread has taken: a write that depends on the critical section of a third
/// revisits it, and takes the wait away. t3 looks before or after t2, t1 reads before or after t3 if that wrote; and
/// the lock is taken by t1 or t2 first, which is t2 if t1 has seen what follows from t2: 2 + 2 + 1 executions, of
/// which the last fails.
#[test]
fn a_read_before_a_wait_is_revisited() {
    for model in MODELS {
        let met = explore(model, |main| {
            let first = main.spawn(|thread| {
                let seen = thread.load(X, LoadOrder::SeqCst);
                lock(thread, A);
                unlock(thread, A);
                if seen == Value(42) {
                    thread.fail(Failure::Assertion);
                }
            });
            let second = main.spawn(|thread| {
                lock(thread, A);
                thread.store(Y, StoreOrder::SeqCst, Value(42));
                unlock(thread, A);
            });
            let third = main.spawn(|thread| {
                if thread.load(Y, LoadOrder::SeqCst) == Value(42) {
                    thread.store(X, StoreOrder::SeqCst, Value(42));
                }
            });
            [first, second, third].into_iter().for_each(|thread| main.join(thread));
        });
        assert_eq!((met.executions, met.failures, met.deadlocks), (4, 1, 0), "{model} {met:?}");
    }
}

/// Each lock is held by the thread that the other waits for: one deadlock, beside the two orders in which all is well.
#[test]
fn a_deadlock_hides_nothing() {
    for model in MODELS {
        let met = explore(model, |main| {
            let both = |first: u64, second: u64| {
                move |thread: &Fiber<'_>| {
                    lock(thread, first);
                    lock(thread, second);
                    unlock(thread, second);
                    unlock(thread, first);
                }
            };
            let threads = [main.spawn(both(A, B)), main.spawn(both(B, A))];
            threads.into_iter().for_each(|thread| main.join(thread));
        });
        assert_eq!((met.executions, met.deadlocks, met.blocked), (2, 1, 1), "{model} {met:?}");
    }
}

/// The first thread ends the process if it reads nothing; the store that it might read comes from a thread that runs
/// later.
#[test]
fn a_process_that_ends_early_hides_nothing() {
    for model in MODELS {
        let met = explore(model, |main| {
            main.spawn(|thread| thread.store(X, StoreOrder::SeqCst, Value(1)));
            if main.load(X, LoadOrder::SeqCst) == Value::ZERO {
                main.ask(Op::Quit);
            }
            main.fail(Failure::Assertion);
        });
        assert_eq!((met.executions, met.failures), (1, 1), "{model} {met:?}");
    }
}

/// Two threads end the process, one of them in failure, whichever is first; the one that waits for them does not
/// count as blocked.
#[test]
fn each_thread_may_be_the_one_that_ends_the_process() {
    for model in MODELS {
        let program = |main: &Fiber<'_>| {
            let quits = main.spawn(|thread| {
                thread.ask(Op::Quit);
            });
            let fails = main.spawn(|thread| {
                thread.load(X, LoadOrder::Relaxed);
                thread.fail(Failure::Assertion)
            });
            main.join(quits);
            main.join(fails);
        };
        let met = explore(model, program);
        assert_eq!((met.executions, met.failures, met.blocked), (1, 1, 0), "{model} {met:?}");
        for (end, steps) in &met.ends {
            let (trace, _) = replay_steps(Fibers::new(program), model, steps).expect("it replays");
            let expected = match end.failure {
                Some(failure) => Outcome::Failed { thread: end.thread, failure },
                None => Outcome::Finished,
            };
            assert_eq!(trace.outcome, expected, "{model}");
        }
    }
}
