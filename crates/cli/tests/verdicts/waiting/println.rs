// Standard output has locks of its own.
// fencepost check: pass
// fencepost test --executions 300: pass
use std::thread;
fn main() {
    let t = thread::spawn(|| println!("a"));
    println!("b");
    t.join().unwrap();
}
