//! The threads of the program.
//!
//! Thread 0 is `main`, on the process's own stack; the others borrow theirs from [`donors`](crate::threads::donors).
//! One of them runs; the others stand in a call to [`switch_to`], or have not begun.

use crate::platform::global::{Entered, Global};
use crate::platform::layout::MOST_THREADS;
use crate::platform::{context, global, sys};
use crate::threads::calls::Calls;
use crate::threads::clock::Clock;
use crate::threads::donors::{self, Donor, Life};
use fencepost_runtime_core::library_rounds::LibraryRounds;
use fencepost_trace::{Location, Reply, ThreadId};
use libc::{c_void, pthread_t};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What `pthread_create` is given.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
/// A destructor of a thread-local object, with the object.
pub type Destructor = (unsafe extern "C-unwind" fn(*mut c_void), *mut c_void);

/// What the unwinder is given when a thread ends before its function returns.
#[repr(C, align(16))]
#[derive(Default, Clone, Copy)]
pub struct Unwinding {
    pub class: u64,
    pub cleanup: Option<extern "C-unwind" fn()>,
    pub private: [usize; 2],
}

/// A call of a library that is under way: where it returns to, and where on the stack that is written down.
#[derive(Clone, Copy, Default)]
pub struct LibraryCall {
    pub pc: usize,
    pub sp: usize,
}

/// A thread of the program.
#[derive(Default)]
pub struct Fiber {
    /// Where it stands, while it does not run.
    context: usize,
    /// Its thread-local storage.
    base: usize,
    pub pthread: pthread_t,
    /// Which stack, thread-local storage and heap it has: that of a thread which has ended may be used again.
    pub place: usize,
    /// Its stack.
    pub stack: (usize, usize),
    /// Where on it the thread's own frames begin, once it has begun: above are those of the kernel thread that donates
    /// it.
    pub first_frame: usize,
    /// What its last operation is answered with.
    pub reply: Reply,
    pub calls: Calls,
    pub start: Option<Start>,
    pub argument: usize,
    /// What it returned.
    pub result: usize,
    /// Destructors of thread-local objects, in the order of construction.
    pub destructors: Vec<Destructor>,
    pub detached: bool,
    pub joined: bool,
    /// It has run to its end.
    pub ended: bool,
    /// Where in memory it has asked to access next.
    pub wants: Option<Location>,
    /// Are its next accesses those of one step? Fences that were asked for are before and behind it all.
    pub within: bool,
    /// The program point of the operation that it asked for last.
    pub pc: usize,
    /// The stack pointer of the program at that operation.
    pub sp: usize,
    /// Under exploration: what it has asked for and nobody has taken up yet.
    pub asked: Option<fencepost_trace::Op>,
    /// The barrier of Rust's standard library that it is in.
    pub barrier: Option<u64>,
    /// The registers that calls preserve, at that operation.
    pub registers: [usize; 6],
    /// How often it has changed memory outside of its stack by plain writes.
    pub writes: u64,
    /// How many barriers it has initialised.
    pub barriers: u32,
    /// Where loops are looked for: what the call at hand has asked for so far, as a number.
    pub asks: u32,
    /// Under exploration: the memory that it is about to read, if that is an event.
    pub about: Option<Location>,
    /// Under exploration: where a weak compare-exchange of its last failed for no reason, in what state, and how
    /// often in a row.
    pub failed: Option<(usize, u64, u32)>,
    /// Under exploration: what the call of a library at hand has read, whose loops count their rounds; and in it, what
    /// stands for registers and stack.
    pub rounds: LibraryRounds,
    pub round: Option<u64>,
    /// Under exploration: its local state when it last gave way, if it has done nothing since; and its own time.
    pub yielded: u64,
    pub clock: Clock,
    /// When its wait ends at the latest, in simulated nanoseconds.
    pub deadline: Option<u64>,
    /// Its wait ended because of that.
    pub timed_out: bool,
    /// It waits because it looks at the clock again and again.
    pub looking: bool,
    /// Its name, if it was given one.
    pub name: Option<[u8; 16]>,
    /// The locks that it holds, and where it took them, in that order.
    pub held: Vec<(usize, usize)>,
    /// The reader-writer locks that it holds for writing.
    pub writing: Vec<usize>,
    /// The robust mutexes among them.
    pub robust: Vec<usize>,
    /// Signals that others have sent to it and that it has not seen yet, as a set.
    pub signals: u64,
    /// The signals any of which ends its wait, if it waits for a handler to run.
    pub suspended: u64,
    /// It was cancelled; and may not be, or may be at any time, or stands where it may be.
    pub cancelled: bool,
    pub uncancellable: bool,
    pub asynchronous: bool,
    pub interruptible: bool,
    /// Under exploration: it has waited where it may be cancelled.
    pub waited: bool,
    /// Under exploration: it was cancelled although it had got what it was waiting for.
    pub cancelled_too_late: bool,
    /// Waits until a file is ready or a signal has come.
    pub awaits_event: bool,
    /// The call of the C++ library that it made last.
    pub library: LibraryCall,
    /// The type of the exception that it threw last, and from where.
    pub thrown: (usize, usize),
    /// It ends with this result, once its stack is unwound.
    pub leaving: Option<usize>,
    /// Where to jump then, the last one first.
    pub cleanups: Vec<usize>,
    pub unwinding: Box<Unwinding>,
}

