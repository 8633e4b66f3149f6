//! Models as they are written for loom.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::thread;

/// The first example of loom's documentation: load and store are not one step.
#[test]
#[should_panic(expected = "assertion")]
fn an_increment_in_two_steps_loses_one() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let number = number.clone();
                thread::spawn(move || {
                    let seen = number.load(Acquire);
                    number.store(seen + 1, Release);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(2, number.load(Relaxed));
    });
}

#[test]
fn an_increment_in_one_step_loses_none() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.fetch_add(1, AcqRel));
        number.fetch_add(1, AcqRel);
        thread.join().unwrap();
        assert_eq!(2, number.load(Relaxed));
    });
}

/// loom takes `SeqCst` accesses for acquire and release ones, and reports this: it cannot happen.
#[test]
fn seq_cst_accesses_are_in_one_order() {
    loom::model(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.1.load(SeqCst)
        });
        shared.1.store(1, SeqCst);
        let mine = shared.0.load(SeqCst);
        assert!(mine == 1 || thread.join().unwrap() == 1);
    });
}

/// A spin lock, with no yield in its loop; the cell sees that it excludes.
#[test]
fn a_spin_lock_needs_no_yield() {
    struct Lock(AtomicUsize, UnsafeCell<usize>);
    // SAFETY: the lock excludes; the check sees whether it does.
    unsafe impl Sync for Lock {}
    loom::model(|| {
        let lock = Arc::new(Lock(AtomicUsize::new(0), UnsafeCell::new(0)));
        let enter = |lock: &Lock| {
            while lock.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {}
            // SAFETY: the lock is taken.
            lock.1.with_mut(|at| unsafe { *at += 1 });
            lock.0.store(0, Release);
        };
        let other = lock.clone();
        let thread = thread::spawn(move || enter(&other));
        enter(&lock);
        thread.join().unwrap();
        // SAFETY: nobody else is left.
        assert_eq!(2, lock.1.with(|at| unsafe { *at }));
    });
}

#[test]
#[should_panic(expected = "leak")]
fn an_arc_that_is_forgotten_is_a_leak() {
    loom::model(|| std::mem::forget(Arc::new(0)));
}

/// loom's own suites do this: a guard is still there when the cell is taken apart.
#[test]
fn a_cell_is_taken_apart_while_a_guard_is_left() {
    loom::model(|| {
        let cell = UnsafeCell::new(5);
        let guard = cell.get();
        assert_eq!(cell.into_inner(), 5);
        drop(guard);
    });
}

/// Three threads add to a number four times each: 12! / (4! 4! 4!) = 34,650 orders. Without a preemption there are six.
#[test]
fn a_preemption_bound_is_heeded() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(0);
    builder.check(|| {
        RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let number = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1, 2].map(|_| {
            let number = number.clone();
            thread::spawn(move || {
                for _ in 0..4 {
                    number.fetch_add(1, AcqRel);
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let runs = RUNS.load(std::sync::atomic::Ordering::Relaxed);
    assert!((6..1_000).contains(&runs), "{runs}");
}
