//! The beginning and the end of the process, as the program sees them.

use super::{at_work, cxx, hook, panics, threads};
use crate::drive::ending::{self, Verdict};
use crate::drive::{control, restart, view};
use crate::platform::global::{self, Lock, active, mode};
use crate::platform::real::real;
use crate::platform::{imports, sys};
use crate::results;
use crate::threads::fibers;
use libc::{c_char, c_int, c_uint, c_void, pid_t};
use std::ffi::CStr;

type Handler = (unsafe extern "C-unwind" fn(*mut c_void), usize);

/// What is to be done at an end, in the order of registration.
struct Handlers {
    now: Vec<Handler>,
    /// Those that were registered before `main`.
    kept: Vec<Handler>,
}

impl Handlers {
    const NONE: Handlers = Handlers { now: Vec::new(), kept: Vec::new() };
}

struct State {
    /// At `exit`.
    exit: Handlers,
    /// At `quick_exit`.
    quick_exit: Handlers,
    /// libc's variable for the standard output.
    stdout: *const *const usize,
    /// This is a child process of the program's own.
    child: bool,
}

static STATE: Lock<State> =
    Lock::new(State { exit: Handlers::NONE, quick_exit: Handlers::NONE, stdout: std::ptr::null(), child: false });

/// Once, before the program's memory is copied.
pub fn prepare() {
    let mut state = STATE.lock();
    let state = &mut *state;
    for handlers in [&mut state.exit, &mut state.quick_exit] {
        handlers.kept.clone_from(&handlers.now);
    }
    // SAFETY: the name ends with 0.
    state.stdout = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"stdout".as_ptr()) }.cast();
}

/// Before each execution.
pub fn begin() {
    let mut guard = STATE.lock();
    let state = &mut *guard;
    for handlers in [&mut state.exit, &mut state.quick_exit] {
        handlers.now.clone_from(&handlers.kept);
    }
}

hook! { fn __cxa_atexit(handler: unsafe extern "C-unwind" fn(*mut c_void), argument: usize, library: usize) -> c_int {
    if active() {
        at_work(|| STATE.lock().exit.now.push((handler, argument)));
        return 0;
    }
    // Before `main` nobody knows yet who will run them.
    if !global::running() {
        STATE.lock().exit.now.push((handler, argument));
    }
    real!(__cxa_atexit(handler, argument, library): fn(unsafe extern "C-unwind" fn(*mut c_void), usize, usize) -> c_int)
} }

// `at_quick_exit` itself is in the part of libc that is linked statically.
hook! { fn __cxa_at_quick_exit(handler: unsafe extern "C-unwind" fn(*mut c_void), library: usize) -> c_int {
    if active() {
        at_work(|| STATE.lock().quick_exit.now.push((handler, library)));
        return 0;
    }
    if !global::running() {
        STATE.lock().quick_exit.now.push((handler, library));
    }
    real!(__cxa_at_quick_exit(handler, library): fn(unsafe extern "C-unwind" fn(*mut c_void), usize) -> c_int)
} }

// Programs take this one from ThreadSanitizer's library, because libc has it only in the part that is linked
// statically.
hook! { fn atexit(handler: unsafe extern "C-unwind" fn(*mut c_void)) -> c_int {
    __cxa_atexit::body(handler, 0, 0)
} }

/// What `exit` does: destructors of the running thread's objects, handlers in reverse order, buffered output.
pub fn run_exit_handlers() {
    threads::run_destructors();
    run(|state| &mut state.exit);
    global::set_inside(true);
    if !imports::is_self_contained() {
        real!(fflush(std::ptr::null_mut()): fn(*mut c_void) -> c_int);
    }
}

/// What `quick_exit` does: its own handlers in reverse order, and nothing else.
fn run_quick_exit_handlers() {
    run(|state| &mut state.quick_exit);
}

fn run(handlers: impl Fn(&mut State) -> &mut Handlers) {
    loop {
        global::set_inside(true);
        let next = handlers(&mut STATE.lock()).now.pop();
        global::set_inside(false);
        match next {
            // SAFETY: registered by the program.
            Some((handler, argument)) => unsafe { handler(argument as *mut c_void) },
            None => break,
        }
    }
}

/// In a child process, which libc ends: what was registered while the program was under control, libc does not know.
fn run_new_handlers() {
    let next = || {
        let mut state = STATE.lock();
        let Handlers { now, kept } = &mut state.exit;
        if now.len() > kept.len() { now.pop() } else { None }
    };
    while let Some((handler, argument)) = next() {
        // SAFETY: registered by the program.
        unsafe { handler(argument as *mut c_void) }
    }
}

