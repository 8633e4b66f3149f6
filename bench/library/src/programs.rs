// Ten tests. This file is compiled once for each library: `library` is the one at hand.

use super::Test;
use library::cell::UnsafeCell;
use library::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use library::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, fence};
use library::sync::{Arc, Condvar, Mutex, RwLock};
use library::{hint, thread};

/// All of them.
pub(crate) const TESTS: &[Test] = &[
    ("store buffering", store_buffering),
    ("message passing", message_passing),
    ("independent reads", independent_reads),
    ("counter, 3 threads", counter),
    ("Treiber stack", treiber),
    ("ring buffer", ring),
    ("spin lock", spin_lock),
    ("mutex, 3 threads", mutex),
    ("condition variable", condition),
    ("readers and writer", readers),
];

type Pair = Arc<(AtomicUsize, AtomicUsize)>;

/// Two atomics, and a handle for each of two threads.
fn two_atomics() -> (Pair, Pair) {
    let one = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    (Arc::clone(&one), one)
}

/// Two threads, each of which stores and then loads what the other stores; fences keep the order.
fn store_buffering() {
    let (mine, other) = two_atomics();
    let thread = thread::spawn(move || {
        other.1.store(1, Relaxed);
        fence(SeqCst);
        other.0.load(Relaxed)
    });
    mine.0.store(1, Relaxed);
    fence(SeqCst);
    let seen = mine.1.load(Relaxed);
    assert!(seen + thread.join().unwrap() > 0);
}

/// Data behind a flag.
fn message_passing() {
    let (mine, other) = two_atomics();
    let thread = thread::spawn(move || {
        other.0.store(42, Relaxed);
        other.1.store(1, Release);
    });
    if mine.1.load(Acquire) == 1 {
        assert_eq!(mine.0.load(Relaxed), 42);
    }
    thread.join().unwrap();
}

/// Two writers, two readers that look in opposite order.
fn independent_reads() {
    let (mine, x) = two_atomics();
    let y = Arc::clone(&mine);
    let reader = Arc::clone(&mine);
    let threads = [thread::spawn(move || x.0.store(1, Release)), thread::spawn(move || y.1.store(1, Release))];
    let second = thread::spawn(move || (reader.1.load(Acquire), reader.0.load(Acquire)));
    let _ = (mine.0.load(Acquire), mine.1.load(Acquire));
    second.join().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// An atomic counter.
fn counter() {
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || count.fetch_add(1, Relaxed))
        })
        .collect();
    count.fetch_add(1, Relaxed);
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 3));
    assert_eq!(count.load(Relaxed), 3);
}

struct Node {
    value: usize,
    next: *mut Node,
}

/// Two push, one of them pops.
fn treiber() {
    fn push(head: &AtomicPtr<Node>, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        let mut next = head.load(Relaxed);
        loop {
            // SAFETY: nobody else knows the node before the exchange has succeeded.
            unsafe { (*node).next = next };
            match head.compare_exchange(next, node, Release, Relaxed) {
                Ok(_) => return,
                Err(seen) => next = seen,
            }
        }
    }
    fn pop(head: &AtomicPtr<Node>) -> Option<usize> {
        let mut first = head.load(Acquire);
        loop {
            if first.is_null() {
                return None;
            }
            // SAFETY: only this thread pops, so that the node is there; it was acquired.
            let next = unsafe { (*first).next };
            match head.compare_exchange(first, next, Acquire, Acquire) {
                // SAFETY: nobody else has it now.
                Ok(_) => return Some(unsafe { Box::from_raw(first) }.value),
                Err(seen) => first = seen,
            }
        }
    }
    let head = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let other = Arc::clone(&head);
    let thread = thread::spawn(move || {
        push(&other, 1);
        push(&other, 2);
    });
    push(&head, 3);
    let mut seen = usize::from(pop(&head).is_some());
    thread.join().unwrap();
    while pop(&head).is_some() {
        seen += 1;
    }
    assert_eq!(seen, 3);
}

struct Ring {
    slots: [UnsafeCell<usize>; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}
// SAFETY: one thread writes what the other has read, and reads what it has written: the test is about that.
unsafe impl Sync for Ring {}
// SAFETY: as above.
unsafe impl Send for Ring {}

/// One sends three values through two slots, the other receives.
fn ring() {
    let cells = [UnsafeCell::new(0), UnsafeCell::new(0)];
    let ring = Arc::new(Ring { slots: cells, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) });
    let other = Arc::clone(&ring);
    let sender = thread::spawn(move || {
        let mut sent = 0;
        for value in 1..=3 {
            let tail = other.tail.load(Relaxed);
            if tail - other.head.load(Acquire) == 2 {
                break;
            }
            // SAFETY: the slot is free.
            other.slots[tail % 2].with_mut(|at| unsafe { *at = value });
            other.tail.store(tail + 1, Release);
            sent += 1;
        }
        sent
    });
    let receiver = thread::spawn(move || {
        let mut received = 0;
        for _ in 0..3 {
            let head = ring.head.load(Relaxed);
            if ring.tail.load(Acquire) == head {
                continue;
            }
            received += 1;
            // SAFETY: the slot is full.
            assert_eq!(ring.slots[head % 2].with(|at| unsafe { *at }), received);
            ring.head.store(head + 1, Release);
        }
        received
    });
    let sent = sender.join().unwrap();
    assert!(receiver.join().unwrap() <= sent);
}

struct Spin(AtomicBool, UnsafeCell<usize>);
// SAFETY: the cell is accessed under the lock only: the test is about that.
unsafe impl Sync for Spin {}
// SAFETY: as above.
unsafe impl Send for Spin {}

/// A lock that spins. loom needs the yield.
fn spin_lock() {
    fn enter(lock: &Spin) {
        while lock.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            hint::spin_loop();
            thread::yield_now();
        }
        // SAFETY: the lock is taken.
        lock.1.with_mut(|at| unsafe { *at += 1 });
        lock.0.store(false, Release);
    }
    let lock = Arc::new(Spin(AtomicBool::new(false), UnsafeCell::new(0)));
    let other = Arc::clone(&lock);
    let thread = thread::spawn(move || enter(&other));
    enter(&lock);
    thread.join().unwrap();
    // SAFETY: the other thread has ended.
    assert_eq!(lock.1.with(|at| unsafe { *at }), 2);
}

/// A counter behind a lock.
fn mutex() {
    let count = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || *count.lock().unwrap() += 1)
        })
        .collect();
    *count.lock().unwrap() += 1;
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*count.lock().unwrap(), 3);
}

/// One waits until the other is ready.
fn condition() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let thread = thread::spawn(move || {
        for _ in 0..2 {
            *other.0.lock().unwrap() += 1;
            other.1.notify_one();
        }
    });
    let mut ready = pair.0.lock().unwrap();
    while *ready < 2 {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    thread.join().unwrap();
}

/// Two read what one writes, behind a lock for readers and writers; a flag says that it was written.
fn readers() {
    let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
    let (writer, reader) = (Arc::clone(&shared), Arc::clone(&shared));
    let write = thread::spawn(move || {
        *writer.0.write().unwrap() = 1;
        writer.1.fetch_or(1, AcqRel);
    });
    let read = thread::spawn(move || (reader.1.load(Acquire), *reader.0.read().unwrap()));
    let flag = shared.1.load(Acquire);
    assert!(*shared.0.read().unwrap() >= flag);
    let (flag, value) = read.join().unwrap();
    assert!(value >= flag);
    write.join().unwrap();
}
