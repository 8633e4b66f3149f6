// All threads have ended when the scope does: but the words of a scope begin with other values in other runs, a
// limit of check.
// fencepost check: incomplete
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
