//! Futexes, which C++ and Rust use directly.
//!
//! Those who wait on a word are a set like that of a condition variable. The kernel compares the word and puts the
//! thread into its queue as one step with respect to wake-ups of that word, since it holds a lock. Here a thread
//! joins the set, and then looks at the word:
//!
//! - a wake-up that comes after it has joined finds it there;
//! - a wake-up that came before it has joined happens before its look, and so does what was stored before that
//!   wake-up: the look sees the store.
//!
//! So a store and then a wake-up are never lost, and the other order, or no wake-up at all, is. The look is a
//! relaxed load of the thread's own: what it has seen there, its next load of the word cannot be without. A thread
//! first looks without joining, so that a loop around a call that finds another value (`EAGAIN`) only reads, and is
//! seen to wait.
//!
//! The kernel has a full barrier before it compares: eventcounts, the C++ library's among them, rely on it, since
//! whoever changes the word looks at a count of those who wait first.

use super::cond::{dequeue, leave};
use super::semaphore::fail;
use super::threads::{attempt, take_timeout, thread_number};
use super::{at_work, early, hook, rust_std};
use crate::drive::ending::{self, Verdict};
use crate::drive::explored::{self, shared};
use crate::drive::{control, one_of_several};
use crate::platform::global::{self, active};
use crate::platform::real::real;
use crate::results;
use crate::threads::{clock, fibers};
use fencepost_trace::{
    Access, FenceOrder, Guard, Hidden, LoadOrder, Location, Op, Reply, RmwOrder, Size, Update, Value,
};
use libc::{EAGAIN, EINVAL, ENOSYS, ETIMEDOUT, c_int, c_long, timespec};

/// Futexes are told from condition variables by this bit of the key.
const FUTEX: u64 = Location::OTHER_KEY;
/// Any wake-up is meant for such a waiter, and any waiter by such a wake-up.
const ANY_BIT: u32 = u32::MAX;
/// An argument of `FUTEX_WAKE` that means all.
pub const ALL: usize = i32::MAX as usize;

fn update(key: u64, update: Update, guard: Guard) -> Reply {
    let at = Location::hidden(Hidden::Condvar, key);
    control::perform(Op::Access(Access::Rmw { at, order: RmwOrder::AcqRel, update, guard }))
}

/// What the kernel finds in the word.
fn look(word: usize) -> u32 {
    let at = Location::new(word as u64, Size::B4);
    let Value(found) = if explored::is_on() {
        shared::load(at)
    } else if control::is_enumerating() {
        // What comes before it commutes with the stores of others; this does not, and is a step of its own.
        control::perform(Op::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any })).value
    } else {
        control::newest(at)
    };
    found as u32
}

/// Waits on a word while it holds `expected`, until a time if there is one.
pub fn wait(word: usize, expected: u32, deadline: Option<u64>) -> Result<c_long, c_int> {
    let key = word as u64 | FUTEX;
    let me = fibers::current();
    control::perform(Op::Access(Access::Fence { order: FenceOrder::SeqCst }));
    if one_of_several(1, || look(word)) != expected {
        return Err(EAGAIN);
    }
    one_of_several(2, || update(key, Update::Enqueue(me), Guard::Any));
    if one_of_several(3, || look(word)) != expected {
        // Whom a wake-up has counted was woken by it, whatever the word holds by now.
        return if one_of_several(4, || leave(key)) { Ok(0) } else { Err(EAGAIN) };
    }
    one_of_several(5, || asleep(key, deadline))
}

/// The thread has joined those who wait.
fn asleep(key: u64, deadline: Option<u64>) -> Result<c_long, c_int> {
    let me = fibers::current();
    if let Some(woken) = attempt(deadline, dequeue(key, RmwOrder::AcqRel)) {
        return if woken { Ok(0) } else { Err(ETIMEDOUT) };
    }
    fibers::me().deadline = deadline;
    update(key, Update::Dequeue(me), Guard::Woken(me));
    if take_timeout() {
        return if leave(key) { Ok(0) } else { Err(ETIMEDOUT) };
    }
    Ok(0)
}

