//! A bounded and an unbounded queue: nothing is lost, nothing comes twice.

use crossbeam_queue::{ArrayQueue, SegQueue};
use std::sync::Arc;

fn main() {
    let queues = Arc::new((ArrayQueue::new(2), SegQueue::new()));
    let writers: Vec<_> = (1..=2)
        .map(|number| {
            let queues = Arc::clone(&queues);
            std::thread::spawn(move || {
                queues.0.push(number).unwrap();
                queues.1.push(number);
            })
        })
        .collect();
    let mut sums = (queues.0.pop().unwrap_or(0), queues.1.pop().unwrap_or(0));
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    while let Some(number) = queues.0.pop() {
        sums.0 += number;
    }
    while let Some(number) = queues.1.pop() {
        sums.1 += number;
    }
    assert_eq!(sums, (3, 3));
}
