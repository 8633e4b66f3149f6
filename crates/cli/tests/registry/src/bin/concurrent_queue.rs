//! Two threads push to a bounded queue, one pops. What one thread pushed comes out in its order.

use concurrent_queue::ConcurrentQueue;
use std::sync::Arc;

fn main() {
    let queue = Arc::new(ConcurrentQueue::bounded(2));
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || (0..2).filter(|number| queue.push((writer, *number)).is_ok()).count())
        })
        .collect();
    let mut popped = Vec::new();
    popped.extend(queue.pop());
    let pushed: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    popped.extend(queue.try_iter());
    assert_eq!(popped.len(), pushed);
    for writer in 0..2 {
        let of_one: Vec<_> = popped.iter().filter(|(by, _)| *by == writer).map(|(_, number)| *number).collect();
        assert!(of_one.is_sorted(), "{popped:?}");
    }
}
