//! Tests that go wrong, in every way: each is told clearly.

use fencepost::sync::atomic::AtomicU32;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use fencepost::sync::{Arc, Mutex};
use fencepost::{Config, Failure, FindingKind, thread};

fn failure(test: impl Fn() + Send + Sync + 'static) -> Box<Failure> {
    Config::new().run(test).expect_err("the test fails")
}

#[test]
fn a_panic_in_any_thread_is_told_with_its_execution() {
    let failure = failure(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || assert_eq!(other.load(Acquire), 0, "too late"));
        flag.store(1, Release);
        thread.join().unwrap();
    });
    assert_eq!(failure.kind, Some(FindingKind::Panic));
    let text = failure.to_string();
    for part in ["thread 1 panicked", "too late", "tests/failures.rs", "flag.store(1, Release)", "FENCEPOST_REPLAY='"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn a_panic_may_go_to_who_joins() {
    let joined = || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert!(lock.lock().is_err(), "the lock is poisoned");
    };
    Config::new().thread_panics(true).run(joined).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(failure(joined).kind, Some(FindingKind::Panic));
}

#[test]
fn a_panic_while_panicking_does_not_lose_the_report() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    // Such a process ends, as it would by itself: so it is another one.
    if std::env::var_os("FENCEPOST_TEST_BOMB").is_some() {
        fencepost::check(|| {
            let _bomb = Bomb;
            panic!("the first");
        });
    }
    let program = std::env::current_exe().expect("this test is a program");
    let arguments = ["--exact", "a_panic_while_panicking_does_not_lose_the_report", "--nocapture"];
    let output = std::process::Command::new(program).args(arguments).env("FENCEPOST_TEST_BOMB", "1").output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("the first") && text.contains("the second") && text.contains("FENCEPOST_REPLAY"), "{text}");
}

#[test]
#[should_panic(expected = "a check inside of a check")]
fn a_check_inside_of_a_check_is_refused() {
    fencepost::check(|| {
        fencepost::check(|| {});
    });
}

#[test]
fn a_check_inside_of_a_check_is_refused_in_every_form() {
    // In a thread of the test, at random, and by replay: whoever tries is told.
    let inner: [fn(); 3] = [
        || drop(thread::spawn(|| fencepost::check(|| {}).executions).join()),
        || assert_eq!(fencepost::random(1, || {}).executions, 1),
        || fencepost::replay("a_test/c11/graph/0", || {}),
    ];
    for inner in inner {
        let failure = failure(inner);
        assert_eq!(failure.kind, Some(FindingKind::Panic));
        assert!(failure.message.contains("a check inside of a check"), "{failure}");
    }
    fencepost::check(|| {});
}

#[test]
fn a_thread_that_is_not_joined_runs_to_its_end() {
    // Nobody joins it. What it does counts: its panic is told, and so is that it waits forever.
    let failure = failure(|| drop(thread::spawn(|| panic!("nobody looks"))));
    assert_eq!(failure.kind, Some(FindingKind::Panic));
    assert!(failure.message.contains("thread 1 panicked: nobody looks"), "{failure}");
    let summary = fencepost::check(|| drop(thread::spawn(|| {})));
    assert_eq!((summary.executions, summary.complete), (1, true));
}

#[test]
fn a_thread_that_is_left_behind_and_waits_is_told() {
    let waits: [fn(); 2] = [
        || drop(thread::spawn(thread::park)),
        || {
            let lock = Arc::new(Mutex::new(()));
            let other = Arc::clone(&lock);
            drop(thread::spawn(move || {
                let _first = other.lock().unwrap();
                let _second = other.lock().unwrap();
            }));
        },
    ];
    for wait in waits {
        let failure = failure(wait);
        assert_eq!(failure.kind, Some(FindingKind::Deadlock));
        let text = failure.to_string();
        assert!(text.contains("the test has ended, and threads that it has not joined wait forever"), "{text}");
        assert!(text.contains("thread 1 waits: "), "{text}");
    }
}

#[test]
fn a_panic_while_another_thread_unwinds_is_told() {
    // Both threads panic, in either order: one of them is told, and the process lives on.
    for _ in 0..2 {
        let failure = failure(|| {
            let thread = thread::spawn(|| panic!("the other"));
            let _joins = thread;
            panic!("the one");
        });
        assert_eq!(failure.kind, Some(FindingKind::Panic));
        assert!(failure.message.contains("the one") || failure.message.contains("the other"), "{failure}");
    }
}

