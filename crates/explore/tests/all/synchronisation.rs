//! Synchronisation on the engine and under exploration: programs as closures on fibers.

use fencepost_engine::{Execution, Fiber, Fibers, Follow, Random, Threads, run};
use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor, trace_of};
use fencepost_memory::graph::{Graph, Node};
use fencepost_memory::{C11, Machine, Pslo, Pso, Sc, Tso, axioms};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Failure, Hidden, Limits, LoadOrder, Location, Model, Outcome, RmwOrder, Size, StoreOrder, ThreadId, Update, Value,
    execution_seed,
};

const X: Location = Location { address: 0x1000, size: Size::B4 };
const Y: Location = Location { address: 0x1010, size: Size::B4 };
const MUTEX: u64 = 0x2000;
const OTHER: u64 = 0x2040;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

#[derive(Default, Debug)]
struct Found {
    executions: u64,
    redundant: u64,
    deadlocks: u64,
    livelocks: u64,
    failures: u64,
    races: u64,
}

struct Check(Model, Found);

impl Visitor<Fibers> for Check {
    fn execution(&mut self, program: &Fibers, graph: &Graph) -> Flow {
        let trace = trace_of(program, graph, self.0, Outcome::Finished);
        axioms::check(&trace).unwrap_or_else(|v| panic!("{}: {v}\n{trace:#?}", self.0));
        self.1.executions += 1;
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &Fibers, _: &Graph, stuck: Stuck) -> Flow {
        match stuck {
            Stuck::Deadlock(_) => self.1.deadlocks += 1,
            Stuck::Livelock(_) => self.1.livelocks += 1,
            Stuck::Redundant => self.1.redundant += 1,
            Stuck::Limit => panic!("no test reaches the limit"),
        }
        Flow::Continue(())
    }
    fn failed(&mut self, _: &Fibers, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        self.1.failures += 1;
        Flow::Continue(())
    }
    fn race(&mut self, _: &Fibers, _: &Graph, _: Node, _: Node) -> Flow {
        self.1.races += 1;
        Flow::Continue(())
    }
}

