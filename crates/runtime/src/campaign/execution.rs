//! One execution, from its beginning to what it has come to.

use crate::campaign::conclusion::{self, Explored};
use crate::campaign::hunt;
use crate::detect::{details, exact, shadow};
use crate::drive::{control, ending, findings};
use crate::hooks;
use crate::memory::snapshot;
use crate::platform::context;
use crate::platform::global::{self, Global, mode};
use crate::results;
use crate::threads::{clock, fibers};
use fencepost_mailbox::Request;
use fencepost_trace::{CampaignSpec, StrategySpec};
use std::ffi::{c_char, c_int};

/// The program's `main`.
pub type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// What every execution begins with.
#[derive(Clone, Copy)]
pub struct Beginning {
    pub main: Main,
    pub arguments: (c_int, *mut *mut c_char, *mut *mut c_char),
    /// Where the main thread's frames begin.
    pub top: usize,
    /// The main thread's storage.
    pub base: usize,
}

static BEGINNING: Global<Option<Beginning>> = Global::new(None);

/// From here on it is this.
pub fn set_beginning(beginning: Beginning) {
    *BEGINNING.enter() = Some(beginning);
}

/// What every execution begins with.
pub fn beginning() -> Beginning {
    BEGINNING.enter().expect("internal error: no program")
}

/// The main thread of an execution begins. Not a part of [`run_main`]: see `hooks::threads`.
#[inline(never)]
fn start() -> Beginning {
    let beginning = beginning();
    global::set_inside(false);
    hooks::early::begin();
    beginning
}

/// The main thread of an execution.
extern "C" fn run_main() -> ! {
    let Beginning { main, arguments: (count, arguments, environment), .. } = start();
    // SAFETY: the call that libc would have made.
    let status =
        unsafe { context::call(main as usize, count as usize, arguments as usize, environment as usize) } as c_int;
    hooks::process::returned(status)
}

/// The strategy of an execution; `None` if the campaign is a search.
fn strategy(execution: u64, request: &Request) -> Option<StrategySpec> {
    if let CampaignSpec::Hunt(_) = request.campaign {
        return Some(hunt::strategy(execution));
    }
    let Some(header) = results::header() else { ending::internal("no mailbox") };
    request.campaign.strategy(execution, &header.coverage)
}

/// Runs one. Was anything found?
pub fn once(execution: u64, request: &Request) -> bool {
    // A hunt looks at the trace of every execution.
    let hunting = request.hunt.is_some();
    control::record(hunting || request.keep_traces || request.digests.contains(&execution));
    control::begin(request, strategy(execution, request));
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
    conclusion::end(&verdict, request, Explored::default())
}

/// A new execution has its main thread, and no other.
pub fn begin_main() {
    let Beginning { top, base, .. } = beginning();
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
