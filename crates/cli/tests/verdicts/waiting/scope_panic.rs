// A panic in a thread of the scope is passed on.
// fencepost check: pass
use std::thread;
fn main() {
    let r = std::panic::catch_unwind(|| {
        thread::scope(|s| {
            s.spawn(|| panic!("p"));
        })
    });
    assert!(r.is_err());
}
