//! Threads of the program as fibers: each has a stack of its own, all run on one kernel thread.
//!
//! A fiber runs one body after the other, so that none is made per execution. What is left in the middle, by an
//! execution that cannot be completed, is not unwound: destructors would have to ask for operations in an execution
//! that
//! is no more. Its memory stays behind, and its stack is used again.

use super::context::{Context, Fault, FaultKind};
use super::local_state;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fencepost_trace::{Failure, Op, ThreadId};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a fiber gives way.
#[derive(Clone, Copy)]
pub(super) struct Suspend {
    yielder: *const Yielder<(), ()>,
    /// Where the stack of its bodies begins.
    base: usize,
}

impl Suspend {
    /// To the engine, until it answers. What is asked and answered is in the thread's state.
    #[inline]
    pub(super) fn to_engine(self) {
        // SAFETY: the yielder lives on the fiber's own stack as long as the fiber runs, and only the code that runs on
        // this fiber gets here: `Context::running` says whose turn it is.
        unsafe { (*self.yielder).suspend(()) }
    }

    /// Where the stack of its bodies begins. What lies above is the coroutine's, and says among other things where the
    /// engine resumed it from.
    pub(super) fn base(self) -> usize {
        self.base
    }
}

/// A fiber. It finds its next body in the state of its thread.
pub(super) struct Fiber {
    /// Always there, but when it is taken apart.
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    /// Is it in the middle of a body?
    busy: bool,
}

const STACK: usize = 512 << 10;

impl Fiber {
    pub(super) fn new(context: &'static Context, thread: ThreadId) -> Fiber {
        let stack = DefaultStack::new(STACK).expect("fencepost: no memory for the stack of a thread under test");
        Fiber::on(stack, context, thread)
    }

    fn on(stack: DefaultStack, context: &'static Context, thread: ThreadId) -> Fiber {
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            loop {
                let suspend = Suspend { yielder, base: local_state::here().stack() };
                context.threads.borrow_mut()[thread.index()].suspend = Some(suspend);
                if context.settings.get().watches_heap {
                    scrub();
                }
                let ended = run(context, thread);
                context.threads.borrow_mut()[thread.index()].op = ended;
                yielder.suspend(());
            }
        });
        Fiber { coroutine: Some(coroutine), busy: false }
    }

    /// Runs it to its next operation.
    #[inline]
    pub(super) fn resume(&mut self) {
        self.busy = true;
        let coroutine = self.coroutine.as_mut().expect("internal error: a fiber without a coroutine");
        match coroutine.resume(()) {
            CoroutineResult::Yield(()) => {}
            CoroutineResult::Return(()) => unreachable!("internal error: a fiber has ended"),
        }
    }

    /// It has come to the end of its body.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.busy = false;
    }

    /// As new, whatever it was doing.
    pub(super) fn reset(&mut self, context: &'static Context, thread: ThreadId) {
        if self.busy
            && let Some(stack) = self.abandon()
        {
            *self = Fiber::on(stack, context, thread);
        }
    }

    /// Leaves what it was doing; its stack.
    fn abandon(&mut self) -> Option<DefaultStack> {
        let mut coroutine = self.coroutine.take()?;
        // SAFETY: nothing on this stack is touched again. What lies there is forgotten, not dropped; other fibers that
        // borrow from it (scoped threads) are of the same execution, and are reset before any of them runs again.
        unsafe { coroutine.force_reset() };
        Some(coroutine.into_stack())
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // Nothing is lost where it waits for its next body, and elsewhere destructors must not run.
        drop(self.abandon());
    }
}

/// Clears what earlier bodies have left on the stack. What is never written by this one then looks the same in every
/// run, so that loops that wait are recognised in the same round of each.
#[inline(never)]
fn scrub() {
    std::hint::black_box(&mut [0_u8; 16 << 10]);
}

/// Runs the body of a thread, to the operation that ends it.
fn run(context: &Context, thread: ThreadId) -> Op {
    let mut threads = context.threads.borrow_mut();
    let state = &mut threads[thread.index()];
    let newborn = state.newborn.take().expect("internal error: a fiber runs without a body");
    state.name = newborn.name;
    drop(threads);
    let ended = catch_unwind(AssertUnwindSafe(newborn.body));
    let locals = catch_unwind(AssertUnwindSafe(|| drop_locals(context, thread)));
    let panicked = ended.and(locals).err();
    let mut threads = context.threads.borrow_mut();
    let state = &mut threads[thread.index()];
    state.unwinding = false;
    let Some(payload) = panicked else { return Op::Exit };
    let message = state.panic.take().unwrap_or_else(|| "a panic without a message".to_owned());
    state.fault = Some(Fault { kind: FaultKind::Panic, message, places: Vec::new() });
    drop(threads);
    // Its destructor is the program's, and may panic as well.
    std::mem::forget(payload);
    Op::Fail(Failure::Panic)
}

/// Thread-local values end before their thread does. One may come to be while another goes.
fn drop_locals(context: &Context, thread: ThreadId) {
    loop {
        let locals = std::mem::take(&mut context.threads.borrow_mut()[thread.index()].locals);
        if locals.is_empty() {
            return;
        }
        drop(locals);
    }
}
