// One of them runs the function, the other waits for it.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::Once;
use std::sync::atomic::*;
use std::thread;
static O: Once = Once::new();
static mut X: u32 = 0;
static N: AtomicU32 = AtomicU32::new(0);
fn get() -> u32 {
    O.call_once(|| {
        N.fetch_add(1, Ordering::Relaxed);
        unsafe { X = 7 }
    });
    unsafe { X }
}
fn main() {
    let t = thread::spawn(|| assert_eq!(get(), 7));
    assert_eq!(get(), 7);
    t.join().unwrap();
    assert_eq!(N.load(Ordering::Relaxed), 1);
}
