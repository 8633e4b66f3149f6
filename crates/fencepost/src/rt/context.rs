//! What the fibers of one kernel thread share with those who run them.

use super::fiber::Suspend;
use super::local_state::{self, Registers};
use super::objects::{Kind, Objects, Stamp};
use crate::alloc::Internal;
use fencepost_trace::{Failure, Hidden, Label, Location, Op, Reply, ThreadId};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location as Caller;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// The body of a thread that is about to be created.
pub(crate) struct Newborn {
    pub(crate) body: Box<dyn FnOnce()>,
    pub(crate) name: Option<String>,
}

/// Why a thread went no further.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// What is to be said of it.
    pub(crate) message: String,
    /// The program points that take part: whose, how many of its events came before, where, and what it did.
    pub(crate) places: Vec<(ThreadId, u32, u32, &'static str)>,
}

/// Its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultKind {
    Panic,
    Abort,
    Race,
    Misuse,
}

/// A thread of the program.
#[derive(Default)]
pub(crate) struct ThreadState {
    pub(crate) name: Option<String>,
    /// How it gives way to the engine.
    pub(super) suspend: Option<Suspend>,
    pub(super) op: Option<Op>,
    /// The object that its last operation was the first to use.
    pub(super) fresh: Option<u32>,
    pub(super) label: u32,
    /// How many operations it has asked for.
    pub(super) ops: u32,
    /// What happens before what it does: for each thread how many of its events.
    pub(super) clock: Vec<u32>,
    pub(super) registers: Registers,
    /// How often it has written plain memory that is known.
    pub(super) writes: u64,
    /// What it has changed on the heap, summed up: see [`heap`](super::heap).
    pub(super) changed: u64,
    /// Has it panicked, and not been caught by the program since?
    pub(crate) unwinding: bool,
    pub(crate) panic: Option<String>,
    pub(crate) fault: Option<Fault>,
    /// Does it wait only until a time?
    pub(crate) timed: bool,
    /// Its thread-local values, by key.
    pub(crate) locals: Vec<(usize, Rc<dyn Any>)>,
}

impl ThreadState {
    /// The program point of its last operation.
    pub(crate) fn at(&self) -> u32 {
        self.label
    }
}

/// One execution at a time, and what is kept from one to the next.
pub(crate) struct Context {
    /// Tells this worker from all others.
    pub(super) worker: u64,
    pub(super) execution: Cell<u64>,
    /// The thread that runs; none while the engine does.
    pub(super) running: Cell<Option<ThreadId>>,
    pub(crate) threads: RefCell<Vec<ThreadState>>,
    pub(super) objects: RefCell<Objects>,
    pub(super) newborn: RefCell<Option<Newborn>>,
    labels: RefCell<FxHashMap<usize, u32>>,
    pub(crate) settings: Cell<Settings>,
    /// Objects that must be gone in the end, and have not been yet: what, and where they were made.
    pub(crate) tracked: RefCell<FxHashMap<u64, (&'static str, u32)>>,
    next_tracked: Cell<u64>,
    /// Has the program seen who was the last to drop an `Arc`, or how many there are?
    pub(crate) arcs_observed: Cell<bool>,
    /// Was a thread left while Rust was about to abort? Then this kernel thread must not panic any more.
    pub(super) past_panics: Cell<bool>,
    /// How many last `Arc`s are being dropped.
    pub(crate) dropping: Cell<u32>,
    /// The labels, as bits, at which it was asked for the state of threads.
    pub(crate) loops: Cell<u64>,
    /// Was a thread taken to wait in a loop?
    pub(crate) waits: Cell<bool>,
    /// What the heap of the execution holds, as a number, if it is watched.
    pub(super) heap: Cell<u64>,
}

/// What the types have to know of the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) spurious_wakeups: bool,
    pub(crate) thread_panics: bool,
    pub(crate) spins: bool,
    /// Are the counts of `Arc`s locations? Only then does it matter who is the last.
    pub(crate) exact_arcs: bool,
    /// Is it looked at what threads change on the heap? Only where a loop seems to wait does it matter.
    pub(crate) watches_heap: bool,
    /// The labels, as bits, where threads are known to come by twice: there their state is looked at.
    pub(crate) loops: u64,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Context>>> = const { RefCell::new(None) };
}

