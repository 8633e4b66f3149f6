//! A test as a program that the engine can run.

use super::context::{Context, Newborn, Settings};
use super::fiber::Fiber;
use super::local_state;
use super::panics;
use fencepost_engine::Threads;
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Access, Failure, Label, Location, Op, Reply, ThreadId, Value};
use std::sync::Arc;

/// A test. A plain value: its fibers belong to the kernel thread that runs it.
#[derive(Clone)]
pub(crate) struct Program {
    /// None where there is nothing to run.
    body: Option<Arc<dyn Fn() + Send + Sync>>,
    settings: Settings,
}

/// So much of a stack is looked at, in bytes, before a loop seems to wait.
const TOP_OF_STACK: usize = 512;

impl Program {
    pub(crate) fn new(body: Arc<dyn Fn() + Send + Sync>, settings: Settings) -> Program {
        panics::install();
        Program { body: Some(body), settings }
    }

    /// A program that is not run.
    pub(crate) fn none() -> Program {
        Program { body: None, settings: Settings::default() }
    }

    /// How it is run.
    pub(crate) fn settings(&self) -> Settings {
        self.settings
    }

    /// Nothing is known of what happens before what `thread` does: no race is told.
    #[inline]
    pub(crate) fn forget_clock(&mut self, thread: ThreadId) {
        let mut threads = Context::of_kernel_thread().threads.borrow_mut();
        let all = threads.len();
        if let Some(state) = threads.get_mut(thread.index()).filter(|state| state.clock.len() != all) {
            state.clock.clear();
            // As if everything had happened before.
            state.clock.resize(all, u32::MAX);
        }
    }

    /// What is known of the execution at hand, on this kernel thread.
    pub(crate) fn context() -> &'static Context {
        Context::of_kernel_thread()
    }
}

impl Context {
    /// Gives `thread` a body.
    fn begin_thread(&'static self, thread: ThreadId, newborn: Newborn) {
        let t = thread.index();
        let (mut fibers, mut threads) = (self.fibers.borrow_mut(), self.threads.borrow_mut());
        if fibers.len() <= t {
            fibers.resize_with(t + 1, || None);
        }
        if threads.len() <= t {
            threads.resize_with(t + 1, Default::default);
        }
        fibers[t].get_or_insert_with(|| Fiber::new(self, thread));
        threads[t].newborn = Some(newborn);
    }
}

impl Threads for Program {
    fn start(&mut self) -> u32 {
        let context = Context::of_kernel_thread();
        assert!(!context.is_running(), "internal error: a check inside of a check");
        context.settings.set(self.settings);
        context.loops_before.set(context.loops.get());
        for (t, fiber) in context.fibers.borrow_mut().iter_mut().enumerate() {
            if let Some(fiber) = fiber {
                fiber.reset(context, ThreadId(t as u32));
            }
        }
        context.begin();
        crate::alloc::release();
        crate::alloc::watch(self.settings.watches_heap);
        context.forget_changes();
        let body = self.body.clone().expect("internal error: a program without a body is run");
        context.begin_thread(ThreadId(0), Newborn { body: Box::new(move || body()), name: None });
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let mut op = Op::Yield;
        self.resume_into(thread, reply, &mut op);
        op
    }

    #[inline]
    fn resume_into(&mut self, thread: ThreadId, reply: Reply, op: &mut Op) {
        let context = Context::of_kernel_thread();
        let mut expecting = context.expecting.borrow_mut();
        if !expecting.is_empty()
            && let Some(i) = expecting.iter().position(|(creator, _)| *creator == thread)
        {
            let (_, newborn) = expecting.swap_remove(i);
            context.begin_thread(ThreadId(reply.value.0 as u32), newborn);
        }
        drop(expecting);
        let mut fibers = context.fibers.borrow_mut();
        let fiber = fibers[thread.index()].as_mut().expect("internal error: a thread without a fiber");
        context.threads.borrow_mut()[thread.index()].reply = reply;
        if self.settings.watches_heap {
            context.watch_changes(thread);
        }
        context.set_running(Some(thread));
        fiber.resume();
        context.set_running(None);
        op.clone_from(&context.threads.borrow()[thread.index()].op);
        match op {
            Op::Exit | Op::Fail(Failure::Panic) => fiber.rest(),
            Op::Spawn => {
                let newborn = context.newborn.take().expect("a spawn leaves the body of its thread");
                context.expecting.borrow_mut().push((thread, newborn));
            }
            _ => {}
        }
    }

