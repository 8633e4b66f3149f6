// A mutex of the standard library orders what it guards.
// fencepost check: pass
use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    let s = Arc::new(Mutex::new(0));
    let t = { let s = s.clone(); thread::spawn(move || { *s.lock().unwrap() += 1; }) };
    *s.lock().unwrap() += 1;
    t.join().unwrap();
    assert_eq!(*s.lock().unwrap(), 2);
}
