//! Who watches an execution.

use fencepost_memory::{Commit, Source, Step};
use fencepost_trace::{EventId, ThreadId, VectorClock};

/// An operation that has just been performed.
#[derive(Clone, Copy, Debug)]
pub struct Performed<'a> {
    /// Its event.
    pub event: EventId,
    /// Whose it is.
    pub thread: ThreadId,
    /// Its program point.
    pub label: u32,
    /// What was done.
    pub step: &'a Step,
    /// What a load or RMW has read.
    pub source: Option<Source>,
    /// What happens before it, itself included, under a model with a happens-before of its own.
    pub clock: Option<&'a VectorClock>,
}

/// Watches an execution as it runs, and never has a say in it: with another monitor, or none, the same choices give the
/// same execution.
///
/// An [`Execution`](crate::Execution) is compiled for its monitor, so that one that does not look costs nothing; `()`
/// is nobody, and a pair of monitors is both. What one has found it keeps, for
/// [`Execution::monitor`](crate::Execution::monitor) to be asked for. It sees all events, whether they are recorded or
/// not.
///
/// ```
/// use fencepost_engine::{Execution, Monitor, Performed, RaceDetector};
/// use fencepost_memory::{Sc, Step};
///
/// /// Counts fences.
/// #[derive(Default)]
/// struct Fences(u64);
///
/// impl Monitor for Fences {
///     fn begin(&mut self) {
///         self.0 = 0;
///     }
///     fn performed(&mut self, performed: &Performed) {
///         self.0 += u64::from(matches!(performed.step, Step::Fence { .. }));
///     }
/// }
/// let execution = Execution::with_monitor(Sc::default(), (Fences::default(), RaceDetector::default()));
/// assert_eq!(execution.monitor().0.0, 0);
/// ```
pub trait Monitor {
    /// An execution begins: the one before is forgotten.
    fn begin(&mut self);

    /// An operation was performed.
    #[inline]
    fn performed(&mut self, performed: &Performed) {
        let _ = performed;
    }

    /// A buffered store has become visible.
    #[inline]
    fn committed(&mut self, commit: Commit) {
        let _ = commit;
    }
}

impl Monitor for () {
    #[inline]
    fn begin(&mut self) {}
}

impl<A: Monitor, B: Monitor> Monitor for (A, B) {
    fn begin(&mut self) {
        self.0.begin();
        self.1.begin();
    }

    #[inline]
    fn performed(&mut self, performed: &Performed) {
        self.0.performed(performed);
        self.1.performed(performed);
    }

    #[inline]
    fn committed(&mut self, commit: Commit) {
        self.0.committed(commit);
        self.1.committed(commit);
    }
}
