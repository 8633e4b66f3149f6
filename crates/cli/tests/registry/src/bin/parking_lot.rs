//! A mutex, a condition variable and a lock for reading and writing.

use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new((0, 0))));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                {
                    let mut pair = shared.2.write();
                    pair.0 += 1;
                    pair.1 += 1;
                }
                *shared.0.lock() += 1;
                shared.1.notify_one();
            })
        })
        .collect();
    let pair = *shared.2.read();
    assert_eq!(pair.0, pair.1);
    let mut ready = shared.0.lock();
    while *ready < 2 {
        shared.1.wait(&mut ready);
    }
    drop(ready);
    assert_eq!(*shared.2.read(), (2, 2));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
