use arc_swap::ArcSwap;
use std::sync::Arc;

// One thread replaces the value, another loads it.
fn main() {
    let shared = Arc::new(ArcSwap::from_pointee(1));
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        other.store(Arc::new(2));
        other.store(Arc::new(3));
    });
    for _ in 0..2 {
        let value = shared.load();
        assert!((1..=3).contains(&**value));
    }
    thread.join().unwrap();
}