fn explore(model: Model, main: impl Fn(&Fiber<'_>) + 'static) -> Found {
    explore_program(model, Fibers::new(main))
}

fn explore_program(model: Model, program: Fibers) -> Found {
    let mut explorer = Explorer::new(program, Options::new(model)).expect("it has axioms");
    explorer.explore(|| Check(model, Found::default())).unwrap_or_else(|e| panic!("{model}: {e}")).1
}

fn random_on<M: Machine>(machine: M, program: &mut Fibers, rounds: u64) -> Vec<Outcome> {
    let mut execution = Execution::new(machine);
    let mut outcomes = Vec::new();
    for round in 0..rounds {
        let outcome =
            run(&mut execution, program, &mut Random::new(execution_seed(3, round)), Limits { max_steps: 10_000 });
        let trace = execution.trace(|l| program.describe(l));
        axioms::check(&trace).unwrap_or_else(|v| panic!("{}: {v}\n{trace:#?}", M::MODEL));
        let choices = execution.choices().to_vec();
        let again = run(&mut execution, program, &mut Follow::new(choices.clone()), Limits { max_steps: 10_000 });
        assert_eq!(again, outcome);
        assert_eq!(execution.trace(|l| program.describe(l)), trace, "the same choices give the same trace");
        if !outcomes.contains(&outcome) {
            outcomes.push(outcome);
        }
    }
    outcomes
}

/// The outcomes of random executions under every model, pooled.
fn random(main: impl Fn(&Fiber<'_>) + 'static) -> Vec<Outcome> {
    let mut program = Fibers::new(main);
    let mut all = Vec::new();
    all.extend(random_on(Sc::default(), &mut program, 60));
    all.extend(random_on(Tso::default(), &mut program, 60));
    all.extend(random_on(Pso::default(), &mut program, 60));
    all.extend(random_on(Pslo::default(), &mut program, 60));
    all.extend(random_on(C11::default(), &mut program, 60));
    all
}

/// The program never fails or gets stuck, in random executions under every model.
fn always_finishes(main: impl Fn(&Fiber<'_>) + 'static) {
    let outcomes = random(main);
    assert!(outcomes.iter().all(|o| *o == Outcome::Finished), "{outcomes:?}");
}

fn increment(thread: &Fiber<'_>, at: Location) {
    let old = thread.load(at, LoadOrder::Plain);
    thread.store(at, StoreOrder::Plain, Value(old.0 + 1));
}

fn counter_under_mutex(threads: u32) -> impl Fn(&Fiber<'_>) + 'static {
    move |main| {
        let children: Vec<ThreadId> = (0..threads)
            .map(|_| {
                main.spawn(|thread| {
                    thread.sync(Sync::Lock { mutex: MUTEX });
                    increment(thread, X);
                    thread.sync(Sync::Unlock { mutex: MUTEX });
                })
            })
            .collect();
        children.into_iter().for_each(|child| main.join(child));
        assert_eq!(main.load(X, LoadOrder::Plain), Value(u128::from(threads)));
    }
}

#[test]
fn a_mutex_excludes_and_every_order_of_taking_it_is_explored_once() {
    always_finishes(counter_under_mutex(3));
    for model in MODELS {
        for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
            let found = explore(model, counter_under_mutex(threads));
            assert_eq!(found.executions, orders, "{model} {threads} {found:?}");
            assert_eq!((found.deadlocks, found.failures, found.races), (0, 0, 0), "{model} {found:?}");
        }
    }
}

#[test]
fn without_the_mutex_there_is_a_race() {
    let racy = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| increment(thread, X));
        increment(main, X);
        main.join(child);
    };
    assert!(explore(Model::C11, racy).races > 0);
}

#[test]
fn two_mutexes_taken_crosswise_deadlock() {
    let crosswise = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| {
            thread.sync(Sync::Lock { mutex: OTHER });
            thread.sync(Sync::Lock { mutex: MUTEX });
            thread.sync(Sync::Unlock { mutex: MUTEX });
            thread.sync(Sync::Unlock { mutex: OTHER });
        });
        main.sync(Sync::Lock { mutex: MUTEX });
        main.sync(Sync::Lock { mutex: OTHER });
        main.sync(Sync::Unlock { mutex: OTHER });
        main.sync(Sync::Unlock { mutex: MUTEX });
        main.join(child);
    };
    // Each thread may be the second at either mutex: both orders finish, one interleaving does not.
    let outcomes = random(crosswise);
    assert!(outcomes.contains(&Outcome::Finished));
    assert!(outcomes.contains(&Outcome::Deadlock { blocked: vec![ThreadId(0), ThreadId(1)] }), "{outcomes:?}");
    for model in MODELS {
        let found = explore(model, crosswise);
        assert!(found.deadlocks > 0 && found.executions == 2, "{model} {found:?}");
    }
}

#[test]
fn try_lock_fails_only_while_the_mutex_is_held() {
    let program = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| {
            if thread.sync(Sync::TryLock { mutex: MUTEX }) {
                increment(thread, X);
                thread.sync(Sync::Unlock { mutex: MUTEX });
            }
        });
        main.sync(Sync::Lock { mutex: MUTEX });
        increment(main, X);
        main.sync(Sync::Unlock { mutex: MUTEX });
        main.join(child);
    };
    always_finishes(program);
    let found = explore(Model::Sc, program);
    // The child comes first, comes last, or fails in between.
    assert_eq!((found.executions, found.failures, found.races), (3, 0, 0), "{found:?}");
}

