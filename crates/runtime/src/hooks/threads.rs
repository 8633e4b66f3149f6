//! Threads: creating, joining, ending, and what belongs to each.

use super::{access, at_work, early, hook, mutex, text, unannounced};
use crate::detect::details;
use crate::detect::shadow::{self, WRITE};
use crate::drive::explored::shared::{self, Habit};
use crate::drive::{control, ending, explored};
use crate::platform::context;
use crate::platform::global::{self, Entered, Lock, active, mode};
use crate::platform::real::real;
use crate::results;
use crate::threads::fibers::{self, Fiber, Start};
use crate::threads::{clock, donors};
use fencepost_trace::{Access, Guard, Hidden, LoadOrder, Location, Op, StoreOrder, ThreadId, Value};
use libc::{
    EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, c_int, c_void, pthread_attr_t, pthread_key_t, pthread_t, timespec,
};

hook! { fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start,
    argument: *mut c_void) -> c_int {
    if !active() {
        if let Some(result) = early::hold(thread, attributes, start, argument) {
            return result;
        }
        return real!(pthread_create(thread, attributes, start, argument):
            fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int);
    }
    create(thread, attributes, start, argument);
    0
} }

/// Makes a thread that begins with `start`, and writes its name where the program wants it.
pub fn create(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void) {
    let name = at_work(|| {
        // libc writes the name before the thread begins, which may therefore look at it.
        access::seen_by_detectors(thread as usize, size_of::<pthread_t>(), WRITE, global::caller());
        make(attributes, start, argument)
    });
    if global::kind() == mode::EXPLORED {
        access::range_stored(thread as usize, size_of::<pthread_t>(), global::caller());
    }
    // SAFETY: the program's variable for the result.
    unsafe { *thread = name };
}

/// What each thread knows of all others takes memory that grows with the square of their number.
const MOST: u32 = 10_000;

fn make(attributes: *const pthread_attr_t, start: Start, argument: *mut c_void) -> pthread_t {
    let mut fiber = spawn(start, argument);
    fiber.detached = is_detached(attributes);
    let name = fiber.pthread;
    drop(fiber);
    if stack_size(attributes) > donors::STACK {
        let most = donors::STACK >> 20;
        results::note(format!("a thread asks for a larger stack than the {most} MiB that threads get here"));
    }
    name
}

/// A new thread, which will call `start`.
pub fn spawn(start: Start, argument: *mut c_void) -> Entered<'static, Fiber> {
    let number = ThreadId(control::perform(Op::Spawn).value.0 as u32);
    if number.0 > MOST {
        ending::give_up(&format!(
            "the program makes more than {MOST} threads in one execution: too many to follow who knows of whom"
        ));
    }
    // Before libc makes a thread, which allocates: this is still where the program called.
    details::created(number);
    unannounced::watch();
    match create_at_a_place(number, start, argument) {
        Some(fiber) => fiber,
        None => ending::give_up(
            "there are more threads at the same time than the system, or the room for their stacks, allows",
        ),
    }
}

fn create_at_a_place(thread: ThreadId, start: Start, argument: *mut c_void) -> Option<Entered<'static, Fiber>> {
    let (place, left) = fibers::all().place_for(thread, live)?;
    if let Some((from, to)) = left {
        if explored::is_on() {
            explored::unsupported("there are more threads in one execution than an exploration has stacks for");
        }
        control::reuse(from, to - from);
    }
    fibers::all().try_map(|all| all.create(thread, place, start, argument))
}

/// The running thread begins: with which function, and what that is given. Not a part of [`live`], whose frame is above
/// the program's: an exploration recognises a thread by its stack, and nothing may lie there that changes. All frames
/// of the program are below `sp`.
#[inline(never)]
fn begin(sp: usize) -> (Start, usize) {
    let mut fiber = fibers::me();
    fiber.first_frame = sp;
    let start = (fiber.start.expect("internal error: a thread without a beginning"), fiber.argument);
    drop(fiber);
    control::started();
    global::set_inside(false);
    start
}

/// The life of a thread but the first, on its own stack.
pub fn live() -> ! {
    let (start, argument) = begin(context::stack_pointer());
    // SAFETY: what the program asked for.
    let result = unsafe { context::call(start as usize, argument, 0, 0) };
    end(result)
}

/// Ends the running thread with this result.
pub fn end(result: usize) -> ! {
    run_destructors();
    global::set_inside(true);
    fibers::me().result = result;
    exit_thread();
    ending::internal("a thread that has ended is running again")
}

