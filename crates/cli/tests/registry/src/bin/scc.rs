//! A hash map in which two threads insert, change and remove.

use scc::HashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(HashMap::new());
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let map = Arc::clone(&map);
            std::thread::spawn(move || {
                map.insert(number, number).unwrap();
                map.entry(9).and_modify(|count| *count += 1).or_insert(1);
                assert_eq!(map.read(&number, |_, value| *value), Some(number));
                map.remove(&number).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(map.read(&9, |_, count| *count), Some(2));
    assert_eq!(map.len(), 1);
}