/// Source locations have one number in the whole process, for work moves between workers.
static LABELS: Mutex<Vec<&'static Caller<'static>>> = Mutex::new(Vec::new());

/// The execution that the calling code is part of; `None` outside of a check.
#[inline]
pub(crate) fn current() -> Option<Rc<Context>> {
    // A thread's last destructors run when this is gone already.
    CURRENT.try_with(|current| current.borrow().as_ref().filter(|c| c.running.get().is_some()).cloned()).ok().flatten()
}

/// Asks the engine for an operation, and comes back with its answer.
#[inline(never)]
pub(crate) fn ask(context: &Context, op: Op, caller: &'static Caller<'static>) -> Reply {
    let thread = context.thread();
    let label = context.label(caller);
    if context.dropping.get() > 0 {
        context.arcs_observed.set(true);
    }
    let mut threads = context.threads.borrow_mut();
    let state = &mut threads[thread.index()];
    state.label = label;
    state.op = Some(op);
    state.ops += 1;
    state.registers = local_state::here();
    let suspend = state.suspend.expect("internal error: a thread that runs has a fiber");
    drop(threads);
    let reply = suspend.to_engine(op);
    if !std::thread::panicking() {
        context.state(|state| state.unwinding = false);
    }
    reply
}

/// The thread goes no further: the execution fails here.
pub(crate) fn fail(context: &Context, fault: Fault, caller: &'static Caller<'static>) -> ! {
    context.state(|state| state.fault = Some(fault));
    ask(context, Op::Fail(Failure::Abort), caller);
    unreachable!("internal error: a thread that has failed is resumed")
}

impl Context {
    /// The context of this kernel thread, made if need be.
    pub(super) fn of_kernel_thread() -> Rc<Context> {
        CURRENT.with(|current| {
            let fresh = || {
                static WORKERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
                Rc::new(Context {
                    worker: WORKERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 0xffff + 1,
                    execution: Cell::new(0),
                    running: Cell::new(None),
                    threads: RefCell::default(),
                    objects: RefCell::default(),
                    newborn: RefCell::default(),
                    labels: RefCell::default(),
                    settings: Cell::default(),
                    tracked: RefCell::default(),
                    next_tracked: Cell::new(0),
                    arcs_observed: Cell::new(false),
                    past_panics: Cell::new(false),
                    dropping: Cell::new(0),
                    loops: Cell::new(0),
                    waits: Cell::new(false),
                    heap: Cell::new(0),
                })
            };
            Rc::clone(current.borrow_mut().get_or_insert_with(fresh))
        })
    }

    /// Is a thread of the program running?
    pub(super) fn is_running(&self) -> bool {
        self.running.get().is_some()
    }

    /// Forgets what checks before have seen.
    pub(crate) fn renew(&self) {
        self.loops.set(0);
        self.waits.set(false);
        self.arcs_observed.set(false);
    }

    /// Must this kernel thread not panic any more?
    pub(crate) fn is_past_panics(&self) -> bool {
        self.past_panics.get()
    }

    /// The thread that runs.
    #[inline]
    pub(crate) fn thread(&self) -> ThreadId {
        self.running.get().expect("internal error: an operation of nobody")
    }

    /// What is known of the thread that runs. `f` must not call the program.
    pub(crate) fn state<R>(&self, f: impl FnOnce(&mut ThreadState) -> R) -> R {
        f(&mut self.threads.borrow_mut()[self.thread().index()])
    }

