//! What Rust's standard library does with its locks.
//!
//! The library comes compiled, without instrumentation. What is generic or small is compiled into the program's crates
//! and seen like everything else: taking a free lock, giving one back, `unpark`, channels. What happens when a lock is
//! not free is not, nor is what `park`, scoped threads, `Once` and `Barrier` do. So these functions are led
//! ([`patches`](crate::platform::patches)) to the ones here, which do the same to the same words of memory through the
//! engine:
//!
//! - `Mutex::lock_contended` takes the lock once it reads 0: an acquiring exchange that waits. Nobody sleeps on the
//!   word, so that nobody has to be woken.
//! - `Condvar` is as in the library: a counter, and a futex.
//! - `RwLock` has the library's bits for those who wait, because its preference for writers can be seen: a thread
//!   that reads twice waits forever if a writer came between. Whoever would sleep on a word waits until that has
//!   changed.
//! - `Once` is a compare-exchange that waits while somebody runs the function, which the library itself then calls.
//! - `park` takes the thread's token once it is there. Where that is, the library's own function shows: it is called
//!   with a futex that captures the word.
//! - `ScopeData` has a count of threads that run; the last one to end gives the owner its token. Where these words
//!   are, the library's functions show on memory that means nothing.
//! - `Barrier` runs as it is, under a lock of its own.
//! - Channels are compiled into the program. Their waiting loops count rounds, so that where a thread stands in them is
//!   told by what they have read ([`LibraryRounds`](fencepost_runtime_core::library_rounds::LibraryRounds)), and their
//!   weak compare-exchanges do not fail for no reason: they try again, and nobody can tell.
//!
//! Only calls from instrumented code are led: the library's own statics (those of standard output, say) are its
//! business. If such a lock is contended, or a function is there and cannot be led, an exploration is not complete,
//! and says so. A library that is instrumented (`-Zbuild-std`) needs none of this.

use crate::detect::instrumented;
use crate::drive::ending::{self, Verdict};
use crate::drive::{control, explored, one_of_several};
use crate::hooks::{at_work, atomics, futex, hook, threads};
use crate::platform::global::{self, Global};
use crate::platform::symbols::{self, Kind};
use crate::platform::{channels, patches};
use crate::threads::{clock, fibers};
use fencepost_runtime_core::mangled::{is_called, is_of_channels};
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, Guard, LoadOrder, Location, Op, RmwOrder, Size, StoreOrder, Update, Value};

/// A function of the library, and what takes its place.
struct Led {
    /// The parts of its name, in order; there may be others between them.
    path: &'static [&'static str],
    to: unsafe extern "C-unwind" fn(),
    /// Where the function itself can be called afterwards, if that is needed.
    original: Option<&'static Global<usize>>,
}

macro_rules! led {
    ($($path:literal)* => $to:ident $(, $original:ident)?) => {
        Led { path: &[$($path),*], to: $to, original: led!(@ $($original)?) }
    };
    (@) => { None };
    (@ $original:ident) => { Some(&$original) };
}

macro_rules! originals { ($($name:ident)*) => { $( static $name: Global<usize> = Global::new(0); )* }; }
originals! { LOCK READ WRITE WAKE WAIT WAIT_TIMEOUT NOTIFY_ONE NOTIFY_ALL ONCE_CALL ONCE_WAIT }
originals! { PARK THREAD_PARK PARK_TIMEOUT THREAD_PARK_TIMEOUT BARRIER }

