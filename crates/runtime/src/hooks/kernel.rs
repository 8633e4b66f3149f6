//! State that the kernel keeps for the program: mappings and signal handlers. What an execution changes is put back after it.

use super::{at_work, hook};
use crate::global::{Global, active};
use crate::real::real;
use crate::sys;
use libc::{c_int, c_void, off_t, sighandler_t, size_t};

struct State {
    /// What was mapped in this execution and is still there, as address and length.
    mapped: Vec<(usize, usize)>,
    /// Signals whose handlers were changed in this execution, with what they were.
    handlers: Vec<(c_int, libc::sigaction)>,
}

static STATE: Global<State> = Global::new(State { mapped: Vec::new(), handlers: Vec::new() });

/// After each execution.
pub fn end() {
    let state = STATE.get();
    state.mapped.drain(..).for_each(|(address, length)| sys::unmap(address, length));
    for (signal, action) in state.handlers.drain(..) {
        real_sigaction(signal, &action);
    }
}

/// libc's own `sigaction`.
pub fn real_sigaction(signal: c_int, action: &libc::sigaction) {
    real!(sigaction(signal, action, std::ptr::null_mut()):
        fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
}

/// Remembers what happens at a signal, before the program changes it for the first time in this execution.
fn remember(signal: c_int) {
    let state = STATE.get();
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

fn map(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let at = real!(mmap(address, length, protection, flags, file, offset):
        fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void);
    // What is mapped at a fixed place may replace what was there before: that cannot be undone.
    if active() && at != libc::MAP_FAILED && flags & libc::MAP_FIXED == 0 {
        at_work(|| STATE.get().mapped.push((at as usize, length)));
    }
    at
}

hook! { fn mmap(address: *mut c_void, length: size_t, protection: c_int, flags: c_int, file: c_int, offset: off_t) -> *mut c_void {
    map(address, length, protection, flags, file, offset)
} }

hook! { fn mmap64(address: *mut c_void, length: size_t, protection: c_int, flags: c_int, file: c_int, offset: off_t) -> *mut c_void {
    map(address, length, protection, flags, file, offset)
} }

hook! { fn munmap(address: *mut c_void, length: size_t) -> c_int {
    if active() {
        at_work(|| {
            crate::control::forget(address as usize, length);
            let (start, end) = (address as usize, address as usize + length);
            let mapped = &mut STATE.get().mapped;
            // What is left of a mapping of which a part is taken away.
            let pieces: Vec<_> = mapped
                .iter()
                .flat_map(|(at, length)| [(*at, (at + length).min(start)), ((*at).max(end), at + length)])
                .filter(|(from, to)| from < to)
                .map(|(from, to)| (from, to - from))
                .collect();
            *mapped = pieces;
        });
    }
    real!(munmap(address, length): fn(*mut c_void, size_t) -> c_int)
} }
