// A writer, and a reader that sees all or nothing of it.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::{Arc, RwLock};
use std::thread;
fn main() {
    let l = Arc::new(RwLock::new(0));
    let t = {
        let l = l.clone();
        thread::spawn(move || {
            *l.write().unwrap() += 1;
        })
    };
    {
        let g = l.read().unwrap();
        assert!(*g <= 1);
    }
    t.join().unwrap();
    assert_eq!(*l.read().unwrap(), 1);
}
