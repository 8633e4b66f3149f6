//! What the fibers of one kernel thread share with those who run them.

use super::fiber::{Fiber, Suspend};
use super::local_state::{self, Registers};
use super::objects::{Kind, Objects, Stamp};
use super::tracked::Tracked;
use crate::alloc::Internal;
use fencepost_trace::{Failure, Hidden, Label, Location, Op, Reply, ThreadId};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location as Caller;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
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
pub(crate) struct ThreadState {
    /// Its body, until it begins.
    pub(super) newborn: Option<Newborn>,
    pub(crate) name: Option<String>,
    /// How it gives way to the engine.
    pub(super) suspend: Option<Suspend>,
    /// What it asked for last, and what it was answered.
    pub(super) op: Op,
    pub(super) reply: Reply,
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

impl Default for ThreadState {
    fn default() -> Self {
        ThreadState {
            newborn: None,
            name: None,
            suspend: None,
            op: Op::Yield,
            reply: Reply::NONE,
            fresh: None,
            label: 0,
            ops: 0,
            clock: Vec::new(),
            registers: Registers::default(),
            writes: 0,
            changed: 0,
            unwinding: false,
            panic: None,
            fault: None,
            timed: false,
            locals: Vec::new(),
        }
    }
}

impl ThreadState {
    /// The program point of its last operation.
    pub(crate) fn at(&self) -> u32 {
        self.label
    }

    /// As before its beginning; how its fiber gives way stays, and so does the memory of its clock.
    fn renew(&mut self) {
        // What an execution that was left has on its threads is never touched again: their values may refer to each
        // other's stacks.
        std::mem::take(&mut self.locals).into_iter().for_each(std::mem::forget);
        std::mem::forget(self.newborn.take());
        // Nearly all of it is as it was: to write all of it anew takes longer.
        let ThreadState { newborn: _, name, suspend: _, op, reply, fresh, label, ops, clock, .. } = self;
        (*name, *op, *reply, *fresh, *label, *ops) = (None, Op::Yield, Reply::NONE, None, 0, 0);
        clock.clear();
        let ThreadState { registers, writes, changed, unwinding, panic, fault, timed, locals: _, .. } = self;
        (*registers, *writes, *changed, *unwinding, *timed) = (Registers::default(), 0, 0, false, false);
        (*panic, *fault) = (None, None);
    }
}

/// So many source locations have their numbers at hand.
const FEW_LABELS: usize = 64;

/// One execution at a time, and what is kept from one to the next. Each kernel thread that runs executions has one. It
/// is never given back, so that who asks for an operation need not keep it alive; what it holds is, when the kernel
/// thread ends.
pub(crate) struct Context {
    /// Tells this worker from all others.
    pub(super) worker: u64,
    pub(super) execution: Cell<u64>,
    /// What a stamp of this execution begins with.
    pub(super) own: Cell<u64>,
    /// The thread that runs; none while the engine does.
    pub(super) running: Cell<Option<ThreadId>>,
    pub(crate) threads: RefCell<Vec<ThreadState>>,
    pub(super) fibers: RefCell<Vec<Option<Fiber>>>,
    pub(super) objects: RefCell<Objects>,
    /// The body of the thread that is about to be created.
    pub(super) newborn: RefCell<Option<Newborn>>,
    /// Who has created a thread and not learnt its number yet, with the thread's body.
    pub(super) expecting: RefCell<Vec<(ThreadId, Newborn)>>,
    labels: RefCell<FxHashMap<usize, u32>>,
    /// Some of them, each in the place that its address gives it.
    few_labels: [Cell<(usize, u32)>; FEW_LABELS],
    pub(crate) settings: Cell<Settings>,
    /// Objects that must be gone in the end, and have not been yet: what, and where they were made.
    pub(crate) tracked: RefCell<Tracked>,
    /// Has the program seen who was the last to drop an `Arc`, or how many there are?
    pub(crate) arcs_observed: Cell<bool>,
    /// Was a thread left while Rust was about to abort? Then this kernel thread must not panic any more.
    pub(super) past_panics: Cell<bool>,
    /// Has a thread panicked since the check began?
    pub(super) has_panicked: Cell<bool>,
    /// Is this kernel thread one for checks alone, so that it may be left in the middle of a panic?
    pub(crate) is_expendable: Cell<bool>,
    /// How many last `Arc`s are being dropped.
    pub(crate) dropping: Cell<u32>,
    /// The labels, as bits, at which it was asked for the state of threads.
    pub(crate) loops: Cell<u64>,
    /// The same before the execution at hand.
    pub(crate) loops_before: Cell<u64>,
    /// Was a thread taken to wait in a loop?
    pub(crate) waits: Cell<bool>,
    /// What the heap of the execution holds, as a number, if it is watched; and who has run since that was found out.
    pub(super) heap: Cell<u64>,
    pub(super) changes: Cell<Option<ThreadId>>,
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
    /// That of this kernel thread.
    static OWN: Cell<Option<&'static Context>> = const { Cell::new(None) };
    /// The same while a thread of the program runs on it.
    static CURRENT: Cell<Option<&'static Context>> = const { Cell::new(None) };
    static END: End = const { End };
}

/// Gives memory back when the kernel thread ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if let Some(context) = OWN.take() {
            context.give_back();
        }
    }
}

/// Source locations have one number in the whole process, for work moves between workers.
static LABELS: Mutex<Vec<&'static Caller<'static>>> = Mutex::new(Vec::new());

