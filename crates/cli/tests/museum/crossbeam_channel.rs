// The receiver goes while two senders send the first messages: one of them makes the first block.
fn main() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let threads = [sender.clone(), sender].map(|sender| std::thread::spawn(move || drop(sender.send(Box::new(1)))));
    drop(receiver);
    for thread in threads {
        thread.join().unwrap();
    }
}
