//! Where a debugger stops: `fencepost replay --gdb`.
//!
//! The host asks for one finding, by its fingerprint. When the execution gets there, on the stack of the thread that
//! shows it, the runtime calls [`fencepost_found`], on which the debugger has a breakpoint. Beside it lies what the
//! debugger cannot know by itself: where the program's own frames begin, and where the other threads stand, which to
//! the kernel are not there.

use crate::platform::global;
use crate::platform::sys;
use crate::threads::fibers;
use fencepost_trace::ThreadId;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// More threads than this are not listed.
const THREADS: usize = 256;

/// The finding at which to stop; 0 if no debugger is there.
static WANTED: AtomicU64 = AtomicU64::new(0);
/// A thread that stands still is visited, only to be looked at.
static VISITING: AtomicBool = AtomicBool::new(false);

/// The stack pointer of the innermost frame that is the program's.
#[unsafe(no_mangle)]
pub static fencepost_user_sp: AtomicUsize = AtomicUsize::new(0);
/// The running thread.
#[unsafe(no_mangle)]
pub static fencepost_thread: AtomicUsize = AtomicUsize::new(0);
/// How many threads there have been.
#[unsafe(no_mangle)]
pub static fencepost_threads: AtomicUsize = AtomicUsize::new(0);
/// Where each of them stands: a stack pointer as [`switch`](crate::platform::context::switch) leaves it. 0 for those
/// that run or have ended.
#[unsafe(no_mangle)]
pub static fencepost_contexts: [AtomicUsize; THREADS] = [const { AtomicUsize::new(0) }; THREADS];

/// The debugger's breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fencepost_found() {
    std::hint::black_box(());
}

/// Stop at the finding of this fingerprint.
pub fn stop_at(fingerprint: Option<u64>) {
    WANTED.store(fingerprint.unwrap_or(0), Ordering::Relaxed);
}

/// Does a debugger wait for anything?
#[inline]
pub fn is_there() -> bool {
    WANTED.load(Ordering::Relaxed) != 0
}

/// The running thread shows the finding of this fingerprint.
#[inline]
pub fn announce(fingerprint: u64) {
    if WANTED.load(Ordering::Relaxed) == fingerprint {
        stop();
    }
}

/// A thread that waits shows it: goes there, and comes back.
pub fn announce_in(thread: ThreadId, fingerprint: u64) {
    if WANTED.load(Ordering::Relaxed) == fingerprint {
        VISITING.store(true, Ordering::Relaxed);
        fibers::visit(thread);
    }
}

/// The running thread goes on: because it was visited?
#[inline]
pub fn visited() {
    if VISITING.swap(false, Ordering::Relaxed) {
        let me = fibers::me();
        global::set_caller(me.pc, me.sp);
        drop(me);
        stop();
        sys::exit(0)
    }
}

#[cold]
#[inline(never)]
fn stop() {
    // The call has pushed the return address.
    fencepost_user_sp.store(global::caller_sp() + 8, Ordering::Relaxed);
    let current = fibers::current().index();
    let all = fibers::all();
    let list = all.list();
    for (i, fiber) in list.iter().enumerate().take(THREADS) {
        let context = if i == current || fiber.ended { 0 } else { fiber.context() };
        fencepost_contexts[i].store(context, Ordering::Relaxed);
    }
    fencepost_thread.store(current, Ordering::Relaxed);
    fencepost_threads.store(list.len().min(THREADS), Ordering::Relaxed);
    drop(all);
    // Once is enough.
    stop_at(None);
    fencepost_found();
}