/// The running thread has ended. Somebody else goes on; it never returns.
fn exit_thread() {
    let pc = fibers::me().pc;
    // Nothing of its stack is needed any more but what its end itself uses.
    global::set_caller(pc, context::stack_pointer());
    ends();
    control::tell();
    shadow::leave_seat();
    fibers::all().retire();
    control::step(Op::Exit);
}

/// Is nobody to join the thread?
pub fn is_detached(attributes: *const pthread_attr_t) -> bool {
    if attributes.is_null() {
        return false;
    }
    let mut state: c_int = 0;
    real!(pthread_attr_getdetachstate(attributes, &mut state): fn(*const pthread_attr_t, *mut c_int) -> c_int);
    state == libc::PTHREAD_CREATE_DETACHED
}

/// The size of the stack that is asked for.
fn stack_size(attributes: *const pthread_attr_t) -> usize {
    let mut size = 0;
    if !attributes.is_null() {
        real!(pthread_attr_getstacksize(attributes, &mut size): fn(*const pthread_attr_t, *mut usize) -> c_int);
    }
    size
}

/// Joins a thread, until a time if there is one.
pub fn join(thread: pthread_t, result: &mut usize, deadline: Option<u64>) -> c_int {
    let target = fibers::all().find(thread);
    let Some(target) = target else { return ESRCH };
    if target == fibers::current() {
        return EDEADLK;
    }
    if fibers::get(target).detached || fibers::get(target).joined {
        return EINVAL;
    }
    if let Some(deadline) = deadline.filter(|_| explored::is_on())
        && !super::cancel::attempting(|| is_ending(target), |ends| *ends)
    {
        clock::put_forward(deadline);
        return ETIMEDOUT;
    }
    let late = super::cancel::waiting(|| {
        // Under exploration it is known by now that the thread ends.
        fibers::me().deadline = deadline.filter(|_| !explored::is_on());
        control::perform(Op::Join(target));
        take_timeout()
    });
    if late {
        return ETIMEDOUT;
    }
    let mut all = fibers::all();
    all.joined(target);
    *result = all.get(target).result;
    0
}

/// Joins a thread, and writes its result into the program's variable for it, if there is one.
fn join_into(thread: pthread_t, result: *mut usize, deadline: Option<u64>) -> c_int {
    let mut value = 0;
    let error = at_work(|| join(thread, &mut value, deadline));
    if error == 0 && !result.is_null() {
        super::text::write(result as usize, size_of::<usize>());
        // SAFETY: the program's variable for the result.
        unsafe { *result = value };
    }
    error
}

/// Where a thread says that it is about to end, under exploration, if somebody may ask.
fn ending_of(thread: ThreadId) -> Location {
    Location::hidden(Hidden::Ending, thread.0.into())
}

/// Under exploration: has the thread ended, as far as the running thread can tell? Both are possible wherever both are.
fn is_ending(thread: ThreadId) -> bool {
    shared::learn(Habit::TriesToJoin);
    let load = Access::Load { at: ending_of(thread), order: LoadOrder::Acquire, guard: Guard::Any };
    control::perform(Op::Access(load)).value != Value::ZERO
}

/// The running thread is about to end.
fn ends() {
    mutex::owner_ends();
    if explored::is_on() && shared::has(Habit::TriesToJoin) {
        let (at, order) = (ending_of(fibers::current()), StoreOrder::Release);
        control::perform(Op::Access(Access::Store { at, order, value: Value(1) }));
    }
}

/// Under exploration, a wait until `deadline` is an attempt: it succeeds, or its time is over. `None` if this is no
/// such wait, and is to be made as always.
pub fn attempt(deadline: Option<u64>, op: Op) -> Option<bool> {
    let deadline = deadline.filter(|_| explored::is_on())?;
    let success = control::perform(op).success;
    if !success {
        clock::put_forward(deadline);
    }
    Some(success)
}

/// Did the running thread's wait end because its time was over? No longer waits for a time in any case.
pub fn take_timeout() -> bool {
    let mut me = fibers::me();
    me.deadline = None;
    std::mem::take(&mut me.timed_out)
}

hook! { fn pthread_join(thread: pthread_t, result: *mut usize) -> c_int {
    if !active() {
        early::release();
        return real!(pthread_join(early::real_name(thread), result): fn(pthread_t, *mut usize) -> c_int);
    }
    join_into(thread, result, None)
} }

hook! { fn pthread_timedjoin_np(thread: pthread_t, result: *mut usize, time: *const timespec) -> c_int {
    if !active() {
        return real!(pthread_timedjoin_np(thread, result, time): fn(pthread_t, *mut usize, *const timespec) -> c_int);
    }
    text::read(time as usize, size_of::<timespec>());
    // SAFETY: the program's time.
    let deadline = clock::since_start(libc::CLOCK_REALTIME, unsafe { &*time });
    join_into(thread, result, Some(deadline))
} }

