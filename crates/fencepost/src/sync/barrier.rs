//! As [`std::sync::Barrier`].

use crate::rt::{self, Stamp, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Hidden, Op};
use std::panic::Location as Caller;

/// Where threads wait for each other.
#[derive(Debug)]
pub struct Barrier {
    stamp: Stamp,
    parties: usize,
    real: std::sync::Barrier,
}

/// Whether a thread was the last to arrive.
#[derive(Clone, Copy, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Was it?
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for `n` threads.
    pub const fn new(n: usize) -> Barrier {
        Barrier { stamp: Stamp::new(), parties: n, real: std::sync::Barrier::new(n) }
    }

    /// Waits until all have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(context) = rt::current() else { return BarrierWaitResult(self.real.wait().is_leader()) };
        let caller = Caller::caller();
        let barrier = context.key(&self.stamp, Hidden::Barrier, caller);
        let sync = Synchronisation::BarrierWait { barrier, parties: self.parties as u32 };
        BarrierWaitResult(ask(context, Op::Sync(sync), caller).success)
    }
}
