//! Threads that are created before `main`: by constructors, and by objects that are initialised then.
//!
//! Executions begin with `main`, and a thread that is there before belongs to none of them. So it is held back: its
//! creator gets its name and goes on, as if the new thread had not been scheduled yet, and in every execution it is
//! created anew before `main` begins. Only if its creator waits for it before `main` does it run at once, as a kernel
//! thread of its own that nobody controls; that is said.

use super::at_work;
use super::threads::{is_detached, live, spawn};
use crate::drive::explored;
use crate::platform::context;
use crate::platform::global::{self, Lock};
use crate::platform::real::real;
use crate::results;
use crate::threads::fibers::{self, Start};
use fencepost_mailbox::VARIABLE;
use libc::{c_int, c_void, pthread_attr_t, pthread_t};

/// A thread that was asked for before `main`.
struct Held {
    name: pthread_t,
    start: Start,
    argument: usize,
    detached: bool,
    /// Where it was asked for.
    pc: usize,
    /// If it runs already: what libc calls it.
    released: Option<pthread_t>,
}

static HELD: Lock<Vec<Held>> = Lock::new(Vec::new());

/// Is this before `main`, in a process that will be under control?
fn is_early() -> bool {
    if results::has_begun() {
        return false;
    }
    let name: Vec<u8> = VARIABLE.bytes().chain([0]).collect();
    // SAFETY: the name ends with 0, and nobody changes the environment before `main` while this looks.
    !unsafe { libc::getenv(name.as_ptr().cast()) }.is_null()
}

/// Holds a thread back, if it is asked for before `main`.
pub fn hold(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> Option<c_int> {
    if !is_early() {
        return None;
    }
    let mut held = HELD.lock();
    if held.iter().any(|held| held.released.is_some()) {
        return None;
    }
    context::initialise();
    // The first threads of an execution are these, in this order: so it is known whose storage they will have.
    let name = fibers::all().name_of_donor(held.len(), live)?;
    let (detached, pc) = (is_detached(attributes), global::caller());
    held.push(Held { name, start, argument: argument as usize, detached, pc, released: None });
    // SAFETY: the program's variable for the result.
    unsafe { *thread = name };
    Some(0)
}

/// A thread is about to wait before `main`, perhaps for one that is held back: they must run.
#[inline]
pub fn release() {
    if !HELD.lock().is_empty() && is_early() {
        release_all();
    }
}

#[cold]
fn release_all() {
    for held in HELD.lock().iter_mut().filter(|held| held.released.is_none()) {
        let mut thread: pthread_t = 0;
        let error = real!(pthread_create(&mut thread, std::ptr::null(), held.start, held.argument as *mut c_void):
            fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int);
        held.released = (error == 0).then_some(thread);
        if held.detached && error == 0 {
            real!(pthread_detach(thread): fn(pthread_t) -> c_int);
        }
    }
}

/// What libc calls a thread that runs although it was held back first.
pub fn real_name(thread: pthread_t) -> pthread_t {
    let list = HELD.lock();
    let held = list.iter().find(|held| held.name == thread);
    held.and_then(|held| held.released).unwrap_or(thread)
}

/// A thread that is held back will not be joined. Was it one?
pub fn detach(thread: pthread_t) -> bool {
    let mut list = HELD.lock();
    let held = list.iter_mut().find(|held| held.name == thread && held.released.is_none());
    held.map(|held| held.detached = true).is_some()
}

/// Once, before the first execution.
pub fn prepare() {
    if HELD.lock().iter().any(|held| held.released.is_some()) {
        results::note("a thread that was started before main() was waited for before main(): it is not under control");
    }
}

/// The main thread of an execution begins: those that were asked for before `main` are created.
pub fn begin() {
    if HELD.lock().is_empty() {
        return;
    }
    at_work(|| {
        let count = HELD.lock().len();
        for i in 0..count {
            let Held { start, argument, detached, pc, released, .. } = HELD.lock()[i];
            if released.is_some() {
                global::set_caller(pc, context::stack_pointer());
                explored::unsupported_here("a thread that was started before main() is not under control");
                continue;
            }
            global::set_caller(pc, context::stack_pointer());
            spawn(start, argument as *mut c_void).detached = detached;
        }
    });
}
