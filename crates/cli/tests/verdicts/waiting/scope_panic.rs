// A panic in a thread of the scope is passed on: but the words of a scope begin with other values in other runs, a
// limit of check.
// fencepost check: incomplete
use std::thread;
fn main() {
    let r = std::panic::catch_unwind(|| {
        thread::scope(|s| {
            s.spawn(|| panic!("p"));
        })
    });
    assert!(r.is_err());
}
