//! One execution after the other, inside the program's process.
//!
//! `__libc_start_main` is given [`main`] instead of the program's own. With a mailbox in the environment it prepares
//! everything, moves to a stack of its own, and from there runs the program's `main` again and again, each time at
//! the same place of the process's stack.

use crate::detect::{details, exact, shadow};
use crate::drive::ending::{self, Verdict};
use crate::drive::{atomically, conclusion, control, debugger, enumerate, findings, hunt, restart, spec};
use crate::explore;
use crate::hooks;
use crate::memory::snapshot;
use crate::platform::global::{self, Global, mode};
use crate::platform::{context, modules, real, sys};
use crate::results;
use crate::threads::{clock, fibers};
use fencepost_mailbox::{Request, Restart, VARIABLE, state};
use fencepost_trace::{CampaignSpec, StrategySpec};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The program's `main`.
pub type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

#[derive(Clone, Copy)]
struct Campaign {
    main: Main,
    arguments: (c_int, *mut *mut c_char, *mut *mut c_char),
    /// Read once, and there as long as the process is.
    request: Option<&'static Request>,
    /// Where the main thread's frames begin.
    top: usize,
    /// The main thread's storage.
    base: usize,
}

static CAMPAIGN: Global<Option<Campaign>> = Global::new(None);

/// How many threads are made ahead of time.
const DONORS: usize = 8;
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

fn campaign() -> Campaign {
    CAMPAIGN.enter().expect("internal error: no campaign")
}

/// What the host asks for.
pub fn request() -> Option<&'static Request> {
    CAMPAIGN.enter().as_ref()?.request
}

