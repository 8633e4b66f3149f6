//! Waits for something that the kernel keeps, and that another thread of the program puts there: signals, messages,
//! semaphores of System V.
//!
//! All threads share one kernel thread, so that nobody may sit in the kernel while others can run. Whoever waits looks,
//! gives way, and looks again. With nobody else left to run, it is for the kernel to wait, if what is waited for may
//! come from elsewhere; otherwise it is a deadlock.

use super::{descriptors, kernel};
use crate::drive::{control, explored, restart, stall};
use crate::platform::sys;
use crate::threads::fibers;
use fencepost_trace::Op;

/// Is the running thread the only one, and may what it waits for come from elsewhere, or is there a limit of time?
fn is_for_others(limited: bool) -> bool {
    fibers::all().is_alone() && (limited || kernel::expects_signals() || restart::went_outside())
}

/// After so many looks time has to pass.
const PATIENT: u32 = 1_000;

/// The running thread has looked so often in vain, and gives way. What a timer of the kernel's brings comes in real
/// time: who waits for that does not go around forever.
pub fn give_way(looks: u32) {
    if kernel::has_timers() {
        stall::uncertain();
        if looks > PATIENT {
            sys::sleep_a_little();
        }
    }
    control::perform(Op::Yield);
}

/// Lets others run until `what` is there, or at most so often; none if it can only come from outside. What whoever has
/// put it there has done before, as an event of this key among hidden files, comes before what follows.
pub fn until<T>(mut times: Option<u64>, key: u64, what: impl Fn() -> Option<T>) -> Option<T> {
    if explored::is_on() {
        return explore(times.is_some(), what);
    }
    fibers::me().awaits_event = times.is_none();
    let mut looks = 0;
    let found = loop {
        let found = what();
        if found.is_some() || times == Some(0) || is_for_others(times.is_some()) {
            break found;
        }
        looks += 1;
        give_way(looks);
        times = times.map(|n| n - 1);
    };
    fibers::me().awaits_event = false;
    if found.is_some() {
        descriptors::has_received(key);
    }
    found
}

/// The same under exploration, where it is one of the others that ends the wait. A time-out may come at once.
fn explore<T>(limited: bool, what: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        let known = descriptors::written();
        let found = what();
        if found.is_some() {
            descriptors::catch_up(known);
        }
        if found.is_some() || limited || is_for_others(limited) || kernel::has_timers() {
            return found;
        }
        explored::unsupported_here("a thread waits for something in the kernel: when that comes is not explored");
        descriptors::await_more(known);
    }
}
