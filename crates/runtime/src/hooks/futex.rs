//! Futexes, which C++ and Rust use directly.
//!
//! Those who wait on a word are a set like that of a condition variable. A thread joins the set, then looks at the word: who changes it and wakes others afterwards finds it there.

use super::cond::{dequeue, leave};
use super::semaphore::fail;
use super::threads::{attempt, take_timeout, thread_number};
use super::{at_work, early, hook};
use crate::ending::{self, Verdict};
use crate::global::{self, active};
use crate::real::real;
use crate::{clock, control, explore, fibers, shared};
use fencepost_trace::{Access, Guard, Hidden, Location, Op, RmwOrder, Size, Update};
use libc::{EAGAIN, ENOSYS, ETIMEDOUT, c_int, c_long, timespec};

/// Futexes are told from condition variables by this bit of the key.
const FUTEX: u64 = Location::OTHER_KEY;

fn update(key: u64, update: Update, guard: Guard) -> fencepost_trace::Reply {
    let at = Location::hidden(Hidden::Condvar, key);
    control::perform(Op::Access(Access::Rmw { at, order: RmwOrder::AcqRel, update, guard }))
}

fn wait(word: usize, expected: u32, deadline: Option<u64>) -> Result<c_long, c_int> {
    let key = word as u64 | FUTEX;
    let me = fibers::current();
    update(key, Update::Enqueue(me), Guard::Any);
    let at = Location::new(word as u64, Size::B4);
    let found = if explore::is_on() { shared::load(at) } else { control::memory(at) };
    if found.0 as u32 != expected {
        leave(key);
        return Err(EAGAIN);
    }
    if let Some(woken) = attempt(deadline, dequeue(key, RmwOrder::AcqRel)) {
        return if woken { Ok(0) } else { Err(ETIMEDOUT) };
    }
    fibers::me().deadline = deadline;
    update(key, Update::Dequeue(me), Guard::Woken(me));
    if take_timeout() {
        leave(key);
        return Err(ETIMEDOUT);
    }
    Ok(0)
}

fn wake(word: usize, most: usize) -> c_long {
    let key = word as u64 | FUTEX;
    if most >= i32::MAX as usize {
        let reply = update(key, Update::WakeAll, Guard::Any);
        return reply.value.0 as c_long;
    }
    let mut woken = 0;
    while woken < most {
        let reply = update(key, Update::WakeOne, Guard::Any);
        if reply.value.0 == 0 {
            break;
        }
        woken += 1;
    }
    woken as c_long
}

fn futex(word: usize, operation: c_int, value: usize, time: *const timespec) -> Result<c_long, c_int> {
    // SAFETY: null, or the program's time.
    let time = unsafe { time.as_ref() };
    let real_time = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT => {
            let length = time.map(|t| t.tv_sec as u64 * clock::SECOND + t.tv_nsec as u64);
            wait(word, value as u32, length.map(|l| clock::now().saturating_add(l)))
        }
        libc::FUTEX_WAIT_BITSET => {
            let name = if real_time { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
            wait(word, value as u32, time.map(|t| clock::since_start(name, t)))
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Ok(wake(word, value)),
        other => {
            crate::results::note(&format!("futex operation {other} is not supported"));
            Err(ENOSYS)
        }
    }
}

hook! { fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if !active() {
        early::release();
        return real!(syscall(number, a, b, c, d, e, f): fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
    }
    match number {
        libc::SYS_futex => {
            let result = at_work(|| {
                control::watch(Location::new(a as u64, Size::B4));
                futex(a, b as c_int, c, d as *const timespec)
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
            ending::finish(Verdict::Exit(a as c_int))
        }
        _ => {
            if crate::hooks::beyond::leaves_something(number) {
                at_work(|| crate::restart::beyond(&format!("syscall({number})")));
            }
            real!(syscall(number, a, b, c, d, e, f): fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long)
        }
    }
} }