impl Fiber {
    /// Where it stands, while it does not run.
    pub fn context(&self) -> usize {
        self.context
    }
}

/// All of them.
pub struct Fibers {
    list: Vec<Fiber>,
    /// How many of the list exist in this execution.
    used: usize,
    /// Those that were created and have not ended.
    live: Vec<ThreadId>,
    donors: Vec<Donor>,
    /// By place: who has it, or had it last.
    places: Vec<ThreadId>,
    /// Places whose threads have ended, and which nobody asks for any more.
    vacant: Vec<usize>,
    /// The context of the campaign, to which an execution returns when it ends.
    home: usize,
}

static FIBERS: Global<Fibers> = Global::new(Fibers {
    list: Vec::new(),
    used: 0,
    live: Vec::new(),
    donors: Vec::new(),
    places: Vec::new(),
    vacant: Vec::new(),
    home: 0,
});
/// Which of them runs.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Does the campaign visit a thread, which runs now?
static VISITING: AtomicBool = AtomicBool::new(false);

#[inline(always)]
#[track_caller]
pub fn all() -> Entered<'static, Fibers> {
    FIBERS.enter()
}

/// A thread of this execution.
#[inline]
#[track_caller]
pub fn get(thread: ThreadId) -> Entered<'static, Fiber> {
    all().map(|all| all.get(thread))
}

#[inline(always)]
fn running() -> usize {
    RUNNING.load(Ordering::Relaxed)
}

/// From here on it is this one that runs.
fn set_running(index: usize) {
    RUNNING.store(index, Ordering::Relaxed);
}

/// Does this lie on the stack of a thread?
pub fn is_on_a_stack(address: usize) -> bool {
    all().list().iter().any(|fiber| (fiber.stack.0..fiber.stack.1).contains(&address))
}

/// The running thread's number.
#[inline]
pub fn current() -> ThreadId {
    ThreadId(running() as u32)
}

/// The running thread.
#[inline]
#[track_caller]
pub fn me() -> Entered<'static, Fiber> {
    all().map(|all| &mut all.list[running()])
}

impl Fibers {
    /// Once: memory for the main thread, which has no donor.
    pub fn prepare(&mut self) -> bool {
        sys::reserve(donors::calls_of(0), Calls::LENGTH).is_some()
    }

    /// Makes kernel threads ahead of time: how many threads programs usually have.
    pub fn stock(&mut self, count: usize, life: Life) {
        donors::stock(&mut self.donors, count.min(PLACES), life);
    }

