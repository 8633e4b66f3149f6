//! Two senders and a receiver on a channel with room for one.

fn main() {
    let (sender, receiver) = kanal::bounded(1);
    let senders: Vec<_> = (1..=2)
        .map(|number| {
            let sender = sender.clone();
            std::thread::spawn(move || sender.send(number).unwrap())
        })
        .collect();
    drop(sender);
    let sum: u32 = std::iter::from_fn(|| receiver.recv().ok()).sum();
    assert_eq!(sum, 3);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}
