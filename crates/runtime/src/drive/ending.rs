//! How executions end, and how the process does.

pub use crate::drive::verdict::Verdict;
use crate::drive::verdict::announce;
use crate::drive::{control, progress};
pub use crate::platform::failure::{give_up, internal};
use crate::platform::global::{self, Global};
use crate::platform::{modules, real, sys};
use crate::threads::fibers;
use fencepost_trace::Op;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

static VERDICT: Global<Option<Verdict>> = Global::new(None);

/// Ends the execution, from any thread of the program.
pub fn finish(verdict: Verdict) -> ! {
    global::set_inside(true);
    // Others may go on until a failure ends the process. Random executions do not wait for that: it would only hide
    // the failure.
    let fails = matches!(verdict, Verdict::Assertion(_) | Verdict::Panic(_) | Verdict::Abort(..));
    if fails && control::is_enumerating() && !fibers::all().is_alone() {
        control::perform(Op::Quit);
    }
    announce(&verdict);
    be_on_time();
    // Of an exploration others may go on, and what the thread has written is not theirs.
    progress::reset();
    *VERDICT.enter() = Some(verdict);
    fibers::go_home()
}

/// How the last execution ended.
pub fn take() -> Verdict {
    try_take().unwrap_or_else(|| internal("an execution without an end"))
}

/// How the last execution ended, if it has.
pub fn try_take() -> Option<Verdict> {
    VERDICT.enter().take()
}

/// Has the execution ended, or has it to end? Asked whenever a thread comes back.
#[inline(always)]
pub fn is_over() -> bool {
    VERDICT.enter().is_some() || is_overdue()
}

/// Ends the process from the running thread, without handlers. Other threads may go on until then: when it happens is
/// a choice.
pub fn end_process(verdict: Verdict) -> ! {
    global::set_inside(true);
    if global::explores() {
        tell_last();
    } else if !fibers::all().is_alone() {
        control::perform(Op::Quit);
    }
    finish(verdict)
}

/// The running thread fails, and the process ends at once.
pub fn fail(verdict: Verdict) -> ! {
    global::set_inside(true);
    if global::explores() {
        tell_last();
    }
    finish(verdict)
}

/// What the running thread has stored last, others may see before the end.
fn tell_last() {
    let pc = fibers::me().pc;
    control::tell();
    fibers::me().pc = pc;
}

/// A stack for handlers: the program's may be the reason why they are needed.
static STACK: Global<[u8; 64 << 10]> = Global::new([0; 64 << 10]);

const FATAL: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
/// The host sends this one when an execution takes too long.
pub const LATE: i32 = libc::SIGXCPU;

/// Gives the kernel the stack for handlers.
pub fn provide_stack() {
    let mut stack = STACK.enter();
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
    // SAFETY: the stack is a static.
    unsafe { sys::call(libc::SYS_sigaltstack, [&raw const stack as usize, 0, 0, 0, 0, 0]) };
}

/// Catches the signals that kill.
pub fn catch_signals() {
    provide_stack();
    // SAFETY: the handlers have the signature that SA_SIGINFO asks for. SA_NODEFER, because they do not return
    // but leave for another stack: nothing may stay blocked.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        for signal in FATAL.into_iter().chain([libc::SIGABRT, LATE]) {
            real::sigaction(signal, &action);
        }
    }
}

/// The execution takes too long, which was heard while the runtime was at work: it ends when the runtime is left.
static OVERDUE: AtomicBool = AtomicBool::new(false);
/// The timer that asks again whether it has been left; -1 if there is none.
static AGAIN: AtomicI32 = AtomicI32::new(-1);
/// How often, in nanoseconds, and how its signals are told from the host's.
const INTERVAL: u64 = 1_000_000;
const MARK: usize = 0x0dd;

/// Has the execution to end as soon as the runtime is left?
#[inline(always)]
pub fn is_overdue() -> bool {
    OVERDUE.load(Ordering::Relaxed)
}

/// The runtime is left, and the execution has taken too long.
#[cold]
pub fn end_overdue() -> ! {
    finish(Verdict::Timeout)
}

