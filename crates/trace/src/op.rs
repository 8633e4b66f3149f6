//! What a program thread asks for next.
//!
//! A thread runs until its next operation, hands it over as an [`Op`], and goes on with the [`Reply`].
//! Memory models see only [`Access`]es: synchronisation ([`Sync`]) is lowered to accesses of hidden
//! locations with a [`Guard`] ("take the lock: an acquiring exchange, once it reads 0").

use crate::{FenceOrder, LoadOrder, Location, RmwOrder, Size, StoreOrder, ThreadId, Value};
use serde::{Deserialize, Serialize};

/// An access to memory, or a fence: all that a memory model knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// An atomic or plain load.
    Load {
        /// where
        at: Location,
        /// its order
        order: LoadOrder,
        /// which values it waits for
        guard: Guard,
    },
    /// An atomic or plain store.
    Store {
        /// where
        at: Location,
        /// its order
        order: StoreOrder,
        /// what is written
        value: Value,
    },
    /// An atomic read-modify-write that always writes.
    Rmw {
        /// where
        at: Location,
        /// its order
        order: RmwOrder,
        /// how the new value comes from the old
        update: Update,
        /// which values it waits for
        guard: Guard,
    },
    /// A compare-exchange: an RMW if it reads `expected`, otherwise a load with the failure order.
    CompareExchange {
        /// where
        at: Location,
        /// the value that makes it succeed
        expected: Value,
        /// what is then written
        desired: Value,
        /// the order on success
        success: RmwOrder,
        /// the order on failure
        failure: LoadOrder,
        /// may it fail although it read `expected`?
        weak: bool,
        /// which values it waits for
        guard: Guard,
    },
    /// A fence.
    Fence {
        /// its order
        order: FenceOrder,
    },
}

impl Access {
    /// The location, if it is not a fence.
    #[inline]
    pub fn location(&self) -> Option<Location> {
        match *self {
            Access::Load { at, .. }
            | Access::Store { at, .. }
            | Access::Rmw { at, .. }
            | Access::CompareExchange { at, .. } => Some(at),
            Access::Fence { .. } => None,
        }
    }

    /// The access with `to` in the place of seq_cst, as far as that means something for it: a load only acquires, a
    /// store only releases. A fence of any order gets no stronger by it; relaxed it is none, and `None` is returned.
    pub fn weakened(mut self, to: RmwOrder) -> Option<Access> {
        let load = |order: &mut LoadOrder| {
            if *order == LoadOrder::SeqCst {
                *order = to.load();
            }
        };
        let rmw = |order: &mut RmwOrder| {
            if *order == RmwOrder::SeqCst {
                *order = to;
            }
        };
        match &mut self {
            Access::Load { order, .. } => load(order),
            Access::Store { order, .. } if *order == StoreOrder::SeqCst => *order = to.store(),
            Access::Store { .. } => {}
            Access::Rmw { order, .. } => rmw(order),
            Access::CompareExchange { success, failure, .. } => {
                rmw(success);
                load(failure);
            }
            Access::Fence { order } => {
                let acquires = order.acquires() && to.load().acquires();
                let releases = order.releases() && to.store().releases();
                *order = match (acquires, releases) {
                    _ if to == RmwOrder::SeqCst => *order,
                    (true, true) => FenceOrder::AcqRel,
                    (true, false) => FenceOrder::Acquire,
                    (false, true) => FenceOrder::Release,
                    (false, false) => return None,
                };
            }
        }
        Some(self)
    }

    /// The access with at least this order, as far as that means something for it. A fence stays as it is.
    pub fn strengthened(mut self, to: RmwOrder) -> Access {
        let (acquires, releases) = (to.load().acquires(), to.store().releases());
        let rmw = |order: &mut RmwOrder| {
            let both = (order.load().acquires() || acquires, order.store().releases() || releases);
            *order = match both {
                _ if *order == RmwOrder::SeqCst || to == RmwOrder::SeqCst => RmwOrder::SeqCst,
                (true, true) => RmwOrder::AcqRel,
                (true, false) => RmwOrder::Acquire,
                (false, true) => RmwOrder::Release,
                (false, false) => *order,
            };
        };
        let load = |order: &mut LoadOrder| match to {
            RmwOrder::SeqCst => *order = LoadOrder::SeqCst,
            _ if acquires && !order.acquires() => *order = LoadOrder::Acquire,
            _ => {}
        };
        match &mut self {
            Access::Load { order, .. } => load(order),
            Access::Store { order, .. } if to == RmwOrder::SeqCst => *order = StoreOrder::SeqCst,
            Access::Store { order, .. } if releases && !order.releases() => *order = StoreOrder::Release,
            Access::Rmw { order, .. } => rmw(order),
            Access::CompareExchange { success, failure, .. } => {
                rmw(success);
                load(failure);
            }
            Access::Store { .. } | Access::Fence { .. } => {}
        }
        self
    }

    /// The guard of an access that waits; [`Guard::Any`] for all others.
    #[inline]
    pub fn guard(&self) -> Guard {
        match *self {
            Access::Load { guard, .. } | Access::Rmw { guard, .. } | Access::CompareExchange { guard, .. } => guard,
            Access::Store { .. } | Access::Fence { .. } => Guard::Any,
        }
    }
}

/// Which values an access waits for. Until a value that fits is there to be read, its thread is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Any value: it does not wait.
    Any,
    /// Exactly this value.
    Equals(Value),
    /// Any value but this.
    Differs(Value),
    /// At least this value.
    AtLeast(Value),
    /// A barrier's count of arrivals ([`Hidden::BarrierOpen`](crate::Hidden)): at least this one, since the same
    /// initialisation of the barrier.
    Arrived(Value),
    /// A set of waiting threads (a condition variable's state) in which this thread has been woken.
    Woken(ThreadId),
}

