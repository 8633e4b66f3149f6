// Notified before the flag is set.
// fencepost check: fail deadlock
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
fn main() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let t = {
        let p = p.clone();
        thread::spawn(move || {
            p.1.notify_one();
            *p.0.lock().unwrap() = true;
        })
    };
    let mut g = p.0.lock().unwrap();
    while !*g {
        g = p.1.wait(g).unwrap();
    }
    drop(g);
    t.join().unwrap();
}
