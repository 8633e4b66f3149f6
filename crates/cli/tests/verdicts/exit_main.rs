// The thread may run before main looks.
// fencepost check: fail panic
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
static X: AtomicU32 = AtomicU32::new(0);
fn main() { std::thread::spawn(|| X.store(1, SeqCst)); assert_eq!(X.load(SeqCst), 0); }
