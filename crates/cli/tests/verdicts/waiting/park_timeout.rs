// Its time may be over first.
// fencepost check: fail panic
use std::sync::atomic::*;
use std::thread;
use std::time::Duration;
static F: AtomicBool = AtomicBool::new(false);
fn main() {
    let t = thread::spawn(|| {
        thread::park_timeout(Duration::from_millis(5));
        F.load(Ordering::Acquire)
    });
    F.store(true, Ordering::Release);
    t.thread().unpark();
    assert!(t.join().unwrap());
}
