//! What surrounds a finding: full stacks, where threads were created, where memory was allocated and freed.
//!
//! None of it is kept while executions are run by the thousand. An execution in which something was found is run
//! again, with the accesses that take part as sites to watch, and that one time all of it is collected.

use crate::detect::shadow::Earlier;
use crate::platform::global::{self, Global};
use crate::platform::modules::{self, stack};
use crate::threads::calls::{self, Call};
use crate::threads::fibers;
use fencepost_mailbox::{AccessSite, Activation, AddressKind, Created, Details, Memory, Request, Stack};
use fencepost_trace::op::Sync;
use fencepost_trace::{Op, ThreadId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread at a program point: return addresses, the innermost first.
#[derive(Clone)]
struct Point {
    thread: u32,
    calls: Vec<usize>,
}

impl Point {
    /// The running thread, at the hook that it has called.
    fn here() -> Point {
        let thread = fibers::current();
        fibers::me().pc = global::caller();
        Point { thread: thread.0, calls: fibers::stack_of(thread) }
    }

    fn told(&self, access: &str) -> Stack {
        stack(self.thread, access, &self.calls)
    }
}

struct Block {
    size: usize,
    allocated: Point,
    freed: Option<Point>,
}

/// A function that had not returned when it last called a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Active {
    pc: usize,
    sp: usize,
    bp: usize,
    call: Call,
    /// Where what it has called since then returns to. That may be in a function without instrumentation, which it
    /// has called.
    inner: usize,
}

impl Active {
    fn told(self) -> Activation {
        let call = (self.inner != 0).then(|| modules::frame(self.inner));
        Activation { at: modules::frame(self.pc), call, sp: self.sp as u64, bp: self.bp as u64 }
    }
}

#[derive(Default)]
struct State {
    sites: Vec<AccessSite>,
    /// The stacks of the sites that were reached.
    reached: Vec<Option<Vec<usize>>>,
    created: BTreeMap<u32, Point>,
    blocks: BTreeMap<usize, Block>,
    /// By thread: functions on its stack, the outermost first. Some may have returned: their calls tell.
    active: Vec<Vec<Active>>,
    /// What operations were about that lies on a stack, and the function whose it was; nothing if there were several.
    locals: BTreeMap<usize, Option<Active>>,
}

/// Are functions to say so when they are entered?
pub static WATCHING: AtomicBool = AtomicBool::new(false);

/// Empty if nobody wants details.
static STATE: Global<Option<State>> = Global::new(None);

/// What the host wants.
pub fn initialise(request: &Request) {
    *STATE.enter() = request.details.as_ref().map(|sites| State { sites: sites.clone(), ..State::default() });
}

/// A new execution. Are details wanted?
pub fn begin() -> bool {
    let mut guard = STATE.enter();
    if let Some(state) = &mut *guard {
        state.reached = vec![None; state.sites.len()];
        state.created.clear();
        state.blocks.clear();
        state.active.clear();
        state.locals.clear();
    }
    WATCHING.store(guard.is_some(), Ordering::Relaxed);
    guard.is_some()
}

/// Are details wanted?
#[inline]
pub fn are_wanted() -> bool {
    STATE.enter().is_some()
}

/// The running thread is about to make this access.
pub fn reached(address: usize, size: usize, by: Earlier) {
    let mut guard = STATE.enter();
    let Some(state) = &mut *guard else { return };
    for (site, reached) in state.sites.iter().zip(&mut state.reached) {
        // The site names some byte of the eight that the detector looked at together.
        let here = (address & !7..address + size).contains(&(site.address as usize & !7));
        if here && site.thread == by.thread && site.time == by.time && site.pc == by.pc as u64 {
            let pc = std::mem::replace(&mut fibers::me().pc, by.pc);
            *reached = Some(fibers::stack_of(ThreadId(by.thread)));
            fibers::me().pc = pc;
        }
    }
}

/// The full stack of an access, if it was watched.
pub fn calls_of(access: Earlier) -> Option<Vec<usize>> {
    let guard = STATE.enter();
    let state = guard.as_ref()?;
    let is =
        |site: &AccessSite| site.thread == access.thread && site.time == access.time && site.pc == access.pc as u64;
    let found = state.sites.iter().zip(&state.reached).find(|(site, reached)| is(site) && reached.is_some());
    found.and_then(|(_, reached)| reached.clone())
}

/// The running thread is in a function that has called a hook, which returns to `pc`.
#[inline]
pub fn stands(pc: usize) {
    if are_wanted() {
        global::quietly(|| note(pc, global::caller_sp(), global::caller_registers()[1]));
    }
}

/// A function called from `pc` is entered: where it is, the stack pointer and rbp.
pub extern "C" fn entered(pc: usize, here: usize, sp: usize, bp: usize) {
    calls::push(pc);
    if global::active() {
        global::quietly(|| {
            note(here, sp, bp);
            let me = fibers::current().index();
            let mut guard = STATE.enter();
            let list = guard.as_mut().and_then(|state| state.active.get_mut(me));
            if let Some([.., caller, _]) = list.map(Vec::as_mut_slice) {
                caller.inner = pc;
            }
        });
    }
}

