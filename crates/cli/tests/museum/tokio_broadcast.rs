use std::cell::Cell;
use tokio::sync::broadcast;

/// Counts its copies. It may move between threads, and must not be shared.
struct Counted(Cell<u32>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Counted(Cell::new(0))
    }
}

// Two receivers copy one message.
fn main() {
    let (sender, mut one) = broadcast::channel(2);
    let mut two = sender.subscribe();
    drop(sender.send(Counted(Cell::new(0))));
    let thread = std::thread::spawn(move || drop(one.try_recv()));
    drop(two.try_recv());
    thread.join().unwrap();
}
