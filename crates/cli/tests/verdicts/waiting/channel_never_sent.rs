// The sender is dropped only after the receiver has ended.
// fencepost check: fail deadlock
use std::sync::mpsc;
use std::thread;
fn main() {
    let (tx, rx) = mpsc::channel::<i32>();
    let t = thread::spawn(move || {
        let _ = rx.recv();
    });
    t.join().unwrap();
    drop(tx);
}
