// The token may be taken before the flag is set.
// fencepost check: fail deadlock
use std::sync::atomic::*;
use std::thread;
static F: AtomicBool = AtomicBool::new(false);
fn main() {
    let t = thread::spawn(|| {
        while !F.load(Ordering::Acquire) {
            thread::park();
        }
    });
    t.thread().unpark();
    F.store(true, Ordering::Release);
    t.join().unwrap();
}
