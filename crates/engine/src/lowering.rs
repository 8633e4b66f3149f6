//! Operations as sequences of memory accesses.
//!
//! Memory models know accesses and fences, nothing else. Locks, joins and the rest become accesses of hidden locations,
//! some of them guarded: a lock is an acquiring exchange that waits until it reads 0. So every model orders
//! them by its own rules, every strategy can schedule them, and exploration explores them, without a word
//! about mutexes in any of these.
//!
//! | operation | accesses |
//! |---|---|
//! | lock, unlock | exchange(acquire) once it reads 0; store 0 (release) |
//! | read lock, unlock | add 1 (acquire) once there is no writer; sub 1 (release) |
//! | write lock, unlock | exchange(acquire) once it reads 0; store 0 (release) |
//! | wait | enqueue; unlock; dequeue once woken; lock |
//! | notify | wake one (which one is a choice) or all |
//! | semaphore | sub 1 (acquire) once above 0; add 1 (release) |
//! | barrier | add 1 (acq_rel); the last exchanges (acq_rel) the generation, others load it (acquire) once it has |
//! | once | compare-exchange 0 → 1 (acquire) once nobody runs it; store 2 (release) |
//! | park, unpark | exchange 0 (acquire) once it reads 1; exchange 1 (release) |
//! | spawn, first step | store (release; seq_cst in hardware, where creating a thread drains); load (acquire) |
//! | exit, join | store (release); load (acquire) once it reads 1 |
//! | end of the process | none: a step of its own, after which nobody takes another |
//!
//! On real hardware a lock is an atomic RMW too, so that the hardware models order it as one. Readers of a
//! reader-writer lock synchronise with each other here, which the C++ standard does not promise; two readers
//! that overlap are still unordered.

use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, Failure, Guard, Hidden, LoadOrder, Location, Op, Reply, RmwOrder, StoreOrder, ThreadId, Update, Value,
};

/// What an operation wants to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// An access; [`Lowering::performed`] tells its result.
    Access(Access),
    /// Nothing more: the thread goes on with this reply.
    Done(Reply),
    /// The thread gives way and goes on.
    Yield,
    /// The thread has ended.
    Exit,
    /// The program has failed.
    Fail(Failure),
    /// The process is about to end.
    Quit,
}

/// One thread's operation on its way through its accesses.
#[derive(Clone, Copy, Debug)]
pub struct Lowering {
    thread: ThreadId,
    op: Op,
    step: u8,
    /// The result of its first access, and of its last.
    first: Value,
    last: Reply,
    hardware: bool,
    /// Was the thread created by the program? Then its end is an event, for somebody may join it.
    spawned: bool,
    child: ThreadId,
    starting: bool,
}

const WRITER: Value = Value(u64::MAX as u128);
const ONE: Value = Value(1);

impl Lowering {
    /// A thread at its very beginning: a thread created by the program first takes its creator's go-ahead.
    pub fn start(thread: ThreadId, spawned: bool, hardware: bool) -> Lowering {
        Lowering {
            thread,
            op: Op::Yield,
            step: 0,
            first: Value::ZERO,
            last: Reply::NONE,
            hardware,
            spawned,
            child: thread,
            starting: true,
        }
    }

    /// Takes up the thread's next operation. `child` is the name that a spawned thread will get.
    pub fn begin(&mut self, op: Op, child: impl FnOnce() -> ThreadId) {
        self.begin_with(|own| *own = op, child);
    }

    /// The same where somebody else puts the operation into its place.
    #[inline]
    pub fn begin_with(&mut self, put: impl FnOnce(&mut Op), child: impl FnOnce() -> ThreadId) {
        put(&mut self.op);
        self.step = 0;
        self.last = Reply::NONE;
        self.starting = false;
        if matches!(self.op, Op::Spawn) {
            self.child = child();
        }
    }

    /// The operation on its way.
    #[inline]
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// How many of its accesses have been performed.
    #[inline]
    pub fn step(&self) -> u8 {
        self.step
    }

    /// The thread that a spawn creates.
    pub fn child(&self) -> ThreadId {
        self.child
    }

    /// The access has been performed, with this result.
    #[inline]
    pub fn performed(&mut self, result: Reply) {
        if self.step == 0 {
            self.first = result.value;
        }
        self.last = result;
        self.step += 1;
    }

    /// What the operation wants to do next.
    #[inline]
    pub fn stage(&self) -> Stage {
        match self.access() {
            Some(access) => Stage::Access(*access),
            None => self.other_stage(),
        }
    }

    /// The access that comes next, where the operation is nothing else and it has not been performed: what nearly all
    /// operations are. Accesses are large, and to look at this one none is copied.
    #[inline]
    pub fn access(&self) -> Option<&Access> {
        match &self.op {
            Op::Access(access) if self.step == 0 && !self.starting => Some(access),
            _ => None,
        }
    }

    /// The answer to such an operation, once it has been performed.
    #[inline]
    pub fn answered(&self) -> Option<Reply> {
        match self.op {
            Op::Access(_) if self.step != 0 && !self.starting => Some(self.last),
            _ => None,
        }
    }

