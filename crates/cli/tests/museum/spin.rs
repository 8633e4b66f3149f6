use spin::Once;

static VALUE: Once<Box<u32>> = Once::new();

// An initialiser fails while another waits for it.
fn main() {
    let thread = std::thread::spawn(|| drop(VALUE.try_call_once(|| Err::<Box<u32>, ()>(()))));
    let value = VALUE.try_call_once(|| Ok::<_, ()>(Box::new(7)));
    assert_eq!(**value.unwrap(), 7);
    thread.join().unwrap();
}
