use internment::ArcIntern;

// Two threads intern the same value, look at it, and drop it. The table is there before they are.
fn main() {
    let _other = ArcIntern::new(1_u32);
    let intern = || assert_eq!(*ArcIntern::new(7_u32), 7);
    let thread = std::thread::spawn(intern);
    intern();
    thread.join().unwrap();
}
