// examples/safe/idle.c in Rust. An argument makes it the correct twin.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Condvar, Mutex};

static IS_IDLING: AtomicBool = AtomicBool::new(false);
static HAS_WORK: AtomicBool = AtomicBool::new(false);
static MUTEX: Mutex<()> = Mutex::new(());
static WAKE: Condvar = Condvar::new();

fn order(fixed: bool) {
    if fixed {
        fence(Ordering::SeqCst);
    }
}

fn block_on_idle(fixed: bool) {
    let mut guard = MUTEX.lock().unwrap();
    IS_IDLING.store(true, Ordering::Relaxed);
    order(fixed);
    if !HAS_WORK.load(Ordering::Relaxed) {
        guard = WAKE.wait(guard).unwrap();
    }
    IS_IDLING.store(false, Ordering::Relaxed);
    drop(guard);
}

fn notify_potential_work(fixed: bool) {
    HAS_WORK.store(true, Ordering::Relaxed);
    order(fixed);
    if IS_IDLING.load(Ordering::Relaxed) {
        let _guard = MUTEX.lock().unwrap();
        WAKE.notify_one();
    }
}

fn main() {
    let fixed = std::env::args().len() > 1;
    let consumer = std::thread::spawn(move || block_on_idle(fixed));
    notify_potential_work(fixed);
    consumer.join().unwrap();
}
