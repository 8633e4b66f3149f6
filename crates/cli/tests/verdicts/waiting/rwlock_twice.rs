// The second read lock waits for a writer that waits for the first one.
// fencepost check: fail deadlock
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
    {
        let a = l.read().unwrap();
        let b = l.read().unwrap();
        assert_eq!(*a, *b);
    }
    t.join().unwrap();
}