    /// The same where it is more than an access.
    fn other_stage(&self) -> Stage {
        match self.op {
            _ if self.starting => self.starting_stage(),
            Op::Access(access) if self.step == 0 => Stage::Access(access),
            Op::Access(_) => Stage::Done(self.last),
            Op::Sync(sync) => self.sync_stage(sync),
            Op::Spawn => {
                let order = if self.hardware { StoreOrder::SeqCst } else { StoreOrder::Release };
                let at = Location::hidden(Hidden::ThreadStart, self.child.0.into());
                let reply = Reply { value: Value(self.child.0.into()), success: true };
                self.once(store(at, order, ONE), reply)
            }
            Op::Join(thread) => {
                let at = Location::hidden(Hidden::ThreadEnd, thread.0.into());
                self.once(await_load(at, Guard::Equals(ONE)), Reply::NONE)
            }
            Op::Yield if self.step == 0 => Stage::Yield,
            Op::Yield => Stage::Done(Reply::NONE),
            Op::Fail(failure) => Stage::Fail(failure),
            Op::Quit if self.step == 0 => Stage::Quit,
            Op::Quit => Stage::Done(Reply::NONE),
            Op::Exit if self.spawned && self.step == 0 => Stage::Access(store(
                Location::hidden(Hidden::ThreadEnd, self.thread.0.into()),
                StoreOrder::Release,
                ONE,
            )),
            Op::Exit => Stage::Exit,
        }
    }

    fn starting_stage(&self) -> Stage {
        if self.spawned && self.step == 0 {
            let at = Location::hidden(Hidden::ThreadStart, self.thread.0.into());
            Stage::Access(await_load(at, Guard::Equals(ONE)))
        } else {
            Stage::Done(Reply::NONE)
        }
    }

    /// One access, then done.
    fn once(&self, access: Access, reply: Reply) -> Stage {
        if self.step == 0 { Stage::Access(access) } else { Stage::Done(reply) }
    }

    /// One access whose success is the reply.
    fn attempt(&self, access: Access) -> Stage {
        self.once(access, self.last)
    }

    fn sync_stage(&self, sync: Sync) -> Stage {
        let hidden = Location::hidden;
        match sync {
            Sync::Lock { mutex } => self.once(self.lock(mutex), Reply::NONE),
            Sync::TryLock { mutex } => self.attempt(try_set(hidden(Hidden::Mutex, mutex), self.owner())),
            Sync::Unlock { mutex } => self.once(unlock(hidden(Hidden::Mutex, mutex)), Reply::NONE),
            Sync::ReadLock { lock } => self.once(
                rmw(hidden(Hidden::RwLock, lock), RmwOrder::Acquire, Update::Add(ONE), Guard::Differs(WRITER)),
                Reply::NONE,
            ),
            Sync::TryReadLock { lock } => {
                self.attempt_step(hidden(Hidden::RwLock, lock), |v| (v != WRITER).then(|| Value(v.0 + 1)))
            }
            Sync::ReadUnlock { lock } => self
                .once(rmw(hidden(Hidden::RwLock, lock), RmwOrder::Release, Update::Sub(ONE), Guard::Any), Reply::NONE),
            Sync::WriteLock { lock } => {
                let update = Update::Exchange(WRITER);
                self.once(
                    rmw(hidden(Hidden::RwLock, lock), RmwOrder::Acquire, update, Guard::Equals(Value::ZERO)),
                    Reply::NONE,
                )
            }
            Sync::TryWriteLock { lock } => self.attempt(try_set(hidden(Hidden::RwLock, lock), WRITER)),
            Sync::WriteUnlock { lock } => self.once(unlock(hidden(Hidden::RwLock, lock)), Reply::NONE),
            Sync::Wait { condvar, mutex } => self.wait_stage(condvar, mutex),
            Sync::NotifyOne { condvar } => self.once(wake(condvar, Update::Wake(1), Guard::Any), Reply::NONE),
            Sync::NotifyAll { condvar } => self.once(wake(condvar, Update::WAKE_ALL, Guard::Any), Reply::NONE),
            Sync::Acquire { semaphore } => {
                let at = hidden(Hidden::Semaphore, semaphore);
                self.once(rmw(at, RmwOrder::Acquire, Update::Sub(ONE), Guard::AtLeast(ONE)), Reply::NONE)
            }
            Sync::TryAcquire { semaphore } => {
                self.attempt_step(hidden(Hidden::Semaphore, semaphore), |v| v.0.checked_sub(1).map(Value))
            }
            Sync::Release { semaphore } => {
                let at = hidden(Hidden::Semaphore, semaphore);
                self.once(rmw(at, RmwOrder::Release, Update::Add(ONE), Guard::Any), Reply::NONE)
            }
            Sync::BarrierWait { barrier, parties } => self.barrier_stage(barrier, parties),
            Sync::OnceBegin { once } => self.attempt(Access::CompareExchange {
                at: hidden(Hidden::Once, once),
                expected: Value::ZERO,
                desired: ONE,
                success: RmwOrder::Acquire,
                failure: LoadOrder::Acquire,
                weak: false,
                guard: Guard::Differs(ONE),
            }),
            Sync::OnceEnd { once } => {
                self.once(store(hidden(Hidden::Once, once), StoreOrder::Release, Value(2)), Reply::NONE)
            }
            Sync::OnceAbandon { once } => self.once(unlock(hidden(Hidden::Once, once)), Reply::NONE),
            Sync::Park => {
                let at = hidden(Hidden::Park, self.thread.0.into());
                let take = Update::Exchange(Value::ZERO);
                self.once(rmw(at, RmwOrder::Acquire, take, Guard::Equals(ONE)), Reply::NONE)
            }
            Sync::Unpark { thread } => {
                let at = hidden(Hidden::Park, thread.0.into());
                self.once(rmw(at, RmwOrder::Release, Update::Exchange(ONE), Guard::Any), Reply::NONE)
            }
        }
    }

