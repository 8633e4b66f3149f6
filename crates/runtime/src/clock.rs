//! The program's time.
//!
//! It is simulated: nobody waits for it. It moves when every thread waits, to the moment when the first of those that wait for a time may
//! go on; and a little whenever the program looks at it, a little more each time, so that a loop which waits for a time to come ends.

use crate::{explore, fibers, global::Global};
use fencepost_trace::ThreadId;

#[derive(Clone, Copy, Default, Debug)]
pub struct Clock {
    /// Nanoseconds since the beginning of the execution.
    now: u64,
    looks: u64,
}

static CLOCK: Global<Clock> = Global::new(Clock { now: 0, looks: 0 });

/// The date on which every execution begins, in seconds since 1970: the first of January 2026.
const DATE: u64 = 1_767_225_600;
/// The time since the machine was started, in seconds, at which every execution begins.
const UPTIME: u64 = 100_000;

pub const SECOND: u64 = 1_000_000_000;

/// The clock that the running thread looks at. Under exploration each has its own, so that what it shows does not depend on who ran before.
fn clock() -> &'static mut Clock {
    if explore::is_on() { &mut fibers::me().clock } else { CLOCK.get() }
}

/// It is this late at least, for the running thread.
pub fn put_forward(time: u64) {
    let clock = clock();
    clock.now = clock.now.max(time);
}

/// A new execution.
pub fn reset() {
    *CLOCK.get() = Clock { now: 0, looks: 0 };
}

/// Nanoseconds since the beginning of the execution.
pub fn now() -> u64 {
    clock().now
}

/// The reading of a clock of this name, in nanoseconds. The program looks, so time passes.
pub fn read(name: i32) -> u64 {
    let clock = clock();
    clock.looks += 1;
    clock.now += 1_000 * clock.looks.min(1_000);
    epoch(name) + clock.now
}

fn epoch(name: i32) -> u64 {
    match name {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => DATE * SECOND,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        _ => UPTIME * SECOND,
    }
}

/// A time of that clock, as nanoseconds since the beginning of the execution.
pub fn since_start(name: i32, time: &libc::timespec) -> u64 {
    let time = (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64);
    time.saturating_sub(epoch(name))
}

/// Everybody waits: time passes until the first of those that wait for a time. Hands over that thread and all whose time comes at about the
/// same moment: on a real machine nobody can tell who of them is first. Was there one?
pub fn pass(mut wake: impl FnMut(ThreadId)) -> bool {
    let fibers = fibers::all();
    let waiting = (0..fibers.count() as u32).map(ThreadId);
    let Some(first) = waiting.clone().filter_map(|t| fibers.get(t).deadline).min() else { return false };
    let clock = CLOCK.get();
    let about_the_same = (first.saturating_sub(clock.now) / 8).max(SECOND / 1_000);
    clock.now = clock.now.max(first);
    for thread in waiting {
        let fiber = fibers.get(thread);
        if fiber.deadline.is_some_and(|deadline| deadline <= first.saturating_add(about_the_same)) {
            fiber.deadline = None;
            fiber.timed_out = true;
            wake(thread);
        }
    }
    true
}
