//! What a thread has changed on the heap, as a number.
//!
//! A loop that waits changes nothing. What lies on the heap of the program is known from the allocator: all blocks that
//! its threads have allocated in this execution. Their contents are summed up when another thread is about to run, or
//! when it is asked for the state of one, and the difference to before is what the last thread has changed: nobody else
//! ran. The sum of its differences is part of its local state. What is changed and put back comes to nothing.
//!
//! This takes time in proportion to the heap, so that it is done only where it matters: an exploration that meets a
//! loop that seems to wait does that run again with it, or starts over if it has told states apart before. From then on
//! threads also begin with clean stacks, and it is known where they come by twice: there it looks at their state.

use super::context::Context;
use fencepost_trace::ThreadId;

impl Context {
    /// `thread` is about to run.
    pub(super) fn watch_changes(&self, thread: ThreadId) {
        if self.changes.get() != Some(thread) {
            self.note_changes();
            self.changes.set(Some(thread));
        }
    }

    /// What the thread that ran last has changed is added to what it has changed before.
    pub(super) fn note_changes(&self) {
        let Some(thread) = self.changes.take() else { return };
        let now = crate::alloc::contents();
        let before = self.heap.replace(now);
        if let Some(state) = self.threads.borrow_mut().get_mut(thread.index()) {
            state.changed = state.changed.wrapping_add(now.wrapping_sub(before));
        }
    }

    /// Nothing has been allocated.
    pub(super) fn forget_changes(&self) {
        self.heap.set(0);
        self.changes.set(None);
    }
}
