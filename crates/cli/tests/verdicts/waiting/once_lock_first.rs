// The other thread may be the first.
// fencepost check: fail panic
use std::sync::OnceLock;
use std::thread;
static O: OnceLock<String> = OnceLock::new();
fn main() {
    let t = thread::spawn(|| O.get_or_init(|| "a".to_string()).len());
    let n = O.get_or_init(|| "bb".to_string()).len();
    t.join().unwrap();
    assert_eq!(n, 2);
}
