//! tokio's channels and its semaphore, without its executor.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::{mpsc, oneshot, Semaphore};

/// Wakes a thread.
struct Thread(std::thread::Thread);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn main() {
    let (requests, mut incoming) = mpsc::channel::<(u32, oneshot::Sender<u32>)>(1);
    let limit = Arc::new(Semaphore::new(1));
    let server = std::thread::spawn(move || {
        block_on(async {
            while let Some((number, answer)) = incoming.recv().await {
                answer.send(number * 2).unwrap();
            }
        });
    });
    let clients: Vec<_> = (1..=2)
        .map(|number| {
            let (requests, limit) = (requests.clone(), Arc::clone(&limit));
            std::thread::spawn(move || {
                block_on(async {
                    let _permit = limit.acquire().await.unwrap();
                    let (sender, receiver) = oneshot::channel();
                    requests.send((number, sender)).await.unwrap();
                    assert_eq!(receiver.await.unwrap(), number * 2);
                });
            })
        })
        .collect();
    drop(requests);
    clients.into_iter().for_each(|client| client.join().unwrap());
    server.join().unwrap();
}
