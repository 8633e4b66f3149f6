//! An execution as its threads' own steps, so that parts of it can be left out.
//!
//! The list of answers *is* an execution, but an answer means something only at its place: without one of them, all
//! that follow mean something else. A script says the same by names that last: the seventh step of thread 2, its third
//! read, its second store to that location. What it does not say is done in the plainest way (see
//! [`Scripted`](super::Scripted)): so a script with less in it is an execution with less in it.

use fencepost_trace::{Location, ThreadId};

/// Who goes when, and what is not done in the plainest way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Script {
    /// One after the other.
    pub turns: Vec<Turn>,
    /// Reads that do not read the newest store.
    pub reads: Vec<Pick>,
    /// Which of several results an operation has, and which of several stores is the last.
    pub results: Vec<Answer>,
}

/// Somebody's turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Turn {
    /// A thread goes on, until it has taken so many steps in all, or cannot.
    Thread {
        /// Who.
        thread: ThreadId,
        /// Up to which of its steps, from the beginning.
        until: u32,
    },
    /// A store leaves its buffer: not at once, but now.
    Commit(Buffered),
    /// Time passes, though somebody could go on.
    Time,
}

/// A store that waits in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Buffered {
    /// Whose.
    pub thread: ThreadId,
    /// Where.
    pub at: Location,
    /// How many of that thread's stores to it came before.
    pub nth: u32,
}

/// What a read reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pick {
    /// Whose read.
    pub thread: ThreadId,
    /// Its program point.
    pub at: u32,
    /// How many of its thread's reads there came before.
    pub nth: u32,
    /// Whose store.
    pub writer: ThreadId,
    /// The store's program point plus 1; 0 for the initial value.
    pub label: u32,
    /// Of several possible stores of that thread at that point: how many are newer.
    pub newer: u32,
}

/// What somebody answered where there is nothing newer or older.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Answer {
    /// Whose operation.
    pub thread: ThreadId,
    /// How many such questions of it came before.
    pub nth: u32,
    /// The answer.
    pub answer: u32,
}

impl Script {
    /// How often another thread goes on than the one before.
    pub fn switches(&self) -> u32 {
        let mut threads = self.turns.iter().filter_map(|turn| match turn {
            Turn::Thread { thread, .. } => Some(*thread),
            Turn::Commit(_) | Turn::Time => None,
        });
        let Some(mut running) = threads.next() else { return 0 };
        threads.filter(|thread| std::mem::replace(&mut running, *thread) != *thread).count() as u32
    }

    /// How much is not done in the plainest way, besides who goes when.
    pub fn oddities(&self) -> u32 {
        let turns = self.turns.iter().filter(|turn| !matches!(turn, Turn::Thread { .. })).count();
        (turns + self.reads.len() + self.results.len()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_trace::Size;

    #[test]
    fn only_another_thread_is_a_switch() {
        let go = |thread, until| Turn::Thread { thread: ThreadId(thread), until };
        let buffered = Buffered { thread: ThreadId(0), at: Location::new(8, Size::B8), nth: 0 };
        // Thread 0 goes on behind its own commit; then 1, then 0 again.
        let turns = vec![go(0, 2), Turn::Commit(buffered), go(0, 5), go(1, 1), Turn::Time, go(0, 6)];
        let script = Script { turns, ..Script::default() };
        assert_eq!((script.switches(), script.oddities()), (2, 2));
        assert_eq!((Script::default().switches(), Script::default().oddities()), (0, 0));
    }
}
