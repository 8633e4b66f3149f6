use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn main() {
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let theirs = Arc::clone(&shared);
    let writer = std::thread::spawn(move || {
        theirs.0.store(1, Relaxed);
        theirs.1.store(1, Relaxed);
    });
    if shared.1.load(Relaxed) == 1 {
        assert_eq!(shared.0.load(Relaxed), 1, "the flag came before the message");
    }
    writer.join().unwrap();
}