    /// The memory of stacks and thread blocks, which is not the program's data.
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        let first = donors::calls_of(0);
        self.donors.iter().map(Donor::whole).chain([(first, first + Calls::LENGTH)]).collect()
    }

    pub fn get(&mut self, thread: ThreadId) -> &mut Fiber {
        &mut self.list[thread.index()]
    }

    /// How many there have been in this execution.
    pub fn count(&self) -> usize {
        self.used
    }

    /// Is the running thread the only one that has not ended?
    pub fn is_alone(&self) -> bool {
        self.live.len() == 1
    }

    /// Those that were created and have not ended.
    pub fn live(&self) -> &[ThreadId] {
        &self.live
    }

    /// How many places there are in this execution.
    pub fn place_count(&self) -> usize {
        self.places.len()
    }

    /// The running thread ends.
    pub fn retire(&mut self) {
        let me = ThreadId(running() as u32);
        self.live.retain(|thread| *thread != me);
        let fiber = &mut self.list[running()];
        fiber.ended = true;
        if fiber.detached {
            self.vacant.push(fiber.place);
        }
    }

    /// Somebody has joined the thread, which has ended.
    pub fn joined(&mut self, thread: ThreadId) {
        let fiber = &mut self.list[thread.index()];
        fiber.joined = true;
        self.vacant.push(fiber.place);
    }

    /// Nobody will join the thread.
    pub fn detach(&mut self, thread: ThreadId) {
        let fiber = &mut self.list[thread.index()];
        fiber.detached = true;
        if fiber.ended {
            self.vacant.push(fiber.place);
        }
    }

    /// The name that the thread with this donor has, the first of which is 0.
    pub fn name_of_donor(&mut self, index: usize, life: Life) -> Option<pthread_t> {
        donors::stock(&mut self.donors, index + 1, life);
        self.donors.get(index).map(|donor| donor.pthread)
    }

    /// Those of this execution.
    pub fn list(&self) -> &[Fiber] {
        &self.list[..self.used]
    }

    /// The thread that libc calls by this name.
    pub fn find(&self, pthread: pthread_t) -> Option<ThreadId> {
        // The last one first: of threads that come one after the other it is the one that is meant.
        self.list[..self.used].iter().rposition(|f| f.pthread == pthread).map(|i| ThreadId(i as u32))
    }

    /// A new execution: only the main thread, about to run `entry` on the stack below `top`.
    pub fn begin(&mut self, top: usize, base: usize, entry: extern "C" fn() -> !) {
        self.used = 0;
        self.add();
        set_running(0);
        self.vacant.clear();
        self.live.clear();
        self.live.push(ThreadId(0));
        self.places.clear();
        self.places.push(ThreadId(0));
        let main = &mut self.list[0];
        // SAFETY: the main stack below `top` is unused between executions.
        main.context = unsafe { context::prepare(top, entry) };
        scrub(main.context);
        main.base = base;
        main.pthread = base as pthread_t;
        main.stack = (top.saturating_sub(8 << 20), top);
        main.first_frame = top;
    }

    /// Adds a thread that nobody has created yet.
    fn add(&mut self) -> &mut Fiber {
        if self.used == self.list.len() {
            self.list.push(Fiber::default());
        }
        let fiber = &mut self.list[self.used];
        fiber.place = 0;
        fiber.calls.clear(donors::calls_of(0));
        fiber.destructors.clear();
        fiber.reply = Reply::NONE;
        fiber.pthread = 0;
        fiber.result = 0;
        fiber.detached = false;
        fiber.joined = false;
        fiber.ended = false;
        fiber.wants = None;
        fiber.within = false;
        fiber.pc = 0;
        fiber.sp = 0;
        fiber.asked = None;
        fiber.barrier = None;
        fiber.registers = [0; 6];
        fiber.writes = 0;
        fiber.barriers = 0;
        fiber.asks = 0;
        fiber.about = None;
        fiber.failed = None;
        fiber.rounds.begin(None);
        fiber.round = None;
        fiber.yielded = 0;
        fiber.clock = Clock::default();
        fiber.deadline = None;
        fiber.timed_out = false;
        fiber.looking = false;
        fiber.name = None;
        fiber.held.clear();
        fiber.writing.clear();
        fiber.robust.clear();
        fiber.signals = 0;
        fiber.suspended = 0;
        fiber.cancelled = false;
        fiber.uncancellable = false;
        fiber.asynchronous = false;
        fiber.interruptible = false;
        fiber.waited = false;
        fiber.cancelled_too_late = false;
        fiber.awaits_event = false;
        fiber.library = LibraryCall::default();
        fiber.thrown = (0, 0);
        fiber.leaving = None;
        fiber.cleanups.clear();
        self.used += 1;
        fiber
    }

    /// Creates a thread at this place that will call `start`. `None` if the system gives no more threads.
    ///
    /// Threads are numbered in the order in which they are asked for, so that others, asked for earlier, may still have
    /// to be created.
    pub fn create(
        &mut self,
        thread: ThreadId,
        place: usize,
        start: Start,
        argument: *mut c_void,
    ) -> Option<&mut Fiber> {
        let index = thread.index();
        let donor = self.donors.get(place - 1)?;
        donor.renew();
        let (context, base, pthread, range) = (donor.context, donor.base, donor.pthread, donor.range);
        scrub(context);
        let clock = self.list[running()].clock;
        while self.used <= index {
            self.add();
        }
        self.live.push(thread);
        let fiber = &mut self.list[index];
        fiber.place = place;
        fiber.calls.clear(donors::calls_of(place));
        fiber.context = context;
        fiber.base = base;
        fiber.pthread = pthread;
        fiber.stack = range;
        fiber.first_frame = context;
        fiber.clock = clock;
        fiber.start = Some(start);
        fiber.argument = argument as usize;
        Some(fiber)
    }

    /// A place for a new thread. The first ones have the place of their number, which then depends on nothing else;
    /// later ones get a place that has become free, if there is one: then with the stack that was left there.
    pub fn place_for(&mut self, thread: ThreadId, life: Life) -> Option<(usize, Option<(usize, usize)>)> {
        let index = thread.index();
        if index < PLACES {
            donors::stock(&mut self.donors, index, life);
            if index <= self.donors.len() {
                self.take_place(index, thread);
                return Some((index, None));
            }
        }
        if let Some(place) = self.vacant.pop() {
            let left = self.vacate(place);
            self.take_place(place, thread);
            return Some((place, Some(left)));
        }
        let place = self.places.len().max(PLACES);
        donors::stock(&mut self.donors, place, life);
        if place > self.donors.len() || place > MOST_THREADS {
            return None;
        }
        self.take_place(place, thread);
        Some((place, None))
    }

    fn take_place(&mut self, place: usize, thread: ThreadId) {
        if self.places.len() <= place {
            self.places.resize(place + 1, ThreadId(0));
        }
        self.places[place] = thread;
    }

    /// What the thread that had this place has left there is nobody's any more. Gives its stack.
    fn vacate(&mut self, place: usize) -> (usize, usize) {
        let old = &mut self.list[self.places[place].index()];
        let stack = std::mem::take(&mut old.stack);
        old.first_frame = 0;
        old.sp = 0;
        old.pthread = 0;
        old.calls.clear(donors::calls_of(place));
        stack
    }
}

