// The flag is set, or the time is over.
// fencepost check: pass
// fencepost test --executions 300: pass
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
    let (g, r) = p.1.wait_timeout_while(g, Duration::from_millis(10), |d| !*d).unwrap();
    assert!(*g || r.timed_out());
    drop(g);
    t.join().unwrap();
}
