//! Two senders, one receiver, and a selection between two channels.

use crossbeam_channel::{bounded, select, unbounded};

fn main() {
    let (numbers, incoming) = unbounded();
    let (done, finished) = bounded::<()>(0);
    let senders: Vec<_> = (1..=2)
        .map(|number| {
            let numbers = numbers.clone();
            std::thread::spawn(move || numbers.send(number).unwrap())
        })
        .collect();
    let closer = std::thread::spawn(move || done.send(()));
    let mut sum = 0;
    let mut open = true;
    while sum < 3 || open {
        select! {
            recv(incoming) -> number => sum += number.unwrap(),
            recv(finished) -> message => open = message.is_ok(),
        }
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    closer.join().unwrap().unwrap();
}
