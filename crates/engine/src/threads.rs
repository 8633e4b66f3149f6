//! The program under test, as the engine sees it.

use fencepost_trace::{Label, Location, Op, Reply, ThreadId, Value};

/// A reply that a thread was given.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// To whom.
    pub thread: ThreadId,
    /// What.
    pub reply: Reply,
    /// Where the thread's clock ends in the list of clocks; it begins where that of the reply before ends.
    pub clock: u32,
}

/// Where a program is in an execution: all replies so far, and what they have led to.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// The replies, in the order in which they were given.
    pub given: Vec<Given>,
    /// What threads were told of their clocks, one after the other.
    pub clocks: Vec<u32>,
    /// By thread: where it is, as a number of the program's own, and whether it has begun.
    pub places: Vec<(u32, bool)>,
}

/// A program whose threads can be run one operation at a time.
///
/// The protocol of one execution:
///
/// 1. [`start`](Threads::start) puts the program back to its beginning and says how many threads exist
///    from the start: thread 0, and for programs without a main thread (litmus tests) all of them.
/// 2. [`resume`](Threads::resume) with [`Reply::NONE`] runs a thread from its beginning to its first operation.
///    Every later call answers the operation that the thread asked for last, and runs it to the next.
/// 3. After [`Op::Spawn`] the reply's value is the new thread's number: from then on it may be resumed.
/// 4. After [`Op::Exit`], [`Op::Fail`] and [`Op::Quit`] a thread is not resumed again. An execution may be left at
///    any point: the next call is then `start`. Exploration resumes other threads after a failure or the end of the
///    process: what they do then counts as done before.
///
/// A program must be deterministic: what a thread asks for next depends only on the replies that it got,
/// on those of its creator before it was created, and on plain memory that is not accessed through `Op`s
/// and not shared.
pub trait Threads {
    /// Back to the beginning; the number of threads that exist from the start.
    fn start(&mut self) -> u32;

    /// Answers the last operation of `thread` and runs it to its next.
    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op;

    /// The same; the operation is put where it is wanted. It is large, and need not be copied twice.
    #[inline]
    fn resume_into(&mut self, thread: ThreadId, reply: Reply, op: &mut Op) {
        *op = self.resume(thread, reply);
    }

    /// What `at` holds before the execution. Hidden locations hold 0, but for a semaphore its count.
    fn initial(&self, at: Location) -> Value;

    /// The same, asked because `thread` is about to access it.
    fn initial_for(&self, thread: ThreadId, at: Location) -> Value {
        let _ = thread;
        self.initial(at)
    }

    /// The locations whose final values matter. Where a model leaves the order of the last stores open, it is decided
    /// for these.
    fn observed(&self) -> &[Location] {
        &[]
    }

    /// The program point of the operation that `thread` asked for last, as a number of the program's own.
    fn label(&self, thread: ThreadId) -> u32;

    /// That program point, for people.
    fn describe(&self, label: u32) -> Label;

    /// Does the program want to know what happens before what its threads do? Then [`set_clock`](Threads::set_clock)
    /// tells.
    fn wants_clocks(&self) -> bool {
        false
    }

    /// What happens before what `thread` does from its next resumption on: for each thread how many of its events.
    /// Exploration calls this before every resumption if the program wants it.
    fn set_clock(&mut self, thread: ThreadId, clock: &[u32]) {
        let _ = (thread, clock);
    }

    /// What was performed before what `thread` does from its next resumption on, in every execution with this graph:
    /// for each thread how many of its events. Whoever reads comes behind the write, whatever the two are. Exploration
    /// of the hardware models calls this with [`set_clock`](Threads::set_clock).
    fn set_performed(&mut self, thread: ThreadId, clock: &[u32]) {
        let _ = (thread, clock);
    }

    /// Are addresses, as names of objects and as values, those of one run only? A program whose objects live on the
    /// heap
    /// of this process has others in every run. Exploration then takes the values of each run from that run, and asks
    /// the program which object is which ([`identify`](Threads::identify)).
    fn is_relocated(&self) -> bool {
        false
    }

    /// The operation that `thread` asked for last is on an object that nobody had used before in this run: when this
    /// execution was run before, that object was at `at`. The operation again, at that location; `None` if the object
    /// is
    /// not new, or something else is there already.
    fn identify(&mut self, thread: ThreadId, at: Location) -> Option<Op> {
        let _ = (thread, at);
        None
    }

    /// Does a digest take so much time that exploration should ask for it only where a thread has come by twice? It
    /// then goes around a loop once more before it is seen to wait.
    fn is_digested_late(&self) -> bool {
        false
    }

    /// The labels, as bits (by their number modulo 64), where it is known from before that threads come by twice.
    fn known_loops(&self) -> u64 {
        0
    }

    /// Exploration takes `thread` to wait in a loop, because of what [`digest`](Threads::digest) says.
    fn takes_to_wait(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// A thread was [taken to wait](Threads::takes_to_wait), or will be soon, and what was explored before this run
    /// does not depend on what digests say. Will the program look closer from now on, so that this run is to be done
    /// again?
    fn looks_closer(&mut self) -> bool {
        false
    }

    /// Has the program given this execution up? Then exploration leaves it, and goes on with the next.
    fn is_abandoned(&self) -> bool {
        false
    }

    /// A thread that did something else than before, although it was answered the same.
    fn diverged(&self) -> Option<ThreadId> {
        None
    }

    /// Somebody is about to look at the program itself. One that is not run where it is known what its threads do is
    /// run to where the execution at hand is.
    fn run_for_real(&mut self) {}

    /// Puts down where the program is in the execution at hand; false if it could not return there.
    fn position(&self, position: &mut Position) -> bool {
        let _ = position;
        false
    }

    /// Returns to a position of this execution or of another one; false if it cannot.
    fn return_to(&mut self, position: &Position) -> bool {
        let _ = position;
        false
    }

    /// Has a thread come by what lies on the stack of another? Then what [`digest`](Threads::digest) says of that one
    /// depends on how far others have come, and is worth something within one run of the program only.
    fn has_shared_stacks(&self) -> bool {
        false
    }

    /// A digest of everything that decides what `thread` does from its last operation on, the replies still
    /// to come aside: where it is and what its local variables hold. `None` if the front end cannot tell.
    ///
    /// Two equal digests with nothing written in between mean that the thread has gone around a loop
    /// without effect.
    fn digest(&self, thread: ThreadId) -> Option<u64>;
}
