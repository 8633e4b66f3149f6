// To try three times is no waiting: the third may receive nothing, and the first may.
// fencepost check: fail panic
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let received = (0..3).filter(|_| receiver.try_recv().is_ok()).count();
    thread.join().unwrap();
    assert_eq!(received, 1);
}