const ALL: [Led; 17] = [
    led!("std" "sys" "sync" "mutex" "futex" "Mutex" "lock_contended" => fencepost_std_mutex_lock, LOCK),
    led!("std" "sys" "sync" "rwlock" "futex" "RwLock" "read_contended" => fencepost_std_rwlock_read, READ),
    led!("std" "sys" "sync" "rwlock" "futex" "RwLock" "write_contended" => fencepost_std_rwlock_write, WRITE),
    led!("std" "sys" "sync" "rwlock" "futex" "RwLock" "wake_writer_or_readers" => fencepost_std_rwlock_wake, WAKE),
    led!("std" "sys" "sync" "condvar" "futex" "Condvar" "wait" => fencepost_std_condvar_wait, WAIT),
    led!("std" "sys" "sync" "condvar" "futex" "Condvar" "wait_timeout"
        => fencepost_std_condvar_wait_until, WAIT_TIMEOUT),
    led!("std" "condvar" "Condvar" "notify_one" => fencepost_std_condvar_notify_one, NOTIFY_ONE),
    led!("std" "condvar" "Condvar" "notify_all" => fencepost_std_condvar_notify_all, NOTIFY_ALL),
    led!("std" "sys" "sync" "once" "futex" "Once" "call" => fencepost_std_once_call, ONCE_CALL),
    led!("std" "sys" "sync" "once" "futex" "Once" "wait" => fencepost_std_once_wait, ONCE_WAIT),
    led!("std" "thread" "Thread" "park" => fencepost_std_thread_park, THREAD_PARK),
    led!("std" "thread" "park" => fencepost_std_park, PARK),
    led!("std" "thread" "Thread" "park_timeout" => fencepost_std_thread_park_timeout, THREAD_PARK_TIMEOUT),
    led!("std" "thread" "park_timeout" => fencepost_std_park_timeout, PARK_TIMEOUT),
    led!("std" "thread" "scoped" "ScopeData" "increment_num_running_threads" => fencepost_std_scope_more),
    led!("std" "thread" "scoped" "ScopeData" "decrement_num_running_threads" => fencepost_std_scope_less),
    led!("std" "sync" "barrier" "Barrier" "wait" => fencepost_std_barrier_wait, BARRIER),
];
const MORE: usize = 14;
const LESS: usize = 15;

/// Why not everything that the library does is seen, if it is not.
static UNSEEN: Global<Option<&'static str>> = Global::new(None);

/// Why an exploration of this program cannot be complete, if it cannot.
pub fn unseen() -> Option<&'static str> {
    *UNSEEN.enter()
}

/// Leads the functions of the library that is in the program.
pub fn prepare() {
    let mut found = [(0, 0); ALL.len()];
    let mut twice = false;
    let mut of_channels = Vec::new();
    let any = symbols::each(|symbol| {
        if symbol.kind == Kind::Function && is_of_channels(symbol.name) {
            of_channels.push((symbol.start, symbol.start + symbol.size));
        }
        if symbol.kind == Kind::Function
            && let Some(i) = ALL.iter().position(|led| is_called(symbol.name, led.path))
            && !instrumented::is_instrumented(symbol.start + 1)
        {
            twice |= found[i].0 != 0 && found[i].0 != symbol.start;
            found[i] = (symbol.start, symbol.size);
        }
    });
    channels::set(of_channels);
    if !any {
        *UNSEEN.enter() =
            Some("the program has no table of symbols: what Rust's standard library does by itself is not seen");
        return;
    }
    if found[MORE].0 != 0 && found[LESS].0 != 0 {
        // SAFETY: the library's functions, not yet led away, of which the symbols say what they are.
        let scope = unsafe { try_scope(found[MORE].0, found[LESS].0) };
        *SCOPE.enter() = scope;
        if scope.is_none() {
            *UNSEEN.enter() = Some("scoped threads of this version of Rust's standard library are not followed");
            (found[MORE], found[LESS]) = ((0, 0), (0, 0));
        }
    }
    let there = found.iter().zip(&ALL).filter(|((at, _), _)| *at != 0);
    let done = there.fold(true, |done, ((at, size), led)| lead(*at, *size, led) && done);
    patches::finish();
    if !done || twice {
        *UNSEEN.enter() = Some("not all functions of this version of Rust's standard library are followed");
    }
}

fn lead(at: usize, size: usize, led: &Led) -> bool {
    if let Some(original) = led.original {
        let Some(way) = patches::original(at, size) else { return false };
        *original.enter() = way;
    }
    patches::lead(at, size, led.to as usize)
}

/// Is this call one of the program's, in an execution under control?
fn follows() -> bool {
    global::active() && instrumented::is_instrumented(global::caller())
}

/// The running thread would wait, in an exploration, for something that the library does by itself.
pub fn waits_unseen(pc: usize) {
    if explored::is_on() && !instrumented::is_instrumented(pc) {
        explored::unsupported("a thread waits for a lock of the standard library's own, which is not followed");
        ending::finish(Verdict::Redundant);
    }
}

// Accesses of the words, as the program would make them.

fn word(address: usize) -> Location {
    Location::new(address as u64, Size::B4)
}

/// One of the steps of a function here, in which it has these local values: see [`futex::step`].
fn load(number: usize, at: Location, order: LoadOrder, guard: Guard) -> u32 {
    one_of_several(number, || atomics::perform(Access::Load { at, order, guard }, at, |_| None)).value.0 as u32
}

