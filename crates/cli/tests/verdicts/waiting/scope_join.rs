// The other thread ends with the scope.
// fencepost check: pass
// fencepost check --model pso: pass
use std::sync::atomic::*;
use std::thread;
fn main() {
    let a = AtomicU32::new(0);
    let v = thread::scope(|s| {
        let h = s.spawn(|| {
            a.store(1, Ordering::Relaxed);
            3
        });
        s.spawn(|| {
            a.store(2, Ordering::Relaxed);
        });
        h.join().unwrap()
    });
    assert_eq!(v, 3);
    let v = a.load(Ordering::Relaxed);
    assert!(v == 1 || v == 2);
}
