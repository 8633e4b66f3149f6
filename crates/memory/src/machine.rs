//! The operational form of a memory model: what the engine runs.

use crate::MachineOptions;
use fencepost_trace::{
    Coherence, EventId, FenceOrder, LoadOrder, Location, Model, Part, RmwOrder, StoreOrder, ThreadId, Value,
    VectorClock,
};

/// A store that a load may read, and what the load then gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The store; [`EventId::INIT`] for the initial value. Where the bytes come from several stores, the newest.
    pub event: EventId,
    /// The value that the load gets.
    pub value: Value,
}

/// A load, or the reading half of an RMW, that looks for its sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// Where.
    pub at: Location,
    /// Its order.
    pub order: LoadOrder,
    /// Will it write too? Then it reads what nothing may come between.
    pub exclusive: bool,
}

/// An operation whose result is decided, ready to be performed.
///
/// A compare-exchange is an `Rmw` or a failed load by now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Step {
    Load { at: Location, order: LoadOrder, failed_rmw: bool },
    Store { at: Location, order: StoreOrder, value: Value },
    Rmw { at: Location, order: RmwOrder, written: Value },
    Fence { order: FenceOrder },
}

impl Step {
    /// Where it reads or writes.
    #[inline]
    pub fn location(&self) -> Option<Location> {
        match *self {
            Step::Load { at, .. } | Step::Store { at, .. } | Step::Rmw { at, .. } => Some(at),
            Step::Fence { .. } => None,
        }
    }
}

/// A buffered store that can become visible to the other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Whose buffer.
    pub thread: ThreadId,
    /// Which store.
    pub store: EventId,
}

/// A memory model as a machine: a state, the moves that it permits, and their effects.
///
/// It says what may happen, never what should: the engine picks. The protocol of one access:
///
/// 1. [`introduce`](Machine::introduce) makes its location known;
/// 2. for a read, [`sources`](Machine::sources) lists what it may read, and one is picked;
/// 3. [`required`](Machine::required) lists the commits that must come first, and the engine performs them
///    one by one in that order with [`commit`](Machine::commit);
/// 4. [`perform`](Machine::perform) carries the access out.
///
/// Nothing else happens between these four. Other commits are moves of their own, listed by
/// [`commits`](Machine::commits).
pub trait Machine {
    /// The model.
    const MODEL: Model;

    /// A machine in its initial state, as far as the options concern it.
    fn with_options(options: &MachineOptions) -> Self
    where
        Self: Sized;

    /// Forgets the execution, keeping allocations.
    fn reset(&mut self);

    /// Says, before an execution, whether nobody will ask for [`coherence`](Machine::coherence). Then what only that
    /// needs is not kept, so that an execution can be as long as it likes.
    fn forget_order(&mut self, forget: bool) {
        let _ = forget;
    }

    /// The memory of this location was given back, and is used for something else from now on: nobody reads what was
    /// stored there up to now but the newest.
    fn retire(&mut self, at: Location) {
        let _ = at;
    }

    /// There is a thread of this name now. If another has created it, its first event will be to take over what that
    /// one knows.
    fn begin_thread(&mut self, thread: ThreadId, creator: Option<ThreadId>) {
        let _ = (thread, creator);
    }

    /// Nothing comes of `thread` any more before `of` has ended.
    fn await_end(&mut self, thread: ThreadId, of: ThreadId) {
        let _ = (thread, of);
    }

    /// Nothing comes of `thread` any more.
    fn end_thread(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// Makes the bytes of `at` known; `initial` tells what they hold. Does nothing if they are known.
    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value);

    /// Appends the stores that a read by `thread` may read now: at least one, never the same twice.
    /// The newest in coherence order comes last where the model knows it.
    fn sources(&mut self, thread: ThreadId, read: Read, out: &mut Vec<Source>);

    /// Appends the commits that must come before `step`, in the order in which they must be made.
    fn required(&self, thread: ThreadId, step: &Step, out: &mut Vec<Commit>);

    /// Carries out `step` as `event`. `source` is what a load or RMW was decided to read.
    fn perform(&mut self, event: EventId, thread: ThreadId, step: &Step, source: Option<Source>);

    /// Appends every commit that is possible now, in a fixed order.
    fn commits(&self, out: &mut Vec<Commit>);

    /// Makes one buffered store visible.
    fn commit(&mut self, commit: Commit);

    /// Is `step` the thread's own affair, so that no other thread can tell when it happens? A store into an unbounded
    /// buffer is. Enumeration need not branch there.
    fn is_local(&self, step: &Step) -> bool {
        let _ = step;
        false
    }

    /// What happens before `thread`'s next event: for each thread, how many of its events (commits not
    /// counted). `None` for models without a happens-before of their own.
    fn clock(&self, thread: ThreadId) -> Option<&VectorClock>;

    /// Where the bytes of the read that was performed last came from; empty if from one store.
    fn parts(&self) -> &[Part];

    /// Appends the stores that can be the last to `at`, now that all threads have ended. None or one where the model
    /// leaves nothing open.
    fn final_sources(&mut self, at: Location, out: &mut Vec<Source>) {
        let _ = (at, out);
    }

    /// Decides that `source` is the last store to `at`.
    fn settle(&mut self, at: Location, source: Source) {
        let _ = (at, source);
    }

    /// The coherence order of every location written so far, each as one list over all bytes that
    /// overlapping accesses tie together, ordered by address. Buffered stores that were never committed
    /// come last, in program order.
    fn coherence(&self) -> Vec<Coherence>;
}
