//! Each thread has its own counter, maybe that of one that has ended; in the end all are summed up.

use std::cell::Cell;
use std::sync::Arc;
use thread_local::ThreadLocal;

fn main() {
    let counters = Arc::new(ThreadLocal::new());
    let threads: Vec<_> = (1..=2)
        .map(|number| {
            let counters = Arc::clone(&counters);
            std::thread::spawn(move || {
                let counter = counters.get_or(|| Cell::new(0));
                let sum = counter.get() + number;
                counter.set(sum);
                assert_eq!(counters.get().map(Cell::get), Some(sum));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let counters = Arc::try_unwrap(counters).unwrap_or_else(|_| unreachable!("the threads have ended"));
    let counts: Vec<u32> = counters.into_iter().map(Cell::into_inner).collect();
    assert_eq!(counts.iter().sum::<u32>(), 3);
}