#[test]
fn readers_share_a_lock_and_writers_do_not() {
    const LOCK: u64 = 0x3000;
    let program = |main: &Fiber<'_>| {
        let readers: Vec<ThreadId> = (0..2)
            .map(|_| {
                main.spawn(|thread| {
                    thread.sync(Sync::ReadLock { lock: LOCK });
                    let (x, y) = (thread.load(X, LoadOrder::Plain), thread.load(Y, LoadOrder::Plain));
                    assert_eq!(x, y, "a reader sees no half-done update");
                    thread.sync(Sync::ReadUnlock { lock: LOCK });
                })
            })
            .collect();
        main.sync(Sync::WriteLock { lock: LOCK });
        main.store(X, StoreOrder::Plain, Value(1));
        main.store(Y, StoreOrder::Plain, Value(1));
        main.sync(Sync::WriteUnlock { lock: LOCK });
        readers.into_iter().for_each(|r| main.join(r));
        assert!(main.sync(Sync::TryWriteLock { lock: LOCK }));
        assert!(!main.sync(Sync::TryReadLock { lock: LOCK }));
        main.sync(Sync::WriteUnlock { lock: LOCK });
        assert!(main.sync(Sync::TryReadLock { lock: LOCK }));
        main.sync(Sync::ReadUnlock { lock: LOCK });
    };
    always_finishes(program);
    for model in MODELS {
        let found = explore(model, program);
        assert!(found.executions > 3, "{model} {found:?}");
        assert_eq!((found.failures, found.races, found.deadlocks), (0, 0, 0), "{model} {found:?}");
    }
}

fn hand_over(notify: Sync, signal_first: bool) -> impl Fn(&Fiber<'_>) + 'static {
    move |main| {
        let child = main.spawn(move |thread| {
            thread.sync(Sync::Lock { mutex: MUTEX });
            thread.store(X, StoreOrder::Plain, Value(1));
            if signal_first {
                thread.sync(notify);
            }
            thread.sync(Sync::Unlock { mutex: MUTEX });
        });
        main.sync(Sync::Lock { mutex: MUTEX });
        while main.load(X, LoadOrder::Plain) == Value::ZERO {
            main.sync(Sync::Wait { condvar: OTHER, mutex: MUTEX });
        }
        main.sync(Sync::Unlock { mutex: MUTEX });
        main.join(child);
    }
}

#[test]
fn a_condition_variable_hands_over_and_a_missing_signal_is_a_deadlock() {
    for notify in [Sync::NotifyOne { condvar: OTHER }, Sync::NotifyAll { condvar: OTHER }] {
        always_finishes(hand_over(notify, true));
        for model in MODELS {
            let found = explore(model, hand_over(notify, true));
            assert_eq!((found.failures, found.races, found.deadlocks), (0, 0, 0), "{model} {found:?}");
            assert!(found.executions >= 2, "{model} {found:?}");
            let silent = explore(model, hand_over(notify, false));
            assert!(silent.deadlocks > 0, "{model} {silent:?}");
        }
    }
}

#[test]
fn one_notification_wakes_one_waiter_and_either_may_be_it() {
    const ARRIVED: u64 = 0x5000;
    let program = |main: &Fiber<'_>| {
        let waiters: Vec<ThreadId> = (0..2)
            .map(|_| {
                main.spawn(|thread| {
                    thread.sync(Sync::Lock { mutex: MUTEX });
                    thread.sync(Sync::Release { semaphore: ARRIVED });
                    thread.sync(Sync::Wait { condvar: OTHER, mutex: MUTEX });
                    thread.rmw(X, RmwOrder::Relaxed, Update::Add(Value(1)));
                    thread.sync(Sync::Unlock { mutex: MUTEX });
                })
            })
            .collect();
        // Once both have arrived and the mutex is free, both wait.
        (0..2).for_each(|_| _ = main.sync(Sync::Acquire { semaphore: ARRIVED }));
        main.sync(Sync::Lock { mutex: MUTEX });
        main.sync(Sync::Unlock { mutex: MUTEX });
        main.sync(Sync::NotifyOne { condvar: OTHER });
        waiters.into_iter().for_each(|w| main.join(w));
    };
    let outcomes = random(program);
    let stuck = |waiter: u32| Outcome::Deadlock { blocked: vec![ThreadId(0), ThreadId(waiter)] };
    assert!(outcomes.contains(&stuck(1)) && outcomes.contains(&stuck(2)), "{outcomes:?}");
    assert!(outcomes.iter().all(|o| *o == stuck(1) || *o == stuck(2)), "{outcomes:?}");
}

