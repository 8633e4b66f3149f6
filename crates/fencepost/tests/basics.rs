//! Small programs whose behaviours are known.

use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use fencepost::{Config, FindingKind, Model, Summary, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

/// A cell that is shared: who may touch it when is what the tests are about.
struct Shared(UnsafeCell<u32>);
// SAFETY: the check sees every access, and ends the execution before one that races.
unsafe impl Sync for Shared {}

/// The outcomes of a test, and how many executions it took.
fn outcomes(config: Config, test: impl Fn() -> Vec<u32> + Send + Sync + 'static) -> (Vec<Vec<u32>>, Summary) {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let all = std::sync::Arc::clone(&seen);
    let run = config.run(move || {
        let outcome = test();
        all.lock().unwrap().insert(outcome);
    });
    let summary = run.unwrap_or_else(|f| panic!("{f}"));
    let seen = seen.lock().unwrap().iter().cloned().collect();
    (seen, summary)
}

fn store_buffering(store: std::sync::atomic::Ordering, load: std::sync::atomic::Ordering) -> impl Fn() -> Vec<u32> {
    move || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(1, store);
            other.0.load(load)
        });
        shared.0.store(1, store);
        let mine = shared.1.load(load);
        vec![mine, thread.join().unwrap()]
    }
}

#[test]
fn store_buffering_has_four_graphs() {
    // All four results, one graph each; with seq_cst one less.
    let (seen, summary) = outcomes(Config::new(), store_buffering(Relaxed, Relaxed));
    assert_eq!(seen, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    assert_eq!((summary.executions, summary.complete), (4, true));
    let (seen, summary) = outcomes(Config::new(), store_buffering(SeqCst, SeqCst));
    assert_eq!(seen, [[0, 1], [1, 0], [1, 1]]);
    assert_eq!(summary.executions, 3);
    for (model, relaxed) in [(Model::Sc, 3), (Model::Tso, 4), (Model::Pso, 4)] {
        let (seen, _) = outcomes(Config::new().model(model), store_buffering(Relaxed, Relaxed));
        assert_eq!(seen.len(), relaxed, "{model}");
    }
}

#[test]
fn several_workers_explore_the_same() {
    let (seen, summary) = outcomes(Config::new().jobs(2), store_buffering(Relaxed, Relaxed));
    assert_eq!(seen.len(), 4);
    // The counts of the Arc are locations here: whoever is last doubles the graphs.
    assert!(summary.executions >= 4);
}

#[test]
fn message_passing_needs_release_and_acquire() {
    let test = |store, load| {
        move || {
            let shared = Arc::new((Shared(UnsafeCell::new(0)), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                // SAFETY: nobody reads before the flag is set; the check sees whether that is so.
                other.0.0.with_mut(|at| unsafe { *at = 42 });
                other.1.store(1, store);
            });
            if shared.1.load(load) == 1 {
                // SAFETY: as above.
                assert_eq!(shared.0.0.with(|at| unsafe { *at }), 42);
            }
            thread.join().unwrap();
        }
    };
    let summary = Config::new().run(test(Release, Acquire)).expect("released and acquired");
    assert_eq!(summary.executions, 2);
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed)] {
        let failure = Config::new().run(test(store, load)).expect_err("nothing orders the two");
        assert_eq!(failure.kind, Some(FindingKind::DataRace));
        let lines: Vec<u32> = failure.places.iter().map(|(label, ..)| label.line).collect();
        assert!(lines.iter().all(|line| *line > 65), "{failure}");
        let again = Config::new().replay(&failure.replay, test(store, load)).expect_err("the same again");
        assert_eq!(again.kind, failure.kind);
    }
}

#[test]
fn a_loop_that_waits_is_explored_once() {
    // Rounds that change nothing make no difference. The first may differ from the second by what is left on the stack,
    // so that one of them may be explored in vain.
    let (seen, summary) = outcomes(Config::new(), || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(7, Release));
        while flag.load(Acquire) == 0 {}
        thread.join().unwrap();
        vec![flag.load(Relaxed)]
    });
    assert_eq!(seen, [[7]]);
    assert!(summary.complete && summary.executions <= 2, "{summary}");
}

#[test]
fn a_loop_that_waits_has_one_run_done_again() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let (seen, summary) = outcomes(Config::new(), move || {
        counted.fetch_add(1, Relaxed);
        fn enter(lock: &AtomicU32) {
            while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            lock.store(0, Release);
        }
        let lock = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || enter(&other));
        enter(&lock);
        thread.join().unwrap();
        vec![lock.load(Relaxed)]
    });
    assert_eq!(seen, [[0]]);
    // What was explored before a thread seemed to wait is kept: one run begins twice, and no other.
    assert_eq!(runs.load(Relaxed), summary.executions + summary.blocked + 1, "{summary}");
}