/// What the program has printed to stdout that is still in its buffer.
pub fn unflushed() -> Vec<u8> {
    /// Positions in glibc's `FILE`: where the pending output begins and ends.
    const BEGIN: usize = 4;
    const END: usize = 5;
    let stdout = STATE.lock().stdout;
    if stdout.is_null() {
        return Vec::new();
    }
    // SAFETY: libc's own variable and structure; the words lie between the two pointers, if they make sense.
    unsafe {
        let file = *stdout;
        let (begin, end) = (*file.add(BEGIN), *file.add(END));
        if begin == 0 || end <= begin || end - begin > 1 << 16 {
            return Vec::new();
        }
        std::slice::from_raw_parts(begin as *const u8, end - begin).to_vec()
    }
}

/// The program returns from `main`.
pub fn returned(status: i32) -> ! {
    // Nothing of its stack is the program's any more: the runtime's own frames lie there now.
    global::set_caller(global::caller(), fibers::me().stack.1);
    let panicked = global::quietly(|| panics::ended_main(status));
    leave(panicked.map_or(Verdict::Exit(status), Verdict::Panic))
}

/// The program calls `exit`.
fn exit_with(status: i32) -> ! {
    leave(Verdict::Exit(status))
}

fn leave(verdict: Verdict) -> ! {
    leave_after(run_exit_handlers, verdict)
}

fn leave_after(run_handlers: impl FnOnce(), verdict: Verdict) -> ! {
    let (pc, sp) = (global::caller(), global::caller_sp());
    // What the thread has stored last, others may see while the handlers run.
    if global::active() {
        at_work(control::tell);
    }
    run_handlers();
    global::set_inside(true);
    // Handlers have called hooks; it is the call of `exit` that ended the program.
    global::set_caller(pc, sp);
    ending::end_process(verdict)
}

hook! { fn exit(status: c_int) {
    if !active() {
        if STATE.lock().child {
            run_new_handlers();
        }
        return real!(exit(status): fn(c_int));
    }
    exit_with(status)
} }

hook! { fn quick_exit(status: c_int) {
    if !active() {
        return real!(quick_exit(status): fn(c_int));
    }
    leave_after(run_quick_exit_handlers, Verdict::Exit(status))
} }

hook! { fn _exit(status: c_int) {
    if !active() {
        return real!(_exit(status): fn(c_int));
    }
    ending::end_process(Verdict::Exit(status))
} }

hook! { fn _Exit(status: c_int) {
    if !active() {
        return real!(_Exit(status): fn(c_int));
    }
    ending::end_process(Verdict::Exit(status))
} }

hook! { fn abort() {
    if !active() {
        return real!(abort(): fn());
    }
    cxx::abort()
} }

/// The running thread sends itself a signal.
pub fn raise_here(signal: c_int) -> c_int {
    fibers::me().pc = global::caller();
    if signal == libc::SIGABRT {
        global::set_inside(true);
        ending::fail(Verdict::Abort("SIGABRT was raised".to_owned()))
    }
    if signal == libc::SIGKILL {
        // No handler would hear of it, and whoever finds the process gone takes it for somebody else's doing.
        global::set_inside(true);
        ending::fail(Verdict::Crash { signal, address: 0, pc: global::caller() })
    }
    // libc would send it to the kernel thread that donates this one's storage.
    sys::raise(signal);
    0
}

hook! { fn raise(signal: c_int) -> c_int {
    if !active() {
        return real!(raise(signal): fn(c_int) -> c_int);
    }
    raise_here(signal)
} }

/// A string of the program's.
fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: a string that ends, by the contract of the function that it was given to.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

hook! { fn __assert_fail(assertion: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) {
    if !active() {
        return real!(__assert_fail(assertion, file, line, function):
            fn(*const c_char, *const c_char, c_uint, *const c_char));
    }
    fibers::me().pc = global::caller();
    global::set_inside(true);
    let (assertion, file, function) = (text(assertion), text(file), text(function));
    results::complain(&format!("{file}:{line}: {function}: Assertion `{assertion}' failed.\n"));
    ending::fail(Verdict::Assertion(format!("assertion '{assertion}' failed in {function}")))
} }

/// A child of the program's own.
fn make_child(call: &str) -> pid_t {
    let child = at_work(|| {
        restart::irreversible(call);
        // What waits in a store buffer is the running thread's, and the child has only that one.
        if global::kind() == mode::HARDWARE {
            view::drain();
        }
        real!(fork(): fn() -> pid_t)
    });
    if child == 0 {
        // The child has one thread and nothing to report: it runs by itself.
        global::set_running(mode::IDLE);
        results::leave();
        STATE.lock().child = true;
    }
    child
}

hook! { fn fork() -> pid_t {
    if !active() {
        return real!(fork(): fn() -> pid_t);
    }
    make_child("fork()")
} }

// A child that shares the memory of its parent, fibers and all, would be hard to follow: it gets a copy.
hook! { fn vfork() -> pid_t {
    if !active() {
        return real!(fork(): fn() -> pid_t);
    }
    make_child("vfork()")
} }
