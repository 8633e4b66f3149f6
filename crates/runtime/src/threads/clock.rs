//! The program's time.
//!
//! It is simulated: nobody waits for it. It moves when every thread waits, to the moment when the first of those that
//! wait for a time may go on. That it moves while others could go on is a choice, which the strategy makes: on a
//! machine that is busy with something else a timeout fires and a sleep ends before another thread has done anything.
//! Only a long wait ([`SAFETY_NET`]) does not end like that, because it is there for what should not happen.
//!
//! Looking at a clock takes a few nanoseconds. A thread that looks again and again waits for a time to come, and
//! would wait for long: so after many looks it waits like one that sleeps, a little longer each time ([`look`]).
//! Deadlines do not pass because somebody looks.

use crate::platform::global::{self, Entered, Global};
use crate::threads::fibers;
use fencepost_engine::Patience;
use fencepost_trace::ThreadId;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds since the beginning of the execution.
    now: u64,
    /// How often it was looked at since the thread last waited for a time.
    looks: u64,
    /// How long the thread will wait if it goes on looking.
    stride: u64,
}

impl Clock {
    const fn new() -> Clock {
        Clock { now: 0, looks: 0, stride: FIRST_STRIDE }
    }
}

impl Clock {
    /// How often it was looked at. In an exploration that is all there were: who has looked again has learnt something
    /// new, even where the reading is the same.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

static CLOCK: Global<Clock> = Global::new(Clock::new());

/// The date on which every execution begins, in seconds since 1970: the first of January 2026.
const DATE: u64 = 1_767_225_600;
/// The time since the machine was started, in seconds, at which every execution begins.
const UPTIME: u64 = 100_000;

pub const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = SECOND / 1_000;

/// What a look costs.
const LOOK: u64 = 25;
/// After so many looks a thread waits for a time to come.
const MOST_LOOKS: u64 = 200;
const FIRST_STRIDE: u64 = MILLISECOND;
const LONGEST_STRIDE: u64 = 60 * SECOND;
/// How much longer the next wait is if others were busy meanwhile: what they have done took them some time, but not
/// much.
const BUSY_STRIDE: u64 = 10 * MILLISECOND;

/// Who waits as long as this does not expect its time to come.
pub const SAFETY_NET: u64 = 10 * SECOND;

/// Why time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Nobody else can go on, or a strategy wants it.
    Alone,
    /// The others go on and on, and nothing changes.
    Idle,
    /// The others have done a lot.
    Busy,
}

/// The clock that the running thread looks at. Under exploration each has its own, so that what it shows does not
/// depend on who ran before.
fn clock() -> Entered<'static, Clock> {
    if global::explores() { fibers::me().map(|me| &mut me.clock) } else { CLOCK.enter() }
}

/// It is this late at least, for the running thread.
pub fn put_forward(time: u64) {
    let mut clock = clock();
    clock.now = clock.now.max(time);
}

/// A new execution.
pub fn reset() {
    *CLOCK.enter() = Clock::new();
}

/// Nanoseconds since the beginning of the execution.
pub fn now() -> u64 {
    clock().now
}

/// The running thread looks at a clock. If it looks and looks, then it waits for a time, whichever that is: until this
/// one, with others to run meanwhile.
pub fn look() -> Option<u64> {
    if global::explores() {
        // Nobody knows here whether others can go on. So a loop that waits for a time ends by itself, soon: each look
        // takes twice as long as the one before, up to an eighth of a second.
        const LONGEST: u64 = 17;
        let mut clock = clock();
        clock.looks += 1;
        clock.now += 1_000 << clock.looks.min(LONGEST);
        return None;
    }
    let mut me = fibers::me();
    me.clock.looks = if me.clock.looks >= MOST_LOOKS { 0 } else { me.clock.looks + 1 };
    let (tired, stride) = (me.clock.looks == 0, me.clock.stride);
    drop(me);
    if !tired {
        return None;
    }
    let deadline = CLOCK.enter().now.saturating_add(stride);
    if !fibers::all().is_alone() {
        return Some(deadline);
    }
    fibers::me().clock.stride = (stride * 2).min(LONGEST_STRIDE);
    put_forward(deadline);
    None
}

/// What a clock of this name shows to whoever has looked, in nanoseconds.
pub fn shows(name: i32) -> u64 {
    if !global::explores() {
        CLOCK.enter().now += LOOK;
    }
    epoch(name) + now()
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

/// What a wait until that time is to the engine.
pub fn patience(deadline: u64) -> Patience {
    let wait = deadline.saturating_sub(CLOCK.enter().now);
    if fibers::me().looking || wait >= SAFETY_NET { Patience::Long } else { Patience::Short }
}

/// How long it is until the first of those that wait for a time may go on.
pub fn wait(waits: impl Fn(ThreadId) -> bool) -> Option<u64> {
    Some(first(waits)?.saturating_sub(CLOCK.enter().now))
}

fn first(waits: impl Fn(ThreadId) -> bool) -> Option<u64> {
    let count = fibers::all().count() as u32;
    let threads = (0..count).map(ThreadId).filter(|thread| waits(*thread));
    threads.filter_map(|thread| fibers::get(thread).deadline).min()
}

/// Time passes until the first of those that wait for a time. Hands over that thread and all whose time comes at
/// about the same moment: on a real machine nobody can tell who of them is first.
pub fn pass(reason: Reason, waits: impl Fn(ThreadId) -> bool, mut wake: impl FnMut(ThreadId)) {
    let Some(first) = first(&waits) else { return };
    let mut clock = CLOCK.enter();
    let about_the_same = (first.saturating_sub(clock.now) / 8).max(MILLISECOND);
    clock.now = clock.now.max(first);
    drop(clock);
    let count = fibers::all().count() as u32;
    for thread in (0..count).map(ThreadId) {
        let deadline = fibers::get(thread).deadline;
        if deadline.is_none_or(|deadline| deadline > first.saturating_add(about_the_same)) || !waits(thread) {
            continue;
        }
        let mut fiber = fibers::get(thread);
        fiber.deadline = None;
        fiber.timed_out = true;
        if fiber.looking {
            let stride = &mut fiber.clock.stride;
            *stride = match reason {
                Reason::Alone | Reason::Idle => (*stride * 2).min(LONGEST_STRIDE),
                Reason::Busy => *stride + BUSY_STRIDE,
            };
        }
        drop(fiber);
        wake(thread);
    }
}
