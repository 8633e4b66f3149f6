// A panic poisons it, and the next call runs again.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::Once;
use std::thread;
static O: Once = Once::new();
fn main() {
    let t = thread::spawn(|| {
        O.call_once(|| panic!("x"));
    });
    let r = t.join();
    assert!(r.is_err());
    let mut p = false;
    O.call_once_force(|s| {
        p = s.is_poisoned();
    });
    assert!(p);
    assert!(O.is_completed());
}