hook! { fn pthread_tryjoin_np(thread: pthread_t, result: *mut usize) -> c_int {
    if !active() {
        return real!(pthread_tryjoin_np(thread, result): fn(pthread_t, *mut usize) -> c_int);
    }
    // Others get a chance to end first; then it must be now.
    match join_into(thread, result, Some(clock::now())) {
        ETIMEDOUT => EBUSY,
        other => other,
    }
} }

hook! { fn pthread_detach(thread: pthread_t) -> c_int {
    if !active() {
        if early::detach(thread) {
            return 0;
        }
        return real!(pthread_detach(early::real_name(thread)): fn(pthread_t) -> c_int);
    }
    detach(thread)
} }

/// Nobody will join the thread.
pub fn detach(thread: pthread_t) -> c_int {
    let mut all = fibers::all();
    match all.find(thread) {
        None => ESRCH,
        Some(target) if all.get(target).detached => EINVAL,
        Some(target) => {
            all.detach(target);
            0
        }
    }
}

hook! { fn gettid() -> c_int {
    if !active() {
        return real!(gettid(): fn() -> c_int);
    }
    thread_number()
} }

/// A kernel's number for the running thread: its own for each, and the same in every execution.
pub fn thread_number() -> c_int {
    // SAFETY: asks for a number.
    let process = unsafe { crate::platform::sys::call(libc::SYS_getpid, [0; 6]) } as c_int;
    process + fibers::current().0 as c_int
}

// Thread-local objects of C++ and Rust.

hook! { fn __cxa_thread_atexit_impl(destructor: unsafe extern "C-unwind" fn(*mut c_void), object: *mut c_void,
    library: *mut c_void) -> c_int {
    if !active() {
        return real!(__cxa_thread_atexit_impl(destructor, object, library):
            fn(unsafe extern "C-unwind" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int);
    }
    at_work(|| fibers::me().destructors.push((destructor, object)));
    0
} }

/// Runs the destructors of the running thread's own objects: those of thread-local variables, then those of keys.
pub fn run_destructors() {
    loop {
        global::set_inside(true);
        let next = fibers::me().destructors.pop();
        global::set_inside(false);
        match next {
            // SAFETY: registered for this object, which is not destroyed yet.
            Some((destructor, object)) => unsafe { destructor(object) },
            None => break,
        }
    }
    // A destructor may set keys again; POSIX lets an implementation stop after four rounds.
    for _ in 0..4 {
        let mut any = false;
        let keys = KEYS.lock().len();
        for key in 0..keys {
            let destructor = KEYS.lock()[key];
            let Some(destructor) = destructor else { continue };
            // SAFETY: the key exists, or its entry would be gone.
            let value = unsafe { libc::pthread_getspecific(key as pthread_key_t) };
            if !value.is_null() {
                any = true;
                // SAFETY: as above; and what POSIX says is done with the value.
                unsafe {
                    libc::pthread_setspecific(key as pthread_key_t, std::ptr::null());
                    destructor(value);
                }
            }
        }
        if !any {
            break;
        }
    }
}

pub type KeyDestructor = unsafe extern "C-unwind" fn(*mut c_void);

/// The destructors of keys, by key.
static KEYS: Lock<Vec<Option<KeyDestructor>>> = Lock::new(Vec::new());

hook! { fn pthread_key_create(key: *mut pthread_key_t, destructor: Option<KeyDestructor>) -> c_int {
    create_key(key, destructor)
} }

/// Makes a key, and remembers what is to be done with its values.
pub fn create_key(key: *mut pthread_key_t, destructor: Option<KeyDestructor>) -> c_int {
    super::text::write(key as usize, size_of::<pthread_key_t>());
    let error = real!(pthread_key_create(key, destructor): fn(*mut pthread_key_t, Option<KeyDestructor>) -> c_int);
    if error == 0 {
        let inside = global::inside();
        global::set_inside(true);
        // SAFETY: libc has just written it.
        let key = unsafe { *key } as usize;
        let mut keys = KEYS.lock();
        if keys.len() <= key {
            keys.resize(key + 1, None);
        }
        keys[key] = destructor;
        drop(keys);
        global::set_inside(inside);
    }
    error
}

hook! { fn pthread_key_delete(key: pthread_key_t) -> c_int {
    delete_key(key)
} }

/// Forgets a key.
pub fn delete_key(key: pthread_key_t) -> c_int {
    if let Some(entry) = KEYS.lock().get_mut(key as usize) {
        *entry = None;
    }
    real!(pthread_key_delete(key): fn(pthread_key_t) -> c_int)
}