#[test]
fn a_semaphore_lets_as_many_in_as_it_counts() {
    const SEMAPHORE: u64 = 0x5000;
    let main = |main: &Fiber<'_>| {
        let children: Vec<ThreadId> = (0..3)
            .map(|_| {
                main.spawn(|thread| {
                    thread.sync(Sync::Acquire { semaphore: SEMAPHORE });
                    let inside = thread.rmw(X, RmwOrder::Relaxed, Update::Add(Value(1)));
                    assert!(inside.0 < 2, "three threads passed a semaphore of two");
                    thread.rmw(X, RmwOrder::Relaxed, Update::Sub(Value(1)));
                    thread.sync(Sync::Release { semaphore: SEMAPHORE });
                })
            })
            .collect();
        children.into_iter().for_each(|c| main.join(c));
        assert!(main.sync(Sync::TryAcquire { semaphore: SEMAPHORE }));
        assert!(main.sync(Sync::TryAcquire { semaphore: SEMAPHORE }));
        assert!(!main.sync(Sync::TryAcquire { semaphore: SEMAPHORE }));
    };
    let program = || Fibers::new(main).with_initial(Location::hidden(Hidden::Semaphore, SEMAPHORE), Value(2));
    let outcomes = random_on(C11::default(), &mut program(), 200);
    assert_eq!(outcomes, [Outcome::Finished]);
    let outcomes = random_on(Pso::default(), &mut program(), 200);
    assert_eq!(outcomes, [Outcome::Finished]);
    let found = explore_program(Model::Sc, program());
    assert_eq!((found.failures, found.deadlocks), (0, 0), "{found:?}");
    assert!(found.executions > 6);
}

#[test]
fn a_barrier_separates_before_from_after_in_every_generation() {
    const BARRIER: u64 = 0x6000;
    let program = |main: &Fiber<'_>| {
        let wait = |thread: &Fiber<'_>| thread.sync(Sync::BarrierWait { barrier: BARRIER, parties: 2 });
        let child = main.spawn(move |thread| {
            thread.store(X, StoreOrder::Plain, Value(1));
            let first = wait(thread);
            assert_eq!(thread.load(Y, LoadOrder::Plain), Value(1));
            let second = wait(thread);
            thread.store(X, StoreOrder::Plain, Value(2 + u128::from(first) + u128::from(second)));
        });
        main.store(Y, StoreOrder::Plain, Value(1));
        let first = wait(main);
        assert_eq!(main.load(X, LoadOrder::Plain), Value(1));
        let second = wait(main);
        main.join(child);
        // In each generation exactly one of the two is the last to arrive.
        let theirs = main.load(X, LoadOrder::Plain).0 - 2;
        assert_eq!(theirs + u128::from(first) + u128::from(second), 2);
    };
    always_finishes(program);
    for model in MODELS {
        let found = explore(model, program);
        // Who comes last, twice. Who waits reads that its generation is complete, and there is one write that says so.
        assert_eq!(found.executions, 4, "{model} {found:?}");
        assert_eq!((found.failures, found.races, found.deadlocks), (0, 0, 0), "{model} {found:?}");
    }
}

#[test]
fn once_runs_once_and_the_others_wait_for_it() {
    const ONCE: u64 = 0x7000;
    let program = |main: &Fiber<'_>| {
        let use_it = |thread: &Fiber<'_>| {
            if thread.sync(Sync::OnceBegin { once: ONCE }) {
                increment(thread, X);
                thread.sync(Sync::OnceEnd { once: ONCE });
            }
            assert_eq!(thread.load(X, LoadOrder::Plain), Value(1));
        };
        let children: Vec<ThreadId> = (0..2).map(|_| main.spawn(use_it)).collect();
        use_it(main);
        children.into_iter().for_each(|c| main.join(c));
    };
    always_finishes(program);
    for model in MODELS {
        let found = explore(model, program);
        assert!(found.executions >= 3, "{model} {found:?}");
        assert_eq!((found.failures, found.races, found.deadlocks), (0, 0, 0), "{model} {found:?}");
    }
}