/// So many threads have a stack, thread-local storage and a heap of their own. Of more than these, those that come
/// later use what others have left.
const PLACES: usize = 1000;

/// Which stack and heap the running thread has.
#[inline]
pub fn place() -> usize {
    me().place
}

/// How much of a stack is scrubbed.
const SCRUBBED: usize = 8 << 10;

/// A thread begins here. Under exploration it is recognised when it stands where it stood, and what its frames leave
/// unused must not differ because of an earlier execution.
fn scrub(context: usize) {
    if global::explores() {
        // SAFETY: below the context of a thread that has not begun there is nothing, and stacks are longer than this.
        unsafe { std::ptr::write_bytes((context - SCRUBBED) as *mut u8, 0, SCRUBBED) };
    }
}

/// Runs another thread until somebody switches back.
pub fn switch_to(thread: ThreadId) {
    let mut all = all();
    let from = running();
    set_running(thread.index());
    all.list[from].calls.leave();
    let to = &mut all.list[thread.index()];
    to.calls.enter();
    let (context, base) = (to.context, to.base);
    let save = &raw mut all.list[from].context;
    drop(all);
    global::leave_all();
    // SAFETY: the context is that of a thread that does not run, and the storage is its own. The list may move while
    // this thread stands, but `save` is written before anybody else runs.
    unsafe {
        context::set_thread_base(base);
        context::switch(save, context);
    }
}

