// Counts of references, some of which the library keeps by itself.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::Arc;
use std::thread;
fn main() {
    let a = Arc::new(5);
    let ts: Vec<_> = (0..2)
        .map(|_| {
            let a = a.clone();
            thread::spawn(move || *a)
        })
        .collect();
    let n: i32 = ts.into_iter().map(|t| t.join().unwrap()).sum();
    assert_eq!(n, 10);
    assert_eq!(Arc::strong_count(&a), 1);
}
