//! One execution after the other, inside the program's process.
//!
//! `__libc_start_main` is given [`main`] instead of the program's own. With a mailbox in the environment it prepares
//! everything, moves to a stack of its own, and from there runs the program's `main` again and again, each time at
//! the same place of the process's stack.

mod conclusion;
mod enumerate;
mod execution;
pub mod explore;
mod hunt;
mod minimise;
mod serve;

use crate::detect::{details, instrumented, shadow};
use crate::drive::{atomically, control, debugger, ending, restart, spec, volatile};
use crate::hooks::{self, hook, rust_std};
use crate::memory::snapshot;
use crate::platform::global;
use crate::platform::real::{self, real};
use crate::platform::{context, imports, modules, sys};
use crate::results;
use crate::threads::fibers;
use execution::{Beginning, Main, beginning, set_beginning};
use fencepost_mailbox::{Request, Restart, VARIABLE, state};
use fencepost_trace::{CampaignSpec, StrategySpec};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// How many threads are made ahead of time.
const DONORS: usize = 8;
const STACK: usize = 1 << 20;

hook! { fn __libc_start_main(main: Main, count: c_int, arguments: *mut *mut c_char, init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void, stack_end: *mut c_void) -> c_int {
    // The rest is known when it is called.
    set_beginning(Beginning { main, arguments: (0, null_mut(), null_mut()), top: 0, base: 0 });
    real!(__libc_start_main(super::main, count, arguments, init, fini, rtld_fini, stack_end):
        fn(Main, c_int, *mut *mut c_char, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int)
} }

/// Takes a variable out of the environment, so that programs which this one starts do not see it.
fn take_variable(environment: *mut *mut c_char, name: &str) -> Option<Vec<u8>> {
    let mut at = environment;
    let mut found = None;
    // SAFETY: the environment is a list of strings that ends with null.
    unsafe {
        while !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes_with_nul();
            match entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
                Some(value) => {
                    found = Some(value.to_vec());
                    let mut next = at;
                    while !(*next).is_null() {
                        *next = *next.add(1);
                        next = next.add(1);
                    }
                }
                None => at = at.add(1),
            }
        }
    }
    found
}

/// Takes the runtime's own name off the list of libraries to load first: programs that this one starts are not under
/// control.
fn leave_preload(environment: *mut *mut c_char) {
    const NAME: &[u8] = b"LD_PRELOAD=";
    let mut at = environment;
    // SAFETY: the environment is a list of strings that ends with null; a string only gets shorter.
    unsafe {
        while !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes_with_nul();
            if let Some(list) = entry.strip_prefix(NAME)
                && let Some(end) = list.iter().position(|b| *b == b':')
            {
                let rest = (*at).add(NAME.len());
                return std::ptr::copy(rest.add(end + 1), rest, list.len() - end - 1);
            }
            at = at.add(1);
        }
    }
    take_variable(environment, "LD_PRELOAD");
}

/// Runs in place of the program's `main`.
extern "C-unwind" fn main(count: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    let Some(path) = take_variable(environment, VARIABLE) else {
        // SAFETY: the call that libc would have made.
        return unsafe { (beginning().main)(count, arguments, environment) };
    };
    // Set by the host: addresses that are looked up when they are first used would be forgotten with each execution.
    take_variable(environment, "LD_BIND_NOW");
    leave_preload(environment);
    global::set_inside(true);
    std::panic::set_hook(Box::new(|info| ending::internal(&info.to_string())));
    let served = serve::connection(&path);
    let path = served.map_or(path, |connection| {
        prepare_process();
        // Once for all copies, which have their memory; the kernel's threads are not needed.
        fibers::all().stock(DONORS, hooks::threads::live);
        serve::next_request(connection, arguments)
    });
    let request = results::open(&path).unwrap_or_else(|why| ending::give_up(&why));
    if served.is_none() {
        prepare_process();
    }
    prepare(request);
    set_beginning(Beginning {
        arguments: (count, arguments, environment),
        base: context::thread_base(),
        top: context::stack_pointer() - 1024,
        ..beginning()
    });
    let Some(stack) = sys::reserve(0, STACK) else { ending::give_up("no memory for a stack") };
    execution::begin_main();
    imports::begin(request.restart != Restart::Fork);
    if request.restart != Restart::Fork {
        snapshot::take(arguments as usize, &[(stack, stack + STACK)]);
    }
    restart::prepare(request);
    let mut never = 0;
    // SAFETY: a stack of its own; `run` does not return, so that this frame stays as it is.
    unsafe { context::switch(&raw mut never, context::prepare(stack + STACK, run)) };
    unreachable!("the campaign does not return")
}

