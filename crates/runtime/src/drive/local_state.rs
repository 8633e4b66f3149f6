//! All that a thread remembers, as a number; and how often a compare-exchange has failed in the same state.

use crate::platform::{channels, global};
use crate::results::unsupported_here;
use crate::threads::fibers;
use fencepost_trace::{Location, Op, ThreadId};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::atomic::Ordering;

/// A weak compare-exchange fails for no reason at most so often in a row at one place of a thread.
const MOST_FAILURES: u32 = 6;

/// May the weak compare-exchange that the running thread is about to make fail for no reason? It may, unless it has
/// just done so in the same state: failing again leads nowhere else. A thread that counts its attempts is never in
/// the same state, so that there is a limit.
pub fn may_fail() -> bool {
    if !global::explores() {
        return true;
    }
    if channels::contain(global::caller()) {
        return false;
    }
    let failed = fibers::me().failed;
    match failed {
        Some((pc, state, _)) if pc == global::caller() && state == state_here() => false,
        Some((pc, _, MOST_FAILURES..)) if pc == global::caller() => {
            unsupported_here("a weak compare-exchange may fail for no reason more often in a row than is explored");
            false
        }
        _ => true,
    }
}

/// The running thread has made a weak compare-exchange. Did it fail for no reason?
pub fn has_tried(failed: bool) {
    if !global::explores() {
        return;
    }
    let pc = global::caller();
    let before = fibers::me().failed;
    let times = before.filter(|(place, ..)| *place == pc).map_or(0, |(.., times)| times);
    let now = failed.then(|| (pc, state_here(), times + 1));
    fibers::me().failed = now;
}

/// The local state of the running thread in a hook, whatever it has written.
fn state_here() -> u64 {
    let mut hasher = FxHasher::default();
    global::caller_registers().iter().for_each(|register| hasher.write_usize(*register));
    let (start, end) = (global::caller_sp(), fibers::me().first_frame);
    if start < end && end - start <= MOST_STACK {
        // SAFETY: the running thread's own stack above the frame of its hook.
        hasher.write(unsafe { std::slice::from_raw_parts(start as *const u8, end - start) });
    }
    hasher.finish()
}

/// The longest stack that is looked at.
const MOST_STACK: usize = 64 << 10;

/// All that decides what a thread does next, but for what it reads: where it is, the registers that calls preserve,
/// its stack, how often it has looked at a clock and how often it has changed other memory (see [`progress`]). In a
/// library's function that counts its rounds, what it has read in the last one stands for registers and stack.
///
/// What it is about to read is not its own, even if it lies on its own stack: the exploration says what is read there,
/// and what memory holds meanwhile depends on how far others have come in the run at hand.
pub fn digest(thread: ThreadId) -> Option<u64> {
    let fiber = fibers::get(thread);
    let (start, end) = (fiber.sp, fiber.first_frame);
    if fiber.sp == 0 || end <= start || end - start > MOST_STACK {
        return None;
    }
    let mut hasher = FxHasher::default();
    hasher.write_usize(fiber.pc);
    hasher.write_u64(fiber.writes);
    // A call may ask more than once, and then it does not go around in a loop.
    hasher.write_u32(fiber.asks);
    // Who looks at a clock in a loop does not wait for others alone.
    hasher.write_u64(fiber.clock.looks());
    if let Some(round) = fiber.round {
        // Among registers and stack is the number of rounds.
        hasher.write_usize(fiber.sp);
        hasher.write_u64(round);
        return Some(hasher.finish());
    }
    fiber.registers.iter().for_each(|register| hasher.write_usize(*register));
    // SAFETY: the thread's own stack above its stack pointer, and it does not run.
    let stack = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    let offset = |at: Location| (at.address as usize).checked_sub(start).map(|from| (from, at.size.bytes() as usize));
    match fiber.about.and_then(offset).filter(|(from, size)| from + size <= stack.len()) {
        Some((from, size)) => {
            hasher.write(&stack[..from]);
            hasher.write(&stack[from + size..]);
        }
        None => hasher.write(stack),
    }
    Some(hasher.finish())
}

/// The running thread asks for this. If the call at hand has asked for something before, that tells the two apart: the
/// thread's registers and stack are the same, but it is not going around in a loop.
pub fn asks(op: &Op) {
    let before = global::CALLER_ASKS.load(Ordering::Relaxed);
    fibers::me().asks = before.wrapping_mul(31).wrapping_add(1).wrapping_add(mark(op));
}

/// The reply has come. The call remembers whether it had success: it may ask for more before it says so to the program.
pub fn replied(success: bool) {
    let asks = fibers::me().asks;
    global::CALLER_ASKS.store(asks.wrapping_mul(2).wrapping_add(success.into()), Ordering::Relaxed);
}

/// Tells operations apart that one call asks for.
fn mark(op: &Op) -> u32 {
    match op {
        Op::Access(access) => access.location().map_or(0, |at| (at.address ^ at.address >> 32) as u32),
        Op::Join(_) => 1,
        _ => 0,
    }
}

/// One of the steps of a call. The thread's registers and stack are the same at all of them, but it is not going
/// around in a loop: the number tells them apart.
pub fn one_of_several<T>(number: usize, act: impl FnOnce() -> T) -> T {
    let registers = global::caller_registers();
    let mut here = registers;
    here[0] ^= number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    global::set_caller_registers(here);
    let result = act();
    global::set_caller_registers(registers);
    result
}
