//! Programs written as Rust closures: each thread a fiber.
//!
//! This is how the engine is tested with real control flow, and what a library for Rust tests stands on: a thread is
//! a coroutine with a stack of its own, which runs until it asks for an operation and is resumed with the reply. All
//! of them run on one kernel thread, switched in user space.
//!
//! ```
//! use fencepost_engine::{Execution, Fibers, Follow, run};
//! use fencepost_memory::Sc;
//! use fencepost_trace::{Limits, LoadOrder, Location, Outcome, Size, StoreOrder, Value};
//!
//! let x = Location::new(0x1000, Size::B4);
//! let mut program = Fibers::new(move |thread| {
//!     let child = thread.spawn(move |thread| thread.store(x, StoreOrder::Release, Value(1)));
//!     thread.join(child);
//!     assert_eq!(thread.load(x, LoadOrder::Acquire), Value(1));
//! });
//! let mut execution = Execution::new(Sc::default());
//! let outcome = run(&mut execution, &mut program, &mut Follow::new(&[]), Limits::default());
//! assert_eq!(outcome, Outcome::Finished);
//! ```

use crate::threads::Threads;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, Failure, FenceOrder, Guard, Label, LoadOrder, Location, Op, Reply, RmwOrder, StoreOrder, ThreadId, Update,
    Value,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

type Body = Rc<dyn Fn(&Fiber<'_>)>;
type Stack = DefaultStack;

/// What fibers and their owner share.
#[derive(Default)]
struct Shared {
    /// The body of the thread that is about to be created.
    newborn: RefCell<Option<Body>>,
    /// The program points met so far, and their numbers.
    labels: RefCell<Labels>,
    /// The program point of the operation asked for last.
    at: std::cell::Cell<u32>,
}

#[derive(Default)]
struct Labels {
    numbers: FxHashMap<(&'static str, u32, u32), u32>,
    known: Vec<Label>,
}

struct Running {
    coroutine: Coroutine<Reply, Op, (), Stack>,
    label: u32,
}

/// A program made of closures.
pub struct Fibers {
    main: Body,
    initial: FxHashMap<Location, Value>,
    shared: Rc<Shared>,
    threads: Vec<Option<Running>>,
    /// Bodies of threads that were created and have not run yet.
    bodies: Vec<Option<Body>>,
    /// The creator that waits for its child's name, with the child's body.
    expecting: Vec<(ThreadId, Body)>,
    stacks: Vec<Stack>,
}

impl Fibers {
    /// The program whose first thread runs `main`. It is run anew for every execution and must do the same every time.
    pub fn new(main: impl Fn(&Fiber<'_>) + 'static) -> Self {
        Fibers {
            main: Rc::new(main),
            initial: FxHashMap::default(),
            shared: Rc::default(),
            threads: Vec::new(),
            bodies: Vec::new(),
            expecting: Vec::new(),
            stacks: Vec::new(),
        }
    }

    /// Lets memory hold something in the beginning.
    pub fn with_initial(mut self, at: Location, value: Value) -> Self {
        self.initial.insert(at, value);
        self
    }

    fn start_thread(&mut self, body: Body) -> Running {
        let stack = self.stacks.pop().unwrap_or_else(|| {
            DefaultStack::new(64 << 10).expect("no memory for the stack of a thread of the program under test")
        });
        let shared = Rc::clone(&self.shared);
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<Reply, Op>, _first: Reply| {
            let fiber = Fiber { yielder, shared };
            // A panic of the program ends its execution, not the engine; it must not leave the fiber's stack.
            // An unwinding that corosensei started to drop the fiber passes through here and is let go on.
            let run = catch_unwind(AssertUnwindSafe(|| body(&fiber)));
            match run {
                Ok(()) => {
                    yielder.suspend(Op::Exit);
                }
                Err(payload) if payload.is::<Failed>() => {}
                Err(payload) if payload.is::<&str>() || payload.is::<String>() => {
                    yielder.suspend(Op::Fail(Failure::Panic));
                }
                Err(payload) => std::panic::resume_unwind(payload),
            }
        });
        Running { coroutine, label: 0 }
    }

    fn recycle(&mut self) {
        for thread in self.threads.drain(..).flatten() {
            let mut coroutine = thread.coroutine;
            coroutine.force_unwind();
            self.stacks.push(coroutine.into_stack());
        }
        self.bodies.clear();
        self.expecting.clear();
    }
}

/// Raised in a fiber after it has failed, so that it goes no further.
struct Failed;

impl Threads for Fibers {
    fn start(&mut self) -> u32 {
        self.recycle();
        self.bodies.push(Some(Rc::clone(&self.main)));
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        if let Some(i) = self.expecting.iter().position(|(creator, _)| *creator == thread) {
            let (_, body) = self.expecting.swap_remove(i);
            let child = reply.value.0 as usize;
            self.bodies.resize_with(self.bodies.len().max(child + 1), || None);
            self.bodies[child] = Some(body);
        }
        let t = thread.index();
        self.threads.resize_with(self.threads.len().max(t + 1), || None);
        if self.threads[t].is_none() {
            let body = self.bodies[t].take().expect("internal error: a thread that was never created is resumed");
            self.threads[t] = Some(self.start_thread(body));
        }
        let running = self.threads[t].as_mut().expect("started above");
        match running.coroutine.resume(reply) {
            CoroutineResult::Yield(op) => {
                running.label = self.shared.at.get();
                if op == Op::Spawn {
                    let body = self.shared.newborn.take().expect("a spawn leaves the body of its thread");
                    self.expecting.push((thread, body));
                }
                op
            }
            CoroutineResult::Return(()) => Op::Exit,
        }
    }

    fn initial(&self, at: Location) -> Value {
        self.initial.get(&at).copied().unwrap_or(Value::ZERO)
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.threads.get(thread.index()).and_then(Option::as_ref).map_or(0, |running| running.label)
    }

    fn describe(&self, label: u32) -> Label {
        self.shared.labels.borrow().known.get(label as usize).cloned().unwrap_or_default()
    }

    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        self.recycle();
    }
}

/// The operations of the thread that runs.
pub struct Fiber<'a> {
    yielder: &'a Yielder<Reply, Op>,
    shared: Rc<Shared>,
}