#[test]
fn a_loop_that_counts_its_rounds_is_no_loop_that_waits() {
    let (seen, _) = outcomes(Config::new(), || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, Release));
        let mut rounds = 0;
        while flag.load(Acquire) == 0 && rounds < 3 {
            rounds += 1;
        }
        thread.join().unwrap();
        vec![rounds]
    });
    assert_eq!(seen, [[0], [1], [2], [3]]);
}

#[test]
fn a_loop_that_counts_its_rounds_on_the_heap_is_none_either() {
    // The stack is the same in every round: what the loop changes is in a box, and in a vector that grows.
    let (seen, _) = outcomes(Config::new(), || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, Release));
        let (mut rounds, mut all) = (Box::new(0), Vec::new());
        while flag.load(Acquire) == 0 && *rounds < 3 {
            *rounds += 1;
            all.push(*rounds);
        }
        thread.join().unwrap();
        assert_eq!(all.len(), *rounds as usize);
        vec![*rounds]
    });
    assert_eq!(seen, [[0], [1], [2], [3]]);
}

#[test]
fn a_loop_around_a_compare_exchange_waits() {
    // Who does not get the lock waits for it: there are two orders. A first round may differ from the second by what is
    // left on the stack, so that each thread goes around twice at most before it is seen to wait. A weak one also fails
    // for no reason: two ways to go around, three numbers of rounds, two threads, two orders.
    for (weak, most) in [(false, 8), (true, 36)] {
        let (seen, summary) = outcomes(Config::new(), move || {
            let lock = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let enter = move |lock: &(AtomicU32, AtomicU32)| {
                let take = if weak { AtomicU32::compare_exchange_weak } else { AtomicU32::compare_exchange };
                while take(&lock.0, 0, 1, Acquire, Relaxed).is_err() {}
                let before = lock.1.load(Relaxed);
                lock.1.store(before + 1, Relaxed);
                lock.0.store(0, Release);
                before
            };
            let other = Arc::clone(&lock);
            let thread = thread::spawn(move || enter(&other));
            let mine = enter(&lock);
            vec![mine, thread.join().unwrap()]
        });
        assert_eq!(seen, [[0, 1], [1, 0]]);
        assert!(summary.complete && summary.executions <= most, "{summary}");
    }
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    let failure = Config::new().run(|| {
        let flag = AtomicU32::new(0);
        while flag.load(Acquire) == 0 {}
    });
    assert_eq!(failure.expect_err("nobody sets the flag").kind, Some(FindingKind::Livelock));
}

#[test]
fn locks_exclude_and_deadlocks_are_found() {
    let (seen, _) = outcomes(Config::new(), || {
        let counter = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || *counter.lock().unwrap() += 1)
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let count = *counter.lock().unwrap();
        vec![count]
    });
    assert_eq!(seen, [[2]]);
    let failure = Config::new().run(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _b = other.1.lock().unwrap();
            let _a = other.0.lock().unwrap();
        });
        {
            let _a = locks.0.lock().unwrap();
            let _b = locks.1.lock().unwrap();
        }
        thread.join().unwrap();
    });
    assert_eq!(failure.expect_err("each has what the other wants").kind, Some(FindingKind::Deadlock));
}

#[test]
fn condition_variables_channels_and_the_like_work() {
    Config::new()
        .run(|| {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut ready = pair.0.lock().unwrap();
            while !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
            drop(ready);
            thread.join().unwrap();
        })
        .unwrap_or_else(|f| panic!("{f}"));
    Config::new()
        .run(|| {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || sender.send(Box::new(5)).unwrap());
            assert_eq!(*receiver.recv().unwrap(), 5);
            thread.join().unwrap();
            assert!(receiver.recv().is_err());
        })
        .unwrap_or_else(|f| panic!("{f}"));
    Config::new()
        .run(|| {
            static ONCE: Once = Once::new();
            static VALUE: OnceLock<u32> = OnceLock::new();
            let lock = Arc::new(RwLock::new(1));
            let barrier = Arc::new(Barrier::new(2));
            let (other, meet) = (Arc::clone(&lock), Arc::clone(&barrier));
            let thread = thread::spawn(move || {
                ONCE.call_once(|| {});
                *other.write().unwrap() += *VALUE.get_or_init(|| 3);
                meet.wait().is_leader()
            });
            ONCE.call_once(|| {});
            let mine = barrier.wait().is_leader();
            assert_eq!(*lock.read().unwrap(), 4);
            assert!(mine != thread.join().unwrap());
        })
        .unwrap_or_else(|f| panic!("{f}"));
}