/// The execution that the calling code is part of; `None` outside of a check.
#[inline]
pub(crate) fn current() -> Option<&'static Context> {
    CURRENT.get()
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
    state.op = op;
    state.ops += 1;
    state.registers = local_state::here();
    let suspend = state.suspend.expect("internal error: a thread that runs has a fiber");
    drop(threads);
    suspend.to_engine();
    let mut threads = context.threads.borrow_mut();
    let state = &mut threads[thread.index()];
    if state.unwinding && !std::thread::panicking() {
        state.unwinding = false;
    }
    state.reply
}

/// The thread goes no further: the execution fails here.
pub(crate) fn fail(context: &Context, fault: Fault, caller: &'static Caller<'static>) -> ! {
    context.state(|state| state.fault = Some(fault));
    ask(context, Op::Fail(Failure::Abort), caller);
    unreachable!("internal error: a thread that has failed is resumed")
}

impl Context {
    /// The context of this kernel thread, made if need be.
    #[inline]
    pub(super) fn of_kernel_thread() -> &'static Context {
        OWN.get().unwrap_or_else(Context::make)
    }

    #[cold]
    fn make() -> &'static Context {
        static WORKERS: AtomicU64 = AtomicU64::new(1);
        let context: &'static Context = Box::leak(Box::new(Context {
            worker: WORKERS.fetch_add(1, Ordering::Relaxed) % 0xffff + 1,
            execution: Cell::new(0),
            own: Cell::new(0),
            running: Cell::new(None),
            threads: RefCell::default(),
            fibers: RefCell::default(),
            objects: RefCell::default(),
            newborn: RefCell::default(),
            expecting: RefCell::default(),
            labels: RefCell::default(),
            few_labels: [const { Cell::new((0, 0)) }; FEW_LABELS],
            settings: Cell::default(),
            tracked: RefCell::default(),
            arcs_observed: Cell::new(false),
            past_panics: Cell::new(false),
            has_panicked: Cell::new(false),
            is_expendable: Cell::new(false),
            dropping: Cell::new(0),
            loops: Cell::new(0),
            loops_before: Cell::new(0),
            waits: Cell::new(false),
            heap: Cell::new(0),
            changes: Cell::new(None),
        }));
        OWN.set(Some(context));
        // Where thread-local values are going already nothing is given back.
        let _ = END.try_with(|_| ());
        context
    }

    /// The kernel thread ends.
    fn give_back(&self) {
        self.begin();
        crate::alloc::give_back();
        self.fibers.take();
        self.threads.take();
        self.objects.take();
        self.labels.take();
        self.tracked.take();
    }

    /// `thread` runs from now on, or nobody does.
    #[inline]
    pub(super) fn set_running(&'static self, thread: Option<ThreadId>) {
        self.running.set(thread);
        CURRENT.set(thread.map(|_| self));
        crate::alloc::set_running(thread.is_some());
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
        self.has_panicked.set(false);
    }

    /// A thread has panicked, and the kernel thread may not be left in the middle of that: the check is to be run on
    /// another.
    #[inline]
    pub(crate) fn must_move(&self) -> bool {
        self.has_panicked.get() && !self.is_expendable.get()
    }

    /// No execution is at hand any more.
    pub(crate) fn leave(&'static self) {
        self.set_running(None);
        crate::alloc::watch(false);
        crate::alloc::release();
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
    #[inline]
    pub(crate) fn label(&self, caller: &'static Caller<'static>) -> u32 {
        let key = std::ptr::from_ref(caller).addr();
        // They lie beside each other in read-only memory, and each has at least 24 bytes.
        let few = &self.few_labels[key / 8 % FEW_LABELS];
        let (known, label) = few.get();
        if known == key {
            return label;
        }
        let label = self.find_label(caller);
        few.set((key, label));
        label
    }

    #[cold]
    fn find_label(&self, caller: &'static Caller<'static>) -> u32 {
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
        let objects = self.objects.borrow();
        let object = &objects.list[index as usize];
        let (location, created) = (object.at, object.created);
        drop(objects);
        if let Some(created) = created {
            self.demand_order(created, caller);
        }
        self.state(|state| state.fresh = fresh.then_some(index));
        location
    }

    /// Fails unless the thread that runs is ordered behind who has made the object that it uses.
    fn demand_order(&self, created: (ThreadId, u32, u32), caller: &'static Caller<'static>) {
        let (thread, (creator, time, label)) = (self.thread(), created);
        if creator == thread {
            return;
        }
        let seen = |of: ThreadId| self.state(|state| state.clock.get(of.index()).copied().unwrap_or(0));
        if seen(creator) >= time {
            return;
        }
        let fault = Fault {
            kind: FaultKind::Race,
            message: format!("an object is used that {creator} has made, and nothing orders the two"),
            places: vec![
                (creator, time.saturating_sub(1), label, "makes it"),
                (thread, seen(thread), self.label(caller), "uses it"),
            ],
        };
        fail(self, fault, caller);
    }

    /// Something that must be gone when the execution ends.
    pub(crate) fn track(&self, what: &'static str, caller: &'static Caller<'static>) -> u64 {
        let _own = Internal::enter();
        self.tracked.borrow_mut().add(what, self.label(caller))
    }

    /// It is gone.
    pub(crate) fn untrack(&self, number: u64) {
        self.tracked.borrow_mut().remove(number);
    }

    /// A new execution.
    pub(super) fn begin(&self) {
        self.execution.set(self.execution.get() + 1);
        self.own.set(self.stamp_of_execution());
        self.running.set(None);
        self.objects.borrow_mut().clear();
        self.tracked.borrow_mut().clear();
        std::mem::forget(self.newborn.take());
        self.expecting.borrow_mut().drain(..).for_each(std::mem::forget);
        self.dropping.set(0);
        self.threads.borrow_mut().iter_mut().for_each(ThreadState::renew);
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
