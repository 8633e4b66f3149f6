// Who sends waits for who receives.
// fencepost check: pass
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

static RECEIVES: AtomicBool = AtomicBool::new(false);

fn main() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || {
        sender.send(1).unwrap();
        assert!(RECEIVES.load(Ordering::Relaxed));
    });
    RECEIVES.store(true, Ordering::Relaxed);
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}