fn update(number: usize, at: Location, update: Update, order: RmwOrder, guard: Guard) -> Value {
    let new = |old: Value| update.apply(old, at.size);
    let access = Access::Rmw { at, order, update, guard };
    one_of_several(number, || atomics::perform(access, at, |reply| new(reply.value))).value
}

fn exchange(number: usize, at: Location, value: u32, order: RmwOrder, guard: Guard) -> u32 {
    update(number, at, Update::Exchange(Value(value.into())), order, guard).0 as u32
}

/// A compare-exchange that never fails for no reason: the library's loops try again, and nobody can tell.
fn compare_exchange(
    number: usize,
    at: Location,
    (from, to): (u32, u32),
    order: RmwOrder,
    guard: Guard,
) -> Result<u32, u32> {
    let failure = if order == RmwOrder::Relaxed { LoadOrder::Relaxed } else { LoadOrder::Acquire };
    let (expected, desired) = (Value(from.into()), Value(to.into()));
    let access = Access::CompareExchange { at, expected, desired, success: order, failure, weak: false, guard };
    let write = |reply: fencepost_trace::Reply| reply.success.then_some(desired);
    let reply = one_of_several(number, || atomics::perform(access, at, write));
    let old = reply.value.0 as u32;
    if reply.success { Ok(old) } else { Err(old) }
}

/// Calls a function of the library itself.
macro_rules! call {
    ($original:ident($($arg:expr),*): fn($($ty:ty),*) $(-> $ret:ty)?) => {{
        let address = *$original.enter();
        // SAFETY: the address of the function that was led here, whose type this is.
        let original: unsafe extern "C-unwind" fn($($ty),*) $(-> $ret)? = unsafe { std::mem::transmute(address) };
        // SAFETY: with what it was called with.
        unsafe { original($($arg),*) }
    }};
}

// Mutexes: 0 is free, 1 is taken, 2 is taken and somebody sleeps.

const FREE: Guard = Guard::Equals(Value::ZERO);

fn lock(number: usize, mutex: usize) {
    // Where code without instrumentation might sleep on it, whoever gives it back wakes.
    let taken = if explored::is_on() { 1 } else { 2 };
    exchange(number, word(mutex), taken, RmwOrder::Acquire, FREE);
}

hook! { fn fencepost_std_mutex_lock(mutex: usize) {
    if follows() {
        lock(0, mutex);
    } else {
        call!(LOCK(mutex): fn(usize))
    }
} }

// Condition variables: a counter of notifications.

fn wait(condvar: usize, mutex: usize, deadline: Option<u64>) -> bool {
    let seen = load(1, word(condvar), LoadOrder::Relaxed, Guard::Any);
    if exchange(2, word(mutex), 0, RmwOrder::Release, Guard::Any) == 2 {
        at_work(|| futex::wake(mutex, 1));
    }
    let result = one_of_several(3, || at_work(|| futex::wait(condvar, seen, deadline)));
    lock(4, mutex);
    result != Err(libc::ETIMEDOUT)
}

/// Waits inside a barrier, whose state the lock of the barrier keeps.
fn wait_in_barrier(barrier: u64, mutex: usize) {
    at_work(|| {
        control::set_memory(word(mutex), Value::ZERO);
        control::perform(Op::Sync(Sync::Wait { condvar: barrier, mutex: barrier }));
        control::set_memory(word(mutex), Value(1));
    });
}

hook! { fn fencepost_std_condvar_wait(condvar: usize, mutex: usize) {
    if global::active() && let Some(barrier) = fibers::me().barrier {
        wait_in_barrier(barrier, mutex);
    } else if follows() {
        wait(condvar, mutex, None);
    } else {
        call!(WAIT(condvar, mutex): fn(usize, usize))
    }
} }

fn after(seconds: u64, nanoseconds: u32) -> u64 {
    let length = seconds.saturating_mul(clock::SECOND).saturating_add(nanoseconds.into());
    clock::now().saturating_add(length)
}

hook! { fn fencepost_std_condvar_wait_until(condvar: usize, mutex: usize, seconds: u64, nanoseconds: u32) -> bool {
    if follows() {
        wait(condvar, mutex, Some(after(seconds, nanoseconds)))
    } else {
        call!(WAIT_TIMEOUT(condvar, mutex, seconds, nanoseconds): fn(usize, usize, u64, u32) -> bool)
    }
} }

fn notify(condvar: usize, most: usize) {
    update(1, word(condvar), Update::Add(Value(1)), RmwOrder::Relaxed, Guard::Any);
    one_of_several(2, || at_work(|| futex::wake(condvar, most)));
}