#[test]
fn pointers_may_move_from_run_to_run() {
    // A stack whose nodes are on the heap: every run has other addresses.
    struct Node {
        value: u32,
        next: *mut Node,
    }
    let (seen, summary) = outcomes(Config::new(), || {
        let head = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
        let push = |head: &AtomicPtr<Node>, value| {
            let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
            loop {
                let next = head.load(Relaxed);
                // SAFETY: nobody else knows the node yet.
                unsafe { (*node).next = next };
                if head.compare_exchange(next, node, Release, Relaxed).is_ok() {
                    break;
                }
            }
        };
        let other = Arc::clone(&head);
        let thread = thread::spawn(move || push(&other, 1));
        push(&head, 2);
        thread.join().unwrap();
        let mut at = head.load(Acquire);
        let mut values = Vec::new();
        while !at.is_null() {
            // SAFETY: all have pushed, and each node is taken once.
            let node = unsafe { Box::from_raw(at) };
            values.push(node.value);
            at = node.next;
        }
        values
    });
    assert_eq!(seen, [[1, 2], [2, 1]]);
    assert!(summary.complete);
}

#[test]
fn statics_start_anew() {
    static COUNTER: AtomicUsize = AtomicUsize::new(5);
    fencepost::check(|| {
        let thread = thread::spawn(|| COUNTER.fetch_add(1, Relaxed));
        COUNTER.fetch_add(1, Relaxed);
        thread.join().unwrap();
        assert_eq!(COUNTER.load(Relaxed), 7);
    });
    assert_eq!(COUNTER.load(Relaxed), 5, "outside of a check nothing has happened");
}

#[test]
fn a_raw_arc_is_looked_at_without_taking_it() {
    // The pointer stands for one handle; others are made of it and forgotten, as std permits.
    fencepost::check(|| {
        let raw = Arc::into_raw(Arc::new(AtomicU32::new(5)));
        let handles: Vec<_> = (0..2)
            .map(|_| {
                // SAFETY: the pointer stands for a handle until the end, and this one is not dropped.
                let handle = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(raw) });
                Arc::clone(&*handle)
            })
            .collect();
        let thread = thread::spawn(move || handles.iter().map(|handle| handle.fetch_add(1, Relaxed)).sum::<u32>());
        assert_eq!(thread.join().unwrap(), 11);
        // SAFETY: this is the handle that the pointer stands for.
        assert_eq!(unsafe { Arc::from_raw(raw) }.load(Relaxed), 7);
    });
}

#[test]
fn who_is_the_last_to_drop_an_arc_is_part_of_the_execution() {
    // The destructor asks for operations: its thread is another one from run to run, unless counts are in the model.
    struct Last(AtomicU32);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.with_mut(|value| *value += 1);
            self.0.store(7, Relaxed);
        }
    }
    let summary = fencepost::check(|| {
        let shared = Arc::new(Last(AtomicU32::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.0.fetch_add(1, Relaxed))
            })
            .collect();
        drop(shared);
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 2));
    });
    assert!(summary.complete && summary.executions >= 6, "{summary}");
}

#[test]
fn scoped_threads_borrow() {
    fencepost::check(|| {
        let x = AtomicU32::new(0);
        let seen = thread::scope(|scope| {
            scope.spawn(|| x.fetch_add(1, Relaxed));
            scope.spawn(|| x.fetch_add(1, Relaxed)).join().unwrap()
        });
        assert!(seen < 2);
        assert_eq!(x.into_inner(), 2);
    });
}

#[test]
fn fences_order() {
    let (seen, _) = outcomes(Config::new(), || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(1, Relaxed);
            fence(SeqCst);
            other.0.load(Relaxed)
        });
        shared.0.store(1, Relaxed);
        fence(SeqCst);
        let mine = shared.1.load(Relaxed);
        vec![mine, thread.join().unwrap()]
    });
    assert_eq!(seen, [[0, 1], [1, 0], [1, 1]]);
}

#[test]
fn random_executions_have_no_false_races() {
    // A cell behind a flag is in order under every model. Where no happens-before is kept, no race is told.
    for model in [Model::C11, Model::Sc, Model::Tso, Model::Pso] {
        let config = Config::new().model(model).random(200);
        config
            .run(|| {
                let shared = Arc::new((Shared(UnsafeCell::new(0)), AtomicU32::new(0)));
                let other = Arc::clone(&shared);
                let thread = thread::spawn(move || {
                    // SAFETY: nobody reads before the flag is set.
                    other.0.0.with_mut(|at| unsafe { *at = 42 });
                    other.1.store(1, Release);
                });
                if shared.1.load(Acquire) == 1 {
                    // SAFETY: the flag is set.
                    assert_eq!(shared.0.0.with(|at| unsafe { *at }), 42);
                }
                thread.join().unwrap();
            })
            .unwrap_or_else(|f| panic!("{model}: {f}"));
    }
}

