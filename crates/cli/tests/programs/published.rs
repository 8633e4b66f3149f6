//! A block that is published without release. Around it the standard library counts references and prints, in code
//! without instrumentation.
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

static BLOCK: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());

fn main() {
    let writer = thread::spawn(|| {
        println!("here");
        BLOCK.store(Box::into_raw(Box::new(17)), Ordering::Relaxed);
    });
    println!("there");
    let mut block = BLOCK.load(Ordering::Acquire);
    while block.is_null() {
        thread::yield_now();
        block = BLOCK.load(Ordering::Acquire);
    }
    assert_eq!(unsafe { *block }, 17);
    writer.join().unwrap();
}
