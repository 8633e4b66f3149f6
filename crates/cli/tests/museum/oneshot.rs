// Both ends of a channel are dropped at the same time: one of them frees it.
fn main() {
    let (sender, receiver) = oneshot::channel::<u32>();
    let thread = std::thread::spawn(move || drop(sender));
    drop(receiver);
    thread.join().unwrap();
}
