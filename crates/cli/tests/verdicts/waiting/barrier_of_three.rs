// One of the three never comes.
// fencepost check: fail deadlock
use std::sync::{Arc, Barrier};
use std::thread;
fn main() {
    let b = Arc::new(Barrier::new(3));
    let t = {
        let b = b.clone();
        thread::spawn(move || {
            b.wait();
        })
    };
    b.wait();
    t.join().unwrap();
}