    fn owner(&self) -> Value {
        Value(u128::from(self.thread.0) + 1)
    }

    fn lock(&self, mutex: u64) -> Access {
        let at = Location::hidden(Hidden::Mutex, mutex);
        rmw(at, RmwOrder::Acquire, Update::Exchange(self.owner()), Guard::Equals(Value::ZERO))
    }

    fn wait_stage(&self, condvar: u64, mutex: u64) -> Stage {
        Stage::Access(match self.step {
            0 => wake(condvar, Update::Enqueue(self.thread), Guard::Any),
            1 => unlock(Location::hidden(Hidden::Mutex, mutex)),
            2 => wake(condvar, Update::Dequeue(self.thread), Guard::Woken(self.thread)),
            3 => self.lock(mutex),
            _ => return Stage::Done(Reply::NONE),
        })
    }

    /// Arrivals are counted forever in the lower half of the barrier's state, whose upper half names its
    /// initialisation; the n-th generation is complete at n times `parties`. Each generation has a location of its
    /// own, written once, when it is complete: so those who wait have one write to read from, and later arrivals are
    /// none of their business.
    fn barrier_stage(&self, barrier: u64, parties: u32) -> Stage {
        if self.step == 0 {
            let at = Location::hidden(Hidden::Barrier, barrier);
            return Stage::Access(rmw(at, RmwOrder::AcqRel, Update::Add(ONE), Guard::Any));
        }
        let parties = u128::from(parties.max(1));
        let (use_of, arrived) = (self.first.0 >> 32 << 32, self.first.0 & u128::from(u32::MAX));
        let (generation, is_last) = (arrived / parties, (arrived + 1).is_multiple_of(parties));
        if self.step == 2 {
            return Stage::Done(Reply { value: Value::ZERO, success: is_last });
        }
        let full = Value(use_of | ((generation + 1) * parties));
        // A location is used again after many generations, with another value.
        let at = Location::hidden(Hidden::BarrierOpen, barrier >> 3 << 8 | generation as u64 & 0xff);
        Stage::Access(if is_last {
            rmw(at, RmwOrder::AcqRel, Update::Exchange(full), Guard::Any)
        } else {
            await_load(at, Guard::Arrived(full))
        })
    }

    /// Replaces the value by what `next` makes of it, if it makes something of it: a load, then a compare-exchange
    /// that is tried again with what it saw.
    fn attempt_step(&self, at: Location, next: impl Fn(Value) -> Option<Value>) -> Stage {
        if self.step == 0 {
            return Stage::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any });
        }
        if self.step > 1 && self.last.success {
            return Stage::Done(Reply::NONE);
        }
        match next(self.last.value) {
            None => Stage::Done(Reply { value: self.last.value, success: false }),
            Some(desired) => Stage::Access(Access::CompareExchange {
                at,
                expected: self.last.value,
                desired,
                success: RmwOrder::Acquire,
                failure: LoadOrder::Relaxed,
                weak: false,
                guard: Guard::Any,
            }),
        }
    }
}

fn store(at: Location, order: StoreOrder, value: Value) -> Access {
    Access::Store { at, order, value }
}

fn unlock(at: Location) -> Access {
    store(at, StoreOrder::Release, Value::ZERO)
}

fn await_load(at: Location, guard: Guard) -> Access {
    Access::Load { at, order: LoadOrder::Acquire, guard }
}

fn rmw(at: Location, order: RmwOrder, update: Update, guard: Guard) -> Access {
    Access::Rmw { at, order, update, guard }
}

fn wake(condvar: u64, update: Update, guard: Guard) -> Access {
    rmw(Location::hidden(Hidden::Condvar, condvar), RmwOrder::Relaxed, update, guard)
}

fn try_set(at: Location, desired: Value) -> Access {
    Access::CompareExchange {
        at,
        expected: Value::ZERO,
        desired,
        success: RmwOrder::Acquire,
        failure: LoadOrder::Relaxed,
        weak: false,
        guard: Guard::Any,
    }
}

#[cfg(test)]
mod tests;