hook! { fn fencepost_std_condvar_notify_one(condvar: usize) {
    if follows() {
        notify(condvar, 1);
    } else {
        call!(NOTIFY_ONE(condvar): fn(usize))
    }
} }

hook! { fn fencepost_std_condvar_notify_all(condvar: usize) {
    if follows() {
        notify(condvar, usize::MAX);
    } else {
        call!(NOTIFY_ALL(condvar): fn(usize))
    }
} }

// Barriers.

hook! { fn fencepost_std_barrier_wait(barrier: usize) -> bool {
    if !follows() {
        return call!(BARRIER(barrier): fn(usize) -> bool);
    }
    let key = barrier as u64;
    at_work(|| control::perform(Op::Sync(Sync::Lock { mutex: key })));
    fibers::me().barrier = Some(key);
    let is_leader = call!(BARRIER(barrier): fn(usize) -> bool);
    fibers::me().barrier = None;
    at_work(|| control::perform(Op::Sync(Sync::Unlock { mutex: key })));
    is_leader
} }

/// The running thread waits on a futex, or wakes those who do. Is that inside a barrier?
pub fn in_barrier(waits: bool) -> bool {
    let Some(barrier) = fibers::me().barrier else { return false };
    control::perform(Op::Sync(match waits {
        true => Sync::Wait { condvar: barrier, mutex: barrier },
        false => Sync::NotifyAll { condvar: barrier },
    }));
    true
}

// Reader-writer locks: a word with the number of readers and two bits for those who wait, and a counter on which
// writers sleep.

const MASK: u32 = (1 << 30) - 1;
const WRITE_LOCKED: u32 = MASK;
const READERS_WAITING: u32 = 1 << 30;
const WRITERS_WAITING: u32 = 1 << 31;

/// Where writers sleep.
fn writers(lock: usize) -> usize {
    lock + 4
}

/// A step with this state at hand.
fn at(number: usize, state: u32) -> usize {
    number + 16 * state as usize
}

fn read(lock: usize) {
    let place = word(lock);
    let mut state = load(1, place, LoadOrder::Relaxed, Guard::Any);
    loop {
        let is_open = state & MASK < WRITE_LOCKED - 1 && state & (READERS_WAITING | WRITERS_WAITING) == 0;
        if is_open {
            match compare_exchange(at(2, state), place, (state, state + 1), RmwOrder::Acquire, Guard::Any) {
                Ok(_) => return,
                Err(now) => state = now,
            }
            continue;
        }
        let waiting = state | READERS_WAITING;
        if state != waiting
            && let Err(now) = compare_exchange(at(3, state), place, (state, waiting), RmwOrder::Relaxed, Guard::Any)
        {
            state = now;
            continue;
        }
        state = load(at(4, waiting), place, LoadOrder::Relaxed, Guard::Differs(Value(waiting.into())));
    }
}

fn write(lock: usize) {
    let place = word(lock);
    let mut others = 0;
    let mut state = load(1, place, LoadOrder::Relaxed, Guard::Any);
    loop {
        let here = |number| at(number, state ^ others >> 1);
        if state & MASK == 0 {
            let taken = state | WRITE_LOCKED | others;
            match compare_exchange(here(2), place, (state, taken), RmwOrder::Acquire, Guard::Any) {
                Ok(_) => return,
                Err(now) => state = now,
            }
            continue;
        }
        let waiting = state | WRITERS_WAITING;
        if state != waiting
            && let Err(now) = compare_exchange(here(3), place, (state, waiting), RmwOrder::Relaxed, Guard::Any)
        {
            state = now;
            continue;
        }
        others = WRITERS_WAITING;
        let seen = load(5, word(writers(lock)), LoadOrder::Acquire, Guard::Any);
        state = load(at(6, seen), place, LoadOrder::Relaxed, Guard::Any);
        if state & MASK == 0 || state & WRITERS_WAITING == 0 {
            continue;
        }
        load(at(7, seen), word(writers(lock)), LoadOrder::Relaxed, Guard::Differs(Value(seen.into())));
        state = load(8, place, LoadOrder::Relaxed, Guard::Any);
    }
}

/// Lets a writer go on. In the library this says whether one was asleep; here nobody is, so that readers may go on,
/// too.
fn wake_writer(lock: usize) {
    update(4, word(writers(lock)), Update::Add(Value(1)), RmwOrder::Release, Guard::Any);
}

