//! A value is replaced, and freed when nobody can read it any more.

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::Arc;

fn main() {
    let current = Arc::new(Atomic::new(1));
    let reader = {
        let current = Arc::clone(&current);
        std::thread::spawn(move || {
            let guard = epoch::pin();
            // SAFETY: what was replaced is freed only when this guard is gone.
            let value = unsafe { current.load(Acquire, &guard).deref() };
            assert!(*value == 1 || *value == 2);
        })
    };
    {
        let guard = epoch::pin();
        let old = current.swap(Owned::new(2), AcqRel, &guard);
        // SAFETY: nobody finds it any more.
        unsafe { guard.defer_destroy(old) };
        guard.flush();
    }
    epoch::pin().flush();
    reader.join().unwrap();
    // SAFETY: no other thread is left.
    drop(unsafe { Arc::try_unwrap(current).unwrap().into_owned() });
}
