// The lock is given back between reading and writing.
// fencepost check: fail panic
use std::sync::{Arc, RwLock};
use std::thread;
fn main() {
    let l = Arc::new(RwLock::new(0));
    let t = {
        let l = l.clone();
        thread::spawn(move || {
            *l.write().unwrap() += 1;
        })
    };
    let v = *l.read().unwrap();
    *l.write().unwrap() = v + 1;
    t.join().unwrap();
    assert_eq!(*l.read().unwrap(), 2);
}
