//! A test as a program that the engine can run.

use super::context::{Context, Newborn, Settings};
use super::fiber::Fiber;
use super::local_state;
use super::panics;
use fencepost_engine::Threads;
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Access, Label, Location, Op, Reply, ThreadId, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A test. A plain value: its fibers belong to the kernel thread that runs it.
#[derive(Clone)]
pub(crate) struct Program {
    body: Arc<dyn Fn() + Send + Sync>,
    settings: Settings,
}

/// So much of a stack is looked at, in bytes, before a loop seems to wait.
const TOP_OF_STACK: usize = 512;

/// The fibers of a kernel thread.
struct Local {
    context: Rc<Context>,
    fibers: Vec<Option<Fiber>>,
    /// Who has created a thread and not learnt its number yet, with the thread's body.
    expecting: Vec<(ThreadId, Newborn)>,
}

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

impl Program {
    pub(crate) fn new(body: Arc<dyn Fn() + Send + Sync>, settings: Settings) -> Program {
        panics::install();
        Program { body, settings }
    }

    /// How it is run.
    pub(crate) fn settings(&self) -> Settings {
        self.settings
    }

    /// Nothing is known of what happens before what `thread` does: no race is told.
    pub(crate) fn forget_clock(&mut self, thread: ThreadId) {
        with_local(|local| {
            let mut threads = local.context.threads.borrow_mut();
            let all = threads.len();
            if let Some(state) = threads.get_mut(thread.index()).filter(|state| state.clock.len() != all) {
                state.clock.clear();
                // As if everything had happened before.
                state.clock.resize(all, u32::MAX);
            }
        });
    }

    /// What is known of the execution at hand, on this kernel thread.
    pub(crate) fn context() -> Rc<Context> {
        Context::of_kernel_thread()
    }
}

fn with_local<R>(f: impl FnOnce(&mut Local) -> R) -> R {
    LOCAL.with(|local| {
        let fresh = || Local { context: Context::of_kernel_thread(), fibers: Vec::new(), expecting: Vec::new() };
        f(local.borrow_mut().get_or_insert_with(fresh))
    })
}

impl Local {
    /// Gives `thread` a body.
    fn begin(&mut self, thread: ThreadId, newborn: Newborn) {
        let t = thread.index();
        if self.fibers.len() <= t {
            self.fibers.resize_with(t + 1, || None);
        }
        let mut threads = self.context.threads.borrow_mut();
        if threads.len() <= t {
            threads.resize_with(t + 1, Default::default);
        }
        drop(threads);
        let fiber = self.fibers[t].get_or_insert_with(|| Fiber::new(&self.context, thread));
        fiber.begin(newborn);
    }
}

impl Threads for Program {
    fn start(&mut self) -> u32 {
        with_local(|local| {
            assert!(!local.context.is_running(), "internal error: a check inside of a check");
            local.context.settings.set(self.settings);
            for (t, slot) in local.fibers.iter_mut().enumerate() {
                if let Some(fiber) = slot {
                    fiber.reset(ThreadId(t as u32));
                }
            }
            local.context.begin();
            crate::alloc::release();
            crate::alloc::watch(self.settings.watches_heap);
            local.context.heap.set(0);
            std::mem::take(&mut local.expecting).into_iter().for_each(std::mem::forget);
            let body = Arc::clone(&self.body);
            local.begin(ThreadId(0), Newborn { body: Box::new(move || body()), name: None });
        });
        1
    }

    #[inline]
    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        with_local(|local| {
            if !local.expecting.is_empty()
                && let Some(i) = local.expecting.iter().position(|(creator, _)| *creator == thread)
            {
                let (_, newborn) = local.expecting.swap_remove(i);
                local.begin(ThreadId(reply.value.0 as u32), newborn);
            }
            let fiber = local.fibers[thread.index()].as_mut().expect("internal error: a thread without a fiber");
            local.context.running.set(Some(thread));
            crate::alloc::set_running(true);
            let op = fiber.resume(reply);
            crate::alloc::set_running(false);
            local.context.running.set(None);
            if self.settings.watches_heap {
                local.context.note_changes(thread);
            }
            if op == Op::Spawn {
                let newborn = local.context.newborn.take().expect("a spawn leaves the body of its thread");
                local.expecting.push((thread, newborn));
            }
            op
        })
    }

    fn initial(&self, at: Location) -> Value {
        match at.as_hidden() {
            Some(_) => Value::ZERO,
            None => Value(with_local(|local| local.context.objects.borrow().initial(at))),
        }
    }

    fn label(&self, thread: ThreadId) -> u32 {
        with_local(|local| local.context.threads.borrow().get(thread.index()).map_or(0, |state| state.label))
    }

    fn describe(&self, label: u32) -> Label {
        Context::describe(label)
    }

    fn wants_clocks(&self) -> bool {
        true
    }

    fn set_clock(&mut self, thread: ThreadId, clock: &[u32]) {
        with_local(|local| {
            let mut threads = local.context.threads.borrow_mut();
            if let Some(state) = threads.get_mut(thread.index()) {
                state.clock.clear();
                state.clock.extend_from_slice(clock);
            }
        });
    }

    fn is_relocated(&self) -> bool {
        true
    }

    fn identify(&mut self, thread: ThreadId, at: Location) -> Option<Op> {
        with_local(|local| {
            let mut threads = local.context.threads.borrow_mut();
            let state = &mut threads[thread.index()];
            let mut objects = local.context.objects.borrow_mut();
            let index = state.fresh.take()?;
            let old = objects.list[index as usize].location();
            if !objects.rename(index, at) {
                return None;
            }
            let op = relocated(state.op?, old, at)?;
            state.op = Some(op);
            Some(op)
        })
    }

    fn is_digested_late(&self) -> bool {
        true
    }

    fn known_loops(&self) -> u64 {
        self.settings.loops
    }

    fn takes_to_wait(&mut self, _: ThreadId) {
        with_local(|local| local.context.waits.set(true));
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        if !self.settings.spins {
            return None;
        }
        with_local(|local| {
            let threads = local.context.threads.borrow();
            let state = threads.get(thread.index())?;
            let loops = &local.context.loops;
            loops.set(loops.get() | 1 << (state.label % u64::BITS));
            // Until a loop seems to wait, a look at the top is enough to tell states apart: exploration starts over
            // with the whole stack if it is not.
            let most = if self.settings.watches_heap { usize::MAX } else { TOP_OF_STACK };
            let digest = local_state::digest(&state.registers, state.suspend?.base(), most)?;
            Some(digest ^ state.writes.wrapping_add(state.changed).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        })
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
