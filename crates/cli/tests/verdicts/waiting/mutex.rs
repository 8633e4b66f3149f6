// Three threads, each under the lock.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    let m = Arc::new(Mutex::new(0));
    let ts: Vec<_> = (0..2)
        .map(|_| {
            let m = m.clone();
            thread::spawn(move || {
                *m.lock().unwrap() += 1;
            })
        })
        .collect();
    *m.lock().unwrap() += 1;
    for t in ts {
        t.join().unwrap();
    }
    assert_eq!(*m.lock().unwrap(), 3);
}