    /// The number of a source location.
    pub(crate) fn label(&self, caller: &'static Caller<'static>) -> u32 {
        let key = std::ptr::from_ref(caller).addr();
        if let Some(label) = self.labels.borrow().get(&key) {
            return *label;
        }
        let _own = Internal::enter();
        let mut known = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
        let label = known.iter().position(|other| *other == caller).unwrap_or_else(|| {
            known.push(caller);
            known.len() - 1
        }) as u32;
        self.labels.borrow_mut().insert(key, label);
        label
    }

    /// The source location of a number.
    pub(crate) fn describe(label: u32) -> Label {
        let known = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |caller: &&&'static Caller<'static>| !caller.file().starts_with("/rustc/");
        // What is dropped at the end of a scope is called from within std: there is no line for it.
        known.get(label as usize).filter(own).map_or_else(Label::default, |caller| Label {
            function: String::new(),
            file: caller.file().to_owned(),
            line: caller.line(),
            column: caller.column(),
        })
    }

    /// Where the object with this stamp is in memory.
    #[inline]
    pub(crate) fn locate(
        &self,
        stamp: &Stamp,
        kind: Kind,
        caller: &'static Caller<'static>,
        initial: impl FnOnce() -> u128,
    ) -> Location {
        let (index, fresh) = self.object(stamp, kind, initial);
        let mut objects = self.objects.borrow_mut();
        let object = &mut objects.list[index as usize];
        let location = object.location();
        if let Some(created) = object.created
            && let Some(state) = self.threads.borrow().get(self.thread().index())
            && created.0 != self.thread()
            && state.clock.get(created.0.index()).copied().unwrap_or(0) < created.1
        {
            let place = |who: (ThreadId, u32), label, what| (who.0, who.1.saturating_sub(1), label, what);
            let own = state.clock.get(self.thread().index()).copied().unwrap_or(0).saturating_add(1);
            let fault = Fault {
                kind: FaultKind::Race,
                message: format!("an object is used that {} has made, and nothing orders the two", created.0),
                places: vec![
                    place((created.0, created.1), created.2, "makes it"),
                    place((self.thread(), own), self.label(caller), "uses it"),
                ],
            };
            drop(objects);
            fail(self, fault, caller);
        }
        drop(objects);
        self.state(|state| state.fresh = fresh.then_some(index));
        location
    }

    /// Something that must be gone when the execution ends.
    pub(crate) fn track(&self, what: &'static str, caller: &'static Caller<'static>) -> u64 {
        let _own = Internal::enter();
        let number = self.next_tracked.get() + 1;
        self.next_tracked.set(number);
        self.tracked.borrow_mut().insert(number, (what, self.label(caller)));
        number
    }

    /// It is gone.
    pub(crate) fn untrack(&self, number: u64) {
        self.tracked.borrow_mut().remove(&number);
    }

    /// A new execution.
    pub(super) fn begin(&self) {
        self.execution.set(self.execution.get() + 1);
        self.running.set(None);
        self.objects.borrow_mut().clear();
        self.tracked.borrow_mut().clear();
        self.newborn.take();
        self.dropping.set(0);
        for state in self.threads.borrow_mut().iter_mut() {
            // What an execution that was left has on its threads is never touched again: their values may refer to
            // each other's stacks.
            std::mem::take(&mut state.locals).into_iter().for_each(std::mem::forget);
            let mut clock = std::mem::take(&mut state.clock);
            clock.clear();
            *state = ThreadState { suspend: state.suspend, clock, ..ThreadState::default() };
        }
    }
}

impl Context {
    /// The key of a lock or the like.
    pub(crate) fn key(&self, stamp: &Stamp, kind: Hidden, caller: &'static Caller<'static>) -> u64 {
        let at = self.locate(stamp, Kind::Hidden(kind), caller, || 0);
        at.as_hidden().map_or(0, |(_, key)| key)
    }

    /// The body of the thread that the next operation creates.
    pub(crate) fn expect(&self, newborn: Newborn) {
        *self.newborn.borrow_mut() = Some(newborn);
    }
}
