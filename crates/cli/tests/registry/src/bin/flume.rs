//! A channel with room for one, and one without limit.

fn main() {
    let (ask, questions) = flume::bounded::<u32>(1);
    let (answer, answers) = flume::unbounded();
    let server = std::thread::spawn(move || {
        for question in questions {
            answer.send(question * 2).unwrap();
        }
    });
    for question in 1..=2 {
        ask.send(question).unwrap();
    }
    drop(ask);
    assert_eq!(answers.iter().collect::<Vec<_>>(), [2, 4]);
    server.join().unwrap();
}
