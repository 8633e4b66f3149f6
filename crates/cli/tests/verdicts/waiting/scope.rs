// All threads have ended when the scope does. References to threads are counted in precompiled code, too.
// fencepost check: pass
// fencepost check --model tso: pass
use std::sync::Mutex;
use std::thread;
fn main() {
    let m = Mutex::new(0);
    let mut x = 0;
    thread::scope(|s| {
        s.spawn(|| *m.lock().unwrap() += 1);
        s.spawn(|| {
            *m.lock().unwrap() += 1;
            x = 5;
        });
    });
    assert_eq!(x, 5);
    assert_eq!(*m.lock().unwrap(), 2);
}
