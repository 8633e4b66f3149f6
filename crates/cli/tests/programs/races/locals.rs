// A race on an element of a variable of main's.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

struct Job {
    ready: AtomicBool,
    values: UnsafeCell<[u64; 3]>,
}

unsafe impl Sync for Job {}

impl Job {
    fn write(&self) {
        unsafe { (*self.values.get())[2] = 7 };
        self.ready.store(true, Relaxed);
    }

    fn read(&self) -> u64 {
        if self.ready.load(Relaxed) { unsafe { (*self.values.get())[2] } } else { 0 }
    }
}

fn main() {
    let job = Job { ready: AtomicBool::new(false), values: UnsafeCell::new([0; 3]) };
    std::thread::scope(|scope| {
        scope.spawn(|| job.write());
        scope.spawn(|| job.read());
    });
}
