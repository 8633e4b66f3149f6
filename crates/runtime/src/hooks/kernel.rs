//! State that the kernel keeps for the program: mappings, signals and timers. What an execution changes is put back
//! after it.

use super::{at_work, hook, instructions, watch};
use crate::drive::ending;
use crate::drive::restart::irreversible;
use crate::memory::read_only;
use crate::platform::global::{Global, active};
use crate::platform::real::{self, real};
use crate::platform::sys;
use fencepost_runtime_core::ranges;
use libc::{c_int, c_void, off_t, sighandler_t, size_t};

struct State {
    /// What was mapped in this execution and is still there, as address and length.
    mapped: Vec<(usize, usize)>,
    /// Signals whose handlers were changed in this execution, with what they were.
    handlers: Vec<(c_int, libc::sigaction)>,
    /// The signals that are blocked before an execution.
    blocked: u64,
    /// The mask of signals, or the stack for handlers, may have been changed.
    masked: bool,
    timers: bool,
    /// The name of the process, and whether it may be another one now.
    name: [u8; 16],
    named: bool,
}

static STATE: Global<State> = Global::new(State {
    mapped: Vec::new(),
    handlers: Vec::new(),
    blocked: 0,
    masked: false,
    timers: false,
    name: [0; 16],
    named: false,
});

/// Once, before the first execution.
pub fn prepare() {
    let mut state = STATE.enter();
    state.blocked = sys::signal_mask(0);
    sys::signal_mask(state.blocked);
    state.name = sys::thread_name();
}

/// May a signal come in this execution that runs code of the program's?
pub fn expects_signals() -> bool {
    let state = STATE.enter();
    state.timers || !state.handlers.is_empty()
}

/// Does a timer run that will send a signal?
pub fn has_timers() -> bool {
    STATE.enter().timers
}

/// The process is about to get another name.
pub fn named() {
    STATE.enter().named = true;
}

/// The name that every thread begins with.
pub fn name() -> [u8; 16] {
    STATE.enter().name
}

/// After each execution.
pub fn end() {
    let mut guard = STATE.enter();
    let state = &mut *guard;
    state.mapped.drain(..).for_each(|(address, length)| sys::unmap(address, length));
    read_only::reset();
    if std::mem::take(&mut state.named) {
        sys::set_thread_name(&state.name);
    }
    if std::mem::take(&mut state.timers) {
        sys::stop_timers();
        state.masked = true;
    }
    // An execution may end in a handler, with its signal blocked.
    if std::mem::take(&mut state.masked) || !state.handlers.is_empty() {
        sys::signal_mask(u64::MAX);
        sys::forget_signals();
        sys::signal_mask(state.blocked);
        ending::provide_stack();
    }
    for (signal, action) in state.handlers.drain(..) {
        real::sigaction(signal, &action);
    }
}

/// Remembers what happens at a signal, before the program changes it for the first time in this execution.
fn remember(signal: c_int) {
    let mut state = STATE.enter();
    if state.handlers.iter().any(|(known, _)| *known == signal) {
        return;
    }
    // SAFETY: any bits are a sigaction; libc fills it in.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    let error = real!(sigaction(signal, std::ptr::null(), &mut old):
        fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    if error == 0 {
        state.handlers.push((signal, old));
    }
}

hook! { fn sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let action = if signal == libc::SIGILL && instructions::any() { std::ptr::null() } else { action };
    if active() && !action.is_null() {
        at_work(|| remember(signal));
    }
    real!(sigaction(signal, action, old): fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int)
} }

hook! { fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    if active() {
        at_work(|| remember(number));
    }
    real!(signal(number, handler): fn(c_int, sighandler_t) -> sighandler_t)
} }

hook! { fn __sysv_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    if active() {
        at_work(|| remember(number));
    }
    real!(__sysv_signal(number, handler): fn(c_int, sighandler_t) -> sighandler_t)
} }

/// Was all of this mapped in this execution?
fn is_mapped(address: usize, length: usize) -> bool {
    let within = |(at, size): &(usize, usize)| *at <= address && address + length <= at + size;
    STATE.enter().mapped.iter().any(within)
}

watch! { fn mprotect(address: usize, length: usize, protection: c_int) {
    read_only::protect(address, length, protection);
    if !is_mapped(address, length) {
        irreversible("mprotect()");
    }
} }

hook! { fn mremap(old: usize, old_length: usize, length: usize, flags: c_int, to: usize) -> usize {
    if active() {
        at_work(|| {
            crate::drive::control::forget(old, old_length);
            if !is_mapped(old, old_length) || flags & libc::MREMAP_FIXED != 0 {
                irreversible("mremap()");
            }
        });
    }
    let at = real!(mremap(old, old_length, length, flags, to): fn(usize, usize, usize, c_int, usize) -> usize);
    if active() && at != usize::MAX {
        at_work(|| {
            take_away(old, old_length);
            STATE.enter().mapped.push((at, length.next_multiple_of(4096)));
        });
    }
    at
} }

macro_rules! changes_signals {
    ($($name:ident)*) => { $(watch! { fn $name() { STATE.enter().masked = true } })* };
}

changes_signals! { sigprocmask pthread_sigmask sigaltstack sigblock sigsetmask sighold sigset siglongjmp }

/// A timer of the kernel's is set.
pub fn starts_timer(call: &str) {
    STATE.enter().timers = true;
    crate::drive::explored::unsupported_here(&format!("{call}: when its time comes is not explored"));
    crate::results::note(format!("{call} counts real time, which an execution under control has little of"));
}

macro_rules! starts_timers {
    ($($name:ident)*) => { $(watch! { fn $name() { starts_timer(concat!(stringify!($name), "()")) } })* };
}

starts_timers! { alarm ualarm setitimer timerfd_settime }

fn map(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    if active() && flags & libc::MAP_FIXED != 0 && !is_mapped(address as usize, length) {
        at_work(|| irreversible("mmap() at a fixed address"));
    }
    let at = real!(mmap(address, length, protection, flags, file, offset):
        fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void);
    if active() && at != libc::MAP_FAILED && flags & libc::MAP_FIXED == 0 {
        at_work(|| STATE.enter().mapped.push((at as usize, length.next_multiple_of(4096))));
    }
    if active() && at != libc::MAP_FAILED {
        at_work(|| read_only::protect(at as usize, length, protection));
    }
    at
}

hook! { fn mmap(address: *mut c_void, length: size_t, protection: c_int, flags: c_int, file: c_int,
    offset: off_t) -> *mut c_void {
    map(address, length, protection, flags, file, offset)
} }

hook! { fn mmap64(address: *mut c_void, length: size_t, protection: c_int, flags: c_int, file: c_int,
    offset: off_t) -> *mut c_void {
    map(address, length, protection, flags, file, offset)
} }

hook! { fn munmap(address: *mut c_void, length: size_t) -> c_int {
    if active() {
        at_work(|| {
            crate::drive::control::forget(address as usize, length);
            if !is_mapped(address as usize, length) {
                irreversible("munmap() of memory that was there before main()");
            }
            take_away(address as usize, length);
        });
    }
    real!(munmap(address, length): fn(*mut c_void, size_t) -> c_int)
} }

/// This memory is no longer mapped. What is left of a mapping of which a part is taken away stays.
fn take_away(address: usize, length: usize) {
    ranges::cut(&mut STATE.enter().mapped, address, length);
    read_only::take_away(address, length);
}
