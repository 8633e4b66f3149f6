// Unpark happens before park returns.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::thread;
static mut X: u32 = 0;
fn main() {
    let t = thread::spawn(|| {
        thread::park();
        assert_eq!(unsafe { X }, 1);
    });
    unsafe { X = 1 };
    t.thread().unpark();
    t.join().unwrap();
}