#[test]
fn an_abandoned_once_is_tried_again() {
    const ONCE: u64 = 0x7000;
    always_finishes(|main| {
        assert!(main.sync(Sync::OnceBegin { once: ONCE }));
        main.sync(Sync::OnceAbandon { once: ONCE });
        assert!(main.sync(Sync::OnceBegin { once: ONCE }));
        main.sync(Sync::OnceEnd { once: ONCE });
        assert!(!main.sync(Sync::OnceBegin { once: ONCE }));
    });
}

#[test]
fn a_park_token_is_not_lost_and_not_counted() {
    let program = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| {
            thread.sync(Sync::Park);
            assert_eq!(thread.load(X, LoadOrder::Plain), Value(1));
        });
        main.store(X, StoreOrder::Plain, Value(1));
        main.sync(Sync::Unpark { thread: child });
        main.sync(Sync::Unpark { thread: child });
        main.join(child);
    };
    always_finishes(program);
    for model in MODELS {
        let found = explore(model, program);
        assert_eq!((found.failures, found.races, found.deadlocks), (0, 0, 0), "{model} {found:?}");
    }
    // One token for two unparks: a second park waits forever.
    let twice = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| {
            thread.sync(Sync::Park);
            thread.sync(Sync::Park);
        });
        main.sync(Sync::Unpark { thread: child });
        main.join(child);
    };
    assert!(explore(Model::C11, twice).deadlocks > 0);
}

#[test]
fn threads_that_create_threads_are_explored() {
    let program = |main: &Fiber<'_>| {
        let parents: Vec<ThreadId> = (0..2)
            .map(|_| {
                main.spawn(|thread| {
                    let child = thread.spawn(|thread| {
                        thread.rmw(X, RmwOrder::Relaxed, Update::Add(Value(1)));
                    });
                    thread.rmw(Y, RmwOrder::Relaxed, Update::Add(Value(1)));
                    thread.join(child);
                })
            })
            .collect();
        parents.into_iter().for_each(|p| main.join(p));
        assert_eq!(main.load(X, LoadOrder::Relaxed), Value(2));
    };
    always_finishes(program);
    for model in MODELS {
        // Two increments of X in either order, and two of Y.
        assert_eq!(explore(model, program).executions, 4, "{model}");
    }
}

#[test]
fn a_failing_assertion_is_found_where_the_model_permits_it() {
    let message_passing = |main: &Fiber<'_>| {
        let child = main.spawn(|thread| {
            thread.store(X, StoreOrder::Relaxed, Value(1));
            thread.store(Y, StoreOrder::Relaxed, Value(1));
        });
        if main.load(Y, LoadOrder::Relaxed) == Value(1) && main.load(X, LoadOrder::Relaxed) == Value::ZERO {
            main.fail(Failure::Assertion);
        }
        main.join(child);
    };
    for (model, fails) in [(Model::Sc, false), (Model::Tso, false), (Model::Pso, true), (Model::C11, true)] {
        assert_eq!(explore(model, message_passing).failures > 0, fails, "{model}");
    }
    let outcomes = random(message_passing);
    assert!(outcomes.contains(&Outcome::Failed { thread: ThreadId(0), failure: Failure::Assertion }), "{outcomes:?}");
}

#[test]
fn a_panic_of_the_program_is_its_failure_and_not_the_engines() {
    std::panic::set_hook(Box::new(|_| {}));
    let found = explore(Model::Sc, |main: &Fiber<'_>| {
        main.store(X, StoreOrder::Relaxed, Value(1));
        assert_eq!(main.load(X, LoadOrder::Relaxed), Value(2));
    });
    let _ = std::panic::take_hook();
    assert_eq!(found.failures, 1);
}

#[test]
fn an_endless_thread_is_cut_off_by_the_limit_of_steps() {
    let mut program = Fibers::new(|main| {
        loop {
            main.load(X, LoadOrder::Relaxed);
        }
    });
    let mut execution = Execution::new(Sc::default());
    let outcome = run(&mut execution, &mut program, &mut Random::new(1), Limits { max_steps: 1000 });
    assert_eq!(outcome, Outcome::StepLimit);
    assert_eq!(execution.steps(), 1000);
}
