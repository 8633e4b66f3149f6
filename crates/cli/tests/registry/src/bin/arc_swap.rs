//! A configuration is replaced while two threads use it. Whoever holds an old one keeps it whole.

use arc_swap::ArcSwap;
use std::sync::Arc;

fn main() {
    let config = Arc::new(ArcSwap::from_pointee((0, 0)));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let config = Arc::clone(&config);
            std::thread::spawn(move || {
                let guard = config.load();
                assert_eq!(guard.0 * 2, guard.1);
                let full = config.load_full();
                assert!(full.0 >= guard.0);
            })
        })
        .collect();
    config.store(Arc::new((1, 2)));
    let old = config.swap(Arc::new((2, 4)));
    assert_eq!(*old, (1, 2));
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert_eq!(**config.load(), (2, 4));
}