/// What does not depend on the request.
fn prepare_process() {
    context::initialise();
    real::prepare();
    if !shadow::initialise() {
        ending::give_up("cannot reserve address space for the race detector (is there a limit on virtual memory?)");
    }
    if !fibers::all().prepare() {
        ending::give_up("no memory for threads");
    }
    modules::refresh();
    imports::look();
    if modules::has_rust() {
        instrumented::prepare(hooks::access::__tsan_func_entry as *const () as usize);
        rust_std::prepare();
    }
}

fn prepare(request: &Request) {
    control::initialise(request);
    for fence in &request.fences {
        control::add_fence(modules::label_at(&fence.place), fence.before, fence.order);
    }
    for weaker in &request.weaker {
        control::weaken(modules::label_at(&weaker.place), weaker.to);
    }
    for stronger in &request.stronger {
        control::strengthen(modules::label_at(&stronger.place), stronger.to);
    }
    if let (CampaignSpec::Hunt(trials), Some(asked)) = (&request.campaign, &request.hunt) {
        hunt::prepare(trials, asked);
    }
    // A child would forget what it has met.
    let remembers = request.restart != Restart::Fork;
    let explores = matches!(request.campaign, CampaignSpec::Explore { .. });
    if let Some(asked) = request.hunt.as_ref().filter(|asked| explores || remembers && !asked.cycles.is_empty()) {
        hunt::prepare_watch(asked, request.model);
    }
    details::initialise(request);
    volatile::initialise(request.volatile);
    spec::prepare(request);
    results::capture_output();
    hooks::prepare();
    ending::catch_signals();
    hooks::instructions::prepare(request);
    // Children are cheaper the less there is to copy: what they need, the first of them tells. One is there in any
    // case, because libc and libstdc++ do otherwise as long as there are no threads.
    fibers::all().stock(if request.restart == Restart::Fork { 1 } else { DONORS }, hooks::threads::live);
}

/// The campaign, on its own stack.
extern "C" fn run() -> ! {
    let request = results::request().expect("internal error: no request");
    results::set_state(state::RUNNING);
    debugger::stop_at(request.debug);
    if let CampaignSpec::Explore { .. } | CampaignSpec::Repeat(StrategySpec::Graph { .. }) = request.campaign {
        explore::run(request);
        results::set_state(state::DONE);
        sys::exit(0)
    }
    let forking = request.restart == Restart::Fork;
    if let Some(header) = results::header() {
        header.forking.store(forking.into(), Ordering::Relaxed);
    }
    if request.campaign == CampaignSpec::Atomic {
        atomically::collect(request, |number| {
            if forking {
                in_child(number, request)
            } else {
                in_place(number, request)
            };
        });
        results::set_state(state::DONE);
        sys::exit(0)
    }
    if let CampaignSpec::Enumerate { .. } = request.campaign {
        enumerate::run(request, |number| {
            in_place(number, request);
        });
        results::set_state(state::DONE);
        sys::exit(0)
    }
    if let CampaignSpec::Minimise(asked) = &request.campaign {
        minimise::run(request, asked);
        results::set_state(state::DONE);
        sys::exit(0)
    }
    let sampling = matches!(request.campaign, CampaignSpec::Sample { .. });
    for number in request.first..request.first + request.count {
        results::begin(number);
        restart::begin(number);
        let found = if forking { in_child(number, request) } else { in_place(number, request) };
        if found && request.stop_at_first {
            break;
        }
        if sampling && request.first == 0 && conclusion::all_cut_off() {
            results::set_state(state::HOPELESS);
            sys::exit(0)
        }
    }
    if !forking {
        restart::audit();
    }
    results::set_state(state::DONE);
    sys::exit(0)
}

fn in_place(number: u64, request: &Request) -> bool {
    let found = execution::once(number, request);
    hooks::end();
    snapshot::restore();
    restart::ended();
    found
}

fn in_child(number: u64, request: &Request) -> bool {
    const FOUND: i32 = 1;
    let before = results::header().map_or(0, |h| h.done.load(Ordering::Relaxed));
    match sys::fork() {
        0 => {
            sys::die_with_parent();
            let found = execution::once(number, request);
            hooks::files::end_in_child();
            sys::exit(if found { FOUND } else { 0 })
        }
        child if child > 0 => {
            ending::set_child(child as i32);
            let status = sys::wait_for(child as i32);
            ending::set_child(0);
            if results::header().is_some_and(|h| h.state.load(Ordering::Relaxed) == state::ALONE) {
                sys::exit(0)
            }
            // A child that needs more threads than there are has to make them: the next ones find them.
            let threads = results::header().map_or(0, |h| h.threads.load(Ordering::Relaxed));
            fibers::all().stock((threads as usize).saturating_sub(1), hooks::threads::live);
            if results::header().is_some_and(|h| h.done.load(Ordering::Relaxed) == before) {
                return conclusion::died(status, request);
            }
            status != 0
        }
        error => ending::give_up(&format!("cannot fork: error {}", -error)),
    }
}
