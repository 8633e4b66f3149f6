// Computed once.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::LazyLock;
use std::thread;
static O: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2]);
fn main() {
    let t = thread::spawn(|| O.len());
    let n = O.len();
    assert_eq!(n, t.join().unwrap());
}
