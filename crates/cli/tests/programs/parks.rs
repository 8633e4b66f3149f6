//! Threads that wait for each other in the standard library, in code without instrumentation. Nothing is wrong.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn main() {
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            while !READY.load(Ordering::Acquire) {
                thread::park();
            }
            LIST.lock().unwrap().push(1);
            println!("woken");
        });
        READY.store(true, Ordering::Release);
        waiting.thread().unpark();
        LIST.lock().unwrap().push(2);
        println!("told");
    });
    assert_eq!(LIST.lock().unwrap().len(), 2);
}
