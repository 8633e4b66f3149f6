// Whoever gives the last reference back frees the block; the other's decrement happened before that, under any model.
// fencepost check --model sc: pass
// fencepost check --model tso: pass
// fencepost check --model pso: pass
// fencepost check: pass
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Bytes(Vec<u8>);

impl Drop for Bytes {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0.len(), Ordering::Relaxed);
    }
}

fn main() {
    let mine = Arc::new(Bytes(vec![1, 2]));
    let yours = mine.clone();
    let thread = thread::spawn(move || assert_eq!(yours.0[1], 2));
    drop(mine);
    thread.join().unwrap();
    assert_eq!(DROPPED.load(Ordering::Relaxed), 2);
}