#[cold]
fn note(pc: usize, sp: usize, bp: usize) {
    let mut guard = STATE.enter();
    let Some(state) = &mut *guard else { return };
    // What the call has pushed is not the caller's.
    let sp = sp + 8;
    let me = fibers::current().index();
    if state.active.len() <= me {
        state.active.resize_with(me + 1, Vec::new);
    }
    let list = &mut state.active[me];
    // Stacks grow downwards: what is below has returned.
    while list.last().is_some_and(|inner| inner.sp <= sp) {
        list.pop();
    }
    list.push(Active { pc, sp, bp, call: calls::innermost(), inner: 0 });
}

/// The running thread asks for this operation.
#[inline]
pub fn asked(op: &Op) {
    if are_wanted() {
        locate(op);
    }
}

#[cold]
fn locate(op: &Op) {
    let mut guard = STATE.enter();
    let Some(state) = &mut *guard else { return };
    let addresses = match op {
        Op::Access(access) => [access.location().filter(|at| at.as_hidden().is_none()).map(|at| at.address), None],
        Op::Sync(Sync::Lock { mutex } | Sync::TryLock { mutex } | Sync::Unlock { mutex }) => [Some(*mutex), None],
        Op::Sync(Sync::Wait { condvar, mutex }) => [Some(*condvar), Some(*mutex)],
        Op::Sync(Sync::NotifyOne { condvar } | Sync::NotifyAll { condvar }) => [Some(*condvar), None],
        _ => return,
    };
    for address in addresses.into_iter().flatten().map(|address| address as usize) {
        if let Some((_, active)) = state.on_stack(address) {
            let known = state.locals.entry(address).or_insert(active);
            if known.map(|known| known.call) != active.map(|active| active.call) {
                *known = None;
            }
        }
    }
}

/// The functions whose variables operations were about.
pub fn locals() -> Vec<(u64, Activation)> {
    let guard = STATE.enter();
    let list = guard.iter().flat_map(|state| &state.locals);
    list.filter_map(|(address, active)| Some((*address as u64, active.as_ref()?.told()))).collect()
}

/// The running thread has created another.
pub fn created(thread: ThreadId) {
    stands(global::caller());
    if let Some(state) = &mut *STATE.enter() {
        state.created.insert(thread.0, Point::here());
    }
}

/// The running thread has allocated a block.
pub fn allocated(block: usize, size: usize) {
    if let Some(state) = &mut *STATE.enter() {
        // What lay there before is gone.
        let gone: Vec<usize> = state.blocks.range(block..block + size.max(1)).map(|(at, _)| *at).collect();
        gone.iter().for_each(|at| drop(state.blocks.remove(at)));
        state.blocks.insert(block, Block { size, allocated: Point::here(), freed: None });
    }
}

/// The running thread frees a block.
pub fn freed(block: usize) {
    if let Some(block) = STATE.enter().as_mut().and_then(|state| state.blocks.get_mut(&block)) {
        block.freed = Some(Point::here());
    }
}

/// What is known of a finding about this memory in which these threads take part.
pub fn about(address: usize, threads: &[u32]) -> Option<Details> {
    let guard = STATE.enter();
    let state = guard.as_ref()?;
    let created = |thread: &u32| {
        let point = state.created.get(thread)?;
        Some(Created { thread: *thread, by: point.told("create") })
    };
    let memory = (address != 0).then(|| Memory { address: address as u64, place: state.place(address) });
    Some(Details { created: threads.iter().filter_map(created).collect(), memory })
}

impl State {
    fn place(&self, address: usize) -> AddressKind {
        if let Some((start, block)) = self.block(address) {
            return AddressKind::Block {
                offset: address as i64 - start as i64,
                size: block.size as u64,
                allocated: block.allocated.told("malloc"),
                freed: block.freed.as_ref().map(|point| point.told("free")),
            };
        }
        match self.on_stack(address) {
            Some((thread, active)) => AddressKind::Stack { thread, activation: active.map(Active::told) },
            None => AddressKind::Other,
        }
    }

    /// The thread on whose stack the address is, and the innermost of its functions that can have it among its
    /// variables.
    fn on_stack(&self, address: usize) -> Option<(u32, Option<Active>)> {
        let mut all = fibers::all();
        all.get(fibers::current()).calls.leave();
        let owner = all.list().iter().position(|f| f.stack.0 <= address && address < f.stack.1)?;
        let calls = &all.list()[owner].calls;
        let open = self.active.get(owner).into_iter().flatten().filter(|active| calls.is_open(active.call));
        let active = open.filter(|active| active.sp <= address).min_by_key(|active| address - active.sp);
        Some((owner as u32, active.copied()))
    }

    /// The block that contains the address, or that it just misses.
    fn block(&self, address: usize) -> Option<(usize, &Block)> {
        /// What lies around a block and is told from its neighbours'.
        const AROUND: usize = 16;
        let before = self.blocks.range(..=address).next_back().filter(|(at, b)| address < **at + b.size + AROUND);
        let behind = self.blocks.range(address..).next().filter(|(at, _)| **at <= address + AROUND);
        let inside = |(at, b): &(&usize, &Block)| address < **at + b.size;
        let found = before.filter(inside).or(behind.filter(|_| before.is_none())).or(before);
        found.map(|(at, block)| (*at, block))
    }
}
