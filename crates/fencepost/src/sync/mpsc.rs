//! As [`std::sync::mpsc`]: a queue behind a mutex and two condition variables.

use super::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

struct State<T> {
    queue: VecDeque<T>,
    senders: usize,
    receiver: bool,
    /// How many values have ever been taken: a channel without room waits for that.
    taken: u64,
    sent: u64,
}

struct Channel<T> {
    state: Mutex<State<T>>,
    /// How many values fit; `None` if any number does.
    room: Option<usize>,
    filled: Condvar,
    emptied: Condvar,
}

impl<T> Channel<T> {
    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.lock();
        while state.receiver && self.room.is_some_and(|room| state.queue.len() >= room.max(1)) {
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.receiver {
            return Err(SendError(value));
        }
        state.queue.push_back(value);
        state.sent += 1;
        let number = state.sent;
        self.filled.notify_one();
        // Without room the value is handed over in person.
        while self.room == Some(0) && state.receiver && state.taken < number {
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    #[track_caller]
    fn take(&self, state: &mut State<T>) -> Option<T> {
        let value = state.queue.pop_front()?;
        state.taken += 1;
        if self.room.is_some() {
            self.emptied.notify_all();
        }
        Some(value)
    }

    #[track_caller]
    fn add_sender(&self) {
        self.lock().senders += 1;
    }

    #[track_caller]
    fn drop_sender(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        if state.senders == 0 {
            self.filled.notify_all();
        }
    }
}

fn channel_with<T>(room: Option<usize>) -> Arc<Channel<T>> {
    let state = State { queue: VecDeque::new(), senders: 1, receiver: true, taken: 0, sent: 0 };
    Arc::new(Channel { state: Mutex::new(state), room, filled: Condvar::new(), emptied: Condvar::new() })
}

/// A channel with room for any number of values.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = channel_with(None);
    (Sender { channel: channel.clone() }, Receiver { channel })
}

/// A channel with room for `bound` values.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = channel_with(Some(bound));
    (SyncSender { channel: channel.clone() }, Receiver { channel })
}

/// The sending side of a channel with any room.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// The sending side of a channel with bounded room.
pub struct SyncSender<T> {
    channel: Arc<Channel<T>>,
}

/// The receiving side.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Sends a value; fails if nobody receives any more.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value)
    }
}

impl<T> SyncSender<T> {
    /// Sends a value, waiting for room; fails if nobody receives any more.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.channel.send(value)
    }

    /// Sends a value if there is room.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut state = self.channel.lock();
        if !state.receiver {
            return Err(TrySendError::Disconnected(value));
        }
        if self.channel.room.is_some_and(|room| state.queue.len() >= room) {
            return Err(TrySendError::Full(value));
        }
        state.queue.push_back(value);
        state.sent += 1;
        self.channel.filled.notify_one();
        Ok(())
    }
}

impl<T> Receiver<T> {
    /// Waits for a value; fails if nobody sends any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.channel.lock();
        loop {
            if let Some(value) = self.channel.take(&mut state) {
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(RecvError);
            }
            state = self.channel.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A value, if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.channel.lock();
        match self.channel.take(&mut state) {
            Some(value) => Ok(value),
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Waits for a value until a time.
    #[track_caller]
    pub fn recv_timeout(&self, duration: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.channel.lock();
        loop {
            if let Some(value) = self.channel.take(&mut state) {
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            let waited = self.channel.filled.wait_timeout(state, duration).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                return self.channel.take(&mut state).ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    /// All values, until nobody sends any more.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(move || self.recv().ok())
    }

    /// The values that are there.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(move || self.try_recv().ok())
    }
}

macro_rules! sender {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                self.channel.add_sender();
                $name { channel: self.channel.clone() }
            }
        }

        impl<T> Drop for $name<T> {
            #[track_caller]
            fn drop(&mut self) {
                self.channel.drop_sender();
            }
        }

        impl<T> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

sender!(Sender);
sender!(SyncSender);

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        let left = {
            let mut state = self.channel.lock();
            state.receiver = false;
            self.channel.emptied.notify_all();
            std::mem::take(&mut state.queue)
        };
        drop(left);
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