#[test]
fn random_executions_find_what_is_likely() {
    let failure = fencepost::Config::new().random(1_000).run(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            assert_eq!(shared.0.load(Relaxed), 1, "stale");
        }
        thread.join().unwrap();
    });
    let failure = failure.expect_err("one in ten or so is stale: a thousand in a row are not");
    assert_eq!(failure.kind, Some(FindingKind::Panic));
    assert!(failure.message.contains("stale"), "{failure}");
    assert!(failure.shown.contains("stale: #"), "{failure}");
}

/// So many executions within a bound, and whether something was left out.
fn bounded(most: u32, model: Model, test: impl Fn() + Send + Sync + 'static) -> (u64, bool) {
    let summary = Config::new().model(model).preemption_bound(most).run(test).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(summary.complete_up_to, Some(most));
    (summary.executions, !summary.complete)
}

#[test]
fn a_bound_on_preemptions_leaves_out_what_needs_more() {
    // The thread that creates the other comes first, unless it is preempted: before its store, or before its load.
    let test = || drop(store_buffering(Relaxed, Relaxed)());
    assert_eq!(bounded(0, Model::Sc, test), (1, true));
    assert_eq!(bounded(1, Model::Sc, test), (3, false));
    // Two threads take a lock twice. One after the other; one within the other; by turns.
    let test = || {
        let lock = Arc::new(Mutex::new(()));
        let threads = [0, 1].map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || (0..2).for_each(|_| drop(lock.lock().unwrap())))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    assert_eq!(bounded(0, Model::C11, test), (2, true));
    assert_eq!(bounded(1, Model::C11, test), (4, true));
    assert_eq!(bounded(2, Model::C11, test), (6, false));
}

#[test]
fn a_loop_that_waits_is_not_preempted() {
    let wait_for = |flag: &AtomicU32, value: u32| {
        while flag.load(Acquire) != value {
            fencepost::hint::spin_loop();
        }
    };
    let test = move || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            for round in [1, 3, 5] {
                wait_for(&other, round);
                other.store(round + 1, Release);
            }
        });
        for round in [0, 2, 4] {
            wait_for(&flag, round);
            flag.store(round + 1, Release);
        }
        thread.join().unwrap();
    };
    let all = Config::new().run(test).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(bounded(0, Model::C11, test), (all.executions, false));
}

#[test]
fn a_summary_says_what_it_is_complete_up_to() {
    let test = || drop(store_buffering(Relaxed, Relaxed)());
    let config = Config::new().model(Model::Sc);
    let say = |config: &Config| config.run(test).unwrap_or_else(|f| panic!("{f}")).to_string();
    assert!(say(&config.clone().preemption_bound(0)).starts_with("complete up to 0 preemptions: 1 executions, "));
    assert!(say(&config.clone().preemption_bound(1)).starts_with("complete: 3 executions, "));
    let stopped = config.preemption_bound(1).max_executions(1);
    assert!(say(&stopped).starts_with("nothing found, not complete: stopped after 1 executions, "));
    let refused = Config::new().random(10).preemption_bound(1).run(test).expect_err("it makes no sense");
    assert!(refused.to_string().contains("a preemption bound is for the exploration of everything"), "{refused}");
}

#[test]
fn a_check_that_is_stopped_says_about_how_much_it_has_done() {
    // Three threads add to a number three times each: 9! / (3! 3! 3!) = 1,680 orders. Half of them are seen; what is
    // left is guessed from what was met, and rather too little.
    let test = || {
        let number = Arc::new(AtomicU32::new(0));
        let threads = [0, 1, 2].map(|_| {
            let number = Arc::clone(&number);
            thread::spawn(move || {
                for _ in 0..3 {
                    number.fetch_add(1, Relaxed);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let summary = Config::new().max_executions(840).run(test).unwrap_or_else(|f| panic!("{f}"));
    let left = summary.left.expect("one core");
    assert!((84..8_400).contains(&left), "{summary}");
    assert!(summary.to_string().ends_with(" % estimated"), "{summary}");
    let all = Config::new().run(test).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!((all.executions, all.complete, all.left), (1_680, true, None));
}

#[test]
fn a_kernel_thread_that_has_checked_ends_like_any_other() {
    // What it has kept for its next check is given back then, in whatever order thread-local values go.
    for check in [|| fencepost::check(|| drop(Box::new(1))), || fencepost::random(10, || drop(Box::new(1)))] {
        std::thread::spawn(move || _ = check()).join().expect("it ends");
    }
}
