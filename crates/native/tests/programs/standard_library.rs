//! Rust's standard library, which comes without instrumentation: the first argument says what to do.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);

/// Store buffering: 2 * r1 + r2.
fn store_buffering() -> i32 {
    let a = thread::spawn(|| {
        X.store(1, Relaxed);
        Y.load(Relaxed)
    });
    let b = thread::spawn(|| {
        Y.store(1, Relaxed);
        X.load(Relaxed)
    });
    (a.join().unwrap() * 2 + b.join().unwrap()) as i32
}

fn condvar() {
    let state = Arc::new((Mutex::new(0), Condvar::new()));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let state = state.clone();
            thread::spawn(move || {
                *state.0.lock().unwrap() += 1;
                state.1.notify_one();
            })
        })
        .collect();
    let mut count = state.0.lock().unwrap();
    while *count < 3 {
        count = state.1.wait(count).unwrap();
    }
    drop(count);
    threads.into_iter().for_each(|t| t.join().unwrap());
}

fn channel() {
    let (to, from) = mpsc::channel();
    let sender = thread::spawn(move || (0..4).for_each(|i| to.send(i).unwrap()));
    assert_eq!(from.iter().sum::<i32>(), 6);
    sender.join().unwrap();
}

fn scope() {
    static ONCE: OnceLock<String> = OnceLock::new();
    let (lock, barrier) = (RwLock::new(5), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            barrier.wait();
            *lock.write().unwrap() += 1;
            ONCE.get_or_init(|| "x".to_owned());
        });
        s.spawn(|| {
            barrier.wait();
            let value = *lock.read().unwrap();
            assert!(value == 5 || value == 6);
            ONCE.get_or_init(|| "x".to_owned());
        });
    });
    assert_eq!(*lock.read().unwrap(), 6);
}

/// Who comes late takes the lock's slow path, which is in the library, and reads what the first has written.
fn once() {
    static ONCE: OnceLock<Vec<i32>> = OnceLock::new();
    let threads: Vec<_> =
        (0..3).map(|_| thread::spawn(|| ONCE.get_or_init(|| vec![1, 2, 3]).iter().sum::<i32>())).collect();
    threads.into_iter().for_each(|t| assert_eq!(t.join().unwrap(), 6));
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("store_buffering") => std::process::exit(store_buffering()),
        Some("panic") => assert_ne!(store_buffering(), 0, "both read 0"),
        Some("condvar") => condvar(),
        Some("channel") => channel(),
        Some("scope") => scope(),
        Some("once") => once(),
        Some("sleep") => thread::sleep(Duration::from_secs(3600)),
        _ => std::process::exit(2),
    }
    println!("done");
}
