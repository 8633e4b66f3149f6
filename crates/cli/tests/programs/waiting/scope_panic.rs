// incomplete: (a limit of check, and no proof: the words of a scope begin with other values in other runs) a panic in a
// thread of the scope is passed on
use std::thread;
fn main() {
    let r = std::panic::catch_unwind(|| {
        thread::scope(|s| {
            s.spawn(|| panic!("p"));
        })
    });
    assert!(r.is_err());
}