#[allow(missing_docs)]
impl Fiber<'_> {
    /// Any operation.
    #[track_caller]
    pub fn ask(&self, op: Op) -> Reply {
        let caller = std::panic::Location::caller();
        let key = (caller.file(), caller.line(), caller.column());
        let mut labels = self.shared.labels.borrow_mut();
        let next = labels.known.len() as u32;
        let number = *labels.numbers.entry(key).or_insert(next);
        if number == next {
            let (file, line, column) = key;
            labels.known.push(Label { function: String::new(), file: file.to_owned(), line, column });
        }
        drop(labels);
        self.shared.at.set(number);
        self.yielder.suspend(op)
    }

    #[track_caller]
    pub fn load(&self, at: Location, order: LoadOrder) -> Value {
        self.ask(Op::Access(Access::Load { at, order, guard: Guard::Any })).value
    }

    #[track_caller]
    pub fn store(&self, at: Location, order: StoreOrder, value: Value) {
        self.ask(Op::Access(Access::Store { at, order, value }));
    }

    #[track_caller]
    pub fn rmw(&self, at: Location, order: RmwOrder, update: Update) -> Value {
        self.ask(Op::Access(Access::Rmw { at, order, update, guard: Guard::Any })).value
    }

    /// A strong compare-exchange: the value seen, and whether it was the expected one.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        at: Location,
        expected: Value,
        desired: Value,
        success: RmwOrder,
        failure: LoadOrder,
    ) -> Result<Value, Value> {
        let access =
            Access::CompareExchange { at, expected, desired, success, failure, weak: false, guard: Guard::Any };
        let reply = self.ask(Op::Access(access));
        if reply.success { Ok(reply.value) } else { Err(reply.value) }
    }

    #[track_caller]
    pub fn fence(&self, order: FenceOrder) {
        self.ask(Op::Access(Access::Fence { order }));
    }

    /// Any operation on a synchronisation object; says whether it succeeded.
    #[track_caller]
    pub fn sync(&self, sync: Sync) -> bool {
        self.ask(Op::Sync(sync)).success
    }

    #[track_caller]
    pub fn spawn(&self, body: impl Fn(&Fiber<'_>) + 'static) -> ThreadId {
        *self.shared.newborn.borrow_mut() = Some(Rc::new(body));
        ThreadId(self.ask(Op::Spawn).value.0 as u32)
    }

    #[track_caller]
    pub fn join(&self, thread: ThreadId) {
        self.ask(Op::Join(thread));
    }

    #[track_caller]
    pub fn yield_now(&self) {
        self.ask(Op::Yield);
    }

    /// The program has failed: the execution ends here.
    #[track_caller]
    pub fn fail(&self, failure: Failure) -> ! {
        self.ask(Op::Fail(failure));
        std::panic::resume_unwind(Box::new(Failed))
    }
}
