// pass: standard output has locks of its own
use std::thread;
fn main() {
    let t = thread::spawn(|| println!("a"));
    println!("b");
    t.join().unwrap();
}
