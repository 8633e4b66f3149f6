//! Something for each thread.

use fencepost_trace::ThreadId;

/// A list by thread that grows as threads come up. It keeps its allocation from one execution to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct PerThread<T> {
    list: Vec<T>,
}

impl<T: Clone + Default> PerThread<T> {
    #[inline]
    pub fn get(&mut self, thread: ThreadId) -> &mut T {
        if thread.index() >= self.list.len() {
            self.list.resize(thread.index() + 1, T::default());
        }
        &mut self.list[thread.index()]
    }

    /// Of a thread that has come up.
    #[inline]
    pub fn known(&self, thread: ThreadId) -> &T {
        &self.list[thread.index()]
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.list.iter_mut()
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }
}