/// How an RMW makes the new value from the old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// the operand
    Exchange(Value),
    /// old + operand, wrapping
    Add(Value),
    /// old - operand, wrapping
    Sub(Value),
    /// old & operand
    And(Value),
    /// old | operand
    Or(Value),
    /// old ^ operand
    Xor(Value),
    /// !(old & operand)
    Nand(Value),
    /// signed maximum
    Max(Value),
    /// signed minimum
    Min(Value),
    /// unsigned maximum
    UMax(Value),
    /// unsigned minimum
    UMin(Value),
    /// A condition variable: this thread joins the waiting ones.
    Enqueue(ThreadId),
    /// A condition variable: so many waiting threads are woken at most, in one step; which ones is a choice.
    Wake(u32),
    /// A condition variable: this thread, having been woken, leaves.
    Dequeue(ThreadId),
}

impl Update {
    /// A condition variable: all waiting threads are woken.
    pub const WAKE_ALL: Update = Update::Wake(u32::MAX);

    /// The new value, cut to `size`. The condition-variable updates need the table of waiting sets, which
    /// the engine keeps; they answer `None` here.
    #[inline]
    pub fn apply(self, old: Value, size: Size) -> Option<Value> {
        let bits = match self {
            Update::Exchange(v) => v.0,
            Update::Add(v) => old.0.wrapping_add(v.0),
            Update::Sub(v) => old.0.wrapping_sub(v.0),
            Update::And(v) => old.0 & v.0,
            Update::Or(v) => old.0 | v.0,
            Update::Xor(v) => old.0 ^ v.0,
            Update::Nand(v) => !(old.0 & v.0),
            Update::Max(v) => signed(old, size).max(signed(v, size)) as u128,
            Update::Min(v) => signed(old, size).min(signed(v, size)) as u128,
            Update::UMax(v) => old.0.max(size.truncate(v.0).0),
            Update::UMin(v) => old.0.min(size.truncate(v.0).0),
            Update::Enqueue(_) | Update::Wake(_) | Update::Dequeue(_) => return None,
        };
        Some(size.truncate(bits))
    }
}

/// `value` read as a two's complement number of this width.
fn signed(value: Value, size: Size) -> i128 {
    let unused = 128 - 8 * size.bytes() as u32;
    (value.0 << unused) as i128 >> unused
}

/// An operation on a synchronisation object, named by its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Sync {
    /// Waits until the mutex is free and takes it.
    Lock {
        mutex: u64,
    },
    /// Takes the mutex if it is free; the reply says whether it did.
    TryLock {
        mutex: u64,
    },
    Unlock {
        mutex: u64,
    },
    ReadLock {
        lock: u64,
    },
    TryReadLock {
        lock: u64,
    },
    ReadUnlock {
        lock: u64,
    },
    WriteLock {
        lock: u64,
    },
    TryWriteLock {
        lock: u64,
    },
    WriteUnlock {
        lock: u64,
    },
    /// Releases the mutex, waits to be woken, takes the mutex again.
    Wait {
        condvar: u64,
        mutex: u64,
    },
    NotifyOne {
        condvar: u64,
    },
    NotifyAll {
        condvar: u64,
    },
    /// Waits until the count is above 0 and takes one off.
    Acquire {
        semaphore: u64,
    },
    TryAcquire {
        semaphore: u64,
    },
    Release {
        semaphore: u64,
    },
    /// Waits until `parties` threads have arrived; the reply is a success for the last of them.
    BarrierWait {
        barrier: u64,
        parties: u32,
    },
    /// Waits while another thread runs the initialisation; a success means that this thread must run it.
    OnceBegin {
        once: u64,
    },
    OnceEnd {
        once: u64,
    },
    /// The initialisation failed: the next thread tries again.
    OnceAbandon {
        once: u64,
    },
    /// Waits for this thread's token and takes it.
    Park,
    Unpark {
        thread: ThreadId,
    },
}

/// What a thread asks for next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// An access to memory, or a fence.
    Access(Access),
    /// An operation on a synchronisation object.
    Sync(Sync),
    /// Creates a thread. The reply's value is its number; it is resumable from then on.
    Spawn,
    /// Waits until the thread has ended.
    Join(ThreadId),
    /// Gives way: in a loop that waits for another thread, this one need not run next.
    Yield,
    /// The program fails here; the thread goes no further and the execution ends.
    Fail(crate::Failure),
    /// The whole process ends here, in order, while other threads may still run: what they have done until then was
    /// done, and nothing follows.
    Quit,
    /// The thread is done. It is not resumed again.
    Exit,
}

/// The answer to an [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// What was read; the number of a new thread.
    pub value: Value,
    /// Whether a compare-exchange or a try-lock succeeded.
    pub success: bool,
}

impl Reply {
    /// The reply that starts a thread, and the one to operations that have nothing to say.
    pub const NONE: Reply = Reply { value: Value::ZERO, success: true };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_wrap_at_the_width() {
        let v = |x: u128| Value(x);
        assert_eq!(Update::Add(v(1)).apply(v(0xff), Size::B1), Some(v(0)));
        assert_eq!(Update::Sub(v(1)).apply(v(0), Size::B4), Some(v(0xffff_ffff)));
        assert_eq!(Update::Nand(v(1)).apply(v(3), Size::B2), Some(v(0xfffe)));
        // -1 < 1 signed, but not unsigned
        assert_eq!(Update::Max(v(1)).apply(v(0xff), Size::B1), Some(v(1)));
        assert_eq!(Update::UMax(v(1)).apply(v(0xff), Size::B1), Some(v(0xff)));
        assert_eq!(Update::Min(v(u128::MAX)).apply(v(1), Size::B16), Some(v(u128::MAX)));
    }
}
