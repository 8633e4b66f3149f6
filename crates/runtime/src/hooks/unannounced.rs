//! Functions that access memory and announce nothing, in explorations.
//!
//! What such a function does to memory is no event, so that the orders in which threads could do it are not explored.
//! It does no harm while there is one thread; beside others, no proof can be had. The host has found the functions
//! ([`fencepost_mailbox::HiddenFunction`]). When the program makes a thread, each of them gets an instruction at its
//! beginning that the processor refuses (`ud2`): the handler of that signal
//! ([`instructions`](crate::hooks::instructions)) puts the function's own code back, says that the exploration is not
//! complete if there are other threads now, and lets the function run.

use crate::drive::explored;
use crate::platform::global::{self, Global};
use crate::platform::{modules, patches};
use crate::threads::fibers;
use fencepost_mailbox::Request;
use std::sync::atomic::{AtomicBool, Ordering};

struct Function {
    pc: usize,
    code: [u8; 2],
    watched: bool,
}

/// In the order of their addresses.
static FUNCTIONS: Global<Vec<Function>> = Global::new(Vec::new());
/// Is there one that is not watched, but could be?
static IDLE: AtomicBool = AtomicBool::new(false);

/// Takes the functions from the request. Only explorations ask for them.
pub fn prepare(request: &Request) {
    let mut functions = FUNCTIONS.enter();
    functions.clear();
    for hidden in &request.hidden {
        let Some(start) = modules::start_of(&hidden.module) else { continue };
        for function in &hidden.functions {
            let pc = start.wrapping_add(function.offset as usize);
            functions.push(Function { pc, code: function.code, watched: false });
        }
    }
    functions.sort_unstable_by_key(|function| function.pc);
    IDLE.store(!functions.is_empty(), Ordering::Relaxed);
}

/// Are there any?
pub fn any() -> bool {
    !FUNCTIONS.enter().is_empty()
}

/// The program has made a thread.
#[inline]
pub fn watch() {
    if IDLE.load(Ordering::Relaxed) {
        watch_all();
    }
}

#[cold]
fn watch_all() {
    for function in FUNCTIONS.enter().iter_mut().filter(|function| !function.watched) {
        // A function that is led elsewhere begins with other code: it is known, and not watched.
        function.watched = patches::replace(function.pc, function.code, patches::REFUSED);
    }
    IDLE.store(false, Ordering::Relaxed);
}

/// The processor has refused what stands here. Was it one of these? Then it can run now.
pub fn entered(pc: usize) -> bool {
    let mut functions = FUNCTIONS.enter();
    let Ok(at) = functions.binary_search_by_key(&pc, |function| function.pc) else { return false };
    let function = &mut functions[at];
    if !patches::replace(pc, patches::REFUSED, function.code) {
        return false;
    }
    function.watched = false;
    drop(functions);
    IDLE.store(true, Ordering::Relaxed);
    if !fibers::all().is_alone() {
        let why = "code without instrumentation runs beside other threads: what it does to memory is not explored";
        // The place is a return address: it is behind where the function begins.
        global::quietly(|| explored::unsupported_at(why, pc + 1));
    }
    true
}
