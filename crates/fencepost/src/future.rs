//! Futures: [`block_on`].

use crate::sync::{Arc, Mutex, PoisonError};
use crate::thread::{self, Thread};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

/// Wakes a thread that waits in [`block_on`].
struct Unpark {
    thread: Thread,
    /// Has it been woken since it last looked? Tokens of others must not be taken for ours.
    woken: Arc<Mutex<bool>>,
}

impl Wake for Unpark {
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.thread.unpark();
    }
}

/// Runs a future to its end on the calling thread, which waits while the future does.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Mutex::new(false));
    let waker = Waker::from(StdArc::new(Unpark { thread: thread::current(), woken: Arc::clone(&woken) }));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !std::mem::take(&mut *woken.lock().unwrap_or_else(PoisonError::into_inner)) {
            thread::park();
        }
    }
}
