// The lock is given back between reading and writing.
// fencepost check: fail panic
use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    let m = Arc::new(Mutex::new(0));
    let t = {
        let m = m.clone();
        thread::spawn(move || {
            let v = *m.lock().unwrap();
            *m.lock().unwrap() = v + 1;
        })
    };
    {
        let v = *m.lock().unwrap();
        *m.lock().unwrap() = v + 1;
    }
    t.join().unwrap();
    assert_eq!(*m.lock().unwrap(), 2);
}
