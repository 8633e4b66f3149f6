use std::sync::Arc;
use thread_local::ThreadLocal;

// Threads make their values, the third of them in a new bucket, while another looks at all values.
fn main() {
    let values = Arc::new(ThreadLocal::new());
    values.get_or(|| Box::new(42_u32));
    let make = || {
        let values = Arc::clone(&values);
        std::thread::spawn(move || assert_eq!(**values.get_or(|| Box::new(42_u32)), 42))
    };
    let threads = [make(), make()];
    assert!(values.iter().all(|value| **value == 42));
    for thread in threads {
        thread.join().unwrap();
    }
}