/// Has `main` been reached? Threads of the kernel that come earlier ask.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Has `main` been reached?
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// The program's `main`, for when it is called instead of it.
pub fn set_main(main: Main) {
    *CAMPAIGN.enter() = Some(Campaign {
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
pub extern "C-unwind" fn main(count: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    let Some(path) = take_variable(environment, VARIABLE) else {
        // SAFETY: the call that libc would have made.
        return unsafe { (campaign().main)(count, arguments, environment) };
    };
    // Set by the host: addresses that are looked up when they are first used would be forgotten with each execution.
    take_variable(environment, "LD_BIND_NOW");
    leave_preload(environment);
    global::set_inside(true);
    std::panic::set_hook(Box::new(|info| ending::internal(&info.to_string())));
    let request = results::open(&path).unwrap_or_else(|why| ending::give_up(&why));
    let request: &'static Request = Box::leak(Box::new(request));
    BEGUN.store(true, Ordering::Relaxed);
    prepare(request);
    let campaign = Campaign {
        arguments: (count, arguments, environment),
        base: context::thread_base(),
        request: Some(request),
        top: context::stack_pointer() - 1024,
        ..campaign()
    };
    *CAMPAIGN.enter() = Some(campaign);
    let Some(stack) = sys::reserve(0, STACK) else { ending::give_up("no memory for a stack") };
    begin_main();
    if request.restart != Restart::Fork {
        snapshot::take(arguments as usize, &[(stack, stack + STACK)]);
    }
    restart::prepare(request);
    let mut never = 0;
    // SAFETY: a stack of its own; `run` does not return, so that this frame stays as it is.
    unsafe { context::switch(&raw mut never, context::prepare(stack + STACK, run)) };
    unreachable!("the campaign does not return")
}

fn prepare(request: &Request) {
    context::initialise();
    real::prepare();
    if !shadow::initialise() {
        ending::give_up("cannot reserve address space for the race detector (is there a limit on virtual memory?)");
    }
    if !fibers::all().prepare() {
        ending::give_up("no memory for threads");
    }
    modules::refresh();
    control::initialise(request);
    for fence in &request.fences {
        control::add_fence(modules::label_at(&fence.place), fence.before, fence.order);
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
    hooks::volatile::initialise(request.volatile);
    spec::prepare(request);
    results::capture_output();
    hooks::prepare();
    ending::catch_signals();
    hooks::instructions::prepare(request);
    // Children are cheaper the less there is to copy: what they need, the first of them tells. One is there in any
    // case, because libc and libstdc++ do otherwise as long as there are no threads.
    fibers::all().stock(if request.restart == Restart::Fork { 1 } else { DONORS }, hooks::threads::live);
}

/// The main thread of an execution begins. Not a part of [`run_main`]: see `hooks::threads`.
#[inline(never)]
fn start() -> Campaign {
    let campaign = campaign();
    global::set_inside(false);
    hooks::early::begin();
    campaign
}

/// The main thread of an execution.
extern "C" fn run_main() -> ! {
    let Campaign { main, arguments: (count, arguments, environment), .. } = start();
    // SAFETY: the call that libc would have made.
    let status =
        unsafe { context::call(main as usize, count as usize, arguments as usize, environment as usize) } as c_int;
    ending::returned(status)
}

/// The campaign, on its own stack.
extern "C" fn run() -> ! {
    let request = request().expect("internal error: no request");
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
        atomically::collect(request, |execution| {
            if forking {
                in_child(execution, request)
            } else {
                in_place(execution, request)
            };
        });
        results::set_state(state::DONE);
        sys::exit(0)
    }
    if let CampaignSpec::Enumerate { .. } = request.campaign {
        enumerate::run(request, |execution| {
            in_place(execution, request);
        });
        results::set_state(state::DONE);
        sys::exit(0)
    }
    let sampling = matches!(request.campaign, CampaignSpec::Sample { .. });
    for execution in request.first..request.first + request.count {
        results::begin(execution);
        restart::begin(execution);
        let found = if forking { in_child(execution, request) } else { in_place(execution, request) };
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

/// The strategy of an execution; `None` if the campaign is a search.
fn strategy(execution: u64, request: &Request) -> Option<StrategySpec> {
    if let CampaignSpec::Hunt(_) = request.campaign {
        return Some(hunt::strategy(execution));
    }
    let Some(header) = results::header() else { ending::internal("no mailbox") };
    request.campaign.strategy(execution, &header.coverage)
}

fn once(execution: u64, request: &Request) -> (Verdict, bool) {
    // A hunt looks at the trace of every execution.
    let hunting = request.hunt.is_some();
    control::record(hunting || request.keep_traces || request.digests.contains(&execution));
    control::begin(&request.campaign, strategy(execution, request), request.max_steps);
    ending::be_on_time();
    findings::begin();
    clock::reset();
    shadow::reset();
    hooks::begin();
    begin_main();
    control::started();
    let exact = details::begin();
    exact::reset(false);
    global::set_running(match (request.model.is_hardware(), exact) {
        (true, _) => mode::HARDWARE,
        (false, true) => mode::EXACT,
        (false, false) => mode::LANGUAGE,
    });
    fibers::enter();
    let verdict = ending::take();
    global::set_running(mode::IDLE);
    let found = conclusion::end(&verdict, request);
    (verdict, found)
}

/// A new execution has its main thread, and no other.
fn begin_main() {
    let Campaign { top, base, .. } = campaign();
    fibers::all().begin(top, base, run_main);
}

/// Puts the program back to its beginning, for an exploration.
pub fn restart_exploring(first: bool) {
    global::set_running(mode::IDLE);
    if !first {
        hooks::end();
        snapshot::restore();
    }
    ending::be_on_time();
    findings::begin();
    control::begin_exploring();
    clock::reset();
    shadow::reset();
    hooks::begin();
    begin_main();
    details::begin();
    exact::reset(global::explores_language());
    // Without this the main thread's first accesses would bear the marks of whoever ran last in the execution before.
    control::started();
    global::set_running(mode::EXPLORED);
}

fn in_place(execution: u64, request: &Request) -> bool {
    let (_, found) = once(execution, request);
    hooks::end();
    snapshot::restore();
    restart::ended();
    found
}

fn in_child(execution: u64, request: &Request) -> bool {
    const FOUND: i32 = 1;
    let before = results::header().map_or(0, |h| h.done.load(Ordering::Relaxed));
    match sys::fork() {
        0 => {
            sys::die_with_parent();
            let (_, found) = once(execution, request);
            hooks::files::end_in_child();
            sys::exit(if found { FOUND } else { 0 })
        }
        child if child > 0 => {
            CHILD.store(child as i32, Ordering::Relaxed);
            let status = sys::wait_for(child as i32);
            CHILD.store(0, Ordering::Relaxed);
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
