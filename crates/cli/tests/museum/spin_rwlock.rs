use spin::RwLock;
use std::sync::Arc;

// One thread writes under the lock, another reads under it.
fn main() {
    let shared = Arc::new(RwLock::new(0));
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || *other.write() = 1);
    assert!(*shared.read() <= 1);
    thread.join().unwrap();
}
