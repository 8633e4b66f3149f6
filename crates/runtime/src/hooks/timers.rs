//! Timers of POSIX.
//!
//! Where a timer calls a function (`SIGEV_THREAD`), libc has threads for that which no hook sees, and they would run
//! beside the one kernel thread that is under control. So here a timer that is set has a thread of the program's, which
//! sleeps until the time has come and then calls the function; a second time after it has returned from the first.
//! Time is simulated, as for all who sleep. Other timers are the kernel's.

use super::{at_work, hook, kernel, text, time};
use crate::drive::explored;
use crate::drive::restart::irreversible;
use crate::hooks::threads;
use crate::platform::context;
use crate::platform::global::{self, Global, active};
use crate::platform::real::real;
use crate::threads::clock;
use libc::{c_int, c_void, clockid_t, itimerspec, sigevent, timer_t};

struct Timer {
    function: usize,
    argument: usize,
    clock: clockid_t,
    /// How often it was set or deleted: who sleeps for an earlier setting has nothing to do any more.
    setting: u32,
    /// When it calls next, if it does, and how long after that again.
    due: Option<u64>,
    interval: u64,
}

/// Those of this execution.
static TIMERS: Global<Vec<Timer>> = Global::new(Vec::new());

/// The names of these timers begin here: neither a pointer nor a number of the kernel's.
const FIRST: usize = 1 << 40;

/// Before each execution.
pub fn begin() {
    TIMERS.enter().clear();
}

/// Which of them has this name?
fn number(timer: timer_t) -> Option<usize> {
    let number = (timer as usize).checked_sub(FIRST)?;
    (active() && number < TIMERS.enter().len()).then_some(number)
}

hook! { fn timer_create(name: clockid_t, event: *mut sigevent, timer: *mut timer_t) -> c_int {
    // SAFETY: null, or the program's description.
    let given = unsafe { event.as_ref() };
    let Some(given) = given.filter(|given| active() && given.sigev_notify == libc::SIGEV_THREAD) else {
        if active() {
            at_work(|| {
                kernel::starts_timer("timer_create()");
                irreversible("timer_create()");
            });
        }
        return real!(timer_create(name, event, timer): fn(clockid_t, *mut sigevent, *mut timer_t) -> c_int);
    };
    text::read(event as usize, size_of::<sigevent>());
    text::write(timer as usize, size_of::<timer_t>());
    // SAFETY: behind the two numbers is the function, as libc lays it out.
    let function = unsafe { (&raw const given.sigev_notify).add(1).cast::<usize>().read() };
    let argument = given.sigev_value.sival_ptr as usize;
    let mut timers = TIMERS.enter();
    timers.push(Timer { function, argument, clock: name, setting: 0, due: None, interval: 0 });
    // SAFETY: the program's variable for the result.
    unsafe { *timer = (FIRST + timers.len() - 1) as timer_t };
    0
} }

/// What is left of a timer.
fn left(number: usize) -> itimerspec {
    let timers = TIMERS.enter();
    let Timer { due, interval, .. } = timers[number];
    let left = due.map_or(0, |due| due.saturating_sub(clock::now()).max(1));
    itimerspec { it_interval: time::as_timespec(interval), it_value: time::as_timespec(left) }
}

hook! { fn timer_settime(timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
    let Some(number) = number(timer) else {
        return real!(timer_settime(timer, flags, new, old):
            fn(timer_t, c_int, *const itimerspec, *mut itimerspec) -> c_int);
    };
    text::read(new as usize, size_of::<itimerspec>());
    // SAFETY: the program's times.
    let itimerspec { it_interval, it_value } = unsafe { *new };
    if !old.is_null() {
        text::write(old as usize, size_of::<itimerspec>());
        // SAFETY: the program's variable for the result.
        unsafe { *old = left(number) };
    }
    at_work(|| {
        explored::unsupported_here("timer_settime(): when the time comes is not explored");
        let mut timers = TIMERS.enter();
        let timer = &mut timers[number];
        let value = time::nanoseconds(&it_value);
        let due = match flags & libc::TIMER_ABSTIME {
            0 => clock::now().saturating_add(value),
            _ => clock::since_start(timer.clock, &it_value),
        };
        timer.setting += 1;
        timer.due = (value > 0).then_some(due);
        timer.interval = time::nanoseconds(&it_interval);
        let who = number | (timer.setting as usize) << u32::BITS;
        drop(timers);
        if value > 0 {
            threads::spawn(run, who as *mut c_void).detached = true;
        }
    });
    0
} }

hook! { fn timer_gettime(timer: timer_t, value: *mut itimerspec) -> c_int {
    let Some(number) = number(timer) else {
        return real!(timer_gettime(timer, value): fn(timer_t, *mut itimerspec) -> c_int);
    };
    text::write(value as usize, size_of::<itimerspec>());
    // SAFETY: the program's variable for the result.
    unsafe { *value = left(number) };
    0
} }

hook! { fn timer_getoverrun(timer: timer_t) -> c_int {
    match number(timer) {
        Some(_) => 0,
        None => real!(timer_getoverrun(timer): fn(timer_t) -> c_int),
    }
} }

hook! { fn timer_delete(timer: timer_t) -> c_int {
    let Some(number) = number(timer) else {
        return real!(timer_delete(timer): fn(timer_t) -> c_int);
    };
    let timer = &mut TIMERS.enter()[number];
    timer.setting += 1;
    timer.due = None;
    0
} }

/// When the timer calls, if it still has this setting.
fn due(number: usize, setting: u32) -> Option<u64> {
    let timer = &TIMERS.enter()[number];
    timer.due.filter(|_| timer.setting == setting)
}

/// It calls now, at its time.
fn goes_off(number: usize, time: u64) {
    let timer = &mut TIMERS.enter()[number];
    timer.due = (timer.interval > 0).then(|| time.saturating_add(timer.interval));
}

/// The thread of a timer.
extern "C-unwind" fn run(who: *mut c_void) -> *mut c_void {
    let (number, setting) = (who as usize & u32::MAX as usize, (who as usize >> u32::BITS) as u32);
    let Timer { function, argument, .. } = TIMERS.enter()[number];
    // SAFETY: the program has given it as a function of this type.
    let function: extern "C-unwind" fn(usize) = unsafe { std::mem::transmute(function) };
    while let Some(time) = due(number, setting) {
        global::set_caller(function as usize, context::stack_pointer());
        at_work(|| time::sleep_until(time));
        if due(number, setting).is_none() {
            break;
        }
        goes_off(number, time);
        function(argument);
    }
    std::ptr::null_mut()
}
