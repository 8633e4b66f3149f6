// Who is woken, waits again and then comes too late leaves the loop: that is no round. See timed_out_after_wake.c.
// fencepost check: pass
// fencepost check --model tso: pass
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
fn main() {
    let state = Arc::new((Mutex::new(false), Condvar::new()));
    let its = Arc::clone(&state);
    let waiter = std::thread::spawn(move || {
        let mut ready = its.0.lock().unwrap();
        while !*ready {
            let (guard, late) = its.1.wait_timeout(ready, Duration::from_secs(1)).unwrap();
            ready = guard;
            if late.timed_out() {
                break;
            }
        }
    });
    state.1.notify_all();
    waiter.join().unwrap();
}