/// After a lock was given back: one writer is woken, or else all readers.
fn wake(lock: usize, mut state: u32) {
    let change = |number, from, to| compare_exchange(number, word(lock), (from, to), RmwOrder::Relaxed, Guard::Any);
    if state == WRITERS_WAITING {
        match change(1, state, 0) {
            Ok(_) => {
                wake_writer(lock);
                return;
            }
            Err(now) => state = now,
        }
    }
    if state == READERS_WAITING | WRITERS_WAITING {
        if change(2, state, READERS_WAITING).is_err() {
            return;
        }
        wake_writer(lock);
        state = READERS_WAITING;
    }
    if state == READERS_WAITING {
        let _ = change(3, state, 0);
    }
}

hook! { fn fencepost_std_rwlock_read(lock: usize) {
    if follows() { read(lock) } else { call!(READ(lock): fn(usize)) }
} }

hook! { fn fencepost_std_rwlock_write(lock: usize) {
    if follows() { write(lock) } else { call!(WRITE(lock): fn(usize)) }
} }

hook! { fn fencepost_std_rwlock_wake(lock: usize, state: u32) {
    if follows() { wake(lock, state) } else { call!(WAKE(lock, state): fn(usize, u32)) }
} }

// What is done once. The library's numbers; a bit that says that somebody sleeps is not needed here.

const COMPLETE: u32 = 0;
const RUNNING: u32 = 1;
const POISONED: u32 = 2;
const INCOMPLETE: u32 = 3;
const NOT_RUNNING: Guard = Guard::Differs(Value(RUNNING as u128));

/// The function has run, or has panicked: the library has written which.
struct Ran(usize);

impl Drop for Ran {
    fn drop(&mut self) {
        let state = control::memory(word(self.0)).0 as u32;
        control::set_memory(word(self.0), Value(RUNNING.into()));
        exchange(1, word(self.0), state, RmwOrder::Release, Guard::Any);
    }
}

hook! { fn fencepost_std_once_call(once: usize, ignores_poison: bool, data: usize, table: usize, place: usize) {
    let run = || call!(ONCE_CALL(once, ignores_poison, data, table, place): fn(usize, bool, usize, usize, usize));
    if !follows() {
        return run();
    }
    let mut state = INCOMPLETE;
    // What has not begun is begun; what has failed before, too, if that is asked for.
    while let Err(now) = compare_exchange(at(2, state), word(once), (state, RUNNING), RmwOrder::Acquire, NOT_RUNNING) {
        if now == COMPLETE {
            return;
        }
        if now == POISONED && !ignores_poison {
            control::set_memory(word(once), Value(now.into()));
            // It panics.
            return run();
        }
        state = now;
    }
    control::set_memory(word(once), Value(state.into()));
    let ran = Ran(once);
    run();
    drop(ran);
} }

hook! { fn fencepost_std_once_wait(once: usize, ignores_poison: bool, place: usize) {
    let run = || call!(ONCE_WAIT(once, ignores_poison, place): fn(usize, bool, usize));
    if !follows() {
        return run();
    }
    let mut state = INCOMPLETE;
    while state != COMPLETE {
        state = load(at(1, state), word(once), LoadOrder::Acquire, Guard::Differs(Value(state.into())));
        if state == POISONED && !ignores_poison {
            control::set_memory(word(once), Value(state.into()));
            // It panics.
            return run();
        }
    }
} }

// A thread's token: 1 if it is there.

const TOKEN: Guard = Guard::Equals(Value(1));

/// The word on which the library's own function would sleep, while it is only called for that; 0 until it does.
static SHOWN: Global<Option<usize>> = Global::new(None);

/// A futex is waited on or woken. Is that only to show which one?
pub fn takes(word_at: usize, expected: usize) -> bool {
    const PARKED: u32 = u32::MAX;
    match &mut *SHOWN.enter() {
        Some(shown) if expected as u32 == PARKED => {
            *shown = word_at;
            // As if the thread had been given its token meanwhile.
            control::set_memory(word(word_at), Value(1));
            true
        }
        _ => false,
    }
}

/// Where the token of a thread is, given a way to have the library take it.
fn token(park: impl Fn()) -> Location {
    let shown = || {
        *SHOWN.enter() = Some(0);
        park();
        SHOWN.enter().take().filter(|at| *at != 0)
    };
    global::quietly(|| {
        // If it had its token, it has it no longer, and then shows it.
        let (at, had) = match shown() {
            Some(at) => (at, 0),
            None => (shown().unwrap_or_else(|| ending::internal("a thread of Rust's without a token")), 1),
        };
        control::set_memory(word(at), Value(had));
        word(at)
    })
}