/// Wakes so many of those who wait on a word; says how many it found.
pub fn wake(word: usize, most: usize) -> usize {
    // In one step, as the kernel does it: it holds the lock of the queue meanwhile, and none of them comes back.
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    update(word as u64 | FUTEX, Update::Wake(most), Guard::Any).value.0 as usize
}

/// Those who wait are to wait on another word. What they would wait for there is not followed: they are woken, as
/// may happen to whoever waits on a futex at any time.
fn requeue(word: usize, operation: c_int, expected: u32) -> Result<c_long, c_int> {
    not_followed("FUTEX_REQUEUE wakes those whom it would move");
    if operation == libc::FUTEX_CMP_REQUEUE && look(word) != expected {
        return Err(EAGAIN);
    }
    Ok(wake(word, ALL) as c_long)
}

/// Something is done otherwise than the kernel does it.
fn not_followed(what: &str) {
    if explored::is_on() {
        explored::unsupported(what);
    } else {
        results::note(what);
    }
}

/// Waiters and wake-ups with a set of bits meet only where they have one in common.
fn check_bits(bits: u32) -> Result<(), c_int> {
    match bits {
        0 => return Err(EINVAL),
        ANY_BIT => {}
        _ => not_followed("a futex is used with a set of bits: every wake-up counts as meant for every waiter"),
    }
    Ok(())
}

/// The arguments of the system call.
struct Call {
    word: usize,
    operation: c_int,
    value: usize,
    time: *const timespec,
    last: u32,
}

fn futex(call: &Call) -> Result<c_long, c_int> {
    let Call { word, value, last, .. } = *call;
    let real_time = call.operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let operation = call.operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    // SAFETY: null, or the program's time: asked for where the operation has one.
    let time = || unsafe { call.time.as_ref() };
    let waits = matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    if rust_std::in_barrier(waits) {
        return Ok(0);
    }
    if waits {
        rust_std::waits_unseen(global::caller());
    }
    match operation {
        libc::FUTEX_WAIT => {
            let length = time().map(|t| t.tv_sec as u64 * clock::SECOND + t.tv_nsec as u64);
            wait(word, value as u32, length.map(|l| clock::now().saturating_add(l)))
        }
        libc::FUTEX_WAIT_BITSET => {
            check_bits(last)?;
            let name = if real_time { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
            wait(word, value as u32, time().map(|t| clock::since_start(name, t)))
        }
        libc::FUTEX_WAKE => Ok(wake(word, value) as c_long),
        libc::FUTEX_WAKE_BITSET => {
            check_bits(last)?;
            Ok(wake(word, value) as c_long)
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => requeue(word, operation, last),
        other => {
            not_followed(&format!("futex operation {other} is not supported"));
            Err(ENOSYS)
        }
    }
}

hook! { fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if number == libc::SYS_futex && rust_std::takes(a, c) {
        return 0;
    }
    if !active() {
        early::release();
        return real!(syscall(number, a, b, c, d, e, f): fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
    }
    match number {
        libc::SYS_futex => {
            let result = at_work(|| {
                control::watch(Location::new(a as u64, Size::B4));
                futex(&Call { word: a, operation: b as c_int, value: c, time: d as *const timespec, last: f as u32 })
            });
            // Whoever calls this is often a library without instrumentation, in the middle of taking a lock.
            global::suspect();
            match result {
                Ok(result) => result,
                Err(error) => fail(error).into(),
            }
        }
        libc::SYS_gettid => thread_number().into(),
        libc::SYS_getrandom => {
            crate::hooks::chance::fill(a as *mut libc::c_void, b);
            b as c_long
        }
        libc::SYS_exit_group => {
            fibers::me().pc = global::caller();
            ending::end_process(Verdict::Exit(a as c_int))
        }
        _ => {
            if crate::hooks::irreversible::leaves_something(number) {
                at_work(|| crate::drive::restart::irreversible(&format!("syscall({number})")));
            }
            real!(syscall(number, a, b, c, d, e, f): fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long)
        }
    }
} }
