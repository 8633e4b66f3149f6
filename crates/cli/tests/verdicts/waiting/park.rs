// The flag is set before the token is given.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::atomic::*;
use std::thread;
static F: AtomicBool = AtomicBool::new(false);
fn main() {
    let t = thread::spawn(|| {
        while !F.load(Ordering::Acquire) {
            thread::park();
        }
    });
    F.store(true, Ordering::Release);
    t.thread().unpark();
    t.join().unwrap();
}