/// An execution begins, or has ended: it does not take too long.
pub fn be_on_time() {
    OVERDUE.store(false, Ordering::Relaxed);
    match AGAIN.swap(-1, Ordering::Relaxed) {
        -1 => {}
        timer => sys::delete_timer(timer),
    }
}

/// Of an exploration: how often the program was run since this process began, or all started over.
pub static RUNS: AtomicU64 = AtomicU64::new(0);
/// How often it had been when somebody last looked whether it still is.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Do several processes share the work? Then the clock is each one's own.
pub static SHARES: AtomicBool = AtomicBool::new(false);
/// One execution took too long, or the work on its graph, while no thread of the program ran.
static LATE_BETWEEN: AtomicBool = AtomicBool::new(false);

/// The clock says that so much time has passed as one execution may take. Was it one?
fn is_late() -> bool {
    let runs = RUNS.load(Ordering::Relaxed);
    let seen = SEEN.swap(runs, Ordering::Relaxed);
    !global::explores() || !SHARES.load(Ordering::Relaxed) || runs == seen
}

/// Has an exploration to stop because it took too long between two runs?
pub fn take_late() -> bool {
    LATE_BETWEEN.swap(false, Ordering::Relaxed)
}

/// An exploration begins.
pub fn begin_exploring() {
    RUNS.store(0, Ordering::Relaxed);
    SEEN.store(0, Ordering::Relaxed);
}

/// The child that runs an execution; 0 if there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// From here on a child of this process runs an execution, or with 0 none does.
pub fn set_child(child: i32) {
    CHILD.store(child, Ordering::Relaxed);
}

/// The host's signal that an execution takes too long came while none runs in this process: it is for the child.
fn pass_on(signal: i32) {
    match CHILD.load(Ordering::Relaxed) {
        0 => {}
        child => sys::kill(child, signal),
    }
}

/// The clock of the host says that an execution takes too long, or our own asks again. Nothing is entered here: who
/// knows what was being done. `in_runtime` says whether it was the runtime that did something.
fn late(again: bool, in_runtime: bool) {
    if !global::running() {
        if !again {
            pass_on(LATE);
        }
        return;
    }
    if global::explores() && !fibers::is_visiting() {
        // No thread of the program runs.
        if !again && is_late() {
            LATE_BETWEEN.store(true, Ordering::Relaxed);
        }
        return;
    }
    let is_it = if again { is_overdue() } else { is_late() };
    if !is_it {
        return;
    }
    if !in_runtime {
        finish(Verdict::Timeout)
    }
    OVERDUE.store(true, Ordering::Relaxed);
    if AGAIN.load(Ordering::Relaxed) == -1 {
        AGAIN.store(sys::signal_every(LATE, INTERVAL, MARK).unwrap_or(-1), Ordering::Relaxed);
    }
}

/// What the kernel calls at such a signal.
pub extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over both.
    let (address, pc, sp) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        let register = |name: i32| context.uc_mcontext.gregs[name as usize] as usize;
        ((*info).si_addr() as usize, register(libc::REG_RIP), register(libc::REG_RSP))
    };
    if signal == LATE {
        // SAFETY: a timer's signal carries a value.
        let again = unsafe { (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr as usize == MARK };
        return late(again, global::inside() || modules::is_own(pc));
    }
    if !global::running() {
        give_up(&format!("signal {signal} at {pc:#x} (address {address:#x}) outside of an execution"));
    }
    if global::explores() && !fibers::is_visiting() {
        // No thread of the program runs.
        give_up(&format!("signal {signal} at {pc:#x} (address {address:#x}) in the exploration itself"));
    }
    match signal {
        libc::SIGABRT => finish(Verdict::Abort("SIGABRT".to_owned())),
        _ => {
            // In a hook that looked at memory for the program, the program's call is the place.
            let pc = if global::inside() { global::caller() } else { pc + 1 };
            if !global::inside() {
                // As if the instruction had called.
                global::set_caller(pc, sp.wrapping_sub(8));
            }
            fibers::me().pc = pc;
            finish(Verdict::Crash { signal, address, pc })
        }
    }
}