#[test]
fn who_waits_forever_while_it_unwinds_is_told_and_later_checks_are_right() {
    struct Waits(Arc<Mutex<u32>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    // Such an execution is left in the middle of a panic. On a thread of its own, for this one is never as before.
    let thread = std::thread::spawn(|| {
        let stuck = || {
            let lock = Arc::new(Mutex::new(0));
            let _held = lock.lock().unwrap();
            let _waits = Waits(Arc::clone(&lock));
            panic!("on purpose");
        };
        for _ in 0..2 {
            let failure = failure(stuck);
            assert_eq!(failure.kind, Some(FindingKind::Deadlock), "{failure}");
            assert!(failure.message.contains("while it unwinds from a panic: on purpose"), "{failure}");
        }
        let panicked = std::panic::catch_unwind(|| fencepost::check(stuck)).expect_err("it fails");
        assert!(panicked.downcast_ref::<String>().is_some_and(|text| text.contains("on purpose")));
        // A lock is poisoned by who panics with it, and by nobody else.
        let poisoned = |config: Config, panics: bool| {
            let summary = config.run(move || {
                let lock = Arc::new(Mutex::new(0));
                let other = Arc::clone(&lock);
                let thread = thread::spawn(move || {
                    let _guard = other.lock().unwrap();
                    assert!(!panics, "on purpose");
                });
                assert_eq!(thread.join().is_err(), panics);
                assert_eq!(lock.lock().is_err(), panics);
            });
            summary.unwrap_or_else(|failure| panic!("{failure}")).executions
        };
        assert_eq!(poisoned(Config::new(), false), 1);
        assert_eq!(poisoned(Config::new().thread_panics(true), true), 1);
    });
    thread.join().expect("what it asserts holds");
}

#[test]
fn a_check_runs_where_it_is_asked_for_until_a_thread_of_it_panics() {
    use std::sync::Mutex as Real;
    use std::thread::{ThreadId, current};
    static SEEN: Real<Vec<ThreadId>> = Real::new(Vec::new());
    let test = |panics: bool| {
        move || {
            SEEN.lock().unwrap().push(current().id());
            assert!(!panics, "on purpose");
        }
    };
    fencepost::check(test(false));
    fencepost::random(3, test(false));
    assert_eq!(SEEN.lock().unwrap().drain(..).collect::<Vec<_>>(), [current().id(); 4]);
    for config in [Config::new(), Config::new().random(3)] {
        assert_eq!(config.run(test(true)).expect_err("it panics").kind, Some(FindingKind::Panic));
        let seen: Vec<ThreadId> = SEEN.lock().unwrap().drain(..).collect();
        assert_eq!(seen[0], current().id());
        // It began again elsewhere, where nobody minds how a thread is left.
        assert!(seen.len() > 1 && seen[1..].iter().all(|thread| *thread != current().id()), "{seen:?}");
        assert!(!std::thread::panicking());
    }
}

#[test]
fn a_panic_is_found_by_several_workers_as_by_one() {
    // Three threads add to a number in some order; one order of six fails.
    for jobs in [1, 2, 3] {
        let failed = Config::new().jobs(jobs).run(|| {
            let number = Arc::new(AtomicU32::new(1));
            let threads = [2, 3].map(|factor| {
                let number = Arc::clone(&number);
                thread::spawn(move || number.fetch_update(Relaxed, Relaxed, |n| Some(n * factor + factor)))
            });
            number.fetch_add(1, Relaxed);
            threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
            // ((1 + 1) * 3 + 3) * 2 + 2
            assert_ne!(number.load(Relaxed), 20, "on purpose");
        });
        let failure = failed.expect_err("one order fails");
        assert_eq!(failure.kind, Some(FindingKind::Panic), "{jobs} workers: {failure}");
    }
}

#[test]
fn a_test_that_makes_another_number_of_threads_every_time_is_named() {
    let failure = failure(|| {
        use std::sync::atomic::AtomicU32 as Real;
        static RUNS: Real = Real::new(0);
        let threads = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 + 1;
        let shared = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.fetch_add(1, Relaxed))
            })
            .collect();
        shared.fetch_add(1, Relaxed);
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
    assert_eq!(failure.kind, None, "{failure}");
    assert!(failure.message.contains("not deterministic"), "{failure}");
}

#[test]
fn a_test_that_is_not_deterministic_is_named() {
    let failure = failure(|| {
        use std::sync::atomic::AtomicU32 as Real;
        static RUNS: Real = Real::new(0);
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.1.store(1, Relaxed));
        if RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(2) {
            shared.0.store(1, Relaxed);
        }
        shared.1.load(Relaxed);
        thread.join().unwrap();
    });
    assert_eq!(failure.kind, None);
    assert!(failure.message.contains("not deterministic"), "{failure}");
}

#[test]
fn what_is_not_gone_is_a_leak() {
    let failure = failure(|| {
        let value = Arc::new(1);
        std::mem::forget(Arc::clone(&value));
    });
    assert_eq!(failure.kind, Some(FindingKind::Leak));
    assert!(failure.message.contains("tests/failures.rs"), "{failure}");
}

#[test]
fn a_limit_is_no_pass() {
    let config = Config::new().max_executions(2);
    let summary = config.run(|| {
        let x = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let x = Arc::clone(&x);
                thread::spawn(move || x.fetch_add(1, Relaxed))
            })
            .collect();
        threads.into_iter().for_each(|t| drop(t.join()));
    });
    let summary = summary.expect("nothing fails");
    assert!(!summary.complete);
    assert!(summary.to_string().contains("not complete: stopped after 2 executions"), "{summary}");
}

#[test]
fn checks_in_parallel_do_not_meet() {
    // One static, many checks at once, each with its own values of it.
    static SHARED: AtomicU32 = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let summary = fencepost::check(|| {
                        let thread = thread::spawn(|| SHARED.fetch_add(1, Relaxed));
                        SHARED.fetch_add(1, Relaxed);
                        thread.join().unwrap();
                        assert_eq!(SHARED.load(Relaxed), 2);
                    });
                    assert_eq!(summary.executions, 2);
                }
            });
        }
    });
}

#[fencepost::test(model = "sc")]
fn a_test_by_attribute() {
    let x = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&x);
    let thread = thread::spawn(move || other.store(1, Relaxed));
    x.load(Relaxed);
    thread.join().unwrap();
}

#[fencepost::test(method = "random", executions = 50)]
#[should_panic(expected = "unlikely to be missed")]
fn a_random_test_by_attribute() {
    let x = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&x);
    let thread = thread::spawn(move || other.store(1, Relaxed));
    assert_eq!(x.load(Relaxed), 0, "one in two: unlikely to be missed");
    thread.join().unwrap();
}
