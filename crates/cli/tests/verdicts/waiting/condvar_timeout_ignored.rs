// The time may be over first.
// fencepost check: fail panic
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;
fn main() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let t = {
        let p = p.clone();
        thread::spawn(move || {
            *p.0.lock().unwrap() = true;
            p.1.notify_one();
        })
    };
    let g = p.0.lock().unwrap();
    let g = if !*g { p.1.wait_timeout(g, Duration::from_millis(10)).unwrap().0 } else { g };
    assert!(*g);
    drop(g);
    t.join().unwrap();
}
