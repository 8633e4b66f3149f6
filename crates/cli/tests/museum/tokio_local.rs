use std::cell::Cell;
use std::rc::Rc;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

// A task that belongs to one thread is aborted by another.
fn main() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let local = LocalSet::new();
    let count = Rc::new(Cell::new(0));
    let other = Rc::clone(&count);
    let task = local.spawn_local(async move {
        loop {
            other.set(other.get() + 1);
            let _ = tokio::task::yield_now().await;
        }
    });
    let thread = std::thread::spawn(move || task.abort());
    local.block_on(&runtime, async {
        for _ in 0..2 {
            let _ = tokio::task::yield_now().await;
        }
    });
    drop(local);
    thread.join().unwrap();
    assert_eq!(Rc::strong_count(&count), 1);
}
