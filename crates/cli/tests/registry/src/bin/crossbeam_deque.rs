//! The owner of a deque works at one end, a thief at the other. Each task is taken once.

use crossbeam_deque::{Steal, Worker};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

fn main() {
    let worker = Worker::new_lifo();
    let taken = Arc::new(AtomicUsize::new(0));
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let (stealer, taken) = (worker.stealer(), Arc::clone(&taken));
            std::thread::spawn(move || {
                if let Steal::Success(task) = stealer.steal() {
                    taken.fetch_add(task, Ordering::Relaxed);
                }
            })
        })
        .collect();
    worker.push(1);
    worker.push(10);
    taken.fetch_add(worker.pop().unwrap_or(0), Ordering::Relaxed);
    thieves.into_iter().for_each(|thief| thief.join().unwrap());
    while let Some(task) = worker.pop() {
        taken.fetch_add(task, Ordering::Relaxed);
    }
    assert_eq!(taken.load(Ordering::Relaxed), 11);
}
