use crossbeam_deque::Worker;

// Every task is taken once. A thief takes several while the owner pops, has its buffer shrunk and pushes another.
fn main() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    for task in 0..66 {
        worker.push(task);
    }
    // The buffer has grown, and few tasks are left in it.
    let mut taken: Vec<u32> = (0..62).filter_map(|_| stealer.steal().success()).collect();
    let thief = std::thread::spawn(move || {
        let own = Worker::new_lifo();
        let _ = stealer.steal_batch(&own);
        std::iter::from_fn(|| own.pop()).collect::<Vec<_>>()
    });
    taken.extend((0..3).filter_map(|_| worker.pop()));
    worker.push(66);
    taken.extend(std::iter::from_fn(|| worker.pop()));
    taken.extend(thief.join().unwrap());
    taken.sort();
    assert_eq!(taken, (0..67).collect::<Vec<_>>());
}
