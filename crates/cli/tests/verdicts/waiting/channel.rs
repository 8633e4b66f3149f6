// What is sent arrives. The channel's loops wait in rounds that it counts, for a sender that has claimed its place.
// fencepost check: pass
// fencepost check --model tso: pass
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}
