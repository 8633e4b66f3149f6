use tokio::sync::oneshot;

// The receiver closes and looks while the value is sent.
fn main() {
    let (sender, mut receiver) = oneshot::channel();
    let thread = std::thread::spawn(move || drop(sender.send(Box::new(1))));
    receiver.close();
    drop(receiver.try_recv());
    thread.join().unwrap();
}
