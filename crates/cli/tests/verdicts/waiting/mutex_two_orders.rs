// Two locks, taken in two orders.
// fencepost check: fail deadlock
use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    let a = Arc::new((Mutex::new(0), Mutex::new(0)));
    let t = {
        let a = a.clone();
        thread::spawn(move || {
            let _x = a.0.lock().unwrap();
            let _y = a.1.lock().unwrap();
        })
    };
    {
        let _y = a.1.lock().unwrap();
        let _x = a.0.lock().unwrap();
    }
    t.join().unwrap();
}
