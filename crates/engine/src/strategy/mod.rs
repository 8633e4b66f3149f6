//! Who answers the choices of an execution.

mod follow;
mod orion;
mod per_thread;
mod planned;
mod random;
mod relaxer;
mod sampling;
mod schedule;
mod script;
mod scripted;
#[cfg(test)]
mod tests;
mod waiting;

pub use follow::Follow;
pub use orion::Orion;
pub use planned::Planned;
pub use random::Random;
pub use relaxer::Relaxer;
pub use sampling::Sampler;
pub use schedule::OnSchedule;
pub use script::{Answer, Buffered, Pick, Script, Turn};
pub use scripted::Scripted;

use fencepost_memory::{Commit, Source};
use fencepost_trace::{Access, EventId, Location, ThreadId};

/// What can take the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A program thread, with the operation that it asked for.
    Thread(ThreadId),
    /// A store buffer that makes one of its stores visible.
    Buffer(Commit),
}

/// What a strategy may know of an actor that could go next.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// What it would do.
    pub what: What,
    /// Its program point; for a buffer, that of the store.
    pub label: u32,
    /// Can no other thread tell when it happens?
    pub local: bool,
    /// Are stores of its thread made visible before it? [`Drains::Perhaps`] if the strategy does not
    /// [look at this](Strategy::looks_at_drains).
    pub drains: Drains,
}

/// Does a step first make stores visible that wait in the buffer of its thread?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drains {
    /// No.
    Nothing,
    /// That depends on what it finds, or nobody has looked.
    Perhaps,
    /// Yes, whatever it finds.
    Stores,
}

/// What an actor would do next.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A thread's access.
    Access(Access),
    /// A thread gives way.
    Yield,
    /// A thread ends the process: nobody goes on after this.
    Quit,
    /// A buffered store to this location becomes visible.
    Commit(Location),
}

/// Answers the choices of one execution.
///
/// The engine takes each answer modulo the number of possibilities. The list of all answers where there was more than
/// one *is* the execution: [`Follow`] gives it again.
pub trait Strategy {
    /// Which actor goes next; `pending` tells what each of them would do. It is asked even if there is only one.
    /// `None` abandons the execution.
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize>;

    /// Does it want to know whether a step drains its thread's buffer? To find out takes time.
    #[inline]
    fn looks_at_drains(&self) -> bool {
        false
    }

    /// The same where time may pass instead, so that a thread that waits for a time goes on although others could:
    /// the number of actors says that it does. Most strategies let time pass only when nobody else can go on.
    #[inline]
    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.actor(actors, pending)
    }

    /// Which store a load of `thread` reads. For a weak compare-exchange a store may be there twice: first for
    /// failing on it, then for succeeding.
    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize;

    /// Are loads to read the newest store, whatever [`source_of`](Self::source_of) would say?
    #[inline]
    fn wants_newest(&self) -> bool {
        false
    }

    /// The same, with more to go by: the access, its program point, and whose a store is and where: its label
    /// plus 1, or 0 for the initial value, which is nobody's.
    #[inline]
    fn source_of(
        &mut self,
        thread: ThreadId,
        access: &Access,
        label: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        let _ = (access, label, origin);
        self.source(thread, sources)
    }

    /// `thread` reads, at `label`, from a store of which `origin` tells whose it is and where. Every read is told,
    /// whether there was a choice or not.
    #[inline]
    fn has_read(&mut self, thread: ThreadId, label: u32, origin: &dyn Fn() -> (ThreadId, u32)) {
        let _ = (thread, label, origin);
    }

    /// Which of several results an operation of `thread` has: the waiter that is woken.
    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32;
}

/// Any strategy, where speed does not count.
impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        (**self).actor(actors, pending)
    }
    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        (**self).actor_or_time(actors, pending)
    }
    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize {
        (**self).source(thread, sources)
    }
    fn wants_newest(&self) -> bool {
        (**self).wants_newest()
    }
    fn source_of(
        &mut self,
        thread: ThreadId,
        access: &Access,
        label: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        (**self).source_of(thread, access, label, sources, origin)
    }
    fn has_read(&mut self, thread: ThreadId, label: u32, origin: &dyn Fn() -> (ThreadId, u32)) {
        (**self).has_read(thread, label, origin);
    }
    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32 {
        (**self).variant(thread, ways)
    }
}
