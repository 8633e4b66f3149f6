//! State of the runtime that any hook may reach.
//!
//! Everything runs on one kernel thread once an execution is under way, and before that the program has one thread.
//! So plain cells do; what must be careful is not two threads but one: a reference taken here must not live across a
//! switch to another fiber or a call into the program, which may come back in.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// A cell that any hook may reach. See the module's documentation.
pub struct Global<T>(UnsafeCell<T>);

// SAFETY: one kernel thread at a time uses the runtime's state; kernel threads that donate their stacks are parked.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    pub const fn new(value: T) -> Self {
        Global(UnsafeCell::new(value))
    }

    /// The contents. The reference must be dropped before anything that may enter the runtime again.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub fn get(&self) -> &mut T {
        // SAFETY: by the rule of the module: one kernel thread, and no reference lives across a switch or a call out.
        unsafe { &mut *self.0.get() }
    }
}

/// What a hook has to do.
pub mod mode {
    /// Nothing: the program is not under control, or the runtime itself is at work and reaches a function that it
    /// hides.
    pub const IDLE: u8 = 0;
    /// Atomics are operations, plain accesses are watched: c11.
    pub const LANGUAGE: u8 = 1;
    /// Every access is an operation: sc, tso, pso, pslo.
    pub const HARDWARE: u8 = 2;
    /// As [`LANGUAGE`], but code without instrumentation may just have used atomics, or a volatile access has to be
    /// finished: look first.
    pub const SUSPICIOUS: u8 = 3;
    /// As [`LANGUAGE`], but no access is skipped because its like was made before: see [`exact`](crate::detect::exact).
    pub const EXACT: u8 = 4;
    /// As [`LANGUAGE`], but some plain accesses are operations, too: exploration.
    pub const EXPLORED: u8 = 5;
}

/// What the next hook has to do.
pub static MODE: AtomicU8 = AtomicU8::new(mode::IDLE);
/// What hooks have to do in this execution; idle between executions.
static RUNNING: AtomicU8 = AtomicU8::new(mode::IDLE);
/// Its kind: the same, but for [`mode::EXACT`], which is of the kind [`mode::LANGUAGE`].
static KIND: AtomicU8 = AtomicU8::new(mode::IDLE);

/// One of [`mode`]: the first thing that a hook asks.
#[inline(always)]
pub fn mode() -> u8 {
    MODE.load(Ordering::Relaxed)
}

/// Is this a call by the program in an execution under control?
#[inline(always)]
pub fn active() -> bool {
    mode() != mode::IDLE
}

/// Is an execution under way?
#[inline(always)]
pub fn running() -> bool {
    RUNNING.load(Ordering::Relaxed) != mode::IDLE
}

/// The mode of this execution: idle, language or hardware.
pub fn kind() -> u8 {
    KIND.load(Ordering::Relaxed)
}

/// An execution begins or ends. The runtime is at work in both cases.
pub fn set_running(mode: u8) {
    RUNNING.store(mode, Ordering::Relaxed);
    KIND.store(if mode == mode::EXACT { mode::LANGUAGE } else { mode }, Ordering::Relaxed);
    set_inside(true);
}

/// The runtime starts or stops being at work.
#[inline(always)]
pub fn set_inside(on: bool) {
    MODE.store(if on { mode::IDLE } else { RUNNING.load(Ordering::Relaxed) }, Ordering::Relaxed);
}

/// Does something that may call functions which the runtime hides, and is as before afterwards.
pub fn quietly<T>(act: impl FnOnce() -> T) -> T {
    let before = MODE.swap(mode::IDLE, Ordering::Relaxed);
    let result = act();
    MODE.store(before, Ordering::Relaxed);
    result
}

/// The next hook of the running thread has to look at all atomics first.
pub fn suspect() {
    if kind() == mode::LANGUAGE {
        MODE.store(mode::SUSPICIOUS, Ordering::Relaxed);
    }
}

/// Does something in the program's name that is not the program's next step: what the next hook has to look at, it
/// will still look at.
pub fn unsuspecting(act: impl FnOnce()) {
    let suspicious = mode() == mode::SUSPICIOUS;
    if suspicious {
        set_inside(false);
    }
    act();
    if suspicious {
        suspect();
    }
}

/// Is the runtime at work, or no execution under way?
pub fn inside() -> bool {
    !active()
}

/// Where the program called the hook that was entered last: the return address.
pub static CALLER_PC: AtomicUsize = AtomicUsize::new(0);
/// The stack pointer at that call. Everything below is dead to the program.
pub static CALLER_SP: AtomicUsize = AtomicUsize::new(0);
/// What the call at hand has asked the exploration for so far, as a number; 0 when it begins.
pub static CALLER_ASKS: AtomicU32 = AtomicU32::new(0);

/// The registers that calls preserve (rbx, rbp, r12 to r15), at the call of the hook that was entered last: together
/// with the stack, all that the calling function remembers.
pub static CALLER_REGISTERS: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// Those registers.
pub fn caller_registers() -> [usize; 6] {
    std::array::from_fn(|i| CALLER_REGISTERS[i].load(Ordering::Relaxed))
}

pub fn set_caller_registers(registers: [usize; 6]) {
    registers.iter().zip(&CALLER_REGISTERS).for_each(|(value, register)| register.store(*value, Ordering::Relaxed));
}

/// Nobody knows what they are at this call: then they are as they never were before.
pub fn spoil_registers() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    CALLER_REGISTERS[0].store(CALLS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
}

#[inline(always)]
pub fn caller() -> usize {
    CALLER_PC.load(Ordering::Relaxed)
}

#[inline(always)]
pub fn caller_sp() -> usize {
    CALLER_SP.load(Ordering::Relaxed)
}

/// The program called from here.
#[inline(always)]
pub fn set_caller(pc: usize, sp: usize) {
    CALLER_PC.store(pc, Ordering::Relaxed);
    CALLER_SP.store(sp, Ordering::Relaxed);
}
