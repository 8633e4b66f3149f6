//! Two threads count in the same entries of a map.

use dashmap::DashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let map = Arc::clone(&map);
            std::thread::spawn(move || {
                for key in ["a", "b"] {
                    *map.entry(key).or_insert(0) += 1;
                }
                let seen = map.get("a").map(|entry| *entry);
                assert!(matches!(seen, Some(1 | 2)));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((*map.get("a").unwrap(), *map.get("b").unwrap()), (2, 2));
}
