// Both are notified.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
fn main() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let ts: Vec<_> = (0..2)
        .map(|_| {
            let p = p.clone();
            thread::spawn(move || {
                let mut g = p.0.lock().unwrap();
                while !*g {
                    g = p.1.wait(g).unwrap();
                }
            })
        })
        .collect();
    *p.0.lock().unwrap() = true;
    p.1.notify_all();
    for t in ts {
        t.join().unwrap();
    }
}