    #[inline]
    fn initial(&self, at: Location) -> Value {
        match at.as_hidden() {
            Some(_) => Value::ZERO,
            None => Value(Context::of_kernel_thread().objects.borrow().initial(at)),
        }
    }

    #[inline]
    fn label(&self, thread: ThreadId) -> u32 {
        Context::of_kernel_thread().threads.borrow().get(thread.index()).map_or(0, |state| state.label)
    }

    fn describe(&self, label: u32) -> Label {
        Context::describe(label)
    }

    fn wants_clocks(&self) -> bool {
        true
    }

    #[inline]
    fn set_clock(&mut self, thread: ThreadId, clock: &[u32]) {
        let mut threads = Context::of_kernel_thread().threads.borrow_mut();
        if let Some(state) = threads.get_mut(thread.index()) {
            state.clock.clear();
            state.clock.extend_from_slice(clock);
        }
    }

    fn is_relocated(&self) -> bool {
        true
    }

    fn identify(&mut self, thread: ThreadId, at: Location) -> Option<Op> {
        let context = Context::of_kernel_thread();
        let mut threads = context.threads.borrow_mut();
        let state = &mut threads[thread.index()];
        let mut objects = context.objects.borrow_mut();
        let index = state.fresh.take()?;
        let old = objects.list[index as usize].at;
        if !objects.rename(index, at) {
            return None;
        }
        let op = relocated(state.op, old, at)?;
        state.op = op;
        Some(op)
    }

    fn is_digested_late(&self) -> bool {
        true
    }

    fn known_loops(&self) -> u64 {
        self.settings.loops
    }

    fn takes_to_wait(&mut self, _: ThreadId) {
        Context::of_kernel_thread().waits.set(true);
    }

    fn looks_closer(&mut self) -> bool {
        let context = Context::of_kernel_thread();
        // In the runs before nobody has asked for the state of a thread.
        let closer = !self.settings.watches_heap && context.loops_before.get() == 0;
        if closer {
            (self.settings.watches_heap, self.settings.loops) = (true, context.loops.get());
            context.waits.set(false);
        }
        closer
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        if !self.settings.spins {
            return None;
        }
        let context = Context::of_kernel_thread();
        if self.settings.watches_heap {
            context.note_changes();
        }
        let threads = context.threads.borrow();
        let state = threads.get(thread.index())?;
        let loops = &context.loops;
        loops.set(loops.get() | 1 << (state.label % u64::BITS));
        // Until a loop seems to wait, a look at the top is enough to tell states apart: exploration starts over with
        // the whole stack if it is not.
        let most = if self.settings.watches_heap { usize::MAX } else { TOP_OF_STACK };
        let digest = local_state::digest(&state.registers, state.suspend?.base(), most)?;
        Some(digest ^ state.writes.wrapping_add(state.changed).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// The operation at another location.
fn relocated(op: Op, from: Location, to: Location) -> Option<Op> {
    let key = |location: Location| location.as_hidden().map(|(_, key)| key);
    let moved = |known: u64| Some(if Some(known) == key(from) { key(to)? } else { known });
    Some(match op {
        Op::Access(mut access) => {
            match &mut access {
                Access::Load { at, .. }
                | Access::Store { at, .. }
                | Access::Rmw { at, .. }
                | Access::CompareExchange { at, .. } => *at = to,
                Access::Fence { .. } => return None,
            }
            Op::Access(access)
        }
        Op::Sync(mut sync) => {
            use Synchronisation as S;
            match &mut sync {
                S::Lock { mutex: at }
                | S::TryLock { mutex: at }
                | S::Unlock { mutex: at }
                | S::ReadLock { lock: at }
                | S::TryReadLock { lock: at }
                | S::ReadUnlock { lock: at }
                | S::WriteLock { lock: at }
                | S::TryWriteLock { lock: at }
                | S::WriteUnlock { lock: at }
                | S::Wait { condvar: at, .. }
                | S::NotifyOne { condvar: at }
                | S::NotifyAll { condvar: at }
                | S::Acquire { semaphore: at }
                | S::TryAcquire { semaphore: at }
                | S::Release { semaphore: at }
                | S::BarrierWait { barrier: at, .. }
                | S::OnceBegin { once: at }
                | S::OnceEnd { once: at }
                | S::OnceAbandon { once: at } => *at = moved(*at)?,
                S::Park | S::Unpark { .. } => return None,
            }
            Op::Sync(sync)
        }
        _ => return None,
    })
}
