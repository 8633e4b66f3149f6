// Written behind the barrier, read behind it.
// fencepost check: fail data-race
use std::sync::{Arc, Barrier};
use std::thread;
static mut X: [u32; 2] = [0; 2];
fn main() {
    let b = Arc::new(Barrier::new(2));
    let t = {
        let b = b.clone();
        thread::spawn(move || {
            unsafe { X[0] = 1 };
            let l = b.wait().is_leader();
            assert_eq!(unsafe { X[1] }, 1);
            l
        })
    };
    let l = b.wait().is_leader();
    unsafe { X[1] = 1 };
    assert_eq!(unsafe { X[0] }, 1);
    assert!(l != t.join().unwrap());
}