/// Leaves the running thread forever and goes back to the campaign.
pub fn go_home() -> ! {
    // What a thread had entered that comes here from a signal it will never leave.
    global::abandon();
    let mut all = all();
    let mut nowhere = 0;
    all.list[running()].calls.leave();
    let (home, base) = (all.home, all.list[0].base);
    drop(all);
    // SAFETY: the campaign stands in `enter`, on a stack that no thread uses.
    unsafe {
        context::set_thread_base(base);
        context::switch(&raw mut nowhere, home);
    }
    unreachable!("internal error: a thread that was left is running again")
}

/// From the campaign: runs the main thread. Returns when the execution has ended.
pub fn enter() {
    let mut all = all();
    let main = &mut all.list[0];
    main.calls.enter();
    let context = main.context;
    let home = &raw mut all.home;
    drop(all);
    global::leave_all();
    // SAFETY: the main thread's context was prepared by `begin`; thread-local storage is already its own.
    unsafe { context::switch(home, context) };
}

/// From the campaign: runs a thread until it goes back.
pub fn visit(thread: ThreadId) {
    let mut all = all();
    set_running(thread.index());
    VISITING.store(true, Ordering::Relaxed);
    let fiber = &mut all.list[thread.index()];
    fiber.calls.enter();
    let (context, base) = (fiber.context, fiber.base);
    let home = &raw mut all.home;
    drop(all);
    global::leave_all();
    // SAFETY: the context is that of a thread that does not run, and the storage is its own.
    unsafe {
        context::set_thread_base(base);
        context::switch(home, context);
    }
    VISITING.store(false, Ordering::Relaxed);
}

/// Does the campaign visit a thread, which runs now?
pub fn is_visiting() -> bool {
    VISITING.load(Ordering::Relaxed)
}

/// From the campaign: this thread, which has ended the process, counts as the one that ran last.
pub fn stand_for(thread: ThreadId) {
    if running() != thread.index() {
        set_running(thread.index());
        me().calls.enter();
    }
}

/// From a thread: back to the campaign, until it is visited again.
pub fn go_back() {
    let mut all = all();
    let main = all.list[0].base;
    let fiber = &mut all.list[running()];
    fiber.calls.leave();
    let save = &raw mut fiber.context;
    let home = all.home;
    drop(all);
    global::leave_all();
    // SAFETY: the campaign stands in `visit`, on a stack that no thread uses; it uses no thread-local storage, and
    // gets the main thread's.
    unsafe {
        context::set_thread_base(main);
        context::switch(save, home);
    }
}

/// Where a thread is, the innermost program point first.
pub fn stack_of(thread: ThreadId) -> Vec<usize> {
    let mut fiber = get(thread);
    if thread.index() == running() {
        fiber.calls.leave();
    }
    let mut frames = vec![fiber.pc];
    frames.extend(fiber.calls.list());
    frames
}
