//! One execution after the other, inside the program's process.
//!
//! `__libc_start_main` is given [`main`] instead of the program's own. With a mailbox in the environment it prepares everything, moves
//! to a stack of its own, and from there runs the program's `main` again and again, each time at the same place of the process's stack.

use crate::ending::{self, Verdict};
use crate::global::{self, Global, mode};
use crate::{clock, context, control, explore, fibers, hooks, hunt, modules, results, shadow, snapshot, sys};
use control::Strategy;
use fencepost_engine::{Follow, Random};
use fencepost_mailbox::{Answers, Request, Restart, VARIABLE, execution_seed, state};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

/// The program's `main`.
pub type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

struct Campaign {
    main: Main,
    arguments: (c_int, *mut *mut c_char, *mut *mut c_char),
    request: Option<Request>,
    /// Where the main thread's frames begin.
    top: usize,
    /// The main thread's storage.
    base: usize,
}

static CAMPAIGN: Global<Option<Campaign>> = Global::new(None);

/// How many threads are made ahead of time.
const LENDERS: usize = 8;
const STACK: usize = 1 << 20;

/// The child that runs an execution; 0 if there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// The host's signal that an execution takes too long came while none runs in this process: it is for the child.
pub fn pass_on(signal: i32) {
    match CHILD.load(Ordering::Relaxed) {
        0 => {}
        child => sys::kill(child, signal),
    }
}

fn campaign() -> &'static mut Campaign {
    CAMPAIGN.get().as_mut().expect("internal error: no campaign")
}

/// The program's `main`, for when it is called instead of it.
pub fn set_main(main: Main) {
    *CAMPAIGN.get() = Some(Campaign {
        main,
        arguments: (0, std::ptr::null_mut(), std::ptr::null_mut()),
        request: None,
        top: 0,
        base: 0,
    });
}

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

/// Runs in place of the program's `main`.
pub extern "C-unwind" fn main(count: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    let Some(path) = take_variable(environment, VARIABLE) else {
        // SAFETY: the call that libc would have made.
        return unsafe { (campaign().main)(count, arguments, environment) };
    };
    // Set by the host: addresses that are looked up when they are first used would be forgotten with each execution.
    take_variable(environment, "LD_BIND_NOW");
    global::set_inside(true);
    std::panic::set_hook(Box::new(|info| ending::internal(&info.to_string())));
    let request = results::open(&path).unwrap_or_else(|why| ending::give_up(&why));
    let campaign = campaign();
    campaign.arguments = (count, arguments, environment);
    prepare(&request);
    campaign.request = Some(request);
    campaign.base = context::thread_base();
    campaign.top = context::stack_pointer() - 1024;
    let Some(stack) = sys::reserve(0, STACK) else { ending::give_up("no memory for a stack") };
    fibers::all().begin(campaign.top, campaign.base, run_main);
    snapshot::take(arguments as usize, &[(stack, stack + STACK)]);
    let mut never = 0;
    // SAFETY: a stack of its own; `run` does not return, so that this frame stays as it is.
    unsafe { context::switch(&raw mut never, context::prepare(stack + STACK, run)) };
    unreachable!("the campaign does not return")
}

fn prepare(request: &Request) {
    context::initialise();
    if !shadow::initialise() {
        ending::give_up("cannot reserve address space for the race detector (is there a limit on virtual memory?)");
    }
    modules::refresh();
    control::initialise(request.model, request.buffer);
    for fence in &request.fences {
        control::add_fence(modules::label_at(&fence.place), fence.before, fence.order);
    }
    if let Answers::Hunt(answers) = &request.answers {
        hunt::prepare(answers, request.model);
    }
    hooks::prepare();
    ending::catch_signals();
    results::capture_output();
    fibers::all().stock(LENDERS);
}

/// The main thread of an execution.
extern "C" fn run_main() -> ! {
    let Campaign { main, arguments: (count, arguments, environment), .. } = *campaign();
    global::set_inside(false);
    // SAFETY: the call that libc would have made.
    let status =
        unsafe { context::call(main as usize, count as usize, arguments as usize, environment as usize) } as c_int;
    ending::exit(status)
}

/// The campaign, on its own stack.
extern "C" fn run() -> ! {
    let request = campaign().request.clone().expect("internal error: no request");
    results::set_state(state::RUNNING);
    if let Answers::Explore | Answers::Graph { .. } = request.answers {
        explore::run(&request);
        results::set_state(state::DONE);
        sys::exit(0)
    }
    let forking = request.restart == Restart::Fork;
    if let Some(header) = results::header() {
        header.forking.store(forking.into(), Ordering::Relaxed);
    }
    for execution in request.first..request.first + request.count {
        results::begin(execution);
        let found = if forking { in_child(execution, &request) } else { in_place(execution, &request) };
        if found && request.stop_at_first {
            break;
        }
    }
    results::set_state(state::DONE);
    sys::exit(0)
}

fn strategy(execution: u64, request: &Request) -> Strategy {
    match &request.answers {
        Answers::Random { seed } => Strategy::Random(Random::new(execution_seed(*seed, execution))),
        Answers::Explore | Answers::Graph { .. } => ending::internal("an exploration asks for no answers"),
        Answers::Hunt(_) => hunt::strategy(execution),
        // The campaign's request is never changed or dropped.
        Answers::Follow { .. } => match campaign().request.as_ref().map(|r| &r.answers) {
            Some(Answers::Follow { choices }) => Strategy::Follow(Follow::new(choices)),
            _ => ending::internal("the request has changed"),
        },
    }
}

fn once(execution: u64, request: &Request) -> (Verdict, bool) {
    control::begin(strategy(execution, request), request.max_steps);
    clock::reset();
    shadow::reset();
    hooks::begin();
    fibers::all().begin(campaign().top, campaign().base, run_main);
    control::started();
    global::set_running(if request.model.is_hardware() { mode::HARDWARE } else { mode::LANGUAGE });
    fibers::enter();
    let verdict = ending::take();
    global::set_running(mode::IDLE);
    let found = results::end(&verdict, request);
    (verdict, found)
}

/// Puts the program back to its beginning, for an exploration.
pub fn restart_exploring(first: bool) {
    global::set_running(mode::IDLE);
    if !first {
        hooks::end();
        snapshot::restore();
    }
    control::begin_exploring();
    clock::reset();
    shadow::reset();
    hooks::begin();
    fibers::all().begin(campaign().top, campaign().base, run_main);
    global::set_running(mode::LANGUAGE);
}

fn in_place(execution: u64, request: &Request) -> bool {
    let (_, found) = once(execution, request);
    hooks::end();
    snapshot::restore();
    found
}

fn in_child(execution: u64, request: &Request) -> bool {
    const FOUND: i32 = 1;
    let before = results::header().map_or(0, |h| h.done.load(Ordering::Relaxed));
    match sys::fork() {
        0 => {
            sys::die_with_parent();
            let (_, found) = once(execution, request);
            sys::exit(if found { FOUND } else { 0 })
        }
        child if child > 0 => {
            CHILD.store(child as i32, Ordering::Relaxed);
            let status = sys::wait_for(child as i32);
            CHILD.store(0, Ordering::Relaxed);
            if results::header().is_some_and(|h| h.done.load(Ordering::Relaxed) == before) {
                results::died(status);
                return true;
            }
            status != 0
        }
        error => ending::give_up(&format!("cannot fork: error {}", -error)),
    }
}
