// The flag is set under the lock before the notification.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
fn main() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let t = {
        let p = p.clone();
        thread::spawn(move || {
            *p.0.lock().unwrap() = true;
            p.1.notify_one();
        })
    };
    let mut g = p.0.lock().unwrap();
    while !*g {
        g = p.1.wait(g).unwrap();
    }
    drop(g);
    t.join().unwrap();
}