fn park(at: Location) {
    exchange(1, at, 0, RmwOrder::Acquire, TOKEN);
}

fn park_until(at: Location, deadline: u64) {
    if explored::is_on() {
        if exchange(1, at, 0, RmwOrder::Acquire, Guard::Any) != 1 {
            clock::put_forward(deadline);
        }
        return;
    }
    fibers::me().deadline = Some(deadline);
    exchange(1, at, 0, RmwOrder::Acquire, TOKEN);
    if threads::take_timeout() {
        exchange(2, at, 0, RmwOrder::Acquire, Guard::Any);
    }
}

hook! { fn fencepost_std_park() {
    let run = || call!(PARK(): fn());
    if follows() { park(token(run)) } else { run() }
} }

hook! { fn fencepost_std_thread_park(thread: usize) {
    let run = || call!(THREAD_PARK(thread): fn(usize));
    if follows() { park(token(run)) } else { run() }
} }

hook! { fn fencepost_std_park_timeout(seconds: u64, nanoseconds: u32) {
    let run = || call!(PARK_TIMEOUT(seconds, nanoseconds): fn(u64, u32));
    if follows() { park_until(token(run), after(seconds, nanoseconds)) } else { run() }
} }

hook! { fn fencepost_std_thread_park_timeout(thread: usize, seconds: u64, nanoseconds: u32) {
    let run = || call!(THREAD_PARK_TIMEOUT(thread, seconds, nanoseconds): fn(usize, u64, u32));
    if follows() { park_until(token(run), after(seconds, nanoseconds)) } else { run() }
} }

// Scoped threads.

/// Where in the data of a scope its count is, whether a thread has panicked, and who owns it; and where that
/// thread's token is.
#[derive(Clone, Copy)]
struct Scope {
    count: usize,
    panicked: usize,
    owner: usize,
    token: usize,
}

static SCOPE: Global<Option<Scope>> = Global::new(None);

/// Has the library's functions work on memory of ours, and looks what they change.
///
/// # Safety
/// They must be the functions that add a thread to a scope, and take one away.
unsafe fn try_scope(more: usize, less: usize) -> Option<Scope> {
    const COUNT: u64 = 0x10;
    // SAFETY: as the caller says.
    let more = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64)>(more) };
    // SAFETY: as above.
    let less = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64, bool)>(less) };
    let mut data = [COUNT; 4];
    // SAFETY: large enough, and they only count, for nothing becomes 0.
    unsafe { more(data.as_mut_ptr()) };
    let count = data.iter().position(|word| *word == COUNT + 1)?;
    // SAFETY: as above.
    unsafe { less(data.as_mut_ptr(), true) };
    let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let panicked = bytes.iter().position(|byte| *byte == 1)?;
    let owner = (0..3).find(|word| *word != count && *word != panicked / 8)?;
    // The last one gives a token, to a thread of which all is 0.
    let mut thread = [0u32; 64];
    data[count] = 1;
    data[owner] = thread.as_mut_ptr() as u64;
    // SAFETY: the owner is memory that is larger than what the library knows of a thread.
    unsafe { less(data.as_mut_ptr(), false) };
    let token = thread.iter().position(|word| *word == 1)?;
    Some(Scope { count: count * 8, panicked, owner: owner * 8, token: token * 4 })
}

fn scope() -> Scope {
    SCOPE.enter().unwrap_or_else(|| ending::internal("a scope that is not followed"))
}

fn count(data: usize) -> Location {
    Location::new((data + scope().count) as u64, Size::B8)
}

hook! { fn fencepost_std_scope_more(data: usize) {
    update(1, count(data), Update::Add(Value(1)), RmwOrder::Relaxed, Guard::Any);
} }

hook! { fn fencepost_std_scope_less(data: usize, panicked: bool) {
    // Before the count: afterwards the scope may be gone.
    // SAFETY: the owner's handle, which is in the scope's data.
    let token = word(unsafe { *((data + scope().owner) as *const usize) } + scope().token);
    if panicked {
        let at = Location::new((data + scope().panicked) as u64, Size::B1);
        let access = Access::Store { at, order: StoreOrder::Relaxed, value: Value(1) };
        one_of_several(1, || atomics::perform(access, at, |_| Some(Value(1))));
    }
    if update(2, count(data), Update::Sub(Value(1)), RmwOrder::Release, Guard::Any) == Value(1) {
        exchange(3, token, 1, RmwOrder::Release, Guard::Any);
    }
} }
