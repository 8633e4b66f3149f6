// Both see the same value.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::sync::OnceLock;
use std::thread;
static O: OnceLock<String> = OnceLock::new();
fn main() {
    let t = thread::spawn(|| O.get_or_init(|| "a".to_string()).len());
    let n = O.get_or_init(|| "bb".to_string()).len();
    assert_eq!(n, t.join().unwrap());
}
